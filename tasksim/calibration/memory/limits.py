"""Physical limits of levels of memory: finds disturbed values and their least error."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tasksim.calibration.physical_limits import low_rates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.calibration.memory.level import Level

__all__ = ["Disturbed", "disturbed"]


class Disturbed(NamedTuple):
    """A value that breaks a physical limit and is to be measured again.

    Attributes
    ----------
    level
        Index of the level.
    cores
        Number of cores of a bandwidth; 0 for the latency.
    off_by
        Least relative error.
    text
        Description of the broken limit.
    """

    level: int
    cores: int
    off_by: float
    text: str


def disturbed(levels: Sequence[Level]) -> list[Disturbed]:
    """Return the values of *levels*, nearest first, that break a physical limit.

    More cores have no less bandwidth than fewer, no core has more than alone, and a nearer level
    has neither less bandwidth nor more latency than a farther one.
    """
    found = [
        Disturbed(place, low.cores, low.off_by, f"{level.name}: {low.text}")
        for place, level in enumerate(levels)
        for low in low_rates(level.bandwidth_bytes_per_s)
    ]
    for place, (near, far) in enumerate(pairwise(levels)):
        found += _slower_than_farther(place, near, far)
    return found


def _slower_than_farther(place: int, near: Level, far: Level) -> Iterator[Disturbed]:
    pairs = zip(near.bandwidth_bytes_per_s, far.bandwidth_bytes_per_s, strict=True)
    for cores, (rate, farther) in enumerate(pairs, 1):
        if rate < farther:
            text = (
                f"{cores} core{'s' if cores > 1 else ''}: {near.name} gives {rate / 1e9:.3g} GB/s, "
                f"and {far.name}, which is farther, {farther / 1e9:.3g}"
            )
            yield Disturbed(place, cores, 1 - rate / farther, text)
    if near.latency_s > far.latency_s:
        text = (
            f"{near.name} answers after {1e9 * near.latency_s:.3g} ns, and {far.name}, which is "
            f"farther, after {1e9 * far.latency_s:.3g}"
        )
        yield Disturbed(place, 0, 1 - far.latency_s / near.latency_s, text)
