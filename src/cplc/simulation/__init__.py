"""Simulation: random runs, interactive runs, and the replay of recorded runs."""
