"""The rules of a dialogue about a claim, one line each, and what a claim binds its two sides to."""

from __future__ import annotations

RULES = """
null       create     open
withdrawn  create     open
satisfied  create     open
violated   create     open
accepted   create     open
refused    create     open
open       accept     accepted
open       refuse     refused
open       challenge  challenged
open       attack     attacked
open       withdraw   withdrawn
challenged justify    justified
challenged withdraw   withdrawn
justified  accept     accepted
justified  refuse     refused
justified  challenge  challenged
justified  attack     attacked
attacked   defend     defended
attacked   withdraw   withdrawn
attacked   accept     accepted
attacked   refuse     refused
defended   accept     accepted
defended   refuse     refused
defended   attack     attacked
defended   challenge  challenged
"""
MOVES = {(state, verb): after for state, verb, after in (line.split() for line in RULES.split("\n") if line)}

NOT_THERE = frozenset({"null", "withdrawn", "satisfied", "violated"})
"""Where nothing can be shown about it."""
NOT_ON_THE_TABLE = frozenset({"null", "withdrawn", "refused", "violated"})
"""Where it is put forward by arguing with it."""

BINDS_MAKER = frozenset({"open", "challenged", "justified", "attacked", "defended", "accepted"})
BINDS_ADDRESSEE = frozenset({"accepted", "refused", "attacked"})
