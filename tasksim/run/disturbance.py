"""Disturbance of a native run by other programs, the host, its guests and limits.

A task that the system interrupts takes longer by the wall clock, but not by the processor time of
its thread. A kernel that waits, for a file or another thread, takes longer than its processor time
in every task, interrupted or not: this wait is its own.

A task also takes longer, by processor time, too, if somebody uses the other hyper-thread of its
core, if guests on the host's other cores slow its clock, or if any of them fills the caches. No
system reports this: the workers' pulses and beats (:mod:`tasksim.native.pulse`) and the share of
displaced data (:mod:`tasksim.native.displacement`) show it. The factor by which it lengthens a task
is the task's *crowding*. If the host moves the workers to cores far from each other, data take a
detour between them (:mod:`tasksim.native.detour`).

The system reports how long a thread had no core, but not when: over time, the time is spread evenly
over the task, and a worker's losses between its tasks over the time between them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.run.slices import mean_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "MAX_OWN_GAP_S",
    "blocking_kernels",
    "crowded_s",
    "crowded_share",
    "crowding",
    "crowding_at",
    "crowding_weights",
    "detour_crowding",
    "disturbance_account",
    "disturbance_summary",
    "has_processor_times",
    "lost_s",
    "others_between_s",
    "others_curve",
    "others_percent",
    "others_s",
    "others_share",
    "others_task_share",
    "own_s",
    "undisturbed_s",
    "with_core_s",
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
MIN_SAID_SHARE: Final = 0.05
"""Share of the tasks' time taken by others that is worth a warning."""
MIN_SAID_CROWDED_SHARE: Final = 0.01
"""Share of the tasks' time taken by others on the same processor that is worth a mention."""
MIN_SAID_DETOUR_S: Final = 50e-9
"""Detour of data that is worth a mention, in seconds: passes within a cache differ by 10 ns."""
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
in seconds, beside an idle and a busy hyper-thread of the core. The latter and those below were
measured with 2,450 runs of tiled Cholesky, LU and QR, with tiles of 128 to 256 and 7 to 150 MB of
data, and of the fast multipole method, alone and beside one and two processes per core, on two
virtual cores of a Xeon (Sapphire Rapids). The former were measured with 6,100 such runs on two
cores of an AMD EPYC (Zen 5), beside processes that used 0 to 32 MiB of data, and are a quarter less
since workers lose their cores within tasks and not when they read their clocks: an interruption
costs more then, which is left out by itself. The latter are from before that."""
MAX_COLD_SHARE: Final = (0.04, 0.135)
"""Largest share of a task that cold data cost, in the same runs: a processor fetches most data
while it computes with others."""
CACHE_BYTES: Final = 32 * 2**20
"""Size of a last-level cache that is unknown, in bytes: most servers have that per group of cores.
Of twice as many data, nothing is near when it is used again, with others or without: beside a cache
of 32 MiB, Cholesky of 302 MB and LU of 75 MB pay nothing; beside one of 260 MiB, Cholesky of 150 MB
pays in full."""
COLD_SHARES: Final = MappingProxyType(
    {
        "gemm": (0.055, 0.155), "syrk": (0.015, 0.17), "potrf": (0.035, 0.16),
        "getrf": (0.055, 0.115),
        "trsm": (0.035, 0.09), "trsm_ru": (0.04, 0.08), "trsm_ll": (0.03, 0.09),
        "geqrt": (0.015, 0.11), "gemqrt": (0.0, 0.115), "tpqrt": (0.0, 0.1),
        "tpmqrt": (0.02, 0.14),
        "M2L_in": (0.025, 0.1), "M2L_out": (0.035, 0.12), "M2M": (0.055, 0.1), "L2L": (0.04, 0.1),
        "P2M": (0.0, 0.08), "L2P": (0.0, 0.08), "P2P_in": (0.0, 0.01), "P2P_out": (0.0, 0.02),
    }
)  # fmt: skip
"""Share of a task that cold data cost shipped kernels, beside an idle hyper-thread (1,890 runs on
the EPYC, alone and beside one and two processes per core) and beside a busy one (the runs on the
Xeon): whoever uses it fills the core's own caches. QR loses less than by bytes, as its workers do
not keep each other from memory while others have their cores."""
BUSY_PULSE: Final = 1.5
"""Mean pulse of a run beside busy hyper-threads: that of the runs on the Xeon, to judge by the 1.5
times that they slowed runs in calm."""
DISPLACEMENT_WEIGHT: Final = 0.09
"""Additional time of a task, relative to itself, if others displace all data near its core within
6 ms; of kernels without a weight of their own."""
DISPLACEMENT_WEIGHTS: Final = MappingProxyType(
    {
        "gemm": 0.14, "syrk": 0.055, "potrf": 0.095, "getrf": 0.07,
        "trsm": 0.1, "trsm_ru": 0.095, "trsm_ll": 0.075,
        "geqrt": 0.045, "gemqrt": 0.06, "tpqrt": 0.03, "tpmqrt": 0.075,
        "M2L_in": 0.07, "M2L_out": 0.055, "M2M": 0.11, "L2L": 0.1,
        "P2M": 0.0, "L2P": 0.03, "P2P_in": 0.0, "P2P_out": 0.0,
    }
)  # fmt: skip
"""The same of shipped kernels: slopes over the displaced share of the last seconds in 7,600 runs
on the EPYC, with tiles of 128, 192 and 256, in calm and beside others; those of the two differ by
.02 in the median. The data of P2P and P2M are in the core's own caches."""
DETOUR_S: Final = 160e-9
"""Detour of data for which the costs below are, in seconds: between two groups of cores of the
EPYC, which have a cache each. They are those of 6,300 runs of eight cases under three schedulers,
in calm and beside others; half of the runs had such a detour."""
DETOUR_S_PER_BYTE: Final = 35e-12
"""Additional time of a task per byte of its data that another worker wrote last, in seconds: in
calm, 17 to 94 by kernel of tile algorithms and tile size. Beside two processes per core it is a
third of that, as others displace most data before another worker uses them."""
DETOUR_SHARES: Final = MappingProxyType(
    {
        "geqrt": (0.055, 0.01), "gemqrt": (0.05, 0.01), "tpqrt": (0.05, 0.01),
        "tpmqrt": (0.02, 0.005),
        "M2L_in": (0.045, 0.045), "M2L_out": (0.057, 0.057), "M2M": (0.02, 0.02),
        "L2L": (0.02, 0.02), "P2M": (0.03, 0.02), "L2P": (0.01, 0.0),
    }
)  # fmt: skip
"""Further additional time of shipped kernels whose workers share more than the graph tells,
relative to the task: in calm, and while others have the cores. That of other kernels is .00 to .03
with small tiles."""
MAX_DETOUR_SHARE: Final = 0.25
"""Largest share of a task that a detour costs: twice what the smallest tiles of QR paid."""
TYPICAL_DETOUR_SHARE: Final = 0.03
"""Additional time of a run with such a detour, of which nothing else is known: the runs above took
.02 to .07 longer in calm, and .01 to .05 beside others."""
PULSE_WEIGHT: Final = 0.52
"""Additional time of a task per additional time of work that fills the core, both relative to an
idle core, in the same runs; of kernels without a weight of their own."""
PULSE_WEIGHTS: Final = MappingProxyType(
    {
        "P2P_in": 0.05, "P2P_out": 0.05,
        "gemqrt": 0.3, "trsm": 0.36, "trsm_ru": 0.36, "trsm_ll": 0.46,
        "gemm": 0.55, "getrf": 0.56, "tpmqrt": 0.58, "geqrt": 0.6, "tpqrt": 0.64, "potrf": 0.68,
        "L2L": 0.7, "M2M": 0.8, "M2L_in": 0.8, "M2L_out": 0.8, "L2P": 0.96, "P2M": 0.96,
    }
)  # fmt: skip
"""The same of shipped kernels. P2P waits for divisions and roots, which others seldom need; L2P
and P2M fill the core. With tiles of 128, 192 and 256, beside loads and without, most weights are
the same to within .1. With them, runs of P2P differ by 5 % instead of 12, runs of L2P by 4 instead
of 8."""
BEAT_EXPONENTS: Final = (1.1, 2.0)
"""Exponent of the beat in the time of a task, beside an idle and a busy hyper-thread of the core.
The former is that of 5,600 runs of nine cases in calm on the EPYC (.88 to 1.36); the latter that of
the runs on the Xeon, whose other hyper-threads were busy: what they use shows in the beat, too."""
MAX_PULSE: Final = 2.0
"""Largest pulse that counts for most kernels: two hyper-threads that share a core take twice as
long each."""
TWIN_WEIGHTS: Final = MappingProxyType({"P2P_in": 2.0, "P2P_out": 2.0})
"""Additional time of a task per further additional time of such work, in the same runs. Pulses that
large are of wide divisions on the other hyper-thread, mostly another P2P's: two of a run's workers
are on one core then, and their P2P take up to twice as long. Other kernels pay nothing."""
MAX_TWIN_PULSE: Final = 2.25
"""Largest pulse that counts for these kernels."""
MAX_BEAT: Final = 1.4
"""Largest beat that counts: others on a host slow the clock by a tenth, seldom by a quarter."""
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


