"""How good a specification is: what could change in a protocol without any property noticing."""
