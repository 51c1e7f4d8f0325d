"""Crowding: the factor by which others on the same processor lengthen a task that has its core.

Somebody uses the other hyper-thread of its core, guests on the host's other cores slow its clock,
or any of them displaces its data or keeps the memory busy. No system reports this: the workers'
pulses and beats (:mod:`tasksim.native.pulse`) and the state of the caches
(:mod:`tasksim.native.cache_state`) show it. What it costs depends on the kernel.

The laws were fitted to two campaigns of runs of tiled Cholesky, LU and QR, with tiles of 128 to
256, and of the fast multipole method, alone and beside one and two processes per core: 2,450 runs
on two virtual cores of a Xeon (Sapphire Rapids), whose other hyper-threads others used, and 7,600
on two of an AMD EPYC (Zen 5), whose other hyper-threads were idle.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.run.disturbance import computing_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats
    from tasksim.run.record import Run

__all__ = [
    "COLD_SHARES",
    "DETOUR_S",
    "DETOUR_SHARES",
    "UNKNOWN_CACHES",
    "CacheState",
    "busy_share",
    "crowding",
    "crowding_at",
    "crowding_now",
    "crowding_weights",
    "detour_crowding",
    "detour_shares",
]

PULSE_WEIGHT: Final = 0.52
"""Additional time of a task per additional time of work that fills the core, both relative to an
idle core, in the runs on the Xeon; of kernels without a weight of their own."""
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
MAX_PULSE: Final = 2.0
"""Largest pulse that counts for most kernels: two hyper-threads that share a core take twice as
long each."""
TWIN_WEIGHTS: Final = MappingProxyType({"P2P_in": 2.0, "P2P_out": 2.0})
"""Additional time of a task per further additional time of such work. Pulses that large are of wide
divisions on the other hyper-thread, mostly another P2P's: two of a run's workers are on one core
then, and their P2P take up to twice as long. Other kernels pay nothing."""
MAX_TWIN_PULSE: Final = 2.25
"""Largest pulse that counts for these kernels."""
BUSY_PULSE: Final = 1.5
"""Mean pulse of a run beside busy hyper-threads: that of the runs on the Xeon, to judge by the 1.5
times that they slowed runs in calm."""
BEAT_EXPONENTS: Final = (1.1, 2.0)
"""Exponent of the beat in the time of a task, beside an idle and a busy hyper-thread of the core.
The former is that of 5,600 runs of nine cases in calm on the EPYC (.88 to 1.36); the latter that of
the runs on the Xeon, whose other hyper-threads were busy: what they use shows in the beat, too."""
MAX_BEAT: Final = 1.4
"""Largest beat that counts: others on a host slow the clock by a tenth, seldom by a quarter."""
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
READ_EXPONENT: Final = 0.1
"""Exponent of the read ratio in the time of a task of a kernel without one of its own."""
READ_EXPONENTS: Final = MappingProxyType(
    {
        "gemm": 0.09, "syrk": 0.14, "potrf": 0.13, "getrf": 0.19,
        "trsm": 0.14, "trsm_ru": 0.15, "trsm_ll": 0.11,
        "geqrt": 0.07, "gemqrt": 0.08, "tpqrt": 0.06, "tpmqrt": 0.08,
        "M2L_in": 0.1, "M2L_out": 0.1, "M2M": 0.3, "L2L": 0.24,
        "P2M": 0.03, "L2P": 0.03, "P2P_in": 0.0, "P2P_out": 0.0,
    }
)  # fmt: skip
"""The same of shipped kernels, in 1,920 runs of eight cases on the EPYC, alone and beside nine
loads: one to four processes that compute, multiply matrices, or add to 8 to 72 MB. Two cases differ
by .02 in the median, at most by .06 but for gemm: .06 to .09 with tiles of 192 and 224, .17 with
tiles of 144. In calm, where reads take longer by a tenth, kernels pay for it about as much."""
MAX_READ_RATIO: Final = 4.0
"""Largest read ratio that counts: beside one to three such processes on two cores it was 1.4 to 2.9
in the mean."""
DETOUR_S: Final = 160e-9
"""Detour of data (:mod:`tasksim.native.detour`) for which its costs are known, in seconds: between
two groups of cores of the EPYC, which have a cache each. They are those of 6,300 runs of eight
cases under three schedulers, in calm and beside others; half of the runs had such a detour."""
DETOUR_SHARES: Final = MappingProxyType(
    {
        "geqrt": (0.055, 0.01), "gemqrt": (0.05, 0.01), "tpqrt": (0.05, 0.01),
        "tpmqrt": (0.02, 0.005),
        "M2L_in": (0.045, 0.045), "M2L_out": (0.057, 0.057), "M2M": (0.03, 0.04),
        "L2L": (0.05, 0.05), "P2M": (0.03, 0.02), "L2P": (0.01, 0.0),
    }
)  # fmt: skip
"""Further additional time of shipped kernels whose workers share more than the graph tells,
relative to the task: in calm, and while others have the cores. That of other kernels is .00 to .03
with small tiles."""
DETOUR_READ_EXPONENT: Final = 1.5
"""Exponent of the read ratio in the shares while others have the cores: beside some that add to 24
to 72 MB, reads took 1.5 to 2.1 times as long, and M2L paid .04 to .12 more than beside loops."""
TYPICAL_DETOUR_SHARE: Final = 0.02
"""Additional time of a task with such a detour by data that another worker wrote last, if it is not
known which: these runs of Cholesky and LU took so much longer in calm."""
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


class CacheState(NamedTuple):
    """State of the caches near a core; None: unknown."""

    displaced_share: float | None = None
    """Share of the near data that others displace within 6 ms."""
    read_ratio: float | None = None
    """Time of reads from the cache that cores share and from memory, relative to the least; the
    geometric mean of both."""


UNKNOWN_CACHES: Final = CacheState()


def crowding(run: Run) -> Floats:
    """Return the factor by which others on the same processor made each task longer.

    They use the other hyper-thread of its core, slow its clock, displace its data, or keep the
    memory busy. 1 for tasks that wait, and where it is unknown.
    """
    caches, told = UNKNOWN_CACHES, run.disturbance
    if told is not None:
        caches = CacheState(told.displaced_share, told.read_ratio)
    weights = crowding_weights(run.kernel_names, caches)
    factors = crowding_at(run.tasks.pulse, run.tasks.beat, weights[run.tasks.kernel])
    if not (factors > 1.0).any():
        return factors
    return np.where(computing_tasks(run), factors, 1.0)


def crowding_weights(kernels: Sequence[str], caches: CacheState = UNKNOWN_CACHES) -> Floats:
    """Return two weights of pulses and a factor for each of *kernels*, (n, 3).

    The weights are those of pulses up to 2, and beyond. By the factor, tasks are longer in this
    state of the *caches*.
    """
    displaced_share, read_ratio = caches.displaced_share or 0.0, _counted(caches.read_ratio)
    of_each = [
        (
            PULSE_WEIGHTS.get(kernel, PULSE_WEIGHT),
            TWIN_WEIGHTS.get(kernel, 0.0),
            (1.0 + displaced_share * DISPLACEMENT_WEIGHTS.get(kernel, DISPLACEMENT_WEIGHT))
            * read_ratio ** READ_EXPONENTS.get(kernel, READ_EXPONENT),
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
    of_caches = np.where(np.isfinite(pulse), weights[..., 2], 1.0)
    known = np.nan_to_num(pulse, nan=1.0)
    idle_exponent, busy_exponent = BEAT_EXPONENTS
    exponent = idle_exponent + (busy_exponent - idle_exponent) * _busy(known)
    slower = np.clip(np.nan_to_num(beat, nan=1.0), 1.0, MAX_BEAT) ** exponent
    fuller = np.clip(known, 1.0, MAX_PULSE) - 1.0
    beyond = np.clip(known, MAX_PULSE, MAX_TWIN_PULSE) - MAX_PULSE
    full = 1.0 + weights[..., 0] * fuller + weights[..., 1] * beyond
    return of_caches * slower * full


def detour_crowding(detour_s: float | None, share: float = TYPICAL_DETOUR_SHARE) -> float:
    """Return the crowding by a detour that takes *share* of a task at :data:`DETOUR_S`.

    1 if the detour is unknown.
    """
    return 1.0 + share * (detour_s or 0.0) / DETOUR_S


def detour_shares(kernels: Sequence[str], others_share: float, read_ratio: float | None) -> Floats:
    """Return by which share of itself a task of each of *kernels* pays more than its graph tells.

    It is what a detour of :data:`DETOUR_S` costs, while others have the cores for *others_share* of
    the time, and reads take *read_ratio* times as long as the least; None: unknown.
    """
    shares = np.array([DETOUR_SHARES.get(kernel, (0.0, 0.0)) for kernel in kernels])
    longer = _counted(read_ratio) ** DETOUR_READ_EXPONENT
    found: Floats = shares.reshape(-1, 2) @ (1.0 - others_share, others_share * longer)
    return found


def crowding_now(
    pulse: Floats,
    beat: Floats,
    caches: CacheState,
    detour_s: float | None,
    others_share: float,
) -> dict[str, float]:
    """Return the crowding of each shipped kernel at a moment, and that of all others as ``""``.

    Tasks of this moment have the mean crowding of the readings *pulse* and *beat*. It includes what
    a run's own crowding leaves to its graph: cold data, while others have the cores for
    *others_share* of the time, and detours.
    """
    kernels = ("", *DISPLACEMENT_WEIGHTS)
    weights = crowding_weights(kernels, caches)
    of_each = crowding_at(pulse[:, np.newaxis], beat[:, np.newaxis], weights).mean(axis=0)
    busy = float(_busy(np.nan_to_num(pulse, nan=1.0)).mean())
    found = {}
    shares = detour_shares(kernels, others_share, caches.read_ratio).tolist()
    for kernel, factor, share in zip(kernels, of_each.tolist(), shares, strict=True):
        beside_idle, beside_busy = COLD_SHARES.get(kernel, (0.0, 0.0))
        cold = 1.0 + others_share * ((1.0 - busy) * beside_idle + busy * beside_busy)
        shared = (1.0 - others_share) * TYPICAL_DETOUR_SHARE + share
        found[kernel] = factor * cold * detour_crowding(detour_s, shared)
    return found


def _counted(read_ratio: float | None) -> float:
    """Return *read_ratio* as far as it counts; 1 if it is unknown."""
    return min(read_ratio or 1.0, MAX_READ_RATIO)


def busy_share(run: Run) -> float:
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
