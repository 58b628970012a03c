"""Mutation analysis: the changes to a protocol that its properties do not detect."""
