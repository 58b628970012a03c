"""Verdicts that are kept from one run to the next, for as long as nothing that they rest on has changed."""
