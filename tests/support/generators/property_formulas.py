"""Random formulas in the property language over a random protocol, and both together as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import (
    LIKELY,
    STATES,
    Atom,
    Commitment,
    Declared,
    Plan,
    Writer,
    one_in,
    parenthesised,
    side,
    text_of,
)
from tests.support.generators.protocols import plans, queued_plans, recorded_plans


def instances(declared: Declared) -> list[str]:
    """Return the name of every instance."""
    names = [""]
    for _ in declared.path:
        names = [f"{name},{index}" if name else index for name in names for index in "12"]
    return [f"{declared.name}[{name}]" if name else declared.name for name in names]


def ends(declared: Declared, instance: str) -> tuple[str, str]:
    """Return the names of both roles of an instance."""
    index = instance.partition("[")[2][:1]
    variables = [loop.variable for loop in declared.path if loop.over_roles]
    first, second = (f"Prt[{index}]" if end in variables else end for end in (declared.first, declared.second))
    return first, second


def members(commitment: Commitment, instance: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the debtors and of the creditors of an instance."""
    index = instance.partition("[")[2][:1]
    variables = [loop.variable for loop in commitment.path if loop.over_roles]
    named = {f"Prt[{index}]" for role in commitment.roles if role in variables}
    sides = []
    for roles in (commitment.debtors, commitment.creditors):
        listed = [f"Prt[{index}]" if role in variables else role for role in roles if role != "Prt"]
        if "Prt" in roles:
            listed += [one for one in ("Prt[1]", "Prt[2]") if one not in named]
        sides.append(tuple(listed))
    return sides[0], sides[1]


def _between_groups(draw: st.DrawFn, plan: Plan, commitment: Commitment, instance: str) -> str:
    """Draw a channel with a commitment of groups: from its debtors and sometimes others, to some of its creditors."""
    debtors, creditors = members(commitment, instance)
    if commitment.answerable == "each" and draw(st.booleans()):
        debtors = (draw(st.sampled_from(debtors)),)
    if one_in(draw, 4):
        debtors += tuple(role for role in plan.everything() if role not in (*debtors, *creditors))[:1]
    if draw(st.booleans()):
        creditors = (draw(st.sampled_from(creditors)),)
    return f"{side(debtors)} -> {side(creditors)}"


@st.composite
def formulas(draw: st.DrawFn, plan: Plan, depth: int = 3, *, commitments: bool = False) -> str:
    """Draw a state formula over the instances of a protocol, or one whose outermost operator is about commitments."""
    inner = formulas(plan, depth - 1)
    form = 9 if commitments else draw(st.integers(0, 18)) if depth else 0
    match form:
        case 0 | 1:
            return draw(_atoms(plan))
        case 2:
            return f"!{draw(inner)}"
        case 3:
            return parenthesised(draw(st.sampled_from(["&", "|", "->", "<->"])), (draw(inner), draw(inner)))
        case 4 | 5 | 6:
            quantifier, operator = draw(st.sampled_from("AE")), draw(st.sampled_from("XFGFG"))
            bound = f"<={draw(st.integers(0, 3))}" if operator != "X" and one_in(draw, 4) else ""
            return f"{quantifier}{'' if bound == '' else ' '}{operator}{bound} ({draw(inner)})"
        case 7 | 8:
            operator = draw(st.sampled_from(["U", "U", "W", "R", "M", f"U<={draw(st.integers(0, 3))}"]))
            return f"{draw(st.sampled_from('AE'))}[({draw(inner)}) {operator} ({draw(inner)})]"
        case 9 if plan.commitments:
            return draw(_conditional(plan, inner))
        case 10 | 18 if plan.commitments:
            commitment = draw(st.sampled_from(plan.commitments))
            one = draw(st.sampled_from(instances(commitment)))
            modality = draw(st.sampled_from(["C", "Fu", "SC", "SCc"]))
            pair = " -> ".join(ends(commitment, one))
            if commitment.is_group:
                pair = _between_groups(draw, plan, commitment, one)
                modality = modality if "{" not in pair else modality[:2].replace("SC", "C")
            if modality in ("SC", "SCc"):
                trigger = f"{draw(_atoms(plan))}, " if modality == "SCc" else ""
                return f"{modality}({pair}, {trigger}{draw(st.one_of(inner, paths(plan, min(depth - 1, 1))))})"
            between = draw(st.sampled_from([pair, pair, one]))
            return f"{modality}({between}, {draw(inner)})"
        case 11:
            return f"K({draw(st.sampled_from(plan.everything()))}, {draw(inner)})"
        case 12:
            group = draw(st.lists(st.sampled_from(plan.everything()), min_size=1, max_size=3, unique=True))
            if plan.family and one_in(draw, 4):
                group = [plan.family]
            return f"{draw(st.sampled_from(['EK', 'DK', 'CK']))}({{{', '.join(group)}}}, {draw(inner)})"
        case 13:
            return draw(_quantified(plan)) if plan.family else draw(inner)
        case 14:
            return draw(_games(plan, depth - 1))
        case _:
            along = f"{{{draw(_actions(plan))}}}" if one_in(draw, 4) else ""
            return f"{draw(st.sampled_from('AE'))}{along} ({draw(paths(plan, depth))})"


