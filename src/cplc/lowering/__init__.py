"""From a checked model to the interpreted system that engines and exporters read."""
