"""From what is wished for to the items of a sweep, in their order: files, then points of the grid, then parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from cplc.compilation import Compilation, is_ispl, load, load_ispl
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.questions import UnknownQuestion
from cplc.records import dataclass
from cplc.sweeps.belief_variants import BadBelief, believing
from cplc.sweeps.grids import points, size
from cplc.sweeps.job_runner import BadItem, compilation, questions, read, with_imports
from cplc.sweeps.jobs import Item, Options, Text, divided, seed_of

CHANGES: Final = 8
"""So many changes to a protocol go together: what the protocol as written answers is found once for them."""
RUNS: Final = 1000
"""So many runs go together. The same wherever they are drawn: it is part of what they are."""


@dataclass(frozen=True)
class Wish:
    """What the command line asks for."""

    files: tuple[str, ...]
    options: Options
    parameters: Mapping[str, Sequence[str]]
    beliefs: Mapping[str, Sequence[str]]
    names: tuple[str, ...] = ()
    split: bool = False
    """Whether each property, or each agent, is an item of its own."""
    runs: int = 1000
    seed: int = 0

    @property
    def points(self) -> int:
        """How many protocols there are to be asked."""
        return len(self.files) * size(self.parameters) * size(self.beliefs)


def texts(files: Sequence[str], first: Item) -> Iterator[tuple[Text | None, tuple[Diagnostic, ...]]]:
    """Yield each file with all that it imports, and what is to be said of it; ``first`` is asked of each.

    Whether it is right is found out for this one point of the grid.
    """
    for name in files:
        loaded = load_ispl(name) if is_ispl(name) else load(name)
        if isinstance(loaded, Diagnostic):
            yield None, (loaded,)
            continue
        file = Text(name, loaded.source.text)
        if isinstance(loaded, Compilation):
            file = with_imports(file, loaded)
        reading = compilation(replace(first, file=file))
        if isinstance(reading, Compilation):
            reading = replace(reading, load=None)  # from disk, so that what is wrong with an import is reported
        more = () if isinstance(reading, Compilation) else reading.unverifiable if reading.ok else ()
        yield (file if reading.ok and not more else None), (*reading.diagnostics, *more)


def check(item: Item) -> None:
    """Raise `BadItem` where what is named is not there, before many items fail for the same reason."""
    from cplc.participant_analysis import participants

    if item.options.ask not in ("verify", "coverage", "analyze"):
        return
    reading = read(item)
    try:
        if item.options.ask == "analyze" and isinstance(reading, Compilation):
            queries = participants(reading, item.names)
            for one in queries:
                believing(one.participant, item.beliefs)
        elif item.names:
            questions(reading, item.names)
    except UnknownQuestion as problem:
        hints = [note.message for note in did_you_mean(problem.name, problem.known)]
        there_are = f"there are {', '.join(problem.known)}" if problem.known else "there is none"
        raise BadItem(f"`{item.file.name}` has no `{problem.name}`; {(hints or [there_are])[0]}") from None
    except BadBelief as problem:
        raise BadItem(str(problem)) from None


def items(wish: Wish, files: Iterable[Text]) -> Iterator[Item]:
    """Yield the items; what has to be known of a file to divide it is found out when its turn comes."""
    for file in files:
        for parameters, beliefs in product(tuple(points(wish.parameters)), tuple(points(wish.beliefs))):
            item = Item(file, wish.options, parameters, beliefs, wish.names, seed=wish.seed)
            yield from _parts(item, wish)


def _parts(item: Item, wish: Wish) -> Iterator[Item]:
    match item.options.ask:
        case "simulate":
            for number, (first, count) in enumerate(divided(wish.runs, RUNS)):
                yield replace(item, first=first, count=count, seed=seed_of(wish.seed, number))
        case "coverage":
            yield from _changes(item)
        case "verify" | "analyze" if wish.split:
            yield from _names(item)
        case _:
            yield item


def _changes(item: Item) -> Iterator[Item]:
    from cplc.mutation.mutants import mutants

    try:
        reading = read(item)
    except BadItem:
        yield item  # whoever answers it will say what is wrong
        return
    if isinstance(reading, Compilation):
        count = sum(1 for _ in mutants(reading.model))
        for first, some in divided(count, CHANGES):
            yield replace(item, first=first, count=some)
    else:
        yield item


def _names(item: Item) -> Iterator[Item]:
    """Yield an item for each name, all names of the file if none is given."""
    from cplc.participant_analysis import participants

    names: Sequence[str] = item.names
    if not names:
        try:
            reading = read(item)
        except BadItem:
            yield item
            return
        if item.options.ask == "verify":
            names = tuple(dict.fromkeys(one.question.name for one in questions(reading)))
        elif isinstance(reading, Compilation):
            names = tuple(one.participant.name for one in participants(reading))
    yield from (replace(item, names=(name,)) for name in names) if names else (item,)
