"""Comparison of two runs, with the size of the difference and its causes.

One run may have a prediction interval that contains the other or not: :class:`Inside`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.documents.json_document import FormatError, JsonNode
from tasksim.base.errors import InputError, expect, option
from tasksim.base.notebook import html_summary
from tasksim.base.units import duration_text, format_time
from tasksim.run.copystatistics import moved_bytes
from tasksim.run.disturbance import has_processor_times, others_share
from tasksim.run.metrics import idle_time, idleness_percent, kernel_durations, task_counts
from tasksim.run.others import crowded_share
from tasksim.run.record import Run
from tasksim.run.runchecks import check_records
from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Bools, Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.recordtables import MessageTable

    GraphOf = Callable[[Run], TaskGraph | None]

__all__ = [
    "Comparison",
    "EndShift",
    "Inside",
    "KernelComparison",
    "MessageComparison",
    "Side",
    "compare",
    "compare_messages",
    "ks_distance",
    "mean_durations",
]


@dataclass(frozen=True, slots=True)
class Side:
    """Summary of one of the two runs."""

    kind: str
    graph: str
    platform: str
    workers: dict[str, int]
    """Number of workers per architecture."""
    scheduler: str
    makespan_s: float
    busy_s: float
    idleness_percent: float
    """Mean over the workers."""
    worker_tasks: tuple[int, ...]
    """Tasks per worker."""
    worker_idleness_percent: tuple[float, ...]
    idle_waits_s: dict[str, float | None]
    """Idle time of all workers by what they waited for (:class:`tasksim.run.metrics.IdleTime`).
    None: unknown."""
    transfers: int | None
    """Number of copies between memories; None: not recorded."""
    transferred_bytes: int | None
    evictions: int | None
    others_s: float | None = None
    """Time that other programs took from the cores of a native run; None: unknown."""
    alone_s: float | None = None
    """Makespan that a native run would have had alone; None: unknown."""
    crowded_share: float | None = None
    """Share of its tasks' time that others on the same processor took; None:
    unknown."""

    @property
    def undisturbed_s(self) -> float:
        """Makespan to compare with a prediction: that of the run alone, if known."""
        return self.makespan_s if self.alone_s is None else self.alone_s


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """One kernel in the two runs; where a run has none of it, the count is 0 and the mean None."""

    kernel: str
    count_a: int
    count_b: int
    total_a_s: float
    total_b_s: float
    mean_a_s: float | None
    mean_b_s: float | None
    mean_ratio: float | None
    """Mean duration of b over that of a."""
    ks_distance: float | None
    """Kolmogorov-Smirnov distance of the two distributions of durations, from 0 to 1."""
    alone_ratio: float | None = None
    """Ratio of the mean durations without the time that other programs took; None: unknown."""


@dataclass(frozen=True, slots=True)
class EndShift:
    """Shift of the tasks' ends from a to b, over all tasks, in seconds."""

    mean_s: float
    median_s: float
    mean_absolute_s: float
    p95_absolute_s: float
    largest_s: float
    largest_task: int
    """Task whose end shifted most."""


@dataclass(frozen=True, slots=True)
class MessageTotals:
    """Sums over messages."""

    count: int
    bytes: int
    moving_s: float
    """Total time for which their data moved."""
    waiting_s: float
    """Total time from when they could have been sent until their data began to move."""


@dataclass(frozen=True, slots=True)
class PairComparison:
    """The messages from one node to another in two runs."""

    source: int
    target: int
    a: MessageTotals
    b: MessageTotals


