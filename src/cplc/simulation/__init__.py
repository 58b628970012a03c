"""Runs of a system: drawn at random, chosen by hand, or read back from what was written down."""
