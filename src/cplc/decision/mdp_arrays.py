"""The arrays of a Markov decision process (MDP) for numpy: ranges of members, and numbers as `Mdp` stores them."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from cplc.decision.mdp import Mdp

Indices = NDArray[np.int64]


def starts_of(model: Mdp) -> tuple[Indices, Indices, Indices]:
    """Return where the actions of each state, the events of each action and the transitions of each event begin."""
    return indices(model.first_action), indices(model.first_event), indices(model.first_transition)


def indices(numbers: array[int]) -> Indices:
    return np.array(numbers, np.int64)


def members_of(first: Indices, owners: Indices) -> tuple[Indices, Indices]:
    """Return the members of these owners, one owner after the other, and how many each has."""
    counts = first[owners + 1] - first[owners]
    begins = np.cumsum(counts) - counts
    return np.repeat(first[owners] - begins, counts) + np.arange(counts.sum()), counts


def flat_array(numbers: NDArray[np.generic]) -> array[int]:
    """Return the numbers as an `Mdp` stores them."""
    result = array("I")
    result.frombytes(numbers.astype(np.uint32).tobytes())
    return result
