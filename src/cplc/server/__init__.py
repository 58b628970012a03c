"""The language server: what the stages know of a file, said to an editor."""