def blocking_kernels(run: Run) -> list[str]:
    """Return the kernels whose tasks wait for other things than a core."""
    _, usual, _ = _usual(run)
    return [
        name for name, share in zip(run.kernel_names, usual, strict=True) if share > BLOCKING_SHARE
    ]


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
    told = run.disturbance
    if graph is None or told is None or not told.detour_s:
        return own
    return own - _detour_cost_s(run, graph, own, told.detour_s / DETOUR_S)


def detour_crowding(detour_s: float | None) -> float:
    """Return the crowding of a typical run whose data take *detour_s* longer; None: unknown."""
    return 1.0 + TYPICAL_DETOUR_SHARE * (detour_s or 0.0) / DETOUR_S


def _detour_cost_s(run: Run, graph: TaskGraph, own: Floats, detours: float) -> Floats:
    """Return the time by which tasks of *own* durations were longer by *detours* of their data."""
    from tasksim.graph.reuse import remote_bytes

    tasks = run.tasks
    worker, start_s = np.zeros(len(graph), np.int64), np.zeros(len(graph))
    worker[tasks.task], start_s[tasks.task] = tasks.worker, tasks.start_s
    remote = remote_bytes(graph, worker, start_s)[tasks.task]
    others = others_share(run)
    by_kernel = [DETOUR_SHARES.get(name, (0.0, 0.0)) for name in run.kernel_names]
    shares = np.array(by_kernel) @ (1.0 - others, others)
    by_bytes_s = DETOUR_S_PER_BYTE * (1.0 - others) * remote
    cost_s = detours * (by_bytes_s + shares[tasks.kernel] * own)
    _, usual, kernel = _usual(run)
    computing = (usual <= BLOCKING_SHARE)[kernel]
    return np.where(computing, np.minimum(cost_s, MAX_DETOUR_SHARE * own), 0.0)


