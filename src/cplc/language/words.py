"""Words and operators of the language, as one table: kind, meaning, form, and the construct that they continue.

Scanner, parser, formatter and checks take their words from here, hover, completion and signature help their texts. The
grammars (`grammar/cpl.tx`, `grammar/formula.lark`, those of the editors and of the manual) and the tables of
`docs/language.md` are held equal by `tests/unit/test_language_table.py`. Lifecycle states and operations are rows of
`lifecycle.py`.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

VERSION: Final = "2"
"""The supported version of the language, as in `cpl 2`."""

TYPES_IN_WORDS: Final = (
    "a type is a range `0..9`, names `{low, high}` or a name that `define` gives them, `bool`, `id`, `text`, "
    "`decimal(2)`, `money(USD)`, `time` or `duration`"
)

Kind = Literal[
    "declaration", "clause", "agent item", "contextual", "prefix", "infix", "quantifier", "constant", "atom",
    "modality", "check", "step", "type", "open type", "sign",
]  # fmt: skip


class Word(NamedTuple):
    """A word or sign of the language."""

    name: str
    kind: Kind
    meaning: str = ""
    """One sentence, as Markdown; empty for words that a form explains."""
    form: str = ""
    """The syntax of a declaration (several forms are joined by a backquote, text and a backquote)."""
    continues: tuple[str, ...] = ()
    """Constructs after whose complete form the word may stand."""
    parameters: tuple[str, ...] = ()
    """The arguments of a modality."""


_PARTIES = "i -> j or c"

# fmt: off
WORDS: Final = (
    # Declarations: reserved, but for those in `FREE_AS_NAMES`.
    Word("cpl", "declaration", "The version of the language that the file is written in, before everything else.",
         f"cpl {VERSION}"),
    Word("import", "declaration", "Makes what another file declares available.",
         'import std.payments` or `import "./other.cpl" as other'),
    Word("protocol", "declaration", "Who takes part, what they may say, and what is promised thereby.",
         'protocol Name(n: 1..8 = 2) "title" { … }'),
    Word("role", "declaration", "A participant, or a family of them; `var` gives it variables of its own.",
         "role Name`, `role Name[n]` or `role Name { var v: 0..3 = 0 }"),
    Word("record", "declaration", "Variables that roles write and read by messages. A record has no will: it always "
         "answers.", "record Name { var v: 0..3 = 0 }"),
    Word("choice", "declaration", "At most one of these messages is sent in a round. All have the same sender.",
         "choice a | b"),
    Word("fact", "declaration", "A name for a condition over messages, variables and lifecycle states.",
         "fact name = condition"),
    Word("commitment", "declaration", "`C(debtor, creditor, antecedent, consequent)`: once the antecedent holds, "
         "the debtor owes the creditor the consequent.",
         "commitment name = C(debtor, creditor, antecedent, consequent)"),
    Word("channel", "declaration", "How channels carry messages: in which order, with which faults, how fast.",
         "channel Sender -> Receiver unordered within 2"),
    Word("empower", "declaration", "Lets a third party perform operations on commitments of others.",
         "empower Arbiter to release refund, expire goods"),
    Word("clock", "declaration", "The length of a tick, in deadlines written in units and in logs.",
         "clock tick = 1 h"),
    Word("for", "declaration", "Declares a family of everything inside.",
         "for c in Family { … }`, `for i in 1..n { … }` or `for each key: id { … }"),
    Word("use", "declaration", "Composes another protocol in: its roles are bound to ours.",
         "use Protocol(role = Role) as name"),
    Word("define", "declaration", "A macro for formulas, or a name for the values of an enumeration.",
         "define name(p, q) = formula` or `define Name = {low, high}"),
    Word("property", "declaration", "A formula that is to hold, or with `expect fails` not to hold, in every initial "
         "state.", 'property name "title" assuming Role: formula expect holds'),
    Word("check", "declaration", "Built-in checks of the whole protocol.", "check sound, live expect fails"),
    Word("fairness", "declaration", "A condition that holds infinitely often on every run considered.",
         "fairness condition"),
    Word("claim", "declaration", "What one role says to another: that its content is so. It is challenged, justified, "
         "accepted …", "claim name = claim(Maker, Addressee, content)"),
    Word("agent", "declaration", "A participant with goals, values and beliefs, who plays a role.",
         "agent Name plays Role { … }"),
    Word("analyze", "declaration", "What an agent stands to gain or lose, and how probably.",
         "analyze Name: achievement > 0.8"),

    # Clauses of a message: reserved.
    Word("after", "clause", "`after E`: may be sent only when `E` holds, as far as the sender sees it."),
    Word("unless", "clause", "`unless E`: may not be sent when `E` holds."),
    Word("if", "clause", "`if E`: may be sent only when `E` holds."),
    Word("means", "clause", "`means op, op`: operations on commitments and claims, performed when the message takes "
         "effect."),
    Word("set", "clause", "`set x := e`: assigns to the sender's own variables, on sending."),
    Word("on", "clause", "`on receipt x := e`: assigns to the receiver's own variables, on receipt."),
    Word("resets", "clause", "`resets m`: clears these messages between the same two roles when it takes effect."),
    Word("restart", "clause", "`restart`: ends the round of the `for` instance, part or protocol it stands in."),
    Word("repeatable", "clause", "`repeatable`: may be sent again once it has been received."),

    # Items of an agent; elsewhere they may be names.
    Word("goal", "agent item", form="goal condition"),
    Word("value", "agent item", form="value pay: +10, ship: -6.5"),
    Word("believes", "agent item", form="believes Role when condition: pay 0.9 | refuse 0.1"),
    Word("chooses", "agent item", form="chooses ship | cancel when condition"),

    # Words with a meaning in one context; elsewhere they may be names.
    Word("all", "contextual", "every role"),
    Word("any", "contextual", "`C(any {A, B}, …)`: one of the debtors alone must be able to keep the commitment"),
    Word("as", "contextual", "the name by which it is known here", continues=("use", "import")),
    Word("assuming", "contextual", "roles assumed to make progress (fairness): they do not withhold an enabled message "
         "forever"),
    Word("else", "contextual", "the answer of a record if the conditions of those before do not hold",
         continues=("message",)),
    Word("each", "contextual", "`for each order: id { … }`: instances of the block by key; in `C(each {A, B}, …)`, "
         "each debtor alone must be able to keep the commitment"),
    Word("expect", "contextual", "what the verdict ought to be", continues=("property", "check", "analyze")),
    Word("expires", "contextual", "`expires k`: expired after `k` ticks of being conditional",
         continues=("commitment",)),
    Word("fails", "contextual", "the formula does not hold in every initial state"),
    Word("holds", "contextual", "the formula holds in every initial state"),
    Word("fifo", "contextual", "`fifo n`: a queue of at most `n` messages; the sender waits while it is full",
         continues=("channel",)),
    Word("in", "contextual"),
    Word("duplicating", "contextual", "a message may arrive twice, with `duplicating(n)` up to `n` more times",
         continues=("channel",)),
    Word("lossy", "contextual", "messages may be lost; with `lossy(n)` each at most `n` times in a row",
         continues=("channel",)),
    Word("plays", "contextual"),
    Word("receipt", "contextual"),
    Word("retaining", "contextual", "the old debtor stays bound until the new one ends"),
    Word("returns", "contextual", "`returns taken(stock) if E else refused`: the message by which a record answers, "
         "with values of its variables", continues=("message",)),
    Word("revocable", "contextual", "withdrawing it while active is no violation", continues=("commitment",)),
    Word("sync", "contextual", "every message is one step"),
    Word("to", "contextual"),
    Word("unordered", "contextual", "any number of messages may be under way, in no order"),
    Word("var", "contextual", "a variable of the role; in a block with a key, `var Shop.tries: 0..3 = 0` by key"),
    Word("when", "contextual", continues=("chooses",)),
    Word("with", "contextual"),
    Word("within", "contextual", "`within k`: violated after `k` ticks of being active", continues=("commitment",)),

    Word("bool", "type"),
    Word("id", "open type", "any number of values, which are only copied and compared, such as the numbers of orders"),
    Word("text", "open type", "any number of texts, which are only copied and compared"),
    Word("money", "open type", "`money(USD)`: exact amounts of a currency, which are copied, compared and ordered"),
    Word("decimal", "open type", "`decimal(2)`: decimals with so many places, which are copied, compared and ordered"),
    Word("time", "open type", "points in time, such as `2026-11-19T12:00Z`, which are copied, compared and ordered"),
    Word("duration", "open type", "lengths of time, such as `36 h`, which are copied, compared and ordered"),

    # Steps without a role.
    Word("tick", "step", "`does(tick)`: time passes in the step that the run takes next"),
    Word("idle", "step", "`does(idle)`: nothing happens in the step that the run takes next"),

    # Operators of formulas that are words: not reserved, but only single roles may be called so.
    Word("AG", "prefix", "in every state that can be reached"),
    Word("AF", "prefix", "on every run, some time"),
    Word("EF", "prefix", "on some run, some time: it can come to this"),
    Word("EG", "prefix", "on some run, always"),
    Word("AX", "prefix", "in every next state"),
    Word("EX", "prefix", "in some next state"),
    Word("A", "prefix", "on every run from here"),
    Word("E", "prefix", "on some run from here"),
    Word("G", "prefix", "always, from now on"),
    Word("F", "prefix", "some time, now or later"),
    Word("X", "prefix", "in the next state"),
    Word("H", "prefix", "historically: now and always before on the run"),
    Word("O", "prefix", "once, now or earlier on the run"),
    Word("Y", "prefix", "one step before; false in the first state of the run"),
    Word("forall", "quantifier", "`forall c in Cus: φ`: for every member of the family"),
    Word("exists", "quantifier", "`exists c in Cus: φ`: for some member of the family"),
    Word("U", "infix", "`p U q`: `p` until `q`, and `q` comes"),
    Word("W", "infix", "`p W q`: `p` until `q`, which need not come"),
    Word("R", "infix", "`p R q`: `q` up to and including the state in which `p` holds; forever if none does"),
    Word("M", "infix", "`p M q`: `q` up to and including the state in which `p` holds, and `p` comes"),
    Word("S", "infix", "`p S q`: `p` since `q`"),
    Word("therefore", "infix", "`p therefore q`: an argument, `p & X (p -> q)`"),
    Word("true", "constant"),
    Word("false", "constant"),
    Word("sent", "atom", "`sent(m)`: its sender has sent it"),
    Word("inflight", "atom", "`inflight(m)`: it is under way"),
    Word("terminal", "atom", "no send, receipt or restart is possible"),

    Word("C", "modality", "`C(i -> j, φ)`: `i` has promised `j` something, and `φ` holds in every state in which "
         "exactly these promises are all kept", parameters=(_PARTIES, "φ")),
    Word("Fu", "modality", "`Fu(i -> j, φ)`: `C(i -> j, φ)` holds, and all that `i` has promised `j` is kept",
         parameters=(_PARTIES, "φ")),
    Word("SC", "modality", "`SC(i -> j, φ)`: `i` is bound to `j`, can keep all that binds it, and `φ` holds on every "
         "run that keeps it", parameters=("i -> j", "φ")),
    Word("SCc", "modality", "`SCc(i -> j, τ, φ)`: what `i` promises or offers `j` comes to `φ` on the runs on which "
         "`τ` becomes true", parameters=("i -> j", "τ", "φ")),
    Word("WCC", "modality", "`WCC(i -> j, p, q)`: `i` promises or offers `j` something, and `p` implies `q` in every "
         "state in which all of it is kept or still offered", parameters=(_PARTIES, "p", "q")),
    Word("SCC", "modality", "`SCC(i -> j, p, q)`: `WCC(i -> j, p, q)`, and `p` holds in one of these states",
         parameters=(_PARTIES, "p", "q")),
    Word("FuW", "modality", "`FuW(i -> j, p, q)`: all that `i` has promised `j` is kept, `WCC(i -> j, p, q)` and `q` "
         "hold", parameters=(_PARTIES, "p", "q")),
    Word("FuS", "modality", "`FuS(i -> j, p, q)`: all that `i` has promised `j` is kept, `SCC(i -> j, p, q)` and `p` "
         "hold", parameters=(_PARTIES, "p", "q")),
    Word("CaS", "modality", "`CaS(i -> j, p, q)`: `i` has withdrawn `SCC(i -> j, p, q)` before `p` held",
         parameters=(_PARTIES, "p", "q")),
    Word("ReS", "modality", "`ReS(i -> j, p, q)`: `j` has released `i` from `SCC(i -> j, p, q)` before `p` held",
         parameters=(_PARTIES, "p", "q")),
    Word("DeS", "modality", "`DeS(i -> j, k, p, q)`: `i` has delegated `SCC(i -> j, p, q)`, and `SCC(k -> j, p, q)` "
         "holds", parameters=(_PARTIES, "k or d", "p", "q")),
    Word("AsS", "modality", "`AsS(i -> j, k, p, q)`: `j` has assigned `SCC(i -> j, p, q)`, and `SCC(i -> k, p, q)` "
         "holds", parameters=(_PARTIES, "k or d", "p", "q")),
    Word("K", "modality", "`K(i, φ)`: `i` knows `φ`", parameters=("i", "φ")),
    Word("EK", "modality", "`EK({i, j}, φ)`: everyone of the group knows `φ`", parameters=("{i, j}", "φ")),
    Word("DK", "modality", "`DK({i, j}, φ)`: what they see together tells them `φ`", parameters=("{i, j}", "φ")),
    Word("CK", "modality", "`CK({i, j}, φ)`: `φ` is common knowledge in the group", parameters=("{i, j}", "φ")),
    Word("does", "modality", "`does(…)`: the step that the run takes next is this one",
         parameters=("message, role or operation",)),

    # Built-in checks; elsewhere they may be names.
    Word("sound", "check", 'no message ever performs an operation whose "from" does not hold'),
    Word("live", "check", "every message can be received in some run from some initial state"),
    Word("deadlock_free", "check", "no reachable state in which a commitment is owed and nobody can act any more, "
         "however much time passes"),
    Word("no_debt_forgotten", "check", "no restart takes back a commitment that is owed"),
    Word("no_dangling", "check", "no reachable state in which a commitment is open and nobody can act any more, "
         "however much time passes"),
    Word("fulfillable", "check", "every commitment can be fulfilled in some run"),
    Word("resolvable", "check", "from every reachable state a state without open commitments can be reached"),
    Word("effective", "check", "some run ends with at least one commitment fulfilled and none open"),
    Word("consistent", "check", "no reachable state has two open commitments whose consequents exclude each other"),
    Word("robust", "check", "after any violation, expiry or withdrawal, a state without open commitments stays "
         "reachable"),
    Word("aligned", "check", "whenever nothing is in flight, debtor and creditor see every commitment as it is"),
    Word("no_delegation_loop", "check", "no fair run hands one and the same debt on forever"),
    Word("violable", "check", "every commitment can be violated, expire or be fulfilled at the latest by a deadline"),
    Word("honourable", "check", "whenever a commitment is active, its debtor can bring the consequent about, whatever "
         "others do"),

    Word("ticks", "sign", "`F<=k ticks p`: `p` before more than k ticks have passed; `F[a..b] ticks p`: after a to b"),
    Word("!", "sign", "not"),
    Word("&", "sign", "and"),
    Word("|", "sign", "or; in `choice`, one of these messages"),
    Word("->", "sign", "implies; between roles, from one to the other"),
    Word("<->", "sign", "exactly when"),
    Word("<<", "sign", "`<<i, j>> F φ`: `i` and `j` together can bring it about, whatever the others do"),
    Word(":=", "sign", "becomes"),
    Word("@", "sign", "`goods@Mer`: the state of the commitment as that role sees it"),
)
# fmt: on

# --- derived from the rows


def words_of(*kinds: Kind) -> tuple[str, ...]:
    """Return the words of these kinds in the order of the table."""
    return tuple(word.name for word in WORDS if word.kind in kinds)


WORD: Final = {word.name: word for word in WORDS}
AGENT_ITEMS: Final = frozenset(words_of("agent item"))
CLAUSES: Final = frozenset(words_of("clause"))
FREE_AS_NAMES: Final = frozenset({"channel", "clock", "empower", "record"})
"""Words that begin a declaration only before two roles (`channel`), before `tick`, before roles and `to`, or a name."""
DECLARATIONS: Final = frozenset(words_of("declaration")) - {"cpl", *FREE_AS_NAMES}
"""Words that always begin a declaration; `cpl` does before a number."""
RESERVED: Final = DECLARATIONS | CLAUSES
FORMS: Final = {word.name: word.form for word in WORDS if word.form} | {
    "message": "Sender -> Receiver : name(p: 0..3) after … means …"
}
"""The syntax of each declaration and item of an agent."""
CONTINUATIONS: Final = {
    construct: frozenset(word.name for word in WORDS if construct in word.continues)
    for construct in {construct for word in WORDS for construct in word.continues}
} | {"message": CLAUSES | {"returns", "else"}}
"""Words that continue a complete construct."""
PREFIXES: Final = frozenset(words_of("prefix"))
UNTILS: Final = frozenset(words_of("infix")) - {"therefore"}
"""Path operators between their operands, which bind alike."""
PATH_OPERATORS: Final = frozenset("XFGYOH") | frozenset(words_of("infix"))
"""Operators of path formulas, without path quantifiers."""
OPERATOR_WORDS: Final = frozenset(words_of("prefix", "infix"))
"""Operators that are words, none of them reserved."""
CONTEXTUAL: Final = frozenset((*words_of("contextual", "agent item"), *FREE_AS_NAMES, "cpl", "therefore"))
"""Words with a meaning in one context; elsewhere they may be names."""

MODALITIES: Final = words_of("modality")
PARAMETERS: Final = {word.name: word.parameters for word in WORDS if word.parameters}
BETWEEN_ROLES: Final = {name: len(rest) for name, (first, *rest) in PARAMETERS.items() if first.startswith("i -> j")}
"""Modalities from one role to another, each with the number of its further arguments."""
OF_COMMITMENTS: Final = frozenset(name for name, parameters in PARAMETERS.items() if parameters[0] == _PARTIES)
"""Modalities whose parties may be those of a commitment, by its name."""
EVENTS: Final = ("sent", "inflight")
"""Predicates of messages."""
OWN_STEPS: Final = words_of("step")
"""Steps without a role: the tick and the idle step."""
OPERATORS: Final = frozenset(words_of("prefix", "infix", "modality", "atom"))
"""Names that only single roles may have."""
LITERALS: Final = frozenset(words_of("constant", "quantifier"))
"""Names that nothing may have."""
AGE: Final = "age"
"""The function for the ticks since the creation of a commitment or claim."""

CHECKS: Final = words_of("check")
EVERY_CHECK: Final = (*CHECKS, "in_range")
"""The checks of the language, and the one of assignments, which needs no name in the file."""
USUAL_CHECKS: Final = ("live", "deadlock_free", "no_debt_forgotten", "sound")
"""Checks that are on by default."""
SILENT: Final = "silent"
"""The outcome of a belief that none of its messages is sent."""

NO_USUAL_CHECKS: Final = "none"
"""The word in `check none` that switches off all usual checks."""
