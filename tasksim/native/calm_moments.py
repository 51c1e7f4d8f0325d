"""Calm moments, in which to measure: the same machine every time, though others use it too.

A run that shares its cores with other programs takes twice as long, and means and medians over
such minutes say how busy the neighbours were. A *gate* measures an action, and says how disturbed
it was, so that the calm values count. There are two kinds:

- A measured gate asks the value itself which share of the cores others had meanwhile: the system
  tells how long each thread was ready and had no core.
- A probed gate is for systems that do not tell, for more threads than cores, and for other
  people's programs. A *probe*, a short piece of work on all cores, takes hardly longer before and
  after a calm value than the fastest probe since the session began. So a machine that is busy
  throughout looks calm.

No gate looks at what is measured, so the choice does not favour any result.

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
from tasksim.native.cores import usable_cores
from tasksim.native.processor_time import ThreadAccount
from tasksim.native.products import Products
from tasksim.run.disturbance import others_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

MOST_TAKEN: Final = 0.02
"""Largest share of the cores that others have during a calm value. A run of 20 ms with the cores to
itself loses .05 to .4 % to the system, beside one busy process it loses 25 to 40 %."""
PROBE_TOLERANCE: Final = 0.06
"""How much longer than the fastest probe a calm one takes at most: calm probes differ by 2 to 4 %,
one with a busy neighbour takes 20 to 90 % longer."""
PATIENCE_S: Final = 900.0
"""How long calm moments are waited for in all, where nobody says: disturbances of the machine that
this was made on come and go within minutes."""
FIRST_PROBES: Final = 30
"""Probes before anything is measured, half a second: the fastest of them stands for a calm one."""
NAP_S: Final = 0.1
"""Shortest rest while the machine is not calm: five times a probe, so waiting is mostly rest."""
LONGEST_WAIT_S: Final = 10.0
"""After which something is measured in any case: better a disturbed value than none."""

CHUNKS, PRODUCTS = 8, 2  # 20 ms of products of matrices


class Gate(Protocol[T]):
    """Measures, and says how disturbed that was: a number, the less the calmer."""

    def during(self, action: Callable[[], T], until: float, /) -> tuple[T, float]:
        """Call *action*; return its value and how disturbed it was.

        It may rest before, not beyond *until*, a time of :func:`time.monotonic`.
        """

    def is_calm(self, disturbance: float, /) -> bool:
        """Return whether a value that was so disturbed counts."""

    def text(self, disturbance: float, /) -> str:
        """Return in words what disturbed a value, so much at most."""


class MeasuredGate(Generic[T]):
    """Gate of values that tell themselves what others took.

    After a disturbed value it rests as long as that took, so that waiting is half rest.

    Parameters
    ----------
    share_taken : callable
        Returns the share of the cores that others had while a value was measured.
    tolerance : float
        Largest share of a calm value.
    """

    def __init__(self, share_taken: Callable[[T], float], tolerance: float = MOST_TAKEN) -> None:
        self._share_taken, self._tolerance = share_taken, tolerance
        self._rest_s = 0.0

    def during(self, action: Callable[[], T], until: float) -> tuple[T, float]:
        """Return what *action* returns, and the share that others had."""
        time.sleep(max(0.0, min(self._rest_s, until - time.monotonic())))
        begun = time.monotonic()
        value = action()
        taken, took_s = self._share_taken(value), time.monotonic() - begun
        calm = self.is_calm(taken)
        self._rest_s = 0.0 if calm else min(max(took_s, NAP_S), LONGEST_WAIT_S)
        return value, taken

    def is_calm(self, disturbance: float) -> bool:
        """Return whether others had hardly anything."""
        return disturbance <= self._tolerance

    def text(self, disturbance: float) -> str:
        """Return in words what others had at most."""
        return f"others had the cores for up to {_percent(disturbance)} of the time"


class ProbedGate(Generic[T]):
    """Gate that works on all cores for a moment before and after each value.

    Parameters
    ----------
    probe : callable
        Returns how long some fixed work takes now, in seconds: a :class:`Probe`.
    tolerance : float
        A moment is calm if its probe takes at most this share longer than the fastest of all.

    Attributes
    ----------
    fastest_s : float
        The fastest probe so far.
    """

    def __init__(self, probe: Callable[[], float], tolerance: float = PROBE_TOLERANCE) -> None:
        self._probe, self._tolerance = probe, tolerance
        self.fastest_s = min(probe() for _ in range(FIRST_PROBES))

    def during(self, action: Callable[[], T], until: float) -> tuple[T, float]:
        """Wait for a calm moment, a while; return what *action* returns, and the slower probe."""
        before = self._wait(until)
        value = action()
        return value, max(before, self._probed())

    def is_calm(self, disturbance: float) -> bool:
        """Return whether a probe that took so many seconds says that the moment is calm."""
        return disturbance <= (1 + self._tolerance) * self.fastest_s

    def text(self, disturbance: float) -> str:
        """Return in words how much longer the slowest probe took."""
        longer = _percent(disturbance / self.fastest_s - 1)
        return f"others used the cores: a probe took up to {longer} longer than the fastest"

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


def is_measurable(workers: int, cores: Sequence[int] | None = None) -> bool:
    """Return whether the system tells what others take from *workers* threads.

    On more threads than *cores*, by default the usable ones, the threads also wait for each other.
    """
    enough = workers <= len(usable_cores() if cores is None else cores)
    return enough and has_thread_clock() and not isnan(ThreadAccount.now().waited_s)


def gate_of(share_taken: Callable[[T], float], workers: int) -> Gate[T]:
    """Return the gate of values that *workers* threads make; *share_taken* of it as measured."""
    if is_measurable(workers):
        return MeasuredGate(share_taken)
    return ProbedGate(Probe(workers))


def run_gate(workers: int) -> Gate[Run]:
    """Return the gate of native runs on so many *workers*."""
    return gate_of(others_share, workers)


@dataclass(frozen=True)
class Calmness:
    """How calm the machine was.

    Attributes
    ----------
    kept, repeated
        Measurements that count, and those that were done again.
    disturbed
        Of those that count, how many were never done in a calm moment: patience ended.
    seconds
        How long it all took.
    worst
        What disturbed the one of those that count that was disturbed most, in words.
    """

    kept: int
    repeated: int
    disturbed: int
    seconds: float
    worst: str


@dataclass(frozen=True, eq=False)
class CalmValues(Generic[T]):
    """What was measured: ``values[action][repetition]``, and how calm it was."""

    values: list[list[T]]
    calm: Calmness
    disturbed: list[list[bool]]
    """Whether no trial of a value was made in a calm moment, laid out like :attr:`values`."""


@dataclass
class _Slot(Generic[T]):
    """A value that is wanted, the best so far, and how disturbed that was."""

    action: int
    value: T | None = None
    disturbance: float = float("inf")


def measure_calmly(
    actions: Sequence[Callable[[], T]],
    gate: Gate[T],
    *,
    repetitions: int,
    patience_s: float = PATIENCE_S,
    progress: Callable[[int, int], None] | None = None,
) -> CalmValues[T]:
    """Do each of *actions* in turn, and all of them again, until each was done in calm moments.

    Parameters
    ----------
    actions : sequence of callables
        Each measures something and returns it.
    gate : Gate
        Tells calm values from disturbed ones: :func:`run_gate` for native runs.
    repetitions : int
        How often each action is to be done. The repetitions are interleaved.
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
        If there is nothing to do.
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
    progress: Callable[[int, int], None] | None,
) -> int:
    """Measure until all *slots* are calm or time is over; return how many trials it took."""
    trials = 0
    open_slots = list(slots)
    while open_slots:
        for slot in open_slots:
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
