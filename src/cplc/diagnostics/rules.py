"""Every rule there is. Grouped by the stage that reports it; codes are stable for ever.

`docs/rules/<code>.md` explains each one with an example that breaks it and one that does not.
"""

from __future__ import annotations

from cplc.diagnostics.core import Rule

# --- reading
UNREADABLE_FILE = Rule("unreadable-file", "a file that is missing, a directory or not UTF-8 text")
OUTSIDE_PROJECT = Rule("outside-project", "an import of a file outside of the project")
SYNTAX = Rule("syntax", "text that is not of the language")
UNKNOWN_VERSION = Rule("unknown-version", "a version of the language that this program does not read")
MEANING_CHANGED = Rule(
    "meaning-changed", "a file without version, with what another version gave another meaning", severity="remark"
)
OTHER_NOTATION = Rule("other-notation", "the notation of a paper or of another language")
TOO_DEEP = Rule("too-deep", "an expression nested deeper than can be read")
FILE_TOO_LARGE = Rule("file-too-large", "a file larger than can be read")
UNREADABLE_LOG = Rule("unreadable-log", "a log of which nothing is an event of the protocol")
EMPTY_LOG = Rule("empty-log", "a log without records", severity="warning")

# --- what is switched off
BAD_SETTINGS = Rule("bad-settings", "settings that cannot be read or do not exist")
BAD_MAPPING = Rule("bad-mapping", "a mapping of a log that cannot be read or says what does not exist")
BAD_IGNORE = Rule("bad-ignore", "an attempt to switch off what is no warning", severity="warning")
UNNEEDED_IGNORE = Rule("unneeded-ignore", "a comment that switches off a warning that never comes", severity="warning")

# --- imports and names
IMPORT_CYCLE = Rule("import-cycle", "files that import each other in a circle")
NO_PROTOCOL = Rule("no-protocol", "a file that declares neither a protocol nor a macro, or not the one asked for")
UNKNOWN_NAME = Rule("unknown-name", "a name that nothing declares")
AMBIGUOUS_NAME = Rule("ambiguous-name", "a name that two imported files declare")
DUPLICATE_NAME = Rule("duplicate-name", "a name that is declared twice")
RESERVED_NAME = Rule("reserved-name", "a name that the language itself uses")
SHADOWED_NAME = Rule("shadowed-name", "a local name that hides another one", severity="warning")
WRONG_KIND = Rule("wrong-kind", "a name of one kind where another kind is meant")
MISPLACED_DECLARATION = Rule("misplaced-declaration", "a declaration in a loop that belongs to the protocol")
RECURSIVE_DEFINITION = Rule("recursive-definition", "a macro or a protocol that uses itself")

# --- types and numbers
TYPE_MISMATCH = Rule("type-mismatch", "an expression of the wrong type")
NOT_CONSTANT = Rule("not-constant", "an index, range or deadline that is not known before the protocol runs")
WRONG_INDICES = Rule("wrong-indices", "a family without its indices, or with a wrong number of them")
WRONG_ARGUMENTS = Rule("wrong-arguments", "arguments that a macro, a lifecycle atom or a used protocol does not take")
EMPTY_RANGE = Rule("empty-range", "a type without values, or a family of less than none")
INDEX_OUT_OF_RANGE = Rule("index-out-of-range", "an instance that the family does not have")
VALUE_OUT_OF_RANGE = Rule("value-out-of-range", "a value that its type does not have")
DIVISION_BY_ZERO = Rule("division-by-zero", "a remainder of a division by zero")
BAD_DEADLINE = Rule("bad-deadline", "a deadline that is not a positive number of ticks")
UNKNOWN_PARAMETER = Rule("unknown-parameter", "a value for a parameter that the protocol does not have")
MISSING_VALUE = Rule("missing-value", "a parameter without a value")
UNBOUND_ROLE = Rule("unbound-role", "a role of a used protocol that is not bound, or bound to the wrong thing")
TOO_LARGE = Rule("too-large", "more instances or values than can be handled")
LEFT_OUT_INSTANCE = Rule(
    "left-out-instance", "an instance that does not exist because its two roles are the same", severity="warning"
)

