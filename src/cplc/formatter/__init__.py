"""Formatters of both languages: they change white space only, not the tree or the comments."""

from cplc.formatter.formatter import Formatted, format_source

__all__ = ["Formatted", "format_source"]
