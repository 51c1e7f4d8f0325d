"""Particles in the unit box."""

from __future__ import annotations
from typing import TYPE_CHECKING
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from numpy.typing import NDArray

CHUNK = 2**20


def positions(
    distribution: str, count: int, dimension: int = 3, seed: int = 0
) -> Iterator[NDArray[np.float64]]:
    """Yield uniform particles in chunks."""
    for number, first in enumerate(range(0, count, CHUNK)):
        rng = np.random.default_rng([seed, number])
        yield rng.random((min(CHUNK, count - first), dimension))
