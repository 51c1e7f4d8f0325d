"""Shortfalls of a calibration, as sentences: precision that it did not reach in its time."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.calibration_report import KernelSummary
    from tasksim.calibration.insitu import Observed

NOTABLE_SHARE = 0.02
"""Share of the time of all runs that others took, from which it is reported."""

__all__ = ["disturbed_runs", "missing_intervals", "preempted_tasks", "unknown_kernels"]


def disturbed_runs(observed: Observed) -> list[str]:
    """Return sentences about runs that should have been calm but were not."""
    notes, filled = [], observed.filled
    if dropped := observed.disturbed - sum(filled.values()):
        notes.append(f"{dropped} runs do not count: {observed.worst}")
    notes += [
        f"too few calm runs of {graph}: {'the calmest' if count == 1 else f'the {count} calmest'} "
        f"of the others {'counts' if count == 1 else 'count'}, too ({observed.worst})"
        for graph, count in filled.items()
    ]
    return notes


def preempted_tasks(observed: Observed) -> list[str]:
    """Return a sentence about time that others took from the runs, if it was much."""
    seen = observed.disturbance
    if seen.wall_s <= (1 + NOTABLE_SHARE) * seen.own_s:
        return []
    return [
        f"others used the cores: {seen.preempted} of {seen.tasks} tasks were preempted and count "
        f"with their processor time; by the wall clock, runs took "
        f"{seen.wall_s / seen.own_s:.3g} times as long"
    ]


def unknown_kernels(kernels: Sequence[KernelSummary], options: CalibrationOptions) -> list[str]:
    """Return sentences about *kernels* that are not known to the tolerance.

    Examples
    --------
    >>> from tasksim.calibration.calibration_options import CalibrationOptions
    >>> from tasksim.calibration.calibration_report import KernelSummary
    >>> rest = (1, 0, 1e-3, 0.131, "limit", "history", None, None, None, None)
    >>> unknown_kernels([KernelSummary("gemm", 20, *rest)], CalibrationOptions(max_seconds=4))
    ['after 4 s not known to 2 %: gemm to 13 %']
    """
    over = [one for one in kernels if one.stopped == "limit"]
    single = [one.kernel for one in over if not isfinite(one.half_width)]
    wide = [
        f"{one.kernel} to {_percent(one.half_width)}"
        for one in over
        if options.tolerance < one.half_width and isfinite(one.half_width)
    ]
    few = [one.kernel for one in over if one.half_width <= options.tolerance]
    after = f"after {options.max_seconds:.3g} s"
    notes = []
    if wide:
        notes.append(f"{after} not known to {_percent(options.tolerance)}: {', '.join(wide)}")
    if few:
        notes.append(
            f"{after} fewer than {options.min_samples} samples from {options.min_runs} runs: "
            f"{', '.join(few)}"
        )
    if single:
        notes.append(
            f"{after} measured in one run, which does not show how far runs differ: "
            f"{', '.join(single)}"
        )
    return notes


def missing_intervals(reasons: Mapping[str, str]) -> list[str]:
    """Return sentences about kernels whose predictions have no interval, from kernel -> reason.

    Examples
    --------
    >>> missing_intervals({"gemm": "got 3 samples", "trsm": "got 3 samples"})
    ['gemm, trsm: predictions have no interval: got 3 samples']
    """
    kernels: dict[str, list[str]] = {}
    for kernel, reason in reasons.items():
        kernels.setdefault(reason, []).append(kernel)
    return [
        f"{', '.join(names)}: predictions have no interval: {reason}"
        for reason, names in kernels.items()
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
