"""Worker processes: tasks that run in parallel on this machine, each isolated from the others."""