@st.composite
def _conditional(draw: st.DrawFn, plan: Plan, inner: st.SearchStrategy[str]) -> str:
    """Draw a modality of conditional commitment; one that hands over, where there is something to hand over to."""
    commitment = draw(st.sampled_from(plan.commitments))
    one = draw(st.sampled_from(instances(commitment)))
    debtor, creditor = ends(commitment, one)
    modality = draw(st.sampled_from(["WCC", "WCC", "SCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS"]))
    between = draw(st.sampled_from([f"{debtor} -> {creditor}", one]))
    if commitment.is_group:
        modality, between = draw(st.sampled_from(["WCC", "SCC", "FuW", "FuS", "CaS", "ReS"])), one
    if modality in ("DeS", "AsS"):
        other_parts = []
        for declared in plan.commitments:
            for instance in () if declared.is_group else instances(declared):
                first, second = ends(declared, instance)
                moved, stays = (first, second) if modality == "DeS" else (second, first)
                was, remaining_party = (debtor, creditor) if modality == "DeS" else (creditor, debtor)
                if stays == remaining_party and moved not in (was, remaining_party):
                    other_parts.append(instance if between == one else moved)
        if not other_parts:
            return f"SCC({between}, {draw(inner)}, {draw(inner)})"
        between = f"{between}, {draw(st.sampled_from(other_parts))}"
    return f"{modality}({between}, {draw(inner)}, {draw(inner)})"


@st.composite
def paths(draw: st.DrawFn, plan: Plan, depth: int = 3) -> str:
    """Draw a path formula over the instances of a protocol."""
    inner = paths(plan, depth - 1)
    match draw(st.integers(0, 9)) if depth > 0 else draw(st.integers(0, 1)):
        case 0:
            return draw(formulas(plan, 1)) if one_in(draw, 4) else draw(_atoms(plan))
        case 1:
            return draw(_does(plan))
        case 2:
            return f"!({draw(inner)})"
        case 3:
            operator = draw(st.sampled_from(["&", "|", "->", "<->", "therefore"]))
            return parenthesised(operator, (f"({draw(inner)})", f"({draw(inner)})"))
        case 4 | 5 | 6 | 7:
            operator = draw(st.sampled_from("FGXFGYOH"))
            bound = f"<={draw(st.integers(0, 2))}" if operator in "FG" and one_in(draw, 5) else ""
            return f"{operator}{bound} ({draw(inner)})"
        case _:
            operator = draw(st.sampled_from(["U", "W", "R", "M", "S", f"U<={draw(st.integers(0, 2))}"]))
            return f"(({draw(inner)}) {operator} ({draw(inner)}))"


@st.composite
def _does(draw: st.DrawFn, plan: Plan) -> str:
    """Draw one action: a message, its sending, what a role does, or an operation, most often one that is meant."""
    message = draw(st.sampled_from(plan.messages))
    name = draw(st.sampled_from(instances(message)))
    match draw(st.integers(0, 6)):
        case 6:
            return "does(idle)"
        case 0 | 1:
            return f"does({name})"
        case 2:
            return f"does(send {name})"
        case 3:
            return f"does({draw(st.sampled_from(plan.everything()))})"
        case _:
            commitment = draw(st.sampled_from(plan.commitments))
            verbs = ["create", "create", "release", "fulfill", "fulfill", "withdraw", "delegate", "assign"]
            verb = draw(st.sampled_from([*verbs, "violate", "expire", "reactivate", "refuse", "message fulfill"]))
            return f"does({verb} {draw(st.sampled_from(instances(commitment)))})"