def crowding(run: Run) -> Floats:
    """Return the factor by which others on the same processor made each task longer.

    They use the other hyper-thread of its core, slow its clock, or displace its data. 1 for tasks
    that wait, and where it is unknown.
    """
    displaced_share = None if run.disturbance is None else run.disturbance.displaced_share
    weights = crowding_weights(run.kernel_names, displaced_share)
    factors = crowding_at(run.tasks.pulse, run.tasks.beat, weights[run.tasks.kernel])
    if not (factors > 1.0).any():
        return factors
    _, usual, kernel = _usual(run)
    return np.where((usual <= BLOCKING_SHARE)[kernel], factors, 1.0)


def crowding_weights(kernels: Sequence[str], displaced_share: float | None = None) -> Floats:
    """Return two weights of pulses and a factor for each of *kernels*, (n, 3).

    The weights are those of pulses up to 2, and beyond. By the factor, tasks are longer if others
    displace *displaced_share* of the near data; None: unknown.
    """
    of_each = [
        (
            PULSE_WEIGHTS.get(kernel, PULSE_WEIGHT),
            TWIN_WEIGHTS.get(kernel, 0.0),
            1.0 + (displaced_share or 0.0) * DISPLACEMENT_WEIGHTS.get(kernel, DISPLACEMENT_WEIGHT),
        )
        for kernel in kernels
    ]
    return np.array(of_each).reshape(-1, 3)


def crowding_at(pulse: Floats, beat: Floats, weights: Floats | None = None) -> Floats:
    """Return the crowding of computing tasks at each *pulse* and *beat*; NaN: unknown.

    *weights*, by task or for all of them, are those of their kernels (:func:`crowding_weights`); by
    default those of kernels that are not shipped.
    """
    if weights is None:
        weights = crowding_weights([""])[0]
    displaced = np.where(np.isfinite(pulse), weights[..., 2], 1.0)
    known = np.nan_to_num(pulse, nan=1.0)
    idle_exponent, busy_exponent = BEAT_EXPONENTS
    exponent = idle_exponent + (busy_exponent - idle_exponent) * _busy(known)
    slower = np.clip(np.nan_to_num(beat, nan=1.0), 1.0, MAX_BEAT) ** exponent
    fuller = np.clip(known, 1.0, MAX_PULSE) - 1.0
    beyond = np.clip(known, MAX_PULSE, MAX_TWIN_PULSE) - MAX_PULSE
    full = 1.0 + weights[..., 0] * fuller + weights[..., 1] * beyond
    return displaced * slower * full