@dataclass(frozen=True, slots=True)
class MessageComparison:
    """Messages of run *b* compared with those of run *a*."""

    a: MessageTotals
    b: MessageTotals
    pairs: tuple[PairComparison, ...]
    """Per pair of nodes with messages in either run, by source and target."""
    first_difference: str | None
    """The first message, in posting order, that differs between the runs."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Run *b* compared with run *a*."""

    a: Side
    b: Side
    error_percent: float
    """``100 (makespan of b / makespan of a - 1)``."""
    kernels: tuple[KernelComparison, ...]
    end_shift: EndShift | None
    """None if the runs have different graphs."""
    error_alone_percent: float | None = None
    """As ``error_percent``, with the makespans that the runs would have had alone: the error of the
    model without the effect of other programs; None: unknown for both runs."""
    messages: MessageComparison | None = None
    """For runs on several nodes; None unless both recorded messages."""
    inside: Inside | None = None
    """Whether one run is inside the prediction interval of the other; None if neither has one, or
    both."""

    def __repr__(self) -> str:
        a, b = duration_text(self.a.makespan_s), duration_text(self.b.makespan_s)
        return f"<Comparison {self.a.graph}: {a} and {b}, {self.error_percent:+.2f} %>"

    def _repr_html_(self) -> str:
        """Return a summary for notebooks: both makespans, and the kernels of both runs."""
        facts = [
            (
                name,
                f"{side.kind}, {side.scheduler} on {side.platform}: "
                f"{duration_text(side.makespan_s)}",
            )
            for name, side in (("a", self.a), ("b", self.b))
        ]
        facts.append(("b against a", f"{self.error_percent:+.2f} %"))
        rows = [
            [k.kernel, *("-" if s is None else format_time(s) for s in (k.mean_a_s, k.mean_b_s))]
            for k in self.kernels
        ]
        header = ["kernel", "mean in a", "mean in b"]
        title = f"Comparison of runs of {self.a.graph}"
        return html_summary(title, facts, header=header, rows=rows)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain JSON data."""
        data = {"schema_version": 1, **asdict(self)}
        for name in ("inside", "messages"):
            if data[name] is None:
                del data[name]
        return data


def compare(
    a: Run, b: Run, *, any_graph: bool = False, graph_of: GraphOf | None = None
) -> Comparison:
    """Compare run *b* with the reference *a*, usually the older or the native one.

    Parameters
    ----------
    a : Run
        The reference.
    b : Run
        Run to compare with it.
    any_graph : bool, default False
        Whether to compare runs of different graphs, too; then tasks are not matched.
    graph_of : callable, optional
        Returns the graph of a run, or None. Durations without others then leave out what cold data
        cost, as predictions do (:func:`tasksim.run.undisturbed.undisturbed_s`).

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If the runs have different graphs and *any_graph* is not given: other generators or
        arguments (except ``priorities``), or tasks of other kernels.
    CheckFailed
        If the records of a run are inconsistent.

    See Also
    --------
    practical_critical_path : Where the time of one run went.
    figure : Draws both runs.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> two, four = (
    ...     tasksim.simulate("cholesky tiles=4", workers=n, durations=seconds) for n in (2, 4)
    ... )
    >>> comparison = tasksim.compare(two, four)
    >>> comparison.a.makespan_s, comparison.b.makespan_s, round(comparison.error_percent)
    (38.0, 29.0, -24)
    """
    for name, run in (("a", a), ("b", b)):
        expect(run, Run, name)
        check_records(run, f"run {name}")
    difference = _graph_difference(a, b)
    if difference and not any_graph:
        raise InputError(
            f"the runs have different graphs: {difference}; "
            f"{option('any_graph', 'True')} compares them all the same"
        )
    if not a.makespan_s:
        raise InputError(f"the reference run of {a.graph_label} takes no time")
    first, second = _side(a), _side(b)
    alone = {id(run): _undisturbed_s(run, graph_of) for run in (a, b) if has_processor_times(run)}
    error_alone_percent = None
    if first.alone_s is not None or second.alone_s is not None:
        error_alone_percent = 100.0 * (second.undisturbed_s / first.undisturbed_s - 1.0)
    return Comparison(
        first,
        second,
        error_percent=100.0 * (b.makespan_s / a.makespan_s - 1.0),
        kernels=_kernels(a, b, alone),
        end_shift=None if difference else _end_shift(a, b),
        error_alone_percent=error_alone_percent,
        messages=compare_messages(a, b),
        inside=None if difference else _inside(a, b, alone),
    )


def compare_messages(a: Run, b: Run) -> MessageComparison | None:
    """Return the comparison of both runs' messages; None unless both recorded them.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> runs = [
    ...     tasksim.simulate("cholesky tiles=4 tile_size=256", workers=1, durations=seconds, grid=g,
    ...                      network="switch:bandwidth=1GB/s,latency=1us")
    ...     for g in ("1x2", "2x1")
    ... ]
    >>> found = compare_messages(*runs)
    >>> found.a.count, found.b.count, len(found.pairs)
    (6, 6, 2)
    >>> found.first_difference
    'message 0: of datum #4 from node 0 to 1; in b of datum #0 from node 0 to 1'
    """
    one, other = a.messages, b.messages
    if one is None or other is None:
        return None
    nodes = 1 + max(worker.node for run in (a, b) for worker in run.workers)
    return MessageComparison(
        _message_totals(one, np.ones(len(one), np.bool_)),
        _message_totals(other, np.ones(len(other), np.bool_)),
        tuple(_node_pairs(one, other, nodes)),
        _first_message_difference(one, other),
    )


def _message_totals(table: MessageTable, chosen: Bools) -> MessageTotals:
    return MessageTotals(
        count=int(chosen.sum()),
        bytes=int(table.size_bytes[chosen].sum()),
        moving_s=float((table.end_s - table.start_s)[chosen].sum()),
        waiting_s=float(np.maximum(table.start_s - table.ready_s, 0.0)[chosen].sum()),
    )


def _node_pairs(a: MessageTable, b: MessageTable, nodes: int) -> list[PairComparison]:
    keys = [table.source.astype(np.int64) * nodes + table.target for table in (a, b)]
    return [
        PairComparison(pair // nodes, pair % nodes, *(
            _message_totals(table, of == pair) for table, of in zip((a, b), keys, strict=True)
        ))
        for pair in np.unique(np.concatenate(keys)).tolist()
    ]  # fmt: skip


def _first_message_difference(a: MessageTable, b: MessageTable) -> str | None:
    both = min(len(a), len(b))
    unequal = np.zeros(both, np.bool_)
    for name in ("source", "target", "handle", "size_bytes", "task"):
        unequal |= getattr(a, name)[:both] != getattr(b, name)[:both]
    if not unequal.any() and len(a) == len(b):
        return None
    place = int(np.argmax(unequal)) if unequal.any() else both
    return f"message {place}: {_message_text(a, place)}; in b {_message_text(b, place)}"


def _message_text(table: MessageTable, place: int) -> str:
    if place >= len(table):
        return "none"
    handle, source, target = table.handle[place], table.source[place], table.target[place]
    return f"of datum #{handle} from node {source} to {target}"


def ks_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Return the two-sample Kolmogorov-Smirnov distance ``sup |F_a - F_b|``.

    >>> ks_distance([1.0, 2.0], [1.0, 2.0])
    0.0
    >>> ks_distance([1.0, 2.0], [2.0, 3.0])
    0.5
    """
    x, y = np.sort(np.asarray(a)), np.sort(np.asarray(b))
    both = np.concatenate((x, y))
    below_x = np.searchsorted(x, both, side="right") / len(x)
    below_y = np.searchsorted(y, both, side="right") / len(y)
    return float(np.abs(below_x - below_y).max())


