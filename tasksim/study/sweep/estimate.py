"""Estimate of the time and the memory that a study needs, from a sample of its cells."""

from __future__ import annotations

import sys
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.study.sweep.workbench import Job, Workbench, group_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from pathlib import Path

    from tasksim.study.sweep.plan import PlannedCell
    from tasksim.study.sweep.study import Study

__all__ = ["StudyEstimate", "estimate", "known_cells"]

SAMPLING_S: Final = 3.0
"""Time in seconds after which no further group is sampled: users wait for the estimate."""
MAX_SAMPLES_PER_GROUP: Final = 4
"""Maximum number of cells of a group that are computed: the first one also prepares the data that
all share."""


class StudyEstimate(NamedTuple):
    """Estimated cost of a study.

    Attributes
    ----------
    cells : int
        Number of cells of the study.
    done : int
        Number of cells that are in the store already.
    groups : int
        Number of groups of cells that share a graph and a platform.
    sampled : int
        Number of cells computed for the estimate.
    seconds : float
        Duration of the remaining computation on *workers*.
    workers : int
        Number of cells computed at a time.
    memory_bytes : int or None
        Memory of all processes together; None if the system does not report it.
    """

    cells: int
    done: int
    groups: int
    sampled: int
    seconds: float
    workers: int
    memory_bytes: int | None


def estimate(
    study: Study, cells: Sequence[PlannedCell], done: frozenset[str] | set[str], workers: int
) -> StudyEstimate:
    """Return the estimated cost of the *cells* that are not *done*, on a number of *workers*.

    For some seconds, the function draws groups of cells that share a graph and a platform, and
    computes a few cells of each. The first cell of a group takes longer than the others by the
    preparation of the group.
    """
    todo = [one for one in cells if one.cell not in done]
    groups: dict[Hashable, list[PlannedCell]] = {}
    for one in todo:
        groups.setdefault(group_of(one.row.scenario), []).append(one)
    sampled, prepare_s, cell_s = _measured(study, list(groups.values()))
    total_s = len(groups) * prepare_s + len(todo) * cell_s
    memory = _peak_bytes()
    return StudyEstimate(
        cells=len(cells),
        done=len(cells) - len(todo),
        groups=len({group_of(one.row.scenario) for one in cells}),
        sampled=sampled,
        seconds=total_s / workers,
        workers=workers,
        # One more for the process that plans and writes.
        memory_bytes=None if memory is None else memory * (workers + 1),
    )


def _measured(study: Study, groups: list[list[PlannedCell]]) -> tuple[int, float, float]:
    """Return the number of sampled cells, the preparation time of a group and the time of a cell.

    If no group has a second cell, the two times cannot be told apart, and all counts as the cell's.
    """
    bench = Workbench()
    bench.warm_up()
    random = Random(0)
    first: list[float] = []
    rest: list[float] = []
    begun = perf_counter()
    for group in random.sample(groups, len(groups)):
        few = [group[0], *random.sample(group[1:], min(MAX_SAMPLES_PER_GROUP - 1, len(group) - 1))]
        jobs = [Job.of(one, "", study.metrics) for one in few]
        seconds = [answer.seconds or 0.0 for answer in bench.answers(jobs)]
        first.append(seconds[0])
        rest += seconds[1:]
        if perf_counter() - begun > SAMPLING_S:
            break
    cell_s = sum(rest) / len(rest) if rest else 0.0
    mean_s = sum(first) / len(first) if first else 0.0
    return len(first) + len(rest), max(0.0, mean_s - cell_s), cell_s if rest else mean_s


def _peak_bytes() -> int | None:
    """Return the peak memory of this process, in bytes; None if the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def known_cells(folder: Path | None) -> set[str]:
    """Return the cells in the store in *folder*; none if there is no store yet."""
    from tasksim.study.sweep.store import read_cells

    if folder is None or not (folder / "study.json").exists():
        return set()
    return set(read_cells(folder, ["cell"]).column("cell").to_pylist())
