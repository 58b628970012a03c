"""ISPL, the language of MCMAS: syntax, semantics and lowering to a synchronous interpreted system."""
