"""Measurements in calm moments, comparable on a machine that others use, too.

A run that shares its cores with other programs takes twice as long, and means and medians over
such minutes show how busy the neighbours were. A *gate* measures an action and returns how
disturbed the measurement was, so that only calm values count. There are two kinds:

- A measured gate takes the disturbance from the value itself: the system reports how long each
  thread was ready to run and had no core.
- A probed gate is for systems without this report, for more threads than cores, and for programs
  of others. It times a *probe*, a short piece of work on all cores, before and after each value.
  A value is calm if both probes take hardly longer than the fastest probe of the session. A
  machine that is busy all the time therefore looks calm.

A gate never looks at the measured time, so the choice favours no result.

::

    measured = measure_calmly([run_a, run_b], run_gate(workers=2), repetitions=5)
    measured.values[0]        # five values of run_a, from five rounds
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from tasksim.base.errors import InputError
from tasksim.base.threadclock import has_thread_clock
from tasksim.native.processor_time import ThreadAccount
from tasksim.native.slowdown_probe import ProductThreads
from tasksim.native.this_machine import usable_cores
from tasksim.run.disturbance import worst_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.base.progress import CountProgress
    from tasksim.run.record import Run

__all__ = [
    "CalmValues",
    "Calmness",
    "Gate",
    "MeasuredGate",
    "Probe",
    "ProbedGate",
    "gate_of",
    "is_measurable",
    "measure_calmly",
    "run_gate",
]

T = TypeVar("T")

MAX_OTHERS_SHARE: Final = 0.02
"""Largest share of its time that others may take from any worker during a calm value: of a worker,
and not of all, so that it means the same for two cores and for sixteen. A run of 20 ms on two idle
cores loses 0.05 to 0.4 % of both to the system, and 25 to 40 % beside one busy process."""
PROBE_TOLERANCE: Final = 0.06
"""Largest share by which a calm probe may exceed the fastest one: calm probes differ by 2 to 4 %, a
probe beside a busy neighbour takes 20 to 90 % longer."""
CALM_PATIENCE_S: Final = 900.0
"""Default total time to wait for calm moments, in seconds: disturbances on the machine used for
development come and go within minutes."""
FIRST_PROBES: Final = 30
"""Number of probes before the first measurement (half a second): the fastest of them is the calm
reference."""
NAP_S: Final = 0.1
"""Shortest pause while the machine is disturbed, in seconds: five times a probe, so that most of
the wait is idle."""
MAX_WAIT_S: Final = 10.0
"""Longest wait before a measurement, in seconds: a disturbed value is better than none."""

PROBE_CHUNKS, PRODUCTS_PER_CHUNK = 8, 2  # 20 ms of matrix products


class Gate(Protocol[T]):
    """A measurement of actions with their disturbance, a number that is smaller if calmer."""

    def during(self, action: Callable[[], T], until: float, /) -> tuple[T, float]:
        """Call *action*; return its value and how disturbed it was.

        It may wait first, but not beyond *until*, a time of :func:`time.monotonic`.
        """

    def is_calm(self, disturbance: float, /) -> bool:
        """Return whether a value with this *disturbance* counts as calm."""

    def text(self, disturbance: float, /) -> str:
        """Return a sentence on the disturbance, of at most this size, for reports."""


class MeasuredGate(Generic[T]):
    """Gate for values that contain their own disturbance.

    After a disturbed value it pauses for as long as the measurement took, so that half of the
    waiting is idle.

    Parameters
    ----------
    others_share : callable
        Returns the largest share of its time that others took from a worker while a value was
        measured.
    tolerance : float
        Largest such share of a calm value.
    """

    def __init__(
        self, others_share: Callable[[T], float], tolerance: float = MAX_OTHERS_SHARE
    ) -> None:
        self._others_share, self._tolerance = others_share, tolerance
        self._rest_s = 0.0

    def during(self, action: Callable[[], T], until: float) -> tuple[T, float]:
        """Return the value of *action* and the share of a worker's time that others took."""
        time.sleep(max(0.0, min(self._rest_s, until - time.monotonic())))
        begun = time.monotonic()
        value = action()
        share, took_s = self._others_share(value), time.monotonic() - begun
        calm = self.is_calm(share)
        self._rest_s = 0.0 if calm else min(max(took_s, NAP_S), MAX_WAIT_S)
        return value, share

    def is_calm(self, disturbance: float) -> bool:
        """Return whether others took at most the tolerated share."""
        return disturbance <= self._tolerance

    def text(self, disturbance: float) -> str:
        """Return a sentence with the largest share that others took."""
        return f"other programs had a core for up to {_percent(disturbance)} of the time"