def with_core_s(run: Run, graph: TaskGraph | None = None) -> Floats:
    """Return the duration that each task of *run* would have had if it had never lost its core.

    An interrupted task takes its processor time plus the usual wait of its kernel's uninterrupted
    tasks, less the cost of interruptions in this run: others have filled the core's caches
    meanwhile. The next tasks of the worker pay for that, too, less and less. Other tasks keep
    their durations. Where the host of a virtual machine took time, or
    may have, time that tasks of non-blocking kernels lost without an interruption is left out, too.

    With the *graph* of the run, computing tasks are shorter by what cold data cost. A worker that
    has a core half of the time needs twice as long until it uses data again, and meanwhile others,
    on this machine or on its host, fill the cache that all cores share. So all tasks are longer by
    some percent, not only those after an interruption.
    """
    tasks = run.tasks
    lost, usual, kernel = _usual(run)
    share = usual[kernel]
    told = run.disturbance
    of_host = told is not None and (told.steal_s is None or told.steal_s > 0)
    preempted = tasks.preemptions > 0
    interrupted = preempted | (of_host & (share <= BLOCKING_SHARE))
    own = own_s(tasks.duration_s, lost, share, interrupted)
    computing = (usual <= BLOCKING_SHARE)[kernel]
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


def _cold_s(run: Run, graph: TaskGraph, own: Floats) -> Floats | float:
    """Return the time by which tasks of *own* durations were longer as others made data cold."""
    told, share = run.disturbance, others_share(run)
    if told is None or not share:
        return 0.0
    from tasksim.graph.reuse import task_bytes

    beside = np.array([1.0 - (busy := _busy_share(run)), busy])
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


def _busy_share(run: Run) -> float:
    """Return for how much of *run* others used its cores' other hyper-threads; .5 if unknown."""
    pulses = run.tasks.pulse
    whole_s = np.where(np.isfinite(pulses), run.tasks.duration_s, 0.0)
    if not whole_s.any():
        return 0.5
    mean = np.average(np.clip(np.nan_to_num(pulses, nan=1.0), 1.0, MAX_PULSE), weights=whole_s)
    return float(_busy(np.array(mean)))


def _busy(pulse: Floats) -> Floats:
    """Return for how much of the time others use the other hyper-thread of a core at each pulse."""
    return np.clip((pulse - 1.0) / (BUSY_PULSE - 1.0), 0.0, 1.0)


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


def own_s(durations_s: Floats, lost: Floats, usual: Floats | float, interrupted: Bools) -> Floats:
    """Return the durations of executions without the time *lost* by the *interrupted* ones.

    *usual* is the share of its duration that an execution of the kernel always loses.
    """
    own = (durations_s - lost) / np.maximum(1.0 - usual, MIN_OWN_SHARE)
    # A clock that jumps may show that an execution had no core at all.
    own = np.clip(own, np.minimum(CLOCK_TICK_S, durations_s), durations_s)
    found: Floats = np.where(interrupted, own, durations_s)
    return found


def _usual(run: Run) -> tuple[Floats, Floats, Indices]:
    """Return each task's loss, the usual share lost per kernel, and each task's kernel."""
    tasks, lost = run.tasks, lost_s(run)
    kernel = tasks.kernel.astype(np.intp)
    whole = (tasks.preemptions == 0) & (tasks.duration_s > 0)
    usual = np.zeros(len(run.kernel_names))
    for number in range(len(usual)):
        mine = whole & (kernel == number)
        if mine.any():
            usual[number] = np.median(lost[mine] / tasks.duration_s[mine])
    return lost, usual, kernel


def others_task_share(run: Run) -> float:
    """Return the share of the tasks' time that others took from *run*; 0 if it is unknown."""
    whole_s = float(run.tasks.duration_s.sum())
    return 1.0 - float(undisturbed_s(run).sum()) / whole_s if whole_s else 0.0


def crowded_s(run: Run) -> Floats:
    """Return the part of :func:`others_s` that others on the same processor took."""
    own = with_core_s(run)
    return own - own / crowding(run)


def crowded_share(run: Run) -> float | None:
    """Return the share of the tasks' time that others on the processor took; None: unknown."""
    whole_s = run.tasks.duration_s
    if not np.isfinite(run.tasks.pulse).any() or not whole_s.sum():
        return None
    return 1.0 - float((whole_s / crowding(run)).sum() / whole_s.sum())


