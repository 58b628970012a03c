"""What a file means: from its syntax tree to a model with every family unrolled and every name resolved."""
