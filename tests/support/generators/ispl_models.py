"""Random generator of small ISPL models as text, with all features of MCMAS 1.3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class _Variable:
    agent: str
    name: str
    values: tuple[str, ...]
    type: str

    @property
    def is_number(self) -> bool:
        return ".." in self.type


_TYPES = (
    ("boolean", ("true", "false")),
    ("{r, g, w}", ("r", "g", "w")),
    ("0 .. 3", ("0", "1", "2", "3")),
    ("-1 .. 0", ("-1", "0")),
)


@dataclass(frozen=True)
class Features:
    """Features that random models may have."""

    deadlocks: bool = True
    fairness: bool = True
    games: bool = True
    linear: bool = True
    knowledge: bool = True
    deep_fairness: bool = True
    """Fairness conditions that are not propositional."""
    crashing_fairness: bool = True
    """Fairness conditions with AF or EG, on which MCMAS crashes."""


class Models:
    """Random models, determined by the state of the random generator."""

    def __init__(self, chance: Random, features: Features) -> None:
        self._chance = chance
        self._features = features
        self._has_environment = chance.random() < 0.8
        names = (["Environment"] if self._has_environment else []) + ["P", "Q", "R"][: chance.choice((1, 2, 2, 3))]
        self._agents = names
        self._variables_of = {name: self._variables(name) for name in names}
        world = self._variables_of.get("Environment", [])
        self._observed = {
            name: [one for one in world if chance.random() < 0.5] for name in names if name != "Environment"
        }
        self._actions = {name: ["a", "b", "c"][: chance.choice((1, 2, 2, 3))] for name in names}
        self._single = chance.random() < 0.3

    def _variables(self, agent: str) -> list[_Variable]:
        count = self._chance.choice((1, 1, 2))
        kinds = [self._chance.choice(_TYPES) for _ in range(count)]
        return [_Variable(agent, f"{'xyz'[n]}", values, type_) for n, (type_, values) in enumerate(kinds)]

    def text(self, formulas: int = 4) -> str:
        """Return the whole model."""
        parts = [f"Semantics = {'SA' if self._single else 'MA'};"]
        parts += map(self._agent, self._agents)
        everything = [one for own in self._variables_of.values() for one in own]
        parts.append("Evaluation")
        parts += (f"  p{n} if {self._condition(everything, 'all', (), 2)};" for n in range(3))
        parts += ["end Evaluation", f"InitStates {self._initial(everything)}; end InitStates"]
        roles = [name for name in self._agents if name != "Environment"]
        both = self._chance.sample(self._agents, min(2, len(self._agents)))
        parts.append(f"Groups g = {{{', '.join(roles)}}}; h = {{{', '.join(both)}}}; k = {{{roles[0]}}}; end Groups")
        if self._features.fairness and self._chance.random() < 0.3:
            conditions = (f"{self._recurring()};" for _ in range(self._chance.choice((1, 1, 2))))
            parts.append(f"Fairness {' '.join(conditions)} end Fairness")
        parts.append("Formulae")
        parts += (f"  {self._formula()};" for _ in range(formulas))
        return "\n".join([*parts, "end Formulae", ""])

    # --- agents

    def _agent(self, name: str) -> str:
        readable = [*self._variables_of[name], *self._observed.get(name, [])]
        lines = [f"Agent {name}"]
        if self._observed.get(name):
            lines.append(f"  Lobsvars = {{{', '.join(one.name for one in self._observed[name])}}};")
        lines += ["  Vars:", *(f"    {one.name} : {one.type};" for one in self._variables_of[name]), "  end Vars"]
        if self._chance.random() < 0.2:
            lines.append(f"  RedStates: {self._condition(self._variables_of[name], name, (), 1)}; end RedStates")
        lines.append(f"  Actions = {{{', '.join(self._actions[name])}}};")
        lines += ["  Protocol:", *self._protocol(name, readable), "  end Protocol"]
        lines += ["  Evolution:", *self._evolution(name, readable), "  end Evolution", "end Agent"]
        return "\n".join(lines)

    def _some(self, name: str) -> str:
        actions = self._actions[name]
        return ", ".join(sorted(self._chance.sample(actions, self._chance.randint(1, len(actions)))))

    def _protocol(self, name: str, readable: list[_Variable]) -> Iterator[str]:
        for _ in range(self._chance.choice((0, 1, 2))):
            yield f"    {self._condition(readable, name, (), 1)} : {{{self._some(name)}}};"
        if not self._features.deadlocks or self._chance.random() < 0.8:
            yield f"    Other : {{{self._some(name)}}};"

    def _evolution(self, name: str, readable: list[_Variable]) -> Iterator[str]:
        own = self._variables_of[name]
        for _ in range(self._chance.choice((1, 2, 3, 4))):
            changed = (
                [self._chance.choice(own)]
                if self._single
                else self._chance.sample(own, self._chance.randint(1, len(own)))
            )
            made = " and ".join(f"{one.name} = {self._assigned(one, own)}" for one in changed)
            yield f"    {made} if {self._condition(readable, name, self._agents, 2)};"

    def _assigned(self, one: _Variable, own: list[_Variable]) -> str:
        alike = [other.name for other in own if other.type == one.type]
        if one.type == "0 .. 3" and self._features.deadlocks and self._chance.random() < 0.5:
            return self._chance.choice((f"{one.name} + 1", f"{one.name} - 1", f"3 - {one.name}", f"{one.name} * 2"))
        if one.type == "boolean" and self._chance.random() < 0.3:
            return self._chance.choice((f"~{one.name}", *alike))
        return self._chance.choice((*one.values, *one.values, *alike))

    # --- conditions

    def _condition(self, readable: list[_Variable], agent: str, doing: tuple[str, ...] | list[str], depth: int) -> str:
        kind = self._chance.random()
        if depth and kind < 0.4:
            parts = (self._condition(readable, agent, doing, depth - 1) for _ in range(2))
            return f"({self._chance.choice((' and ', ' or ')).join(parts)})"
        if depth and kind < 0.5:
            return f"!({self._condition(readable, agent, doing, depth - 1)})"
        if doing and kind < 0.8:
            who = self._chance.choice(doing)
            what = self._chance.choice(self._actions[who])
            return f"Action = {what}" if who == agent else f"{who}.Action = {what}"
        one = self._chance.choice(readable)
        name = one.name if one.agent == agent else f"{one.agent}.{one.name}"
        if one.is_number and self._chance.random() < 0.3:
            return f"{name} {self._chance.choice(('<', '<=', '>', '>='))} {self._chance.choice(one.values)}"
        return f"{name} {self._chance.choice(('=', '=', '<>'))} {self._chance.choice(one.values)}"

    def _initial(self, everything: list[_Variable]) -> str:
        parts = [
            f"{one.agent}.{one.name} = {self._chance.choice(one.values)}"
            for one in everything
            if self._chance.random() < 0.6
        ]
        pairs = [(one, other) for one in everything for other in everything if one != other and one.type == other.type]
        if pairs and self._chance.random() < 0.2:
            one, other = self._chance.choice(pairs)
            parts.append(f"!({one.agent}.{one.name} = {other.agent}.{other.name})")
        first = everything[0]
        return " and ".join(parts) or f"{first.agent}.{first.name} = {first.values[0]}"

    # --- formulas

    def _formula(self) -> str:
        if self._features.linear and self._chance.random() < 0.3:
            if self._chance.random() < 0.5:
                return f"LTL {self._path(2)}"
            return f"CTL* {self._chance.choice('AE')}({self._path(2)})"
        return self._state(2)

    def _recurring(self) -> str:
        """Return a random fairness condition."""
        if not self._features.deep_fairness or self._chance.random() < 0.5:
            return self._state(0)
        operand = self._chance.choice((self._state(0), f"(!{self._state(0)})"))
        paths = ["EX", "EF", "AX", "AG", *(("AF", "EG") if self._features.crashing_fairness else ())]
        agent, group = self._chance.choice(self._agents), self._chance.choice("ghk")
        knowing = [f"K({agent}, {operand})", f"{self._chance.choice(('GK', 'DK', 'GCK'))}({group}, {operand})"]
        temporal = [f"({self._chance.choice(paths)} {operand})", f"E({self._state(0)} U {operand})"]
        condition = self._chance.choice([*temporal, *(knowing if self._features.knowledge else ())])
        return self._chance.choice((condition, f"(!{condition})"))

    def _state(self, depth: int) -> str:
        if not depth:
            if self._chance.random() < 0.1:
                return f"{self._chance.choice(self._agents)}.{self._chance.choice(('GreenStates', 'RedStates'))}"
            return self._chance.choice(("p0", "p1", "p2"))
        below: Callable[[], str] = lambda: self._state(depth - 1 if self._chance.random() < 0.8 else 0)  # noqa: E731
        kinds = ["!", "and", "or", "->", "T", "T", "T", "U"]
        kinds += ["K", "K", "O", "GK", "DK", "GCK"] if self._features.knowledge else []
        kinds += ["<>", "<>", "<>U"] if self._features.games else []
        agent, group = self._chance.choice(self._agents), self._chance.choice("ghk")
        match self._chance.choice(kinds):
            case "!":
                return f"(!{below()})"
            case "T":
                return f"({self._chance.choice(('AG', 'EG', 'AX', 'EX', 'AF', 'EF'))} {below()})"
            case "U":
                return f"{self._chance.choice('AE')}({below()} U {below()})"
            case "K" | "O" as op:
                return f"{op}({agent}, {below()})"
            case "GK" | "DK" | "GCK" as op:
                return f"{op}({group}, {below()})"
            case "<>":
                return f"(<{group}> {self._chance.choice('XFG')} {below()})"
            case "<>U":
                return f"(<{group}> ({below()} U {below()}))"
            case op:
                return f"({below()} {op} {below()})"

    def _path(self, depth: int) -> str:
        if not depth or self._chance.random() < 0.1:
            return self._chance.choice(("p0", "p1", "p2"))
        match self._chance.choice(("X", "F", "G", "U", "!", "and", "or", "->")):
            case "X" | "F" | "G" as op:
                return f"({op} {self._path(depth - 1)})"
            case "!":
                return f"(!{self._path(depth - 1)})"
            case op:
                return f"({self._path(depth - 1)} {op} {self._path(depth - 1)})"


def model(chance: Random, features: Features = Features(), formulas: int = 4) -> str:
    """Return a random model."""
    return Models(chance, features).text(formulas)
