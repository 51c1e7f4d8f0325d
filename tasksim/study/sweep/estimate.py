"""Estimate of a study: how long it will take and how much memory, from some cells computed now."""

from __future__ import annotations

import sys
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.study.sweep.workbench import Job, Workbench, group_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from pathlib import Path

    from tasksim.study.sweep.plan import Planned
    from tasksim.study.sweep.study import Study

__all__ = ["Estimate", "estimate", "known_cells"]

PATIENCE_S: Final = 3.0
"""Of who asks how long something takes."""
CELLS: Final = 4
"""That are computed of a group: the first prepares what the others share."""


class Estimate(NamedTuple):
    """What a study will take.

    Attributes
    ----------
    cells : int
    done : int
        That are in the store already.
    groups : int
        Of all cells: those that share a graph and a platform count once.
    sampled : int
        Cells that were computed for this.
    seconds : float
        On so many workers.
    workers : int
    memory_bytes : int or None
        Of all workers together; None where the system does not tell.
    """

    cells: int
    done: int
    groups: int
    sampled: int
    seconds: float
    workers: int
    memory_bytes: int | None


def estimate(
    study: Study, cells: Sequence[Planned], done: frozenset[str] | set[str], workers: int
) -> Estimate:
    """Return what computing the *cells* that are not *done* will take on some *workers*.

    Groups that share a graph and a platform are drawn at random and a few cells of each are
    computed, for some seconds: what the first takes more than the others is what preparing takes.
    """
    todo = [one for one in cells if one.cell not in done]
    groups: dict[Hashable, list[Planned]] = {}
    for one in todo:
        groups.setdefault(group_of(one.row.scenario), []).append(one)
    sampled, prepare_s, cell_s = _measured(study, list(groups.values()))
    total_s = len(groups) * prepare_s + len(todo) * cell_s
    memory = _peak_bytes()
    return Estimate(
        cells=len(cells),
        done=len(cells) - len(todo),
        groups=len({group_of(one.row.scenario) for one in cells}),
        sampled=sampled,
        seconds=total_s / workers,
        workers=workers,
        memory_bytes=None if memory is None else memory * (workers + 1),
    )


def _measured(study: Study, groups: list[list[Planned]]) -> tuple[int, float, float]:
    """Return how many cells were computed, what preparing a group takes, and what a cell does."""
    bench = Workbench()
    bench.warm_up()
    random = Random(0)
    first: list[float] = []
    rest: list[float] = []
    begun = perf_counter()
    for group in random.sample(groups, len(groups)):
        few = [group[0], *random.sample(group[1:], min(CELLS - 1, len(group) - 1))]
        jobs = [Job.of(one, "", study.metrics) for one in few]
        seconds = [answer.seconds or 0.0 for answer in bench.answers(jobs)]
        first.append(seconds[0])
        rest += seconds[1:]
        if perf_counter() - begun > PATIENCE_S:
            break
    cell_s = sum(rest) / len(rest) if rest else 0.0
    mean_s = sum(first) / len(first) if first else 0.0
    return len(first) + len(rest), max(0.0, mean_s - cell_s), cell_s if rest else mean_s


def _peak_bytes() -> int | None:
    """Return the most memory that this process has had so far."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def known_cells(folder: Path | None) -> set[str]:
    """Return the cells that the store in *folder* has; none where there is no store yet."""
    from tasksim.study.sweep.store import read_cells

    if folder is None or not (folder / "study.json").exists():
        return set()
    return set(read_cells(folder, ["cell"]).column("cell").to_pylist())
