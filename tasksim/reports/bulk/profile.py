"""Profile of a program on some ranks, with computing and messages of the busiest rank."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.formats.samples import read_samples
from tasksim.graph.distribution.owners import NodeGrid, nearly_square
from tasksim.graph.distribution.parts import cut_by
from tasksim.models.counters.families import chosen_function
from tasksim.models.quantiles import group_means
from tasksim.models.rows import SIZE_PARAMETER
from tasksim.models.terms.formulas import parse_terms
from tasksim.run.sharedcores import own_core_s

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.samples import Samples
    from tasksim.run.recordtables import MessageTable
    from tasksim.run.samples import RecordedRun

    Messages = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]

__all__ = [
    "COUNTERS_SUFFIX",
    "KernelCounts",
    "KernelOnRank",
    "Profile",
    "Sent",
    "counts_in",
    "grid_like",
    "owner_of",
    "profile_of",
    "profile_of_graph",
    "profile_of_run",
    "ranks_of",
    "size_of",
]


@dataclass(frozen=True)
class KernelOnRank:
    """Part of a kernel on the rank that executes most of it.

    Attributes
    ----------
    counters : mapping
        Counter -> its sum over the executions.
    seconds : float
        Time of the executions, one after the other; NaN if they were not timed.
    """

    counters: Mapping[str, float]
    seconds: float = nan


@dataclass(frozen=True)
class Sent:
    """Messages of the busiest rank with data of one name.

    Attributes
    ----------
    messages, size_bytes : float
        Number and bytes on that rank, in the busier direction.
    total : float
        Messages of all ranks.
    calls : float
        Median number of times that a datum of that name is sent; each part of a sum is sent once.
    """

    messages: float
    size_bytes: float
    total: float
    calls: float


@dataclass(frozen=True)
class Profile:
    """A program on some ranks.

    Attributes
    ----------
    ranks : int
    size : float
        Size of the problem: the computed instructions, unless the user says what it is.
    kernels : mapping
        Kernel -> its share.
    sent : mapping
        Name of data -> the messages with them.
    seconds : float
        Makespan of the program; NaN if it was not run.
    messages_s : mapping
        Name of data -> time of all messages of all ranks with them, one after the other; empty if
        they were not timed.
    """

    ranks: int
    size: float
    kernels: Mapping[str, KernelOnRank]
    sent: Mapping[str, Sent] = field(default_factory=dict)
    seconds: float = nan
    messages_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def kernels_s(self) -> float:
        """Time of all kernels on the rank that executes most of each; NaN if it was not run."""
        return sum(share.seconds for share in self.kernels.values())


class KernelCounts:
    """Counters of one execution of a kernel, by its parameters.

    Counted configurations are exact; for others each counter is a function of the parameters.
    """

    def __init__(self, samples: Samples) -> None:
        self.names = [name for name in samples.names if name != SIZE_PARAMETER]
        self._counters = samples.counters or {}
        places = [samples.names.index(name) for name in self.names]
        self._rows, group = np.unique(samples.parameters[:, places], axis=0, return_inverse=True)
        self._means = {n: group_means(c, group.ravel()) for n, c in self._counters.items()}

    def of(self, rows: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return each counter for each of the *rows* of parameters."""
        known = (rows[:, None, :] == self._rows[None, :, :]).all(axis=2)
        place, there = known.argmax(axis=1), known.any(axis=1)
        found = {}
        for name, means in self._means.items():
            values = means[place]
            if not there.all():
                values = np.where(there, values, chosen_function(self._rows, means)(rows))
            found[name] = values
        return found


NO_MESSAGES: Final[Messages] = (np.empty(0, np.int64),) * 3


