"""Tables of path profiles: kernels, waits and copies on the path; its costs beside the workers'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.units import format_size, format_time
from tasksim.view.texttables import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.run.network import PathMessages
    from tasksim.run.pathprofile import Costs, PathProfile

__all__ = ["path_cost_table", "path_message_line", "path_profile_table"]


def path_profile_table(profile: PathProfile) -> str:
    """Return count and time of each kernel on the path, and what it waited for.

    Examples
    --------
    >>> from tasksim.run.pathprofile import KernelOnPath, PathProfile
    >>> gemm = KernelOnPath("gemm", 2, 9, 0.75, None)
    >>> print(path_profile_table(PathProfile(1.0, 2, (gemm,), {"start": 0.25}, 0, 0, None)))
    2 tasks         on the path  in the run    time   share
    in gemm                   2           9  750 ms  75.0 %
    waiting: start                           250 ms  25.0 %
    """
    whole_s = profile.makespan_s or 1.0
    rows = [
        [f"in {k.kernel}", str(k.tasks), str(k.of), *_time(k.total_s, whole_s)]
        for k in profile.kernels
    ]
    rows += [
        [f"waiting: {why}", _copies(profile) if why == "transfer" else "", "", *_time(s, whole_s)]
        for why, s in profile.waited_s.items()
        if s
    ]
    tasks = f"{profile.tasks} task" if profile.tasks == 1 else f"{profile.tasks} tasks"
    return table([tasks, "on the path", "in the run", "time", "share"], rows)


def _time(seconds: float, whole_s: float) -> list[str]:
    return [format_time(seconds), f"{100 * seconds / whole_s:.1f} %"]


def _copies(profile: PathProfile) -> str:
    many = "copy" if profile.copies == 1 else "copies"
    return f"{profile.copies} {many}, {format_size(profile.copied_bytes)}"


def path_message_line(found: PathMessages) -> str:
    """Return how many messages between nodes are on the path, their bytes, and their time."""
    many = "1 message" if found.count == 1 else f"{found.count} messages"
    times = f"moved {format_time(found.moving_s)}, waited {format_time(found.waiting_s)}"
    return f"{many} between nodes on the path: {format_size(found.size_bytes)}, {times}"


def path_cost_table(profile: PathProfile) -> str:
    """Return the costs of the path, of each kernel on it, and of the workers; "" if not known."""
    if profile.costs is None:
        return ""
    return table(["costs", "synchronisations", "words", "Mflop"], list(_cost_rows(profile)))


def _cost_rows(profile: PathProfile) -> Iterator[list[str]]:
    assert profile.costs is not None
    yield _row("along the path", profile.costs.path)
    for kernel in profile.kernels:
        if kernel.costs is not None:
            yield _row(f"  {kernel.kernel}", kernel.costs)
    yield _row("most of any worker", profile.costs.most)
    yield _row("mean of the workers", profile.costs.mean)


def _row(name: str, costs: Costs) -> list[str]:
    words = "-" if costs.words is None else f"{costs.words:.10g}"
    flop = "-" if costs.flop is None else f"{costs.flop / 1e6:.1f}"
    return [name, f"{costs.synchronisations:.10g}", words, flop]
