"""What a file means: from its syntax tree to a model with every family unrolled and every name resolved."""

from __future__ import annotations

from cplc.semantics.analysis import Analysis, analyse

__all__ = ["Analysis", "analyse"]