# --- messages and commitments
NOT_A_STATE_CONDITION = Rule(
    "not-a-state-condition", "a guard, fact or condition that asks more than the present state"
)
NOT_A_CONTENT = Rule("not-a-content", "a promise with an operator that no promise can have")
REFUSED_BUT_OWED = Rule(
    "refused-but-owed", "a commitment that can be refused, but neither released nor withdrawn", severity="warning"
)
DECIDED_AT_ONCE = Rule(
    "decided-at-once", "a claim whose content is decided by the state in which it is made", severity="warning"
)
UNDECIDED_CONTENT = Rule("undecided-content", "a promise that nothing that happens ever keeps or breaks")
UNSEEN = Rule("unseen", "a guard on what its agent cannot see")
FOREIGN_VARIABLE = Rule("foreign-variable", "an assignment to the variable of another role")
DUPLICATE_ASSIGNMENT = Rule("duplicate-assignment", "two values for one variable at once")
UNKNOWN_OPERATION = Rule("unknown-operation", "a verb that is no operation on a commitment or claim")
FOREIGN_OPERATION = Rule("foreign-operation", "an operation by a role that may not perform it")
WRONG_TARGET = Rule("wrong-target", "an unfit commitment to hand over to, or an unfit claim to argue with")
CHOICE_OF_MANY = Rule("choice-of-many", "a choice that no single role can make")
FOREIGN_RESET = Rule("foreign-reset", "a reset of a message between other roles")
SAME_ROLE = Rule("same-role", "two roles that must differ and are one")
NOT_A_PARTY = Rule("not-a-party", "the view of a role that the commitment does not concern")
CYCLIC_CONDITION = Rule("cyclic-condition", "facts or commitments whose meaning depends on itself")
UNTOLD_COUNTERPARTY = Rule(
    "untold-counterparty", "a message that changes a commitment without the other side knowing", severity="warning"
)
UNTOLD_CREDITOR = Rule("untold-creditor", "a commitment whose creditor never hears of it", severity="warning")
NEVER_ACTIVE = Rule("never-active", "a commitment whose antecedent never makes it active", severity="warning")
TRIVIAL_CONTENT = Rule("trivial-content", "a promise of what holds anyway", severity="warning")
FOREIGN_CONTENT = Rule("foreign-content", "a promise that only others can keep", severity="warning")
UNSEEN_ANTECEDENT = Rule("unseen-antecedent", "an antecedent that the debtor does not see", severity="warning")
STALE_CONTENT = Rule("stale-content", "a promise that may be broken before it is active", severity="warning")
STICKY_CONTENT = Rule(
    "sticky-content", "a promise that is broken on return by what came while it was suspended", severity="warning"
)
UNOBSERVABLE_BREACH = Rule("unobservable-breach", "a breach that the creditor does not see", severity="warning")
SEEMING_BREACH = Rule(
    "seeming-breach", "a promise or claim that seems broken to whom it was made, and is not", severity="warning"
)
NEVER_CREATED = Rule("never-created", "a commitment that no message creates", severity="warning")
NEVER_SENT = Rule("never-sent", "a message whose guard can never hold", severity="warning")
UNMEETABLE_FAIRNESS = Rule(
    "unmeetable-fairness", "a condition of fairness that holds in no state at all", severity="warning"
)
RESET_IN_FLIGHT = Rule("reset-in-flight", "a reset that may lose a message in flight", severity="warning")
UNUSED = Rule("unused", "something declared that nothing refers to", severity="warning")

# --- formulas
NOT_A_STATE_FORMULA = Rule("not-a-state-formula", "a formula about runs where a state decides")
NOT_AN_ACTION = Rule("not-an-action", "a restriction of steps that is about something else")
NOT_A_GOAL = Rule("not-a-goal", "a strategy for something else than one goal on states")
NEVER_DONE = Rule("never-done", "an operation in `does(…)` that no message performs", severity="warning")
NOTHING_PROMISED = Rule("nothing-promised", "a commitment modality from a role that promises the other nothing")
NOTHING_SHARED = Rule("nothing-shared", "a commitment modality between agents of a model who share no variable")
MISREAD_FORMULA = Rule(
    "misread-formula", "a formula without parentheses that is easily taken for another one", severity="warning"
)
UNKNOWN_CHECK = Rule("unknown-check", "a built-in check that does not exist")
SWITCHED_OFF_CHECK = Rule("switched-off-check", "a built-in check that cannot be switched off, or is also asked")
DUPLICATE_PROPERTY = Rule("duplicate-property", "two properties of one name", severity="warning")

# --- participants
NOT_A_DISTRIBUTION = Rule("not-a-distribution", "probabilities of one belief that cannot sum to 1")
OVERLAPPING_BELIEFS = Rule("overlapping-beliefs", "two beliefs about one message that both apply", severity="warning")
BELIEF_NEVER_APPLIES = Rule("belief-never-applies", "a belief whose condition can never hold", severity="warning")
FOREIGN_EVENT = Rule("foreign-event", "a belief or decision about a message that somebody else sends")
DUPLICATE_VALUE = Rule("duplicate-value", "two values for one message")
IDLE_THRESHOLD = Rule("idle-threshold", "a threshold that is met, or missed, whatever happens", severity="warning")

# --- models in ISPL
OTHER_DIALECT = Rule("other-dialect", "ISPL that MCMAS 1.3 does not read, or reads otherwise", severity="warning")
WRONG_LOGIC = Rule("wrong-logic", "an operator that the logic of its formula does not have")
UNSUPPORTED_OPERATOR = Rule("unsupported-operator", "an operator that is not supported where it stands")
SEVERAL_ASSIGNMENTS = Rule("several-assignments", "a line that changes several variables where each has its own")
REPEATED_NAME = Rule("repeated-name", "a name that stands twice in one set", severity="warning")
NO_ACTION = Rule("no-action", "a state in which an agent may do nothing", severity="warning")
NEVER_FIRES = Rule("never-fires", "a line of an evolution that can never apply", severity="warning")
NO_INITIAL_STATE = Rule("no-initial-state", "initial states that do not exist")

RULES: tuple[Rule, ...] = tuple(value for value in list(vars().values()) if isinstance(value, Rule))
"""What is reported of a text."""

REMARKS: tuple[Rule, ...] = (
    Rule("vacuous-implication", "an implication whose left side is never so", severity="warning"),
    Rule("over-nothing", "a formula over a family without members", severity="warning"),
    Rule("trivial", "a formula with the same value whatever the protocol does", severity="warning"),
    Rule("no-fair-run", "conditions of fairness that exclude every run", severity="warning"),
    Rule("unrealizable-fairness", "reachable states from which no fair run begins", severity="warning"),
    Rule("not-serial", "promises that are nowhere kept together", severity="warning"),
    Rule("not-keepable", "promises that no fair run keeps", severity="remark"),
    Rule("never-fulfilled", "a fulfilment that holds in no reachable state", severity="warning"),
    Rule("content-does-not-last", "a kept promise whose content is false again", severity="warning"),
    Rule("independent-atom", "a part of a formula that does not matter", severity="warning"),
)
"""What is reported of a verdict. Pages explain it as they explain rules; it cannot be switched off in a text."""

DOCUMENTED: tuple[Rule, ...] = (*RULES, *REMARKS)
"""What has a page in `docs/rules/`."""
