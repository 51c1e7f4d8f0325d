"""Durations that the tasks of a native run would have had if others had left its cores alone.

What others cost is left out in steps: the time for which they had a task's core, which the system
reports; what interruptions cost the tasks after them, which the run itself shows; and what cold
data, crowding and detours cost, by laws whose figures were measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.run.crowding import COLD_SHARES, DETOUR_S, busy_share, crowding, detour_shares
from tasksim.run.disturbance import (
    BLOCKING_SHARE,
    CLOCK_TICK_S,
    MIN_OWN_SHARE,
    computing_tasks,
    lost_s,
    others_share,
    own_s,
    usual_losses,
)

if TYPE_CHECKING:
    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["undisturbed_s", "with_core_s"]

MIN_INTERRUPTED_TASKS: Final = 3
"""Smallest number of interrupted tasks of a kernel, and of others, that tell what an interruption
costs."""
MIN_KERNEL_TASKS: Final = 10
"""Smallest number of tasks of a kernel that tell how far they differ."""
DEVIATION_RATIO: Final = 1.4826
"""Ratio of the standard deviation to the median absolute deviation of normal noise."""
EXTREME_DEVIATIONS: Final = 5.0
"""Standard deviations from the median beyond which a duration is a stall."""
MAX_COST_SHARE: Final = 0.5
"""Largest share of a task that an interruption costs: kernels of .3 ms lose 30 to 40 %."""
MIN_STANDARD_ERRORS: Final = 2.0
"""Standard errors by which the cost of later tasks must exceed zero: many tasks pay it, so chance
would change a run of few tasks of different sizes by some percent."""
MAX_DEVIATION: Final = 0.3
"""Largest standard deviation of a kernel's tasks, relative to their mean, that tells what later
tasks pay. In slow moments of a machine tasks are longer, and interrupted more often: tasks of
several sizes would show that as such a cost."""
LATER_TASKS: Final = 10
"""Number of tasks after an interrupted one that pay for it, too. Data that none of these uses were
not near before, either."""
COLD_S_PER_BYTE: Final = (75e-12, 250e-12)
"""Additional time of a task of an own kernel per byte of its data if others had its core before it,
in seconds, beside an idle and a busy hyper-thread of the core. The former was measured with 6,100
runs on the EPYC (:mod:`tasksim.run.crowding`), beside processes that used 0 to 32 MiB of data, and
is a quarter less since workers lose their cores within tasks and not when they read their clocks:
an interruption costs more then, which is left out by itself. The latter is from before that, of the
runs on the Xeon, of 7 to 150 MB of data."""
MAX_COLD_SHARE: Final = (0.04, 0.135)
"""Largest share of a task that cold data cost, in the same runs: a processor fetches most data
while it computes with others."""
CACHE_BYTES: Final = 32 * 2**20
"""Size of a last-level cache that is unknown, in bytes: most servers have that per group of cores.
Of twice as many data, nothing is near when it is used again, with others or without: beside a cache
of 32 MiB, Cholesky of 302 MB and LU of 75 MB pay nothing; beside one of 260 MiB, Cholesky of 150 MB
pays in full."""
DETOUR_S_PER_BYTE: Final = 35e-12
"""Additional time of a task per byte of its data that another worker wrote last, in seconds: in
calm, 17 to 94 by kernel of tile algorithms and tile size. Beside two processes per core it is a
third of that, as others displace most data before another worker uses them."""
MAX_DETOUR_SHARE: Final = 0.25
"""Largest share of a task that a detour costs: twice what the smallest tiles of QR paid."""


def undisturbed_s(run: Run, graph: TaskGraph | None = None) -> Floats:
    """Return the duration that each task of *run* would have had if no other program had its core.

    Computing tasks are shorter by what others on the same processor cost, too (:func:`crowding`),
    besides what :func:`with_core_s` leaves out. With the *graph* of the run, they are shorter by
    what detours of their data cost (:mod:`tasksim.native.detour`).

    See Also
    --------
    tasksim.run.sharedcores.own_core_s : The same for simulated workers that shared cores.
    """
    own = with_core_s(run, graph) / crowding(run)
    return own if graph is None else own - _detour_cost_s(run, graph, own)


def with_core_s(run: Run, graph: TaskGraph | None = None) -> Floats:
    """Return the duration that each task of *run* would have had if it had never lost its core.

    An interrupted task takes its processor time plus the usual wait of its kernel's uninterrupted
    tasks, less the cost of interruptions in this run: others have filled the core's caches
    meanwhile. The next tasks of the worker pay for that, too, less and less. Other tasks keep
    their durations. Where the host of a virtual machine took time, or may have, time that tasks of
    non-blocking kernels lost without an interruption is left out, too.

    With the *graph* of the run, computing tasks are shorter by what cold data cost. A worker that
    has a core half of the time needs twice as long until it uses data again, and meanwhile others,
    on this machine or on its host, fill the cache that all cores share. So all tasks are longer by
    some percent, not only those after an interruption.
    """
    tasks, told = run.tasks, run.disturbance
    kernel = tasks.kernel.astype(np.intp)
    share = usual_losses(run)[kernel]
    computing = share <= BLOCKING_SHARE
    of_host = told is not None and (told.steal_s is None or told.steal_s > 0)
    preempted = tasks.preemptions > 0
    own = own_s(tasks.duration_s, lost_s(run), share, preempted | (of_host & computing))
    shares = _later_shares(run)
    chosen = computing & ~preempted
    later_s = _later_s(own[chosen], shares[chosen], kernel[chosen])
    least = (1.0 - MAX_COST_SHARE) * own
    own = np.where(chosen, np.maximum(own - later_s * shares, least), own)
    cost_s = _interruption_s(own[computing], preempted[computing], kernel[computing])
    own = np.where(preempted, np.maximum(own - cost_s, least), own)
    if graph is None:
        return own
    return np.where(computing, np.maximum(own - _cold_s(run, graph, own), least), own)


def _later_shares(run: Run) -> Floats:
    """Return the share of the next task's cost that each task pays for an interruption before it.

    The k-th task of the worker after an interrupted one pays 1/k. Measured in 8000 interruptions:
    28, 14, 11, 9 and 6 us for Cholesky with tiles of 192, 22, 10, 8, 6 and 6 us for LU with 128.
    """
    tasks = run.tasks
    order = np.lexsort((tasks.start_s, tasks.worker))
    worker, preempted = tasks.worker[order], tasks.preemptions[order] > 0
    place = np.arange(len(order))
    first = np.maximum.accumulate(np.where(np.diff(worker, prepend=-1) != 0, place, 0))
    last = np.maximum.accumulate(np.where(preempted, place, -1))
    after = place - last
    pays = (last >= first) & (after >= 1) & (after <= LATER_TASKS)
    shares = np.zeros(len(order))
    shares[order] = np.where(pays, 1.0 / np.maximum(after, 1), 0.0)
    return shares


def _later_s(own: Floats, shares: Floats, kernel: Indices) -> float:
    """Return the time that an interruption costs the next task of the worker; 0 if it is unknown.

    *own* are durations of uninterrupted tasks, *kernel* their kernels. The slope over the *shares*
    is that of least squares about the means of the kernels.
    """
    slopes, squares = 0.0, 0.0
    for number in np.unique(kernel):
        mine = kernel == number
        every, share = own[mine], shares[mine]
        paying = int((share > 0).sum())
        if min(paying, len(every) - paying) < MIN_INTERRUPTED_TASKS:
            continue
        every, deviation = _without_stalls(every)
        if deviation > MAX_DEVIATION * float(every.mean()):
            continue
        weight = 1.0 / max(deviation, CLOCK_TICK_S) ** 2
        apart = share - share.mean()
        slopes += weight * float(apart @ every)
        squares += weight * float(apart @ apart)
    if not squares or slopes < MIN_STANDARD_ERRORS * np.sqrt(squares):
        return 0.0
    return slopes / squares


def _interruption_s(own: Floats, preempted: Bools, kernel: Indices) -> float:
    """Return the processor time that an interruption costs a task; 0 if it is unknown.

    *own* are processor times of tasks, *kernel* their kernels. To fill the caches again costs the
    same in all kernels, so the mean is over all of them.
    """
    costs, variances = [], []
    for number in np.unique(kernel):
        mine = kernel == number
        every, paid = own[mine], preempted[mine]
        paying = int(paid.sum())
        whole = len(every) - paying
        if min(paying, whole) < MIN_INTERRUPTED_TASKS or len(every) < MIN_KERNEL_TASKS:
            continue
        every, deviation = _without_stalls(every)
        # A task that takes twice as long is preempted twice as often: without a cost, the
        # harmonic mean of preempted tasks is the mean of all.
        mean_s = 1.0 / float((1.0 / every[paid]).mean())
        part = whole / len(every)
        costs.append((mean_s - float(every.mean())) / part)
        variances.append(deviation**2 * (1.0 / paying + 1.0 / len(every)) / part**2)
    if not costs:
        return 0.0
    weights = 1.0 / np.maximum(variances, CLOCK_TICK_S**2)
    cost_s = float(weights @ costs / weights.sum())
    if cost_s <= 0.0:
        return 0.0
    # Where tasks differ much, or few were preempted, it may be chance (James and Stein).
    return max(0.0, 1.0 - 1.0 / float(weights.sum()) / cost_s**2) * cost_s


def _without_stalls(own: Floats) -> tuple[Floats, float]:
    """Return the durations of a kernel's tasks, within limits, and their standard deviation.

    A stall would count for many tasks, and interruptions cost less than half of a task. If tasks
    have several sizes, as those of FMM, most may be alike: only the standard deviation shows by
    how much a mean of some may be off.
    """
    middle = float(np.median(own))
    deviation = DEVIATION_RATIO * float(np.median(np.abs(own - middle)))
    reach = max(MAX_COST_SHARE * middle, EXTREME_DEVIATIONS * deviation)
    within = np.clip(own, max(middle - reach, MIN_OWN_SHARE * middle), middle + reach)
    return within, float(within.std(ddof=1))


def _cold_s(run: Run, graph: TaskGraph, own: Floats) -> Floats | float:
    """Return the time by which tasks of *own* durations were longer as others made data cold."""
    told, share = run.disturbance, others_share(run)
    if told is None or not share:
        return 0.0
    from tasksim.graph.reuse import task_bytes

    beside = np.array([1.0 - (busy := busy_share(run)), busy])
    unknown = (np.nan, np.nan)
    by_kernel = np.array([COLD_SHARES.get(name, unknown) for name in run.kernel_names]) @ beside
    cold_share = by_kernel[run.tasks.kernel]
    by_bytes_s = np.minimum(
        np.dot(COLD_S_PER_BYTE, beside) * task_bytes(graph)[run.tasks.task],
        np.dot(MAX_COLD_SHARE, beside) * own,
    )
    used_bytes = float(graph.handle_size[np.unique(graph.access_handle)].sum())
    near_alone = float(np.clip(2.0 - used_bytes / (told.cache_bytes or CACHE_BYTES), 0.0, 1.0))
    cold_s: Floats = np.where(np.isnan(cold_share), by_bytes_s, cold_share * own)
    return share * near_alone * cold_s


def _detour_cost_s(run: Run, graph: TaskGraph, own: Floats) -> Floats | float:
    """Return the time by which tasks of *own* durations were longer as data took a detour."""
    told = run.disturbance
    if told is None or not told.detour_s:
        return 0.0
    from tasksim.graph.reuse import remote_bytes

    tasks = run.tasks
    worker, start_s = np.zeros(len(graph), np.int64), np.zeros(len(graph))
    worker[tasks.task], start_s[tasks.task] = tasks.worker, tasks.start_s
    remote = remote_bytes(graph, worker, start_s)[tasks.task]
    others = others_share(run)
    shares = detour_shares(run.kernel_names, others, told.read_ratio)
    by_bytes_s = DETOUR_S_PER_BYTE * (1.0 - others) * remote
    cost_s = told.detour_s / DETOUR_S * (by_bytes_s + shares[tasks.kernel] * own)
    return np.where(computing_tasks(run), np.minimum(cost_s, MAX_DETOUR_SHARE * own), 0.0)
