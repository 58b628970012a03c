"""Explanations of the words and operators of the language; a test keeps them complete."""

from __future__ import annotations

from typing import Final

from cplc.language.lifecycle import CLAIM_VERBS, PARTIES, VERBS
from cplc.language.lifecycle_texts import STATE_MEANINGS, operation_rows
from cplc.semantics.builtin_words import NO_USUAL_CHECKS, USUAL_CHECKS

CLAUSES: Final[dict[str, str]] = {
    "after": "`after E`: may be sent only when `E` holds, as far as the sender sees it.",
    "unless": "`unless E`: may not be sent when `E` holds.",
    "if": "`if E`: may be sent only when `E` holds.",
    "means": "`means op, op`: operations on commitments and claims, performed when the message takes effect.",
    "set": "`set x := e`: assigns to the sender's own variables, on sending.",
    "on": "`on receipt x := e`: assigns to the receiver's own variables, on receipt.",
    "resets": "`resets m`: clears these messages between the same two roles when it takes effect.",
    "restart": "`restart`: ends the round of the `for` instance, part or protocol it stands in.",
    "repeatable": "`repeatable`: may be sent again once it has been received.",
}

DECLARATIONS: Final[dict[str, str]] = {
    "cpl": "The version of the language that the file is written in, before everything else.",
    "import": "Makes what another file declares available.",
    "protocol": "Who takes part, what they may say, and what is promised thereby.",
    "role": "A participant, or a family of them; `var` gives it variables of its own.",
    "choice": "At most one of these messages is sent in a round. All have the same sender.",
    "fact": "A name for a condition over messages, variables and lifecycle states.",
    "commitment": "`C(debtor, creditor, antecedent, consequent)`: once the antecedent holds, the debtor owes the "
    "creditor the consequent.",
    "channel": "Lets any number of messages be under way from one role to another, in no order.",
    "for": "Declares a family of everything inside.",
    "use": "Composes another protocol in: its roles are bound to ours.",
    "define": "A macro for formulas.",
    "property": "A formula that is to hold, or with `expect fails` not to hold, in every initial state.",
    "check": "Built-in checks of the whole protocol.",
    "fairness": "A condition that holds infinitely often on every run considered.",
    "claim": "What one role says to another: that its content is so. It is challenged, justified, accepted …",
    "agent": "A participant with goals, values and beliefs, who plays a role.",
    "analyze": "What an agent stands to gain or lose, and how probably.",
}

OPERATORS: Final[dict[str, str]] = {
    "A": "on every run from here",
    "E": "on some run from here",
    "X": "in the next state",
    "F": "some time, now or later",
    "G": "always, from now on",
    "U": "`p U q`: `p` until `q`, and `q` comes",
    "W": "`p W q`: `p` until `q`, which need not come",
    "R": "`p R q`: `q` up to and including the state in which `p` holds; forever if none does",
    "Y": "one step before; false in the first state of the run",
    "O": "once, now or earlier on the run",
    "H": "historically: now and always before on the run",
    "S": "`p S q`: `p` since `q`",
    "AX": "in every next state",
    "EX": "in some next state",
    "AF": "on every run, some time",
    "EF": "on some run, some time: it can come to this",
    "AG": "in every state that can be reached",
    "EG": "on some run, always",
    "therefore": "`p therefore q`: an argument, `p & X (p -> q)`",
    "does": "`does(…)`: the step that the run takes next is this one",
    "terminal": "no send, receipt or restart is possible",
    "sent": "`sent(m)`: its sender has sent it",
    "inflight": "`inflight(m)`: it is under way",
    "forall": "`forall c in Cus: φ`: for every member of the family",
    "exists": "`exists c in Cus: φ`: for some member of the family",
    "C": "`C(i -> j, φ)`: `i` has promised `j` something, and `φ` holds wherever exactly these promises are all kept",
    "Fu": "`Fu(i -> j, φ)`: `C(i -> j, φ)` holds, and all that `i` has promised `j` is kept",
    "WCC": "`WCC(i -> j, p, q)`: `i` promises or offers `j` something, and `p` implies `q` wherever all of it is kept "
    "or still offered",
    "SCC": "`SCC(i -> j, p, q)`: `WCC(i -> j, p, q)`, and `p` holds somewhere there",
    "FuW": "`FuW(i -> j, p, q)`: all that `i` has promised `j` is kept, `WCC(i -> j, p, q)` and `q` hold",
    "FuS": "`FuS(i -> j, p, q)`: all that `i` has promised `j` is kept, `SCC(i -> j, p, q)` and `p` hold",
    "CaS": "`CaS(i -> j, p, q)`: `i` has withdrawn `SCC(i -> j, p, q)` before `p` held",
    "ReS": "`ReS(i -> j, p, q)`: `j` has released `i` from `SCC(i -> j, p, q)` before `p` held",
    "DeS": "`DeS(i -> j, k, p, q)`: `i` has delegated `SCC(i -> j, p, q)`, and `SCC(k -> j, p, q)` holds",
    "AsS": "`AsS(i -> j, k, p, q)`: `j` has assigned `SCC(i -> j, p, q)`, and `SCC(i -> k, p, q)` holds",
    "SC": "`SC(i -> j, φ)`: `i` is bound to `j`, can keep all that binds it, and `φ` is so on every run that keeps it",
    "SCc": "`SCc(i -> j, τ, φ)`: what `i` promises or offers `j` comes to `φ` on the runs on which `τ` becomes true",
    "K": "`K(i, φ)`: `i` knows `φ`",
    "EK": "`EK({i, j}, φ)`: everyone of the group knows `φ`",
    "DK": "`DK({i, j}, φ)`: what they see together tells them `φ`",
    "CK": "`CK({i, j}, φ)`: `φ` is common knowledge in the group",
}

