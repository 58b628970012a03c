"""Mutations of JSON documents: values in the place of others, at any depth."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any, Final

from tests.fuzz.mutations import LARGEST, Material, mutated

_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2**63, 10**30, 1.5, -0.0, 1e308, "", "0", "x", "-1", "ff", "\0", "\ud800", "é", [],
    {}, [[]], [None], {"": None}, [1, "a"], "null", "violated", "1" * 300, "active", "f" * 400, "-f", " 1", "1_0", "٣",
    "sent",
)  # fmt: skip


def mutated_document(random: Random, material: Material) -> bytes:
    """Return one of the documents after a few mutations of its values; sometimes of its text."""
    if random.random() < 0.35:
        return mutated(random, material)
    document = json.loads(random.choice(material.texts))
    for _ in range(random.choice((1, 1, 2, 4))):
        document = _changed(random, document)
    return json.dumps(document).encode("utf-8", "surrogatepass")[: 4 * LARGEST]


def _changed(random: Random, document: Any) -> Any:
    """Return a document in which one value is another, gone, doubled or moved."""
    places = list(_places(document))
    if not places:
        return random.choice(_VALUES)
    holder, key = random.choice(places)
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        case 1:
            holder[random.choice(("", "x", "0", f"{key}x", str(random.choice(_VALUES))))] = copy.deepcopy(holder[key])
        case 2:
            other, name = random.choice(places)
            holder[key] = copy.deepcopy(other[name]) if _has(other, name) else None
        case 3 if isinstance(holder[key], int) and not isinstance(holder[key], bool):
            holder[key] += random.choice((-1, 1, 10**6, -(10**12)))
        case _:
            holder[key] = copy.deepcopy(random.choice(_VALUES))
    return document


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Return every place that holds a value: an object or array, and its key or index."""
    places: list[tuple[Any, Any]] = []
    waiting = [document] if isinstance(document, (dict, list)) else []
    while waiting:
        holder = waiting.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in pairs:
            places.append((holder, key))
            if isinstance(value, (dict, list)):
                waiting.append(value)
    return places
