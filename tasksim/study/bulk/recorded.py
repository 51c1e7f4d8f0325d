"""Profiles of recorded runs, and of graphs on ranks on which nothing has run yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.formats.samples import read_samples
from tasksim.graph.distribution.cutting import cut_by
from tasksim.graph.distribution.owners import Grid, nearly_square
from tasksim.run.sharedcores import alone_s
from tasksim.study.bulk.profile import KernelCounts, profile_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.samples import RecordedRun
    from tasksim.study.bulk.profile import Profile

__all__ = ["SUFFIX", "counts_in", "grid_like", "owner_of", "profile_of_graph", "profile_of_run"]

SUFFIX: Final = "-counters.csv"
"""Of the files that ``tasksim counters`` writes for an application, a kernel each."""


def counts_in(folder: Path) -> dict[str, KernelCounts]:
    """Return the counters of each kernel in a *folder* of ``tasksim counters``.

    Raises
    ------
    InputError
        If there are none.
    """
    found = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        samples = read_samples(path)
        if samples.counters:
            found[path.name.removesuffix(SUFFIX)] = KernelCounts(samples)
    if not found:
        raise InputError(
            f"{folder}: no KERNEL{SUFFIX} with counters: 'tasksim counters' writes some"
        )
    return found


def profile_of_run(recorded: RecordedRun, counts: Mapping[str, KernelCounts]) -> Profile:
    """Return the profile of a recorded run, simulated or native.

    Where ranks shared cores, tasks count for what they would have taken alone.
    """
    run, graph = recorded.run, recorded.graph
    node_of = np.array([worker.node for worker in run.workers], np.int64)
    ranks = int(node_of.max(initial=0)) + 1
    node, durations_s = np.zeros(len(graph), np.int64), np.zeros(len(graph))
    node[run.tasks.task] = node_of[run.tasks.worker]
    durations_s[run.tasks.task] = alone_s(run)
    nothing = np.empty(0, np.int64)
    messages: Any = (nothing, nothing, nothing)
    if run.messages is not None:
        messages = run.messages.source, run.messages.target, run.messages.handle
    return profile_of(
        graph, node, messages, counts, ranks=ranks, workers=-(-len(run.workers) // ranks),
        durations_s=durations_s, seconds=run.makespan_s,
    )  # fmt: skip


def profile_of_graph(
    graph: TaskGraph, grid: Grid, owner: str, counts: Mapping[str, KernelCounts], workers: int = 1
) -> Profile:
    """Return what each rank of *grid* would execute and send, without running anything."""
    nothing = np.empty(0, np.int64)
    if grid.nodes == 1:
        node = np.zeros(len(graph), np.int64)
        return profile_of(
            graph, node, (nothing, nothing, nothing), counts, ranks=1, workers=workers
        )
    cut = cut_by(graph, grid, owner)
    messages = cut.messages.source, cut.messages.target, cut.messages.handle
    return profile_of(
        graph, cut.executor, messages, counts, ranks=grid.nodes, workers=workers
    )  # fmt: skip


def owner_of(recorded: RecordedRun) -> str:
    """Return the name of the distribution of a recorded run; ``row`` where it says none."""
    return str(_said(recorded).get("owner") or "row")


def grid_like(recorded: RecordedRun, ranks: int) -> Grid:
    """Return the grid of so many ranks: in a row or a column where the run's is, else square."""
    said = str(_said(recorded).get("grid") or "")
    rows, _, columns = said.partition("x")
    if rows == "1" and columns not in ("", "1", "2"):
        return Grid(1, ranks)
    if columns == "1" and rows not in ("", "1"):
        return Grid(ranks, 1)
    # 1x2 is what a square of two is called, too.
    return nearly_square(ranks)


def _said(recorded: RecordedRun) -> dict[str, Any]:
    config = recorded.run.config
    return dict(config.get("ranks") or config.get("cluster") or {})
