"""Semantic analysis of ISPL: name resolution and type checks; all errors are reported in one run."""

from cplc.ispl.semantics.check import Checked, check, check_formula

__all__ = ["Checked", "check", "check_formula"]
