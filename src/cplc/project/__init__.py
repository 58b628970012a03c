"""Projects of many files: which files belong to them, and which of these a change can affect."""
