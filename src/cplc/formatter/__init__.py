"""The layout of a `.cpl` file: the same tree and the same comments, with blanks where readers expect them."""

from cplc.formatter.formatter import Formatted, format_source

__all__ = ["Formatted", "format_source"]
