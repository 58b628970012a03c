"""The symbolic engine: sets of states and transition relations as binary decision diagrams."""
