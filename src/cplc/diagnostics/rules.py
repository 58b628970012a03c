"""All rules, grouped by the stage that reports them. Codes are stable.

`docs/rules/<code>.md` explains each one with an example that breaks it and one that does not.
"""

from __future__ import annotations

from cplc.diagnostics.core import Rule

# --- reading
UNREADABLE_FILE = Rule("unreadable-file", "a file that is missing, a directory or not UTF-8 text")
OUTSIDE_PROJECT = Rule("outside-project", "an import of a file outside of the project")
SYNTAX = Rule("syntax", "a syntax error")
UNKNOWN_VERSION = Rule("unknown-version", "a version of the language that this program does not read")
MEANING_CHANGED = Rule(
    "meaning-changed", "a construct whose meaning changed, in a file that names no version", severity="remark"
)
OTHER_NOTATION = Rule("other-notation", "the notation of a paper or of another language")
TOO_DEEP = Rule("too-deep", "an expression that is nested too deep")
FILE_TOO_LARGE = Rule("file-too-large", "a file larger than the limit")
UNREADABLE_LOG = Rule("unreadable-log", "a log without any event of the protocol")
EMPTY_LOG = Rule("empty-log", "a log without records", severity="warning")

# --- what is switched off
BAD_SETTINGS = Rule("bad-settings", "settings that cannot be read, do not exist, or have a wrong value")
BAD_MAPPING = Rule("bad-mapping", "a log mapping that cannot be read or uses unknown names")
BAD_IGNORE = Rule("bad-ignore", "an attempt to switch off something other than a warning", severity="warning")
UNNEEDED_IGNORE = Rule("unneeded-ignore", "a comment that switches off a warning that is not given", severity="warning")

# --- imports and names
IMPORT_CYCLE = Rule("import-cycle", "a cyclic import")
NO_PROTOCOL = Rule("no-protocol", "a file without a protocol or macro, or without the requested protocol")
UNKNOWN_NAME = Rule("unknown-name", "a name that is not declared")
AMBIGUOUS_NAME = Rule("ambiguous-name", "a name that two imported files declare")
DUPLICATE_NAME = Rule("duplicate-name", "a name that is declared twice")
RESERVED_NAME = Rule("reserved-name", "a reserved name")
SHADOWED_NAME = Rule("shadowed-name", "a local name that hides another name", severity="warning")
WRONG_KIND = Rule("wrong-kind", "a name of the wrong kind")
MISPLACED_DECLARATION = Rule("misplaced-declaration", "a declaration in a loop that belongs to the protocol")
RECURSIVE_DEFINITION = Rule("recursive-definition", "a macro or a protocol that uses itself")

# --- types and numbers
TYPE_MISMATCH = Rule("type-mismatch", "an expression of the wrong type")
NOT_CONSTANT = Rule("not-constant", "an index, range or deadline that is not a constant")
WRONG_INDICES = Rule("wrong-indices", "a family without its indices, or with a wrong number of them")
WRONG_ARGUMENTS = Rule("wrong-arguments", "wrong arguments of a macro, a state predicate or a used protocol")
EMPTY_RANGE = Rule("empty-range", "a type without values, or a family of negative size")
INDEX_OUT_OF_RANGE = Rule("index-out-of-range", "an instance that the family does not have")
VALUE_OUT_OF_RANGE = Rule("value-out-of-range", "a value that its type does not have")
DIVISION_BY_ZERO = Rule("division-by-zero", "a division by zero")
BAD_DEADLINE = Rule("bad-deadline", "a deadline that is not a positive number of ticks")
BAD_TICK = Rule("bad-tick", "a length of a tick that is zero, misplaced, given twice or not the same everywhere")
SYNC_DELAY = Rule("sync-delay", "a delay of messages that take no time")
SYNC_LOSS = Rule("sync-loss", "faults of channels on which messages arrive in the step that sends them")
BAD_QUEUE = Rule("bad-queue", "a channel with a queue of no size, or with a clause or a reset that a queue excludes")
BAD_REPLY = Rule("bad-reply", "an answer that is not one of a record, or can never be sent")
ANALYSIS_OF_LOSS = Rule("analysis-of-loss", "a participant where messages may be lost or duplicated")
ANALYSIS_OF_GROUP = Rule("analysis-of-group", "a participant who plays some of the debtors of a group")
BOUND_OF_LAST = Rule("bound-of-last", "a bound that is about the last of several roles only", severity="warning")
NO_TICKS = Rule("no-ticks", "a bound in ticks where no time passes")
SHARED_BY_KEYS = Rule("shared-by-keys", "a declaration that instances by key would share")
UNKNOWN_PARAMETER = Rule("unknown-parameter", "a value for a parameter that the protocol does not have")
MISSING_VALUE = Rule("missing-value", "a parameter without a value")
UNBOUND_ROLE = Rule("unbound-role", "a role of a used protocol that is not bound, or bound to the wrong thing")
TOO_LARGE = Rule("too-large", "more instances or values than the limit")
LEFT_OUT_INSTANCE = Rule(
    "left-out-instance", "an instance that does not exist because its two roles are the same", severity="warning"
)

