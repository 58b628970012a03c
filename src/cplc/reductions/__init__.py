"""Reductions: smaller systems and smaller state spaces that give a question the same verdict."""
