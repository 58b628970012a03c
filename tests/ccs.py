"""An independent reader of CCS and GCTL* as the Concurrency Workbench takes them: grammar, rules, and what is the same.

Processes move by the rules of the book, weak behaviour is compared by refining partitions (of branching bisimulation,
which is finer than the weak one), and formulas go to the tableau of `tests/naive_paths.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tests import naive_paths as way

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
    """Return the tokens; what is none of them is an error. A star begins a comment."""
    found: list[str] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        assert match, f"no token at {text[place : place + 30]!r}"
        if match[1]:
            found.append(match[1])
        place = match.end()
    return found


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
        found: set[str] = set()
        while not self.accept(end):
            found.add(self.name())
            assert self.next in (",", end)
            self.accept(",")
        return frozenset(found)


class _Ccs(_Reader):
    """From the loosest: ``+``, ``|``, ``\\``, ``.``."""

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
        found = self._prefixed()
        while self.accept("\\"):
            found = Restrict(found, self.names("}") if self.accept("{") else frozenset({f"set {self.name()}"}))
        return found

    def _prefixed(self) -> Agent:
        if self.accept("("):
            found = self._sum()
            self.take(")")
            return found
        token = self.take()
        if self.accept("."):
            return Prefix(token, self._prefixed())
        assert not token.startswith("'"), f"an action with nothing after it: {token}"
        return Nil() if token == "nil" else Ref(token)


# --- the rules

State = Hashable
Moves = Mapping[State, tuple[tuple[str, State], ...]]


class Ccs:
    """The declarations of one file."""

    def __init__(self, text: str) -> None:
        self.agents, self._sets = _Ccs(text).declarations()
        self._known: dict[Agent, tuple[tuple[str, Agent], ...]] = {}

    def reachable(self, name: str, most: int = 100_000) -> Moves:
        found: dict[State, tuple[tuple[str, State], ...]] = {}
        waiting: list[Agent] = [Ref(name)]
        while waiting:
            agent = waiting.pop()
            if agent not in found:
                moves = tuple(dict.fromkeys(self._moves(agent)))
                found[agent] = moves
                waiting.extend(after for _, after in moves)
                assert len(found) <= most
        return found

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
                yield from self._together(operands)

    def _set(self, name: str) -> frozenset[str]:
        return self._sets[name.removeprefix("set ")] if name.startswith("set ") else frozenset({name})

    def _together(self, operands: tuple[Agent, ...]) -> Iterator[tuple[str, Agent]]:
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
    """Whether two states of one graph cannot be told apart by what can be seen, now or ever."""
    block = dict.fromkeys(moves, 0)
    number = 1
    while True:
        before: dict[State, list[State]] = {state: [] for state in moves}
        seen: dict[State, set[tuple[str, int]]] = {}
        for state, steps in moves.items():
            found: set[tuple[str, int]] = set()
            for action, after in steps:
                if action == TAU and block[after] == block[state]:
                    before[after].append(state)
                else:
                    found.add((action, block[after]))
            seen[state] = found
        waiting = list(moves)
        while waiting:  # what can be seen after silent moves within a block can be seen before
            state = waiting.pop()
            for earlier in before[state]:
                if not seen[state] <= seen[earlier]:
                    seen[earlier] |= seen[state]
                    waiting.append(earlier)
        names: dict[tuple[int, frozenset[tuple[str, int]]], int] = {}
        block = {state: names.setdefault((block[state], frozenset(seen[state])), len(names)) for state in moves}
        if len(names) == number:
            return block[first] == block[second]
        number = len(names)


# --- formulas


@dataclass(frozen=True)
class Is:
    """A formula: an operator and its operands."""

    word: str
    operands: tuple[Is, ...] = ()
    actions: frozenset[str] = frozenset()
    name: str = ""


class _Gctl(_Reader):
    """From the loosest: ``->``, ``\\/``, ``/\\``, ``U W R``, and what stands before a formula."""

    def declarations(self) -> dict[str, Is]:
        found: dict[str, Is] = {}
        while self.next:
            self.take("prop")
            name = self.name()
            self.take("=")
            assert name not in found, f"{name} is declared twice"
            found[name] = self._implication()
        return found

    def _implication(self) -> Is:
        left = self._either()
        return Is("->", (left, self._implication())) if self.accept("->") else left

    def _either(self) -> Is:
        found = self._both()
        while self.accept("\\/"):
            found = Is("\\/", (found, self._both()))
        return found

    def _both(self) -> Is:
        found = self._until()
        while self.accept("/\\"):
            found = Is("/\\", (found, self._until()))
        return found

    def _until(self) -> Is:
        left = self._simple()
        return Is(self.take(), (left, self._until())) if self.next in ("U", "W", "R") else left

    def _simple(self) -> Is:
        match self.take():
            case "(":
                found = self._implication()
                self.take(")")
                return found
            case "<":
                actions = self.names(">")
                return Is("<>", (self._simple(),), actions)
            case "{":
                return Is("{}", actions=self.names("}"))
            case "~":
                self.take("{")
                return Is("~{}", actions=self.names("}"))
            case "not" | "A" | "E" | "G" | "F" | "X" as word:
                return Is(word, (self._simple(),))
            case "tt" | "ff" as word:
                return Is(word)
            case name:
                assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9'_-]*", name), f"{name!r} is no name"
                return Is("name", name=name)


class Gctl:
    """The formulas of one file on one graph."""

    def __init__(self, text: str, moves: Moves) -> None:
        self.formulas = _Gctl(text).declarations()
        self._graph = {state: steps or ((None, state),) for state, steps in moves.items()}
        self._known: dict[Is, frozenset[State]] = {}

    @cached_property
    def _runs(self) -> way.Runs[State, str | None]:
        return way.Runs(self._graph, (), ())

    def satisfying(self, name: str) -> frozenset[State]:
        return self._where(self.formulas[name])

    def _where(self, formula: Is) -> frozenset[State]:
        if formula not in self._known:
            self._known[formula] = self._evaluated(formula)
        return self._known[formula]

    def _evaluated(self, formula: Is) -> frozenset[State]:
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
                return everywhere - self._runs.satisfying(way.no(self._path(path)), _sees)
            case word, _:
                raise AssertionError(f"{word} does not speak of a state")

    def _path(self, formula: Is) -> way.Path:
        if _is_state_formula(formula):
            return way.Seen(("in", self._where(formula)))
        binary: dict[str, Callable[[way.Path, way.Path], way.Path]] = {
            "/\\": way.Both,
            "\\/": lambda left, right: way.some((left, right)),
            "->": way.implies,
            "U": way.until,
            "W": way.weak_until,
            "R": way.release,
        }
        match formula.word, formula.operands:
            case "{}", _:
                return way.Seen(("by", formula.actions))
            case "~{}", _:
                return way.no(way.Seen(("by", formula.actions)))
            case "X", (operand,):
                return way.Next(self._path(operand))
            case "F", (operand,):
                return way.eventually(self._path(operand))
            case "G", (operand,):
                return way.globally(self._path(operand))
            case word, (left, right) if word in binary:
                return binary[word](self._path(left), self._path(right))
            case word, _:
                raise AssertionError(f"{word} cannot be said of a path")


def _sees(what: Hashable, state: State, action: str | None) -> bool:
    assert isinstance(what, tuple)
    kind, members = what
    return (state if kind == "in" else action) in members


def _is_state_formula(formula: Is) -> bool:
    if formula.word in ("A", "E", "<>", "name", "tt", "ff"):
        return True
    return formula.word in ("not", "/\\", "\\/", "->") and all(map(_is_state_formula, formula.operands))


def size(formula: Is) -> int:
    """Return how many temporal operators a path formula has at most, which its tableau is exponential in."""
    here = formula.word in "XFGUWR"
    if formula.word in ("A", "E"):
        return max(_longest(operand) for operand in formula.operands)
    return here + sum(map(size, formula.operands))


def _longest(formula: Is) -> int:
    inner = [_longest(operand) for operand in formula.operands if operand.word in ("A", "E")]
    outer = (formula.word in "XFGUWR") + sum(_longest(o) for o in formula.operands if o.word not in ("A", "E"))
    return max([outer, *inner])