class ProbedGate(Generic[T]):
    """Gate that runs a probe on all cores before and after each value.

    Parameters
    ----------
    probe : callable
        Returns the current duration of a fixed piece of work in seconds: a :class:`Probe`.
    tolerance : float
        Largest share by which a calm probe may exceed the fastest one.

    Attributes
    ----------
    fastest_s : float
        Duration of the fastest probe so far.
    """

    def __init__(self, probe: Callable[[], float], tolerance: float = PROBE_TOLERANCE) -> None:
        self._probe, self._tolerance = probe, tolerance
        self.fastest_s = min(probe() for _ in range(FIRST_PROBES))

    def during(self, action: Callable[[], T], until: float) -> tuple[T, float]:
        """Wait for a calm moment; return the value of *action* and the slower of both probes."""
        latest = min(time.monotonic() + MAX_WAIT_S, until)
        while not self.is_calm(before := self._probed()) and time.monotonic() < latest:
            time.sleep(NAP_S)
        value = action()
        return value, max(before, self._probed())

    def is_calm(self, disturbance: float) -> bool:
        """Return whether a probe of this many seconds counts as calm."""
        return disturbance <= (1 + self._tolerance) * self.fastest_s

    def text(self, disturbance: float) -> str:
        """Return a sentence on the slowest probe."""
        longer = _percent(disturbance / self.fastest_s - 1)
        return f"others used the cores: a probe took up to {longer} longer than the fastest"

    def _probed(self) -> float:
        probed = self._probe()
        self.fastest_s = min(self.fastest_s, probed)
        return probed


class Probe:
    """A short piece of work on all cores at once; a call returns its duration.

    Parameters
    ----------
    workers : int
        Number of threads, each on a core of its own if there are enough.
    cores : list of int, optional
        Cores to use [default: all that this process may use].

    Notes
    -----
    The work is some 20 ms of products with a matrix that stays in the cache. The result is the
    maximum over threads of the median over chunks: it shows a neighbour that stays, but not a
    short pause of the system.
    """

    def __init__(self, workers: int, cores: list[int] | None = None) -> None:
        self._products = ProductThreads(workers, cores)

    def __call__(self) -> float:
        """Return the duration of a chunk in seconds."""
        return max(map(statistics.median, self._products.times_s(PROBE_CHUNKS, PRODUCTS_PER_CHUNK)))


def is_measurable(workers: int, cores: Sequence[int] | None = None) -> bool:
    """Return whether the system reports the time that others take from *workers* threads.

    With more threads than *cores* (by default the usable ones) the threads also wait for each
    other.
    """
    enough = workers <= len(usable_cores() if cores is None else cores)
    return enough and has_thread_clock() and not isnan(ThreadAccount.now().waited_s)


def gate_of(others_share: Callable[[T], float], workers: int) -> Gate[T]:
    """Return the gate for values measured on *workers* threads; *others_share* reads a value."""
    if is_measurable(workers):
        return MeasuredGate(others_share)
    return ProbedGate(Probe(workers))


def run_gate(workers: int) -> Gate[Run]:
    """Return the gate for native runs on this number of *workers*."""
    return gate_of(worst_share, workers)