# --- messages and commitments
NOT_A_STATE_CONDITION = Rule(
    "not-a-state-condition", "a guard, fact or condition that depends on more than the present state"
)
NOT_A_CONTENT = Rule("not-a-content", "a content with an operator that contents cannot contain")
REFUSED_BUT_OWED = Rule(
    "refused-but-owed", "a commitment that can be refused, but neither released nor withdrawn", severity="warning"
)
DECIDED_AT_ONCE = Rule(
    "decided-at-once", "a claim whose content is decided by the state in which it is made", severity="warning"
)
UNDECIDED_CONTENT = Rule("undecided-content", "a content that no event ever decides")
UNSEEN = Rule("unseen", "a guard that reads a value its agent does not observe")
FOREIGN_VARIABLE = Rule("foreign-variable", "an assignment to the variable of another role")
DUPLICATE_ASSIGNMENT = Rule("duplicate-assignment", "two assignments to one variable in one step")
UNKNOWN_OPERATION = Rule("unknown-operation", "an unknown operation on a commitment or claim")
FOREIGN_OPERATION = Rule("foreign-operation", "an operation by a role that may not perform it")
WRONG_TARGET = Rule("wrong-target", "an unfit commitment to hand over to, or an unfit claim to argue with")
CHOICE_OF_MANY = Rule("choice-of-many", "a choice that no single role can make")
FOREIGN_RESET = Rule("foreign-reset", "a reset of a message between other roles")
SAME_ROLE = Rule("same-role", "two equal roles that must differ")
NOT_A_PARTY = Rule("not-a-party", "a view of a role that is no party of the commitment")
CYCLIC_CONDITION = Rule("cyclic-condition", "facts or commitments that depend on themselves")
UNTOLD_COUNTERPARTY = Rule(
    "untold-counterparty", "a message that changes a commitment, unobserved by the other party", severity="warning"
)
UNTOLD_CREDITOR = Rule("untold-creditor", "a commitment whose creditor is in none of its messages", severity="warning")
NEVER_ACTIVE = Rule("never-active", "a commitment whose antecedent never makes it active", severity="warning")
TRIVIAL_CONTENT = Rule("trivial-content", "a content that holds anyway", severity="warning")
FOREIGN_CONTENT = Rule("foreign-content", "a content that only other roles can make true", severity="warning")
UNSEEN_ANTECEDENT = Rule("unseen-antecedent", "an antecedent that the debtor does not observe", severity="warning")
STALE_CONTENT = Rule("stale-content", "a commitment that may be violated before it is active", severity="warning")
STICKY_CONTENT = Rule(
    "sticky-content",
    "a commitment that is violated on reactivation by a message received while suspended",
    severity="warning",
)
UNOBSERVABLE_BREACH = Rule("unobservable-breach", "a violation that the creditor does not observe", severity="warning")
SEEMING_BREACH = Rule(
    "seeming-breach",
    "a commitment or claim that seems violated to the other party although it is not",
    severity="warning",
)
IDLE_POWER = Rule("idle-power", "a power that a role has anyway, or that no message uses", severity="warning")
NEVER_CREATED = Rule("never-created", "a commitment that no message creates", severity="warning")
IDLE_DEADLINE = Rule("idle-deadline", "a deadline that never runs", severity="warning")
NEVER_SENT = Rule("never-sent", "a message whose guard can never hold", severity="warning")
CONSTANT_COMPARISON = Rule("constant-comparison", "a comparison that declared ranges decide", severity="warning")
COUNTED_ONCE = Rule("counted-once", "a variable that counts a message which is sent at most once", severity="remark")
UNMEETABLE_FAIRNESS = Rule("unmeetable-fairness", "an unsatisfiable fairness condition", severity="warning")
RESET_IN_FLIGHT = Rule("reset-in-flight", "a reset that may lose a message in flight", severity="warning")
UNUSED = Rule("unused", "an unused declaration", severity="warning")

