"""Concrete states: how they are packed into machine words."""
