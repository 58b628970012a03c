"""Reference implementation of CCS and GCTL* of the Concurrency Workbench: parser, semantics and bisimulation.

Transitions follow the structural operational semantics of CCS. Equivalence is branching bisimulation by partition
refinement, which is finer than weak bisimulation. The tableau of `path_tableau.py` decides formulas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tests.support.oracles import path_tableau as tableau

TAU = "t"

# --- agents


@dataclass(frozen=True)
class Nil:
    pass


@dataclass(frozen=True)
class Ref:
    name: str


@dataclass(frozen=True)
class Prefix:
    action: str
    after: Agent


@dataclass(frozen=True)
class Sum:
    operands: tuple[Agent, ...]


@dataclass(frozen=True)
class Par:
    operands: tuple[Agent, ...]


@dataclass(frozen=True)
class Restrict:
    operand: Agent
    actions: frozenset[str]


Agent = Nil | Ref | Prefix | Sum | Par | Restrict

_TOKEN = re.compile(r"\s+|\*[^\n]*|('?[a-zA-Z][a-zA-Z0-9'_-]*|/\\|\\/|->|[=.+|\\(){},\[\]<>~])")


def tokens(text: str) -> list[str]:
    """Return the tokens; other characters are an error. A star begins a comment."""
    result: list[str] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        assert match, f"no token at {text[place : place + 30]!r}"
        if match[1]:
            result.append(match[1])
        place = match.end()
    return result


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._place = 0

    @property
    def next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.next
        assert token, "the text ends too soon"
        assert not expected or token in expected, f"{token!r} instead of {expected}"
        self._place += 1
        return token

    def accept(self, token: str) -> bool:
        if self.next != token:
            return False
        self._place += 1
        return True

    def name(self) -> str:
        token = self.take()
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9'_-]*", token), f"{token!r} is no name"
        return token

    def names(self, end: str) -> frozenset[str]:
        names: set[str] = set()
        while not self.accept(end):
            names.add(self.name())
            assert self.next in (",", end)
            self.accept(",")
        return frozenset(names)


class _Ccs(_Reader):
    """Operators by increasing precedence: ``+``, ``|``, ``\\``, ``.``."""

    def declarations(self) -> tuple[dict[str, Agent], dict[str, frozenset[str]]]:
        agents: dict[str, Agent] = {}
        sets: dict[str, frozenset[str]] = {}
        while self.next:
            kind, name = self.take("proc", "set"), self.name()
            assert name not in agents and name not in sets, f"{name} is declared twice"  # noqa: PT018
            self.take("=")
            if kind == "proc":
                agents[name] = self._sum()
            else:
                self.take("{")
                sets[name] = self.names("}")
        return agents, sets

    def _sum(self) -> Agent:
        operands = [self._par()]
        while self.accept("+"):
            operands.append(self._par())
        return operands[0] if len(operands) == 1 else Sum(tuple(operands))

    def _par(self) -> Agent:
        operands = [self._restricted()]
        while self.accept("|"):
            operands.append(self._restricted())
        return operands[0] if len(operands) == 1 else Par(tuple(operands))

    def _restricted(self) -> Agent:
        agent = self._prefixed()
        while self.accept("\\"):
            agent = Restrict(agent, self.names("}") if self.accept("{") else frozenset({f"set {self.name()}"}))
        return agent

    def _prefixed(self) -> Agent:
        if self.accept("("):
            agent = self._sum()
            self.take(")")
            return agent
        token = self.take()
        if self.accept("."):
            return Prefix(token, self._prefixed())
        assert not token.startswith("'"), f"an action with nothing after it: {token}"
        return Nil() if token == "nil" else Ref(token)


# --- the rules

State = Hashable
Moves = Mapping[State, tuple[tuple[str, State], ...]]


class Ccs:
    """Declarations of one file."""

    def __init__(self, text: str) -> None:
        self.agents, self._sets = _Ccs(text).declarations()
        self._known: dict[Agent, tuple[tuple[str, Agent], ...]] = {}

    def reachable(self, name: str, max_states: int = 100_000) -> Moves:
        transitions: dict[State, tuple[tuple[str, State], ...]] = {}
        waiting: list[Agent] = [Ref(name)]
        while waiting:
            agent = waiting.pop()
            if agent not in transitions:
                moves = tuple(dict.fromkeys(self._moves(agent)))
                transitions[agent] = moves
                waiting.extend(after for _, after in moves)
                assert len(transitions) <= max_states
        return transitions

    def moves(self, agent: Agent) -> tuple[tuple[str, Agent], ...]:
        if agent not in self._known:
            self._known[agent] = tuple(self._moves(agent))
        return self._known[agent]

    def _moves(self, agent: Agent) -> Iterator[tuple[str, Agent]]:
        match agent:
            case Nil():
                pass
            case Ref(name):
                yield from self.moves(self.agents[name])
            case Prefix(action, after):
                yield action, after
            case Sum(operands):
                for operand in operands:
                    yield from self.moves(operand)
            case Restrict(operand, actions):
                hidden = frozenset().union(*(self._set(name) for name in actions))
                for action, after in self._moves(operand):
                    if action.removeprefix("'") not in hidden:
                        yield action, Restrict(after, actions)
            case Par(operands):
                yield from self._interleavings(operands)

    def _set(self, name: str) -> frozenset[str]:
        return self._sets[name.removeprefix("set ")] if name.startswith("set ") else frozenset({name})

    def _interleavings(self, operands: tuple[Agent, ...]) -> Iterator[tuple[str, Agent]]:
        offered: dict[str, list[tuple[int, Agent]]] = {}
        for place, operand in enumerate(operands):
            for action, after in self.moves(operand):
                offered.setdefault(action, []).append((place, after))
        for action, sides in offered.items():
            for place, after in sides:
                yield action, Par((*operands[:place], after, *operands[place + 1 :]))
            if action != TAU and not action.startswith("'"):
                for place, after in sides:
                    for other, then in offered.get(f"'{action}", ()):
                        if other != place:
                            changed = list(operands)
                            changed[place], changed[other] = after, then
                            yield TAU, Par(tuple(changed))


# --- what behaves alike


def branching_bisimilar(moves: Moves, first: State, second: State) -> bool:
    """Tell whether two states of one graph are branching bisimilar."""
    block = dict.fromkeys(moves, 0)
    number = 1
    while True:
        before: dict[State, list[State]] = {state: [] for state in moves}
        signatures: dict[State, set[tuple[str, int]]] = {}
        for state, steps in moves.items():
            signature: set[tuple[str, int]] = set()
            for action, after in steps:
                if action == TAU and block[after] == block[state]:
                    before[after].append(state)
                else:
                    signature.add((action, block[after]))
            signatures[state] = signature
        waiting = list(moves)
        while waiting:  # what can be seen after silent moves within a block can be seen before
            state = waiting.pop()
            for earlier in before[state]:
                if not signatures[state] <= signatures[earlier]:
                    signatures[earlier] |= signatures[state]
                    waiting.append(earlier)
        names: dict[tuple[int, frozenset[tuple[str, int]]], int] = {}
        block = {state: names.setdefault((block[state], frozenset(signatures[state])), len(names)) for state in moves}
        if len(names) == number:
            return block[first] == block[second]
        number = len(names)


# --- formulas


@dataclass(frozen=True)
class Node:
    """A formula: an operator and its operands."""

    word: str
    operands: tuple[Node, ...] = ()
    actions: frozenset[str] = frozenset()
    name: str = ""


class _Gctl(_Reader):
    """Operators by increasing precedence: ``->``, ``\\/``, ``/\\``, ``U W R``, prefix operators."""

    def declarations(self) -> dict[str, Node]:
        formulas: dict[str, Node] = {}
        while self.next:
            self.take("prop")
            name = self.name()
            self.take("=")
            assert name not in formulas, f"{name} is declared twice"
            formulas[name] = self._implication()
        return formulas

    def _implication(self) -> Node:
        left = self._disjunction()
        return Node("->", (left, self._implication())) if self.accept("->") else left

    def _disjunction(self) -> Node:
        disjunction = self._conjunction()
        while self.accept("\\/"):
            disjunction = Node("\\/", (disjunction, self._conjunction()))
        return disjunction

    def _conjunction(self) -> Node:
        conjunction = self._until()
        while self.accept("/\\"):
            conjunction = Node("/\\", (conjunction, self._until()))
        return conjunction

    def _until(self) -> Node:
        left = self._simple()
        return Node(self.take(), (left, self._until())) if self.next in ("U", "W", "R") else left

    def _simple(self) -> Node:
        match self.take():
            case "(":
                formula = self._implication()
                self.take(")")
                return formula
            case "<":
                actions = self.names(">")
                return Node("<>", (self._simple(),), actions)
            case "{":
                return Node("{}", actions=self.names("}"))
            case "~":
                self.take("{")
                return Node("~{}", actions=self.names("}"))
            case "not" | "A" | "E" | "G" | "F" | "X" as word:
                return Node(word, (self._simple(),))
            case "tt" | "ff" as word:
                return Node(word)
            case name:
                assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9'_-]*", name), f"{name!r} is no name"
                return Node("name", name=name)


class Gctl:
    """Formulas of one file over one graph."""

    def __init__(self, text: str, moves: Moves) -> None:
        self.formulas = _Gctl(text).declarations()
        self._graph = {state: steps or ((None, state),) for state, steps in moves.items()}
        self._known: dict[Node, frozenset[State]] = {}

    @cached_property
    def _runs(self) -> tableau.Runs[State, str | None]:
        return tableau.Runs(self._graph, (), ())

    def satisfying(self, name: str) -> frozenset[State]:
        return self._where(self.formulas[name])

    def _where(self, formula: Node) -> frozenset[State]:
        if formula not in self._known:
            self._known[formula] = self._evaluated(formula)
        return self._known[formula]

    def _evaluated(self, formula: Node) -> frozenset[State]:
        everywhere = frozenset(self._graph)
        match formula.word, formula.operands:
            case "tt", _:
                return everywhere
            case "ff", _:
                return frozenset()
            case "name", _:
                return self.satisfying(formula.name)
            case "not", (operand,):
                return everywhere - self._where(operand)
            case "/\\", (left, right):
                return self._where(left) & self._where(right)
            case "\\/", (left, right):
                return self._where(left) | self._where(right)
            case "->", (left, right):
                return (everywhere - self._where(left)) | self._where(right)
            case "<>", (operand,):
                goal = self._where(operand)
                return frozenset(
                    s for s, m in self._graph.items() if any(a in formula.actions and t in goal for a, t in m)
                )
            case "E", (path,):
                return self._runs.satisfying(self._path(path), _sees)
            case "A", (path,):
                return everywhere - self._runs.satisfying(tableau.no(self._path(path)), _sees)
            case word, _:
                raise AssertionError(f"{word} does not speak of a state")

    def _path(self, formula: Node) -> tableau.Path:
        if _is_state_formula(formula):
            return tableau.Seen(("in", self._where(formula)))
        binary: dict[str, Callable[[tableau.Path, tableau.Path], tableau.Path]] = {
            "/\\": tableau.Both,
            "\\/": lambda left, right: tableau.some((left, right)),
            "->": tableau.implies,
            "U": tableau.until,
            "W": tableau.weak_until,
            "R": tableau.release,
        }
        match formula.word, formula.operands:
            case "{}", _:
                return tableau.Seen(("by", formula.actions))
            case "~{}", _:
                return tableau.no(tableau.Seen(("by", formula.actions)))
            case "X", (operand,):
                return tableau.Next(self._path(operand))
            case "F", (operand,):
                return tableau.eventually(self._path(operand))
            case "G", (operand,):
                return tableau.globally(self._path(operand))
            case word, (left, right) if word in binary:
                return binary[word](self._path(left), self._path(right))
            case word, _:
                raise AssertionError(f"{word} is not a path formula")


def _sees(what: Hashable, state: State, action: str | None) -> bool:
    assert isinstance(what, tuple)
    kind, members = what
    return (state if kind == "in" else action) in members


def _is_state_formula(formula: Node) -> bool:
    if formula.word in ("A", "E", "<>", "name", "tt", "ff"):
        return True
    return formula.word in ("not", "/\\", "\\/", "->") and all(map(_is_state_formula, formula.operands))


def size(formula: Node) -> int:
    """Return the maximum number of temporal operators of a path formula; its tableau is exponential in this."""
    here = formula.word in "XFGUWR"
    if formula.word in ("A", "E"):
        return max(_max_nesting(operand) for operand in formula.operands)
    return here + sum(map(size, formula.operands))


def _max_nesting(formula: Node) -> int:
    inner = [_max_nesting(operand) for operand in formula.operands if operand.word in ("A", "E")]
    outer = (formula.word in "XFGUWR") + sum(_max_nesting(o) for o in formula.operands if o.word not in ("A", "E"))
    return max([outer, *inner])
