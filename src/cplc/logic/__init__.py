"""Expressions over variables, and the formulas of the temporal, epistemic and strategic logic."""
