"""What happened, held against a protocol: which messages it does not allow, and what became of every promise."""