# --- formulas
NOT_A_STATE_FORMULA = Rule("not-a-state-formula", "a path formula where a state formula is expected")
NOT_AN_ACTION = Rule("not-an-action", "a restriction of steps that is not an action formula")
NOT_A_GOAL = Rule("not-a-goal", "a strategy without a supported goal")
NEVER_DONE = Rule("never-done", "an operation in `does(…)` that no message performs", severity="warning")
NOTHING_PROMISED = Rule("nothing-promised", "a commitment modality between roles without commitments")
NOTHING_SHARED = Rule("nothing-shared", "a commitment modality between agents of a model who share no variable")
MISREAD_FORMULA = Rule("misread-formula", "a formula with an easily mistaken grouping", severity="warning")
UNKNOWN_CHECK = Rule("unknown-check", "a built-in check that does not exist")
SWITCHED_OFF_CHECK = Rule("switched-off-check", "a built-in check that cannot be switched off, or is also requested")
DUPLICATE_PROPERTY = Rule("duplicate-property", "two properties of one name", severity="warning")

# --- participants
NOT_A_DISTRIBUTION = Rule("not-a-distribution", "probabilities of one belief that cannot sum to 1")
OVERLAPPING_BELIEFS = Rule("overlapping-beliefs", "two beliefs about one message that both apply", severity="warning")
BELIEF_NEVER_APPLIES = Rule("belief-never-applies", "a belief whose condition can never hold", severity="warning")
FOREIGN_EVENT = Rule("foreign-event", "a belief or decision about a message of another role")
DUPLICATE_VALUE = Rule("duplicate-value", "two values for one message")
EXPECT_OF_ONE_THRESHOLD = Rule("expect-of-one-threshold", "an `expect` before the last threshold of a line")
IDLE_THRESHOLD = Rule("idle-threshold", "a threshold that is always or never met", severity="warning")

# --- models in ISPL
OTHER_DIALECT = Rule("other-dialect", "ISPL that MCMAS 1.3 rejects or interprets differently", severity="warning")
WRONG_LOGIC = Rule("wrong-logic", "an operator that the logic of its formula does not have")
UNSUPPORTED_OPERATOR = Rule("unsupported-operator", "an operator that is not supported in this place")
SEVERAL_ASSIGNMENTS = Rule("several-assignments", "a line that changes several variables")
REPEATED_NAME = Rule("repeated-name", "a repeated name in one set", severity="warning")
NO_ACTION = Rule("no-action", "a state in which an agent may do nothing", severity="warning")
NEVER_FIRES = Rule("never-fires", "a line of an evolution that can never apply", severity="warning")
NO_INITIAL_STATE = Rule("no-initial-state", "initial states that do not exist")

RULES: tuple[Rule, ...] = tuple(value for value in list(vars().values()) if isinstance(value, Rule))
"""Rules about a text."""

FROM_STATES: frozenset[str] = frozenset(rule.code for rule in (NEVER_CREATED, NEVER_ACTIVE, IDLE_DEADLINE))
"""Codes of rules whose warnings `cplc verify` may add, where the reachable states show what the text does not."""

REMARKS: tuple[Rule, ...] = (
    Rule("vacuous-implication", "an implication whose left side is never true", severity="warning"),
    Rule("over-nothing", "a formula over a family without members", severity="warning"),
    Rule("trivial", "a formula whose value does not depend on the protocol", severity="warning"),
    Rule("no-fair-run", "conditions of fairness that exclude every run", severity="warning"),
    Rule("timelock", "reachable states from which time can never pass again", severity="warning"),
    Rule("unrealizable-fairness", "reachable states from which no fair run begins", severity="warning"),
    Rule("not-serial", "promises that are not kept together in any state", severity="warning"),
    Rule("not-keepable", "promises that no fair run keeps", severity="remark"),
    Rule("never-fulfilled", "a fulfilment that holds in no reachable state", severity="warning"),
    Rule("content-does-not-last", "a kept promise whose content is false again", severity="warning"),
    Rule("independent-atom", "a part of a formula that does not affect its verdict", severity="warning"),
)
"""Rules about a verdict. They have pages, too, but cannot be switched off in a text."""

DOCUMENTED: tuple[Rule, ...] = (*RULES, *REMARKS)
"""All rules with a page in `docs/rules/`."""