def disturbance_account(run: Run) -> dict[str, Any] | None:
    """Return the account of a disturbed *run* as JSON: totals and workers; None: unknown."""
    told = run.disturbance
    if told is None or not has_processor_times(run):
        return None
    names = [worker.name for worker in run.workers]
    return {
        "others_s": told.total_s,
        "others_share": others_share(run),
        "preempted_tasks": int((run.tasks.preemptions > 0).sum()),
        "waited_s": dict(zip(names, told.waited_s, strict=True)),
        "preemptions": dict(zip(names, told.preemptions, strict=True)),
        "steal_s": told.steal_s,
        "throttled_s": told.throttled_s,
        "pressure_s": told.pressure_s,
        "crowded_share": crowded_share(run),
        "detour_s": told.detour_s,
        "blocking_kernels": blocking_kernels(run),
        "alone_s": told.alone_s,
    }


def disturbance_summary(run: Run) -> str | None:
    """Return a sentence on the time that others took from *run*; None: unknown."""
    from tasksim.base.units import duration_text

    told = run.disturbance
    if told is None or not has_processor_times(run):
        return None
    count = int((run.tasks.preemptions > 0).sum())
    workers = "one worker" if len(run.workers) == 1 else f"{len(run.workers)} workers"
    more = ""
    crowded = crowded_share(run) or 0.0
    if crowded >= MIN_SAID_CROWDED_SHARE:
        more += f"; others on the same processor took {100 * crowded:.0f} % of the tasks' time"
    if told.detour_s is not None and told.detour_s >= MIN_SAID_DETOUR_S:
        longer = duration_text(told.detour_s)
        more += f"; the host had moved the cores apart: data took {longer} longer between them"
    if told.throttled_s:
        more += f"; a limit on processor time held it up for {duration_text(told.throttled_s)}"
    return (
        f"had the cores for {duration_text(told.total_s)} "
        f"({100 * others_share(run):.1f} % of {workers}), "
        f"{count} of {len(run)} tasks were preempted{more}"
    )


def others_s(run: Run) -> Floats:
    """Return the time that others took from each task; 0 where it is unknown."""
    return run.tasks.duration_s - undisturbed_s(run)


def others_percent(run: Run) -> Floats:
    """Return, per worker, the percentage of the makespan that others took from it; NaN: unknown.

    They had its core while it was ready, in a task or between two, or made its tasks longer on the
    same processor.
    """
    of_workers_s = np.bincount(run.tasks.worker, crowded_s(run), len(run.workers))
    return 100.0 * (_waited_s(run) + of_workers_s) / (run.makespan_s or 1.0)


def others_between_s(run: Run) -> Floats:
    """Return, per worker, the time that others had its core between tasks; 0 where unknown."""
    without_core_s = run.tasks.duration_s - with_core_s(run)
    in_tasks_s = np.bincount(run.tasks.worker, without_core_s, len(run.workers))
    return np.nan_to_num(np.maximum(_waited_s(run) - in_tasks_s, 0.0))


def others_curve(run: Run, edges_s: Floats) -> Floats:
    """Return the share of the workers' time that others took in each slice of time, 0 to 1."""
    tasks, worker, begin_s, end_s = run.tasks, *_gaps(run)
    gap_s = np.bincount(worker, end_s - begin_s, len(run.workers))
    lost = np.minimum(others_between_s(run) / np.where(gap_s > 0, gap_s, np.inf), 1.0)
    of_tasks_s = others_s(run)
    share = of_tasks_s / np.where(of_tasks_s > 0, tasks.duration_s, np.inf)
    cores = mean_sum(
        np.concatenate([tasks.start_s, begin_s]), np.concatenate([tasks.end_s, end_s]),
        edges_s, np.concatenate([share, lost[worker]]),
    )  # fmt: skip
    return np.clip(cores / len(run.workers), 0.0, 1.0)


def _waited_s(run: Run) -> Floats:
    """Return the time that each worker's thread was ready without a core; NaN: unknown."""
    if run.disturbance is None:
        return np.full(len(run.workers), np.nan)
    return np.array(run.disturbance.waited_s, dtype=np.float64)  # None becomes NaN


def _gaps(run: Run) -> tuple[Indices, Floats, Floats]:
    """Return the times in which workers ran no task: worker, beginning and end."""
    tasks, workers = run.tasks, np.arange(len(run.workers))
    # An empty task at the end of the run closes each worker's last gap.
    last_s = np.full(len(workers), run.makespan_s)
    worker = np.concatenate([tasks.worker, workers]).astype(np.intp)
    start_s, end_s = (np.concatenate([at, last_s]) for at in (tasks.start_s, tasks.end_s))
    order = np.lexsort((end_s, start_s, worker))
    worker, start_s, end_s = worker[order], start_s[order], end_s[order]
    free_s = np.zeros(len(order))
    free_s[1:] = np.where(worker[1:] == worker[:-1], end_s[:-1], 0.0)
    return worker, free_s, np.maximum(start_s, free_s)