@dataclass(frozen=True)
class Calmness:
    """Statistics of a calm measurement.

    Attributes
    ----------
    kept, repeated
        Number of values, and number of repeated measurements.
    disturbed
        Number of values without a calm measurement before the timeout.
    seconds
        Duration of the whole measurement in seconds.
    worst
        Sentence on the disturbance of the most disturbed value.
    """

    kept: int
    repeated: int
    disturbed: int
    seconds: float
    worst: str


@dataclass(frozen=True, eq=False)
class CalmValues(Generic[T]):
    """Measured values, ``values[action][repetition]``, and how calm the machine was."""

    values: list[list[T]]
    calm: Calmness
    disturbed: list[list[bool]]
    """Whether a value had no calm measurement, laid out like :attr:`values`."""


@dataclass
class _Slot(Generic[T]):
    """A wanted value, with the calmest measurement so far and its disturbance."""

    action: int
    value: T | None = None
    disturbance: float = float("inf")


def measure_calmly(
    actions: Sequence[Callable[[], T]],
    gate: Gate[T],
    *,
    repetitions: int,
    patience_s: float = CALM_PATIENCE_S,
    progress: CountProgress | None = None,
) -> CalmValues[T]:
    """Run all *actions* in turn, and repeat disturbed ones until each value is calm.

    Parameters
    ----------
    actions : sequence of callables
        Each of them measures something and returns it.
    gate : Gate
        Tells calm values from disturbed ones: :func:`run_gate` for native runs.
    repetitions : int
        Number of values per action. The repetitions are interleaved.
    patience_s : float
        Timeout in seconds. Afterwards a value without a calm measurement keeps the calmest one
        and counts as disturbed.
    progress : callable, optional
        Called with the number of calm values and the number of all values.

    Notes
    -----
    A probe that is faster than all before it tightens the limit: values that no longer count as
    calm are measured again.

    Raises
    ------
    InputError
        If there are no actions or no repetitions.
    """
    if not actions or repetitions < 1:
        raise InputError(
            f"got {len(actions)} actions, {repetitions} repetitions; legal: at least one of each"
        )
    begun = time.monotonic()
    slots: list[_Slot[T]] = [_Slot(a) for _ in range(repetitions) for a in range(len(actions))]
    trials = _fill(slots, actions, gate, begun + patience_s, progress)
    values: list[list[T]] = [[] for _ in actions]
    disturbed: list[list[bool]] = [[] for _ in actions]
    for slot in slots:
        assert slot.value is not None
        values[slot.action].append(slot.value)
        disturbed[slot.action].append(not gate.is_calm(slot.disturbance))
    calm = Calmness(
        kept=len(slots),
        repeated=trials - len(slots),
        disturbed=sum(map(sum, disturbed)),
        seconds=time.monotonic() - begun,
        worst=gate.text(max(slot.disturbance for slot in slots)),
    )
    return CalmValues(values, calm, disturbed)


def _fill(
    slots: Sequence[_Slot[T]],
    actions: Sequence[Callable[[], T]],
    gate: Gate[T],
    until: float,
    progress: CountProgress | None,
) -> int:
    """Measure until all *slots* are calm or time is up; return the number of measurements."""
    trials = 0
    open_slots = list(slots)
    while open_slots:
        for slot in open_slots:
            # Each slot gets at least one value, even after the timeout.
            if slot.value is not None and time.monotonic() > until:
                return trials
            value, disturbance = gate.during(actions[slot.action], until)
            if slot.value is None or disturbance < slot.disturbance:
                slot.value, slot.disturbance = value, disturbance
            trials += 1
            if progress is not None:
                progress(sum(gate.is_calm(s.disturbance) for s in slots), len(slots))
        open_slots = [slot for slot in slots if not gate.is_calm(slot.disturbance)]
    return trials


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"