@st.composite
def _actions(draw: st.DrawFn, plan: Plan) -> str:
    """Draw which steps a run may have."""
    one, other = draw(_does(plan)), draw(_does(plan))
    plain = [f"!{one}", one, f"{one} | {other}", f"!({one} & {other})", f"!{one} & !{other}"]
    moving = [f"{one} & !does(idle)", f"!({one}) & !does(idle)", "!does(idle)", "does(idle)", "false & !does(idle)"]
    return draw(st.sampled_from([*plain, *plain, *moving]))


@st.composite
def _games(draw: st.DrawFn, plan: Plan, depth: int) -> str:
    group = draw(st.lists(st.sampled_from(plan.everything()), min_size=1, max_size=2, unique=True))
    if plan.family and one_in(draw, 4):
        group = [plan.family]
    one, other = draw(formulas(plan, depth)), draw(formulas(plan, depth))
    goal = draw(st.sampled_from([f"F ({one})", f"G ({one})", f"X ({one})", f"(({one}) U ({other}))"]))
    return f"<<{', '.join(group)}>> {goal}"


@st.composite
def _atoms(draw: st.DrawFn, plan: Plan) -> str:
    writer = Writer(draw, plan)
    form = draw(st.integers(0, 9))
    if form <= 3:
        message = draw(st.sampled_from(plan.messages))
        name = draw(st.sampled_from(instances(message)))
        if message.parameters and one_in(draw, 2):
            parameter, type_ = draw(st.sampled_from(message.parameters))
            return writer.comparison(f"{name}.{parameter}", type_)
        return draw(st.sampled_from([name, name, f"sent({name})", f"inflight({name})"]))
    if form <= 7:
        commitment = draw(st.sampled_from(plan.commitments))
        name = draw(st.sampled_from(instances(commitment)))
        roles = sum(members(commitment, name), ()) if commitment.is_group else ends(commitment, name)
        view = "@" + draw(st.sampled_from(roles)) if one_in(draw, 3) else ""
        return f"{draw(st.sampled_from((*LIKELY, *STATES)))}({name}{view})"
    plain: list[Atom] = [partial(str, word) for word in ("terminal", "terminal", "true", "false")]
    return draw(st.sampled_from(plain + writer.variable_atoms((), None) + writer.fact_atoms((), None)))()


@st.composite
def _quantified(draw: st.DrawFn, plan: Plan) -> str:
    single = [m for m in plan.messages if len(m.path) == 1 and m.path[0].over_roles]
    if not single:
        return "true"
    message = draw(st.sampled_from(single))
    left, right = draw(st.sampled_from(["AG", "AF", "EF", "EG"])), draw(st.sampled_from(["", "!", "EF ", "EX "]))
    return f"({draw(st.sampled_from(['forall', 'exists']))} q in {plan.family}: {left} ({right}{message.name}[q]))"


@dataclass(frozen=True)
class Sample:
    """A protocol as text, with its properties in it."""

    text: str
    formulas: tuple[str, ...]


@st.composite
def protocols(
    draw: st.DrawFn,
    formula_count: int = 0,
    *,
    commitments: bool = False,
    has_queues: bool = False,
    has_groups: bool = False,
    has_record: bool = False,
) -> Sample:
    """Draw a protocol with properties ``p0``, ``p1``, ... at its end, all about commitments if that is asked."""
    plan = draw(recorded_plans() if has_record else queued_plans() if has_queues else plans(has_groups=has_groups))
    tail, drawn = [], []
    for number in range(formula_count):
        around = draw(st.sampled_from(["", "AG ", "EF ", "!EF ", "EG ", "AF ", "AG EF "]))
        formula = draw(formulas(plan, commitments=commitments))
        formula = f"{around}({formula})" if around else formula
        assumed = draw(st.lists(st.sampled_from(plan.everything()), max_size=2, unique=True))
        assuming = f" assuming {', '.join(assumed)}" if assumed else ""
        if one_in(draw, 8):
            assuming = " assuming all"
        tail.append(f"property p{number}{assuming}: {formula}")
        drawn.append(formula)
    if one_in(draw, 8):
        tail.append(f"fairness {draw(_atoms(plan))}")
    return Sample(text_of(plan, tail), tuple(drawn))


