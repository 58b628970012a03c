"""Tables of the language: data that every part may read."""
