"""Runtime verification: violations of a protocol in an event log, and the life cycle of every commitment."""