def _laws_of_commitment(draw: st.DrawFn, plan: Plan, one: str, other: str) -> list[str]:
    """Return theorems of every commitment, and the values of `C` and `Fu` in its states."""
    name = draw(st.sampled_from(plan.commitments))
    instance = draw(st.sampled_from(instances(name)))
    between = draw(st.sampled_from([" -> ".join(ends(name, instance)), instance]))
    fulfils, bound = f"Fu({between}, {one})", f"C({between}, true)"

    def commits(body: str) -> str:
        return f"C({between}, {body})"

    of_conditions = [
        f"AG (C({instance}, fulfilled({instance})) <-> C({instance}, true))",
        f"AG (Fu({instance}, fulfilled({instance})) <-> fulfilled({instance}))",
    ]
    return [
        f"AG ({fulfils} -> {commits(one)})",
        f"AG ({fulfils} -> ({one}))",
        f"AG !E[!{commits(one)} U (!{commits(one)} & {fulfils})]",
        f"AG ({commits(f'({one}) -> ({other})')} -> ({commits(one)} -> {commits(other)}))",
        f"AG ({commits(one)} -> {commits(commits(one))})",
        f"AG (!{commits('false')} & {commits(one)} -> !{commits(f'!({one})')})",
        f"AG ({bound} & !{commits(one)} -> {commits(f'!{commits(one)}')})",
        f"AG ({bound} -> {commits(f'({one}) | !({one})')})",
        f"AG (active({instance}) | fulfilled({instance}) -> {bound})",
        *([] if name.is_about_runs else of_conditions),
        f"AG (conditional({instance}) | violated({instance}) -> !C({instance}, true))",
    ]


def _laws_of_social_commitment(draw: st.DrawFn, plan: Plan) -> list[str]:
    """Return what holds of what every debtor's word comes to."""
    name = draw(st.sampled_from(plan.commitments))
    between = ends(name, draw(st.sampled_from(instances(name))))
    pair = " -> ".join(between)
    open_ones = [
        f"active({one}) | pending({one})"
        for declared in plan.commitments
        for one in instances(declared)
        if ends(declared, one) == between
    ]
    one, other, trigger = draw(paths(plan, 1)), draw(paths(plan, 1)), draw(_atoms(plan))

    def commits(body: str) -> str:
        return f"SC({pair}, {body})"

    def offers(body: str) -> str:
        return f"SCc({pair}, {trigger}, {body})"

    return [
        f"AG !({commits(one)} & {commits(f'!({one})')})",
        f"AG ({commits(f'({one}) & ({other})')} <-> {commits(one)} & {commits(other)})",
        f"AG ({commits(f'({one}) -> ({other})')} & {commits(one)} -> {commits(other)})",
        f"AG ({commits(one)} -> {commits(commits(one))})",
        f"AG ({commits(one)} -> {commits('true')})",
        f"AG ({commits('true')} -> {' | '.join(open_ones)})",
        f"AG ({commits('true')} & A ({one}) -> {commits(one)})",
        f"AG ({commits(one)} -> E ({one}))",
        f"AG !({offers(one)} & {offers(f'!({one})')})",
        f"AG ({offers(f'({one}) & ({other})')} <-> {offers(one)} & {offers(other)})",
        f"AG ({offers(one)} -> {offers(f'F ({trigger})')})",
        f"AG ({commits(one)} & {offers('true')} -> {offers(one)})",
    ]


@st.composite
def social_validities(draw: st.DrawFn) -> Sample:
    """Draw a protocol with properties that every social commitment has."""
    plan = draw(plans().filter(lambda plan: bool(plan.commitments)))
    drawn = draw(st.lists(st.sampled_from(_laws_of_social_commitment(draw, plan)), min_size=3, max_size=3, unique=True))
    tail = [f"property p{number}: {formula}" for number, formula in enumerate(drawn)]
    if one_in(draw, 4):
        tail.append(f"fairness {draw(_atoms(plan))}")
    return Sample(text_of(plan, tail), tuple(drawn))


@st.composite
def group_validities(draw: st.DrawFn) -> Sample:
    """Draw a protocol with laws of the channels between groups."""
    plan = draw(plans(has_groups=True))
    commitment = draw(st.sampled_from([one for one in plan.commitments if one.is_group]))
    instance = draw(st.sampled_from(instances(commitment)))
    debtors, creditors = members(commitment, instance)
    some_creditors = draw(st.lists(st.sampled_from(creditors), min_size=1, unique=True))
    outside = [role for role in plan.everything() if role not in (*debtors, *creditors)]
    more_debtors = (*debtors, *draw(st.lists(st.sampled_from(outside), unique=True) if outside else st.just([])))
    body = draw(formulas(plan, 1))

    def commits(by: Sequence[str], to: Sequence[str], content: str = "true") -> str:
        return f"C({side(by)} -> {side(to)}, {content})"

    drawn = [
        f"AG (active({instance}) | fulfilled({instance}) -> {commits(debtors, creditors)})",
        f"AG ({commits(debtors, creditors, body)} -> {commits(more_debtors, creditors, body)})",
        f"AG ({commits(debtors, creditors, body)} -> {commits(debtors, some_creditors, body)})",
    ]
    if commitment.answerable == "each":
        one = draw(st.sampled_from(debtors))
        drawn.append(f"AG (active({instance}) -> {commits((one,), some_creditors)})")
    tail = [f"property p{number}: {formula}" for number, formula in enumerate(drawn)]
    return Sample(text_of(plan, tail), tuple(drawn))


