"""Tests written in Markdown.

A block with ``file=NAME`` writes a file for the tests that follow it. A mistyped assertion, and a file without tests,
is an error of the test itself.
"""