def profile_of(
    graph: TaskGraph,
    node: NDArray[np.integer],
    messages: Messages,
    counts: Mapping[str, KernelCounts],
    *,
    ranks: int,
    workers: int = 1,
    durations_s: NDArray[np.float64] | None = None,
    seconds: float = nan,
) -> Profile:
    """Return the profile of *graph* where task i is executed on ``node[i]``.

    Parameters
    ----------
    graph, node : TaskGraph, int array
        The graph, and the rank of each task.
    messages : three int arrays
        Source, target and datum of each message.
    counts : mapping
        Model name -> counters of an execution; kernels without have times alone.
    ranks, workers : int
        Number of ranks, and of workers per rank.
    durations_s : float64 array, optional
        Duration of each task.
    seconds : float, optional
        Makespan of the program.
    """
    kernels: dict[str, KernelOnRank] = {}
    size = 0.0
    for number, name in enumerate(graph.model_names):
        tasks = np.flatnonzero(graph.kernel == number)
        if len(tasks):
            counters = _counters(graph, number, tasks, counts.get(name))
            share = _share(node[tasks], counters, durations_s, tasks, ranks, workers)
            size += float(counters.get("instructions", np.zeros(1)).sum())
            kernels[name] = share if name not in kernels else _added(kernels[name], share)
    return Profile(ranks, size, kernels, _sent(graph, messages, ranks), seconds)


def _counters(
    graph: TaskGraph, number: int, tasks: NDArray[np.intp], counts: KernelCounts | None
) -> dict[str, NDArray[np.float64]]:
    if counts is None:
        return {}
    places = [graph.parameter_names[number].index(name) for name in counts.names]
    of_row = counts.of(graph.parameters[number][:, places])
    return {name: values[graph.row[tasks]] for name, values in of_row.items()}


COUNTERS_WITHOUT_SUM = ("frequency_hz", "latency_factor")
"""Counters that are not summed over executions."""


def _share(
    node: NDArray[np.integer],
    counters: Mapping[str, NDArray[np.float64]],
    durations_s: NDArray[np.float64] | None,
    tasks: NDArray[np.intp],
    ranks: int,
    workers: int,
) -> KernelOnRank:
    """Return the share of the busiest rank; its time is its part of the time of all ranks.

    The mean over all executions has less noise than that over one rank's.
    """
    work = counters.get("instructions", np.ones(len(tasks)))
    of_rank = np.bincount(node, work, minlength=ranks)
    most = int(of_rank.argmax())
    sums = {
        name: float(values[0])
        if name in COUNTERS_WITHOUT_SUM
        else float(values[node == most].sum()) / workers
        for name, values in counters.items()
    }
    part = float(of_rank[most] / work.sum()) / workers
    taken = nan if durations_s is None else float(durations_s[tasks].sum()) * part
    return KernelOnRank(sums, taken)


def _added(one: KernelOnRank, other: KernelOnRank) -> KernelOnRank:
    sums = {
        name: value if name in COUNTERS_WITHOUT_SUM else value + other.counters[name]
        for name, value in one.counters.items()
    }
    return KernelOnRank(sums, one.seconds + other.seconds)


def _sent(graph: TaskGraph, messages: Messages, ranks: int) -> dict[str, Sent]:
    source, target, handle = messages
    found = {}
    for block in graph.handle_blocks:
        mine = (handle >= block.first) & (handle < block.end)
        if not mine.any():
            continue
        size = graph.handle_size[handle[mine]].astype(float)
        # Ports work both ways at once: the busier way of the busiest rank limits the run.
        counts, sizes = (
            np.stack([np.bincount(side[mine], w, minlength=ranks) for side in (source, target)])
            for w in (np.ones(len(size)), size)
        )
        rank = int(counts.max(axis=0).argmax())
        calls = float(np.median(np.unique(handle[mine], return_counts=True)[1]))
        busy = float(counts[:, rank].max()), float(sizes[:, rank].max())
        found[block.name] = Sent(*busy, float(mine.sum()), calls)
    return found


COUNTERS_SUFFIX: Final = "-counters.csv"
"""Suffix of the files that ``tasksim counters`` writes for an application, one per kernel."""


def counts_in(folder: Path) -> dict[str, KernelCounts]:
    """Return the counters of each kernel in a *folder* of ``tasksim counters``.

    Raises
    ------
    InputError
        If there are none.
    """
    found = {}
    for path in sorted(folder.glob(f"*{COUNTERS_SUFFIX}")):
        samples = read_samples(path)
        if samples.counters:
            found[path.name.removesuffix(COUNTERS_SUFFIX)] = KernelCounts(samples)
    if not found:
        raise InputError(
            f"{folder}: no KERNEL{COUNTERS_SUFFIX} with counters: 'tasksim counters' writes some"
        )
    return found


