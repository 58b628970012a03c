"""Two versions of a protocol compared: what can newly happen, what can no longer, and which promises are broken."""
