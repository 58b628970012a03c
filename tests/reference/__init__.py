"""Reference semantics: an independent interpreter of checked models, and a naive model checker on its graph."""
