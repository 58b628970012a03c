"""Tests written in Markdown.

A block with ``file=NAME`` puts a file beside the tests that follow it. A mistyped assertion, and a file without tests,
is an error of the test itself.
"""
