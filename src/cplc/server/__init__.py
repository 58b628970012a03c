"""The language server: diagnostics, navigation, completion and verification in an editor."""
