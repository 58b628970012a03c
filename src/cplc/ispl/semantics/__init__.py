"""What an ISPL model means: every name resolved, every mistake reported in one run."""

from cplc.ispl.semantics.check import Checked, check, check_formula

__all__ = ["Checked", "check", "check_formula"]
