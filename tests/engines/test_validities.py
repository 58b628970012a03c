"""Valid formulas of commitments: true in every state of every system, for all contents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.every_engine import MakeEngine, is_everywhere, on_every_engine
from tests.support.generators.systems import (
    atoms,
    formulas,
    some_channels,
    systems,
)
from tests.support.random_examples import examples

from cplc.logic.commitments import Channel, Commits, Fulfils
from cplc.logic.expressions import FALSE
from cplc.logic.formulas import (
    And,
    Atom,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Knows,
    Not,
    OnPaths,
    Or,
    Until,
    WeakUntil,
)

_NOTHING = Atom(FALSE, "false")


def commitment_laws(channel: Channel, p: Formula, q: Formula) -> dict[str, Formula]:
    """Return laws of commitment and fulfilment; 5 and necessitation need a promise, D one that is kept somewhere."""

    def c(content: Formula) -> Formula:
        return Commits(channel, content)

    fulfilled = Fulfils(channel, p)
    bound = Atom(channel.bound, "something is promised")
    uncommitted = Not(c(p))
    return {
        "fulfilment is of a commitment": Implies(fulfilled, c(p)),
        "no fulfilment before the commitment": OnPaths(
            "A", Globally(Not(OnPaths("E", Until(uncommitted, And((uncommitted, fulfilled))))))
        ),
        "K": Implies(And((c(Implies(p, q)), c(p))), c(q)),
        "D": Implies(And((Not(c(_NOTHING)), c(p))), Not(c(Not(p)))),
        "4": Implies(c(p), c(c(p))),
        "5": Implies(And((bound, Not(c(p)))), c(Not(c(p)))),
        "necessitation": Implies(bound, c(Or((p, Not(p))))),
        "no commitment without a promise": Implies(c(p), bound),
        "fulfilled where it is committed to and so": Implies(fulfilled, p),
    }


def knowledge_laws(agents: tuple[str, ...], p: Formula, q: Formula) -> dict[str, Formula]:
    first = agents[:1]

    def k(content: Formula) -> Formula:
        return Knows("each", first, content)

    common = Knows("common", agents, p)
    return {
        "T": Implies(k(p), p),
        "K": Implies(And((k(Implies(p, q)), k(p))), k(q)),
        "4": Implies(k(p), k(k(p))),
        "5": Implies(Not(k(p)), k(Not(k(p)))),
        "together no less than one": Implies(k(p), Knows("together", agents, p)),
        "everyone": Iff(Knows("each", agents, p), And(tuple(Knows("each", (agent,), p) for agent in agents))),
        "common knowledge is a fixpoint": Iff(common, Knows("each", agents, And((p, common)))),
        "common knowledge is induced": Implies(
            Knows("common", agents, Implies(p, Knows("each", agents, p))), Implies(p, common)
        ),
    }


def path_laws(p: Formula, q: Formula) -> dict[str, Formula]:
    return {
        "until": Iff(OnPaths("A", Until(p, q)), And((OnPaths("A", WeakUntil(p, q)), OnPaths("A", Finally(q))))),
        "always": Iff(OnPaths("A", Globally(p)), Not(OnPaths("E", Finally(Not(p))))),
        "inevitable": Iff(OnPaths("A", Finally(p)), Not(OnPaths("E", Globally(Not(p))))),
    }


@on_every_engine
@examples(25)
@given(data=st.data())
def test_commitments(make: MakeEngine, data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(formulas(system))
    engine = make(system)
    for channel in some_channels(system):
        for name, law in commitment_laws(channel, p, q).items():
            assert is_everywhere(engine, law), (channel.name, name)


@on_every_engine
@examples(25)
@given(data=st.data())
def test_knowledge(make: MakeEngine, data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(formulas(system))
    engine = make(system)
    for name, law in knowledge_laws(tuple(agent.name for agent in system.agents), p, q).items():
        assert is_everywhere(engine, law), name


@on_every_engine
@examples(25)
@given(data=st.data())
def test_paths(make: MakeEngine, data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    engine = make(system)
    for name, law in path_laws(p, q).items():
        assert is_everywhere(engine, law), name
