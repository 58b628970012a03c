"""An independent reading of the language: a plain interpreter of checked models and a naive checker on its graph."""
