"""Calm moments, in which to measure: the same machine every time, though others use it too.

A core of a shared machine is often half of a physical core whose other half is somebody else's:
the same run takes 1.5 times as long in one minute as in the next, for seconds or minutes on end.
Means and medians over such minutes say how busy the neighbours were. A *probe*, a short piece of
work on all cores, tells calm moments from others: a measurement counts if the probes just before
and just after it took hardly longer than the fastest one since the session began, which is not
known of earlier ones: on a machine that is busy throughout, all moments look calm alike. What is
measured has no say in that, so the choice does not favour any result.

::

    measured = measure_calmly([run_a, run_b], Probe(workers=2), repetitions=5)
    measured.values[0]        # five values of run_a, from five rounds
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from tasksim.base.errors import InputError
from tasksim.native.products import Products

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CalmMoments", "CalmValues", "Calmness", "Probe", "measure_calmly"]

T = TypeVar("T")

TOLERANCE: Final = 0.06
"""How much longer than the fastest probe a calm one takes at most: calm probes differ by 2 to 4 %,
one with a busy neighbour takes 20 to 90 % longer."""
PATIENCE_S: Final = 900.0
"""How long calm moments are waited for in all, where nobody says: disturbances of the machine that
this was made on come and go within minutes."""
FIRST_PROBES: Final = 30
"""Probes before anything is measured, half a second: the fastest of them stands for a calm one."""
NAP_S: Final = 0.1
"""Between probes while the machine is not calm: five times a probe, so waiting is mostly rest."""
LONGEST_WAIT_S: Final = 10.0
"""After which something is measured in any case: better a disturbed value than none."""

CHUNKS, PRODUCTS = 8, 2  # 20 ms of products of matrices


class Probe:
    """A short piece of work on all cores at once; calling it returns how long it took.

    Parameters
    ----------
    workers : int
        Threads, each on a core of its own where there are enough.
    cores : list of int, optional
        The cores; by default those that this process may use.

    Notes
    -----
    Products of a matrix that stays in the cache, some 20 ms of them. Of a thread the median
    chunk counts, of the threads the slowest: a neighbour that stays shows, a moment's pause of
    the system does not.
    """

    def __init__(self, workers: int, cores: list[int] | None = None) -> None:
        self._products = Products(workers, cores)

    def __call__(self) -> float:
        """Return the time of a chunk in seconds."""
        return max(map(statistics.median, self._products.times_s(CHUNKS, PRODUCTS)))


@dataclass(frozen=True)
class Calmness:
    """How calm the machine was.

    Attributes
    ----------
    fastest_s
        The fastest probe, from the first to the last of these measurements.
    tolerance
        By which share a calm probe may take longer.
    kept, repeated
        Measurements that count, and those that were done again.
    disturbed
        Of those that count, how many were never done in a calm moment: patience ended.
    seconds
        How long it all took.
    """

    fastest_s: float
    tolerance: float
    kept: int
    repeated: int
    disturbed: int
    seconds: float


@dataclass(frozen=True, eq=False)
class CalmValues(Generic[T]):
    """What was measured: ``values[action][repetition]``, and how calm it was."""

    values: list[list[T]]
    calm: Calmness
    disturbed: list[list[bool]]
    """Whether no trial of a value was made in a calm moment, laid out like :attr:`values`."""


@dataclass
class _Slot(Generic[T]):
    """A value that is wanted, the best so far, and the slower of the probes around it."""

    action: int
    value: T | None = None
    probe_s: float = float("inf")


def measure_calmly(
    actions: Sequence[Callable[[], T]],
    probe: Callable[[], float],
    *,
    repetitions: int,
    tolerance: float = TOLERANCE,
    patience_s: float = PATIENCE_S,
    progress: Callable[[int, int], None] | None = None,
) -> CalmValues[T]:
    """Do each of *actions* in turn, and all of them again, until each was done in calm moments.

    Parameters
    ----------
    actions : sequence of callables
        Each measures something and returns it.
    probe : callable
        Returns how long some fixed work takes now, in seconds: a :class:`Probe`.
    repetitions : int
        How often each action is to be done. The repetitions are interleaved.
    tolerance : float
        A moment is calm if its probe takes at most this share longer than the fastest of all.
    patience_s : float
        After this time, what was not done in a calm moment stays as it is, the calmest of its
        trials, and is counted as disturbed.
    progress : callable, optional
        Called with how many values there are, and of how many.

    Notes
    -----
    When a probe is faster than all before it, values that counted may no longer do so: they are
    measured again.

    Raises
    ------
    InputError
        If there is nothing to do, or a number is not positive.
    """
    if not actions or repetitions < 1 or tolerance <= 0:
        raise InputError(
            f"got {len(actions)} actions, {repetitions} repetitions, tolerance {tolerance:g}; "
            "legal: at least one of each, a positive tolerance"
        )
    begun = time.monotonic()
    moments = CalmMoments(probe, tolerance)
    slots: list[_Slot[T]] = [_Slot(a) for _ in range(repetitions) for a in range(len(actions))]
    trials = _fill(slots, actions, moments, begun + patience_s, progress)
    values: list[list[T]] = [[] for _ in actions]
    disturbed: list[list[bool]] = [[] for _ in actions]
    for slot in slots:
        assert slot.value is not None
        values[slot.action].append(slot.value)
        disturbed[slot.action].append(not moments.is_calm(slot.probe_s))
    calm = Calmness(
        fastest_s=moments.fastest_s,
        tolerance=tolerance,
        kept=len(slots),
        repeated=trials - len(slots),
        disturbed=sum(map(sum, disturbed)),
        seconds=time.monotonic() - begun,
    )
    return CalmValues(values, calm, disturbed)


class CalmMoments:
    """Tells calm moments from others.

    Parameters
    ----------
    probe, tolerance
        As for :func:`measure_calmly`.

    Attributes
    ----------
    fastest_s : float
        The fastest probe so far.
    """

    def __init__(self, probe: Callable[[], float], tolerance: float = TOLERANCE) -> None:
        self._probe = probe
        self._tolerance = tolerance
        self.fastest_s = min(probe() for _ in range(FIRST_PROBES))

    def is_calm(self, probe_s: float) -> bool:
        """Return whether a probe of *probe_s* says that the moment is calm."""
        return probe_s <= (1 + self._tolerance) * self.fastest_s

    def during(self, action: Callable[[], T], until: float) -> tuple[T, float]:
        """Wait for a calm moment, a while and not beyond *until*; return what *action* returns.

        And the slower of the probes before and after it. *until* is a time of
        :func:`time.monotonic`.
        """
        before = self._wait(until)
        value = action()
        return value, max(before, self._probed())

    def _wait(self, until: float) -> float:
        """Return the probe of a calm moment, or of the last one when the wait is too long."""
        latest = min(time.monotonic() + LONGEST_WAIT_S, until)
        while not self.is_calm(probed := self._probed()) and time.monotonic() < latest:
            time.sleep(NAP_S)
        return probed

    def _probed(self) -> float:
        probed = self._probe()
        self.fastest_s = min(self.fastest_s, probed)
        return probed


def _fill(
    slots: Sequence[_Slot[T]],
    actions: Sequence[Callable[[], T]],
    moments: CalmMoments,
    until: float,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Measure until all *slots* are calm or time is over; return how many trials it took."""
    trials = 0
    open_slots = list(slots)
    while open_slots:
        for slot in open_slots:
            if slot.value is not None and time.monotonic() > until:
                return trials
            value, probe_s = moments.during(actions[slot.action], until)
            if slot.value is None or probe_s < slot.probe_s:
                slot.value, slot.probe_s = value, probe_s
            trials += 1
            if progress is not None:
                progress(sum(moments.is_calm(s.probe_s) for s in slots), len(slots))
        open_slots = [slot for slot in slots if not moments.is_calm(slot.probe_s)]
    return trials