def profile_of_run(recorded: RecordedRun, counts: Mapping[str, KernelCounts]) -> Profile:
    """Return the profile of a recorded run, simulated or native.

    If ranks shared cores, tasks count with the duration that they would have had alone.
    """
    run, graph = recorded.run, recorded.graph
    node_of = np.array([worker.node for worker in run.workers], np.int64)
    ranks = int(node_of.max(initial=0)) + 1
    node, durations_s = np.zeros(len(graph), np.int64), np.zeros(len(graph))
    node[run.tasks.task] = node_of[run.tasks.worker]
    durations_s[run.tasks.task] = own_core_s(run)
    messages = NO_MESSAGES
    if run.messages is not None:
        messages = run.messages.source, run.messages.target, run.messages.handle
    found = profile_of(
        graph, node, messages, counts, ranks=ranks, workers=-(-len(run.workers) // ranks),
        durations_s=durations_s, seconds=run.makespan_s,
    )  # fmt: skip
    return found if run.messages is None else replace(found, messages_s=_timed(graph, run.messages))


def _timed(graph: TaskGraph, messages: MessageTable) -> dict[str, float]:
    """Return the time of the messages with data of each name."""
    taken = messages.end_s - messages.start_s
    found: dict[str, float] = {}
    for block in graph.handle_blocks:
        mine = (messages.handle >= block.first) & (messages.handle < block.end)
        if mine.any():
            found[block.name] = found.get(block.name, 0.0) + float(taken[mine].sum())
    return found


def size_of(graph: TaskGraph, text: str) -> float:
    """Return the size of the problem of *graph*: a sum of products of powers of its settings.

    Raises
    ------
    InputError
        If *text* names no setting with a number, or the size is not positive.

    Examples
    --------
    >>> from tasksim.graph.apps.registry import generate
    >>> size_of(generate("jacobi", block_rows=2, block_columns=3, block_size=10), "block_size^2")
    100.0
    """
    numbers = {
        name: float(value)
        for name, value in graph.arguments.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    terms = parse_terms(text, tuple(numbers))
    row = np.array([list(numbers.values())])
    # The constant that terms of a regression have is no part of a size.
    size = float(terms.design(row)[0, int(terms.constant) :].sum())
    if not size > 0:
        raise InputError(f"size {text}: got {size:g} for {graph.name}; legal: more than 0")
    return size


def profile_of_graph(
    graph: TaskGraph,
    grid: NodeGrid,
    owner: str,
    counts: Mapping[str, KernelCounts],
    workers: int = 1,
) -> Profile:
    """Return the profile of *graph* on the ranks of *grid*, without running it."""
    if grid.nodes == 1:
        node = np.zeros(len(graph), np.int64)
        return profile_of(graph, node, NO_MESSAGES, counts, ranks=1, workers=workers)
    cut = cut_by(graph, grid, owner)
    messages = cut.messages.source, cut.messages.target, cut.messages.handle
    return profile_of(graph, cut.executor, messages, counts, ranks=grid.nodes, workers=workers)


def ranks_of(recorded: RecordedRun) -> int:
    """Return the number of ranks of a recorded run."""
    return 1 + max(worker.node for worker in recorded.run.workers)


def owner_of(recorded: RecordedRun) -> str:
    """Return the name of the distribution of a recorded run; by default ``row``."""
    return str(_placement(recorded).get("owner") or "row")


def grid_like(recorded: RecordedRun, ranks: int) -> NodeGrid:
    """Return a grid of *ranks* with the shape of the run's: a row, a column, or else square."""
    rows, _, columns = str(_placement(recorded).get("grid") or "").partition("x")
    if rows == "1" and columns not in ("", "1", "2"):
        return NodeGrid(1, ranks)
    if columns == "1" and rows not in ("", "1"):
        return NodeGrid(ranks, 1)
    # 1x2 is what a square of two is called, too.
    return nearly_square(ranks)


def _placement(recorded: RecordedRun) -> dict[str, Any]:
    """Return what a run on several ranks records of its grid and distribution."""
    config = recorded.run.config
    return dict(config.get("ranks") or config.get("cluster") or {})
