"""Mining of logs: coverage of a protocol, and beliefs estimated from frequencies."""