def _graph_difference(a: Run, b: Run) -> str:
    """Return the difference between the graphs of two runs; empty if they are equal."""
    essential = [{k: v for k, v in r.graph_arguments.items() if k != "priorities"} for r in (a, b)]
    if a.graph_name != b.graph_name or essential[0] != essential[1]:
        return f"{a.graph_label} and {b.graph_label}"
    if len(a) != len(b):
        return f"{a.graph_label} with {len(a)} and with {len(b)} tasks"
    other = np.array(a.kernel_names)[a.tasks.kernel] != np.array(b.kernel_names)[b.tasks.kernel]
    if other.any():
        task = int(np.argmax(other))
        return f"task {task} is {a.label(task)} in one and {b.label(task)} in the other"
    return ""


def _side(run: Run) -> Side:
    idle = idleness_percent(run)
    return Side(
        kind=run.kind,
        graph=run.graph_label,
        platform=run.platform,
        workers=dict(Counter(worker.architecture for worker in run.workers)),
        scheduler=run.scheduler,
        makespan_s=run.makespan_s,
        busy_s=float(run.tasks.duration_s.sum()),
        idleness_percent=float(idle.mean()) if len(idle) else 0.0,
        worker_tasks=tuple(task_counts(run).tolist()),
        worker_idleness_percent=tuple(idle.tolist()),
        idle_waits_s=idle_time(run).totals(),
        transfers=None if run.transfers is None else len(run.transfers),
        transferred_bytes=None if run.transfers is None else moved_bytes(run),
        evictions=None if run.transfers is None else run.evictions,
        others_s=None if run.disturbance is None else run.disturbance.total_s,
        alone_s=None if run.disturbance is None else run.disturbance.alone_s,
        crowded_share=crowded_share(run),
    )


def _undisturbed_s(run: Run, graph_of: GraphOf | None) -> Floats:
    """Return the durations of a run's tasks without others."""
    graph = graph_of(run) if graph_of is not None and others_share(run) else None
    return undisturbed_s(run, graph)


def _kernels(a: Run, b: Run, alone: Mapping[int, Floats]) -> tuple[KernelComparison, ...]:
    durations = kernel_durations(a), kernel_durations(b)
    means = [
        _means(run, alone.get(id(run), run.tasks.duration_s)) if alone else {} for run in (a, b)
    ]
    found = []
    for name in dict.fromkeys([*durations[0], *durations[1]]):
        in_a, in_b = (of.get(name, np.zeros(0)) for of in durations)
        mean_a, mean_b = (float(x.mean()) if len(x) else None for x in (in_a, in_b))
        kernel = KernelComparison(
            kernel=name,
            count_a=len(in_a),
            count_b=len(in_b),
            total_a_s=float(in_a.sum()),
            total_b_s=float(in_b.sum()),
            mean_a_s=mean_a,
            mean_b_s=mean_b,
            mean_ratio=_ratio(mean_a, mean_b),
            ks_distance=ks_distance(in_a, in_b) if len(in_a) and len(in_b) else None,
            alone_ratio=_ratio(*(of.get(name) for of in means)),
        )
        found.append(kernel)
    return tuple(found)


