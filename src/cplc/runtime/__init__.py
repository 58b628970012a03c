"""Runtime support of computations: limits, progress, checkpoints, bounded file access."""