@st.composite
def conditional_validities(draw: st.DrawFn) -> Sample:
    """Draw a protocol with laws of conditional commitment, which hold of every protocol whatever."""
    plan = draw(plans().filter(lambda plan: bool(plan.commitments)))
    p, q = draw(formulas(plan, 1)), draw(formulas(plan, 1))
    name = draw(st.sampled_from(plan.commitments))
    instance = draw(st.sampled_from(instances(name)))
    between = draw(st.sampled_from([" -> ".join(ends(name, instance)), instance]))

    def asked(modality: str) -> str:
        return f"{modality}({between}, {p}, {q})"

    drawn = [
        f"AG ({asked('SCC')} -> {asked('WCC')})",
        f"AG ({asked('FuS')} -> {asked('SCC')} & {asked('FuW')} & ({q}))",
        f"AG ({asked('FuW')} -> {asked('WCC')} & Fu({between}, true))",
        f"AG (C({between}, true) -> WCC({between}, {p}, true) & WCC({between}, false, {q}))",
        f"AG !SCC({between}, false, {q})",
        f"AG ({asked('ReS')} | {asked('CaS')} -> !({p}) & !{asked('SCC')})",
        f"AG (conditional({instance}) -> "
        f"WCC({instance}, !(conditional({instance}) | pending({instance})), C({instance}, true)))",
        f"AG (!conditional({instance}) & !pending({instance}) & C({instance}, true) -> "
        f"(WCC({instance}, {p}, {q}) <-> C({instance}, ({p}) -> ({q}))))",
        f"AG (ReS({instance}, {p}, {q}) -> released({instance}))",
        f"AG (CaS({instance}, {p}, {q}) -> withdrawn({instance}))",
    ]
    tail = [f"property p{number}: {formula}" for number, formula in enumerate(drawn)]
    return Sample(text_of(plan, tail), tuple(drawn))


@st.composite
def strategic_protocols(draw: st.DrawFn) -> Sample:
    """Draw a protocol with properties about strategies of groups, initially or in all states with a condition."""
    plan = draw(plans())
    tail, drawn = [], []
    for number in range(3):
        condition, depth = draw(_atoms(plan)), draw(st.sampled_from((0, 0, 1)))
        around = draw(
            st.sampled_from(["", f"AG (({condition}) -> ", f"AG (({condition}) -> ", f"EF (({condition}) & "])
        )
        formula = f"{around}{draw(_games(plan, depth))}{')' if around else ''}"
        assuming = f" assuming {draw(st.sampled_from(plan.everything()))}" if one_in(draw, 3) else ""
        tail.append(f"property p{number}{assuming}: {formula}")
        drawn.append(formula)
    return Sample(text_of(plan, tail), tuple(drawn))


@st.composite
def validities(draw: st.DrawFn) -> Sample:
    """Draw a protocol with properties that hold of every protocol whatever."""
    plan = draw(plans())
    one, other = draw(formulas(plan, 1)), draw(formulas(plan, 1))
    role = draw(st.sampled_from(plan.everything()))

    def knows(body: str) -> str:
        return f"K({role}, {body})"

    drawn = [
        *(_laws_of_commitment(draw, plan, one, other) if plan.commitments else ()),
        f"AG ({knows(one)} -> ({one}))",
        f"AG ({knows(one)} -> {knows(knows(one))})",
        f"AG (!{knows(one)} -> {knows(f'!{knows(one)}')})",
        f"AG ({knows(f'({one}) -> ({other})')} -> ({knows(one)} -> {knows(other)}))",
    ]
    tail = [f"property p{number}: {formula}" for number, formula in enumerate(drawn)]
    return Sample(text_of(plan, tail), tuple(drawn))
