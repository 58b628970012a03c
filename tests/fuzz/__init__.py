"""Mutation fuzzing: the budget of processor time that one input has."""
