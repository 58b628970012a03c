"""The explicit-state engine: the graph of the reachable states, and sets of them."""
