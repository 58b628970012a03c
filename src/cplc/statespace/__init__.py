"""Concrete states, packed into integers."""