def _means(run: Run, seconds: Floats) -> dict[str, float]:
    """Return the mean duration of each kernel's tasks, which took so many *seconds*."""
    count = np.bincount(run.tasks.kernel, minlength=len(run.kernel_names))
    total = np.bincount(run.tasks.kernel, seconds, len(count))
    pairs = zip(run.kernel_names, total / np.maximum(count, 1), strict=True)
    return {name: float(mean) for (name, mean), n in zip(pairs, count, strict=True) if n}


def _ratio(a: float | None, b: float | None) -> float | None:
    return b / a if a and b is not None else None


def _end_shift(a: Run, b: Run) -> EndShift:
    shift = b.tasks.end_s - a.tasks.end_s
    size = np.abs(shift)
    largest = int(np.argmax(size))
    return EndShift(
        mean_s=float(shift.mean()),
        median_s=float(np.median(shift)),
        mean_absolute_s=float(size.mean()),
        p95_absolute_s=float(np.quantile(size, 0.95)),
        largest_s=float(shift[largest]),
        largest_task=int(a.tasks.task[largest]),
    )


@dataclass(frozen=True, slots=True)
class KernelInside:
    """Mean duration of a kernel's tasks in a run, and its predicted interval, both alone."""

    kernel: str
    architecture: str
    mean_s: float
    low_s: float
    high_s: float

    @property
    def inside(self) -> bool:
        """Whether the mean is inside the interval."""
        return self.low_s <= self.mean_s <= self.high_s


@dataclass(frozen=True, slots=True)
class Inside:
    """Position of a run relative to the prediction interval of another.

    Parameters
    ----------
    makespan_s : float
        Makespan of the run.
    low_s, high_s : float
        Bounds of the prediction interval of one run.
    level : float
        Confidence level of the interval.
    inside : bool
        Whether this run is inside.
    kernels : tuple of KernelInside
        Each kernel on each architecture that both have.
    """

    makespan_s: float
    low_s: float
    high_s: float
    level: float
    inside: bool
    kernels: tuple[KernelInside, ...]

    def text(self) -> str:
        """Return the result as text, in a line or two."""
        bounds = f"{duration_text(self.low_s)} to {duration_text(self.high_s)}"
        where = "inside" if self.inside else "outside"
        line = (
            f"{duration_text(self.makespan_s)} is {where} the interval of one run, {bounds} "
            f"({100 * self.level:g} %)"
        )
        out = []
        for kernel in self.kernels:
            if not kernel.inside:
                mean, low, high = map(duration_text, (kernel.mean_s, kernel.low_s, kernel.high_s))
                out.append(
                    f"{kernel.kernel} on {kernel.architecture} takes {mean}, "
                    f"predicted {low} to {high}"
                )
        return "\n".join(
            [line, *(["kernels outside of theirs, alone: " + "; ".join(out)] if out else [])]
        )


def _inside(a: Run, b: Run, alone: Mapping[int, Floats]) -> Inside | None:
    """Return whether one run is inside the interval of the other; None if neither has one, or both.

    *alone* are the durations of tasks without others, by the identity of their run. Raise
    :exc:`InputError` if the uncertainty of a run is malformed.
    """
    if (a.uncertainty is None) == (b.uncertainty is None):
        return None
    run, other = (a, b) if a.uncertainty is None else (b, a)
    said = JsonNode(dict(other.uncertainty or {}))
    means = mean_durations(run, alone.get(id(run)))
    try:
        low, high = said["run_low_s"].number(), said["run_high_s"].number()
        kernels = [
            KernelInside(
                *of, means[of], kernel["run_low_s"].number(), kernel["run_high_s"].number()
            )
            for kernel in said["kernels"]
            if (of := (kernel["kernel"].text(), kernel["architecture"].text())) in means
        ]
        level = said["level"].number()
    except FormatError as error:
        raise InputError(f"uncertainty of the run of {other.graph_label}: {error}") from None
    makespan = run.makespan_s
    return Inside(makespan, low, high, level, low <= makespan <= high, tuple(kernels))


def mean_durations(run: Run, seconds: Floats | None = None) -> dict[tuple[str, str], float]:
    """Return the mean duration of each kernel on each architecture.

    *seconds* are those of the tasks, by default as they were recorded.
    """
    names = list(dict.fromkeys(worker.architecture for worker in run.workers))
    where = np.array([names.index(worker.architecture) for worker in run.workers], np.intp)
    key = run.tasks.kernel * len(names) + where[run.tasks.worker]
    count = np.bincount(key)
    total = np.bincount(key, weights=run.tasks.duration_s if seconds is None else seconds)
    return {
        (run.kernel_names[k // len(names)], names[k % len(names)]): float(total[k] / count[k])
        for k in np.flatnonzero(count).tolist()
    }
