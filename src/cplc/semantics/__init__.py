"""Semantic analysis: from a syntax tree to a checked model with all families instantiated and all names resolved."""