SIGNS: Final[dict[str, str]] = {
    "ticks": "`F<=k ticks p`: `p` before more than k ticks have passed; for what commitments promise",
    "!": "not",
    "&": "and",
    "|": "or; in `choice`, one of these messages",
    "->": "implies; between roles, from one to the other",
    "<->": "exactly when",
    "<<": "`<<i, j>> F φ`: `i` and `j` together can bring it about, whatever the others do",
    ":=": "becomes",
    "@": "`goods@Mer`: the state of the commitment as that role sees it",
}

CONTEXTUAL: Final[dict[str, str]] = {
    "all": "every role",
    "as": "the name by which it is known here",
    "assuming": "roles assumed to make progress (fairness): they do not withhold an enabled message forever",
    "expect": "what the verdict ought to be",
    "idle": "`does(idle)`: nothing happens in the step that the run takes next",
    "tick": "`does(tick)`: time passes in the step that the run takes next",
    "expires": "`expires k`: expired after `k` ticks of being conditional",
    "holds": "the formula holds in every initial state",
    "fails": "the formula does not hold in every initial state",
    "within": "`within k`: violated after `k` ticks of being active",
    "revocable": "withdrawing it while active is no violation",
    "retaining": "the old debtor stays bound until the new one ends",
    "sync": "every message is one step",
    "unordered": "any number of messages may be under way, in no order",
    "var": "a variable of the role",
}


def meaning(word: str) -> str | None:
    """Return the explanation of a word or operator, as Markdown."""
    for group in (CLAUSES, DECLARATIONS, CONTEXTUAL):
        if word in group:
            return group[word]
    if (explanation := OPERATORS.get(word) or SIGNS.get(word)) is not None:
        return explanation if explanation.startswith("`") else f"`{word}`: {explanation}"
    if word in STATE_MEANINGS:
        return f"`{word}(c)`: {STATE_MEANINGS[word]}"
    if word in VERBS or word in CLAIM_VERBS:
        return operation_meaning(word)
    return check_meaning(word)


def check_meaning(name: str) -> str | None:
    """Return the explanation of a built-in check, or of `none` in its place."""
    if name == NO_USUAL_CHECKS:
        usual = ", ".join(f"`{one}`" for one in USUAL_CHECKS)
        return f"`check {name}`: the usual checks ({usual}) are not asked, but for those that the file names"
    from cplc.checking.builtin_checks import CHECKS

    return f"`check {name}`: {CHECKS[name].description}" if name in CHECKS else None


def operation_meaning(verb: str) -> str:
    """Return the performer, source states and target state of an operation, as a table."""
    rows = [
        f"| `{row.operation}` of a {of} | {row.by} | {row.source} | {row.target} |"
        for of in PARTIES
        for row in operation_rows(verb, of)
    ]
    return "\n".join(("| Operation | By | From | To |", "| --- | --- | --- | --- |", *rows))
