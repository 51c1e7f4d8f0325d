"""Physical limits of levels of memory: which figures were disturbed, by how much at least."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tasksim.calibration.physical_limits import low_rates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.calibration.memory.level import Level

__all__ = ["Disturbed", "disturbed"]


class Disturbed(NamedTuple):
    """A figure of a level that is worse than it can be: to be measured again.

    Attributes
    ----------
    level
        Its place among the levels.
    cores
        How many cores the bandwidth is of; 0 for the latency.
    off_by
        The share by which it is off, at least.
    text
        The limit that it breaks.
    """

    level: int
    cores: int
    off_by: float
    text: str


def disturbed(levels: Sequence[Level]) -> list[Disturbed]:
    """Return the figures of *levels*, nearest first, that break a physical limit.

    More cores get no less bandwidth than fewer, none gets more than when it is alone, and a nearer
    level is neither slower nor later than a farther one.
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
