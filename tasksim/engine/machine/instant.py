"""Order of events within an instant, by number of workers or by SimGrid's steps.

In StarPU-SimGrid each thread is an actor, and actors take turns: a lock, an unlock or a signal is
one *step* of an actor, and all awake actors make their next step before any makes another one. So
the actions of threads at one simulated instant are ordered by the number of steps that each needs
to reach them. The numbers below were counted in StarPU 1.4.99: the calls of SimGrid from the moment
when a thread wakes to the one at which it reads or writes shared state of the scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from tasksim.platform.description import Platform

__all__ = ["BY_NUMBER", "SERVE_STEPS", "Instant", "SimultaneousPushes", "in_steps"]

SimultaneousPushes = Literal["serial", "blind"]
"""Rule for simultaneous pushes: whether a push sees the earlier ones of its instant."""

POP_PHASE: Final = 2.0
"""Phase of the pop of worker 0; the others follow in order of number."""
WORKERS_PER_PHASE: Final = 1 << 16
"""Number of workers whose pops come before all pushes; a power of two, so that phases are exact."""
PUSH_PHASE: Final = 3.0
"""Phase of a push that takes time, and of a choice when pushes do not see each other."""
COMMIT_PHASE: Final = 4.0
"""Phase of the commitment to a choice that was made without seeing the others."""

SERVE_STEPS: Final = 3.0
"""Steps of a driver from the end of its wait to its handling of requests."""
CHOICE_STEPS: Final = 5.0
"""Steps of a push to the choice of a worker."""
POP_STEPS: Final = 18.0
"""Steps of a worker from the end of its wait to the scheduler's pop, without devices."""
POP_STEPS_PER_DEVICE: Final = 16.0
"""Additional steps of a pop for each device's memory: a worker checks the requests to and from
every one."""
POP_STEPS_AFTER_COPY: Final = 15.0
"""Steps to the pop of a driver that has just begun a copy: it waited for the copy's start."""
COMMIT_OWN_STEPS: Final = 56.0
"""Steps of a push to its commitment, if the pushing worker itself was chosen."""
COMMIT_OTHER_STEPS: Final = 60.0
"""Steps of a push to its commitment, if another worker was chosen, whose lock has to be taken."""


class Instant(NamedTuple):
    """The phases of events at one instant, the lowest first.

    *stepwise*: phases are steps, and waits that were begun at one instant end in reverse.
    """

    stepwise: bool
    pop: float
    per_worker: float
    pop_after_copy: float
    push: float
    commit: float
    commit_own: float

    def pop_phase(self, worker: int) -> float:
        """Return the phase at which *worker* asks for a task."""
        return self.pop + worker * self.per_worker


BY_NUMBER: Final = Instant(
    stepwise=False,
    pop=POP_PHASE,
    per_worker=1 / WORKERS_PER_PHASE,
    pop_after_copy=POP_PHASE,
    push=PUSH_PHASE,
    commit=COMMIT_PHASE,
    commit_own=COMMIT_PHASE,
)
"""Order by number of worker: first pops, then pushes, then their commitments."""


def in_steps(platform: Platform) -> Instant:
    """Return the phases on *platform* under StarPU's schedulers that choose a worker at push."""
    driven = {w.memory for w in platform.workers if platform.device(w.architecture).pipeline}
    return Instant(
        stepwise=True,
        pop=POP_STEPS + POP_STEPS_PER_DEVICE * len(driven),
        per_worker=0.0,
        pop_after_copy=POP_STEPS_AFTER_COPY,
        push=CHOICE_STEPS,
        commit=COMMIT_OTHER_STEPS,
        commit_own=COMMIT_OWN_STEPS,
    )
