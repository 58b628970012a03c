"""Automata over words: deterministic monitors of formulas of linear temporal logic."""
