"""What every computation needs while it runs: limits, progress, checkpoints, access to files."""
