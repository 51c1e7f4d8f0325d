"""Disturbance of a native run by other programs, the host, its guests and limits.

A task that the system interrupts takes longer by the wall clock, but not by the processor time of
its thread. A kernel that waits, for a file or another thread, takes longer than its processor time
in every task, interrupted or not: this wait is its own.

See Also
--------
tasksim.run.crowding : How much longer tasks take beside others on the same processor.
tasksim.run.undisturbed : The durations that tasks would have had without others.
tasksim.run.others : The account of what others took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Bools, Floats
    from tasksim.run.record import Run

__all__ = [
    "BLOCKING_SHARE",
    "CLOCK_TICK_S",
    "MAX_OWN_GAP_S",
    "MIN_OWN_SHARE",
    "blocking_kernels",
    "computing_tasks",
    "has_processor_times",
    "lost_s",
    "others_share",
    "own_s",
    "usual_losses",
    "worst_share",
]

BLOCKING_SHARE: Final = 0.05
"""Median share of the duration without a core, over uninterrupted tasks, beyond which their kernel
counts as blocking: a computing kernel loses less than a thousandth without an interruption."""
MAX_OWN_GAP_S: Final = 300e-6
"""Time between two tasks of a worker beyond which another program had its core, in seconds: a
runtime needs 0.3 to 50 us, and up to 100 us to wake a thread; a time slice is 0.7 ms or more."""
CLOCK_TICK_S: Final = 1e-9
"""Resolution of the clocks, in seconds."""
MIN_OWN_SHARE: Final = 1e-3
"""Smallest share of its duration that a task computes: less counts as waiting only."""


def has_processor_times(run: Run) -> bool:
    """Return whether processor times of the tasks of *run* are known."""
    return bool(np.isfinite(run.tasks.cpu_s).any())


def others_share(run: Run) -> float:
    """Return the share of the workers' time that others took from *run*; 0 if unknown."""
    whole_s = run.makespan_s * len(run.workers)
    if run.disturbance is None or not whole_s:
        return 0.0
    return min(run.disturbance.total_s / whole_s, 1.0)


def worst_share(run: Run) -> float:
    """Return the largest share of its time that others took from a worker of *run*; 0 if unknown.

    One worker that is held up holds up those that wait for its tasks: of 16 workers, a
    thirtieth of the time of all may be half of the time of one. What the host took counts in equal
    parts, as no account says from which core.
    """
    told = run.disturbance
    if told is None or not run.makespan_s:
        return 0.0
    waited_s = [waited or 0.0 for waited in told.waited_s]
    of_host_s = (told.total_s - sum(waited_s)) / max(len(run.workers), 1)
    return min((max(waited_s, default=0.0) + of_host_s) / run.makespan_s, 1.0)


def lost_s(run: Run) -> Floats:
    """Return the time that each task ran without a core; 0 where it is unknown."""
    tasks = run.tasks
    known = np.isfinite(tasks.cpu_s)
    return np.where(known, np.maximum(tasks.duration_s - tasks.cpu_s, 0.0), 0.0)


def usual_losses(run: Run) -> Floats:
    """Return, per kernel, the share of its duration that an uninterrupted task loses, a median."""
    tasks, lost = run.tasks, lost_s(run)
    whole = (tasks.preemptions == 0) & (tasks.duration_s > 0)
    usual = np.zeros(len(run.kernel_names))
    for number in range(len(usual)):
        mine = whole & (tasks.kernel == number)
        if mine.any():
            usual[number] = np.median(lost[mine] / tasks.duration_s[mine])
    return usual


def blocking_kernels(run: Run) -> list[str]:
    """Return the kernels whose tasks wait for other things than a core."""
    blocking = usual_losses(run) > BLOCKING_SHARE
    return [name for name, blocks in zip(run.kernel_names, blocking, strict=True) if blocks]


def computing_tasks(run: Run) -> Bools:
    """Return which tasks are of kernels that do not block."""
    return (usual_losses(run) <= BLOCKING_SHARE)[run.tasks.kernel]


def own_s(durations_s: Floats, lost: Floats, usual: Floats | float, interrupted: Bools) -> Floats:
    """Return the durations of executions without the time *lost* by the *interrupted* ones.

    *usual* is the share of its duration that an execution of the kernel always loses.
    """
    own = (durations_s - lost) / np.maximum(1.0 - usual, MIN_OWN_SHARE)
    # A clock that jumps may show that an execution had no core at all.
    own = np.clip(own, np.minimum(CLOCK_TICK_S, durations_s), durations_s)
    found: Floats = np.where(interrupted, own, durations_s)
    return found
