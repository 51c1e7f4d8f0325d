"""Plain text tables of runs, bounds and comparisons, for terminals and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.units import duration_text, format_bandwidth, format_size, format_time
from tasksim.run.facts import BOUND_NAMES, above, run_facts
from tasksim.run.metrics import IDLE_NAMES, idleness_percent, kernel_statistics, task_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from tasksim.base.arrays import Floats, Indices
    from tasksim.run.bounds import Bounds
    from tasksim.run.compare import Comparison, KernelComparison, MessageComparison, Side
    from tasksim.run.critical import PracticalPath
    from tasksim.run.network import PathMessages
    from tasksim.run.pathprofile import BspCosts, PathProfile
    from tasksim.run.record import Run

__all__ = [
    "bounds_table",
    "comparison_table",
    "kernel_table",
    "memory_table",
    "path_cost_table",
    "path_message_line",
    "path_profile_table",
    "path_table",
    "run_summary",
    "slack_table",
    "table",
    "transfer_table",
    "worker_table",
]

LINE_LETTERS: Final = 80
"""Width of a terminal in letters, into which tables with long names are to fit."""
LONG_NAME_LETTERS: Final = 40
"""Length of a name up to which tables may be wider than a terminal: a reader can still follow."""
MIN_NAME_LETTERS: Final = 24
"""Number of letters that a name keeps at least, even if its table is then too wide."""
MAX_LISTED_WORKERS: Final = 40
"""Largest number of workers with a line each: more do not fit a terminal."""
_NONE = "-"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return *rows* in aligned columns, the first *left* of them to the left.

    If the first column has names longer than :data:`LONG_NAME_LETTERS`, these lose their middle
    so that lines fit into :data:`LINE_LETTERS`. Lists without headers stay as they are: their cells
    are sentences.

    >>> print(table(["kernel", "tasks"], [["potrf", "4"], ["gemm", "120"]]))
    kernel  tasks
    potrf       4
    gemm      120
    """
    lines = [list(headers), *map(list, rows)] if any(headers) else [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if any(headers) and widths[0] > LONG_NAME_LETTERS:
        from tasksim.base.shortnames import distinct  # hardly ever needed

        others = sum(widths[1:]) + 2 * (len(widths) - 1)
        most = max(MIN_NAME_LETTERS, LINE_LETTERS - others)
        names = distinct([line[0] for line in lines], most)
        lines = [[name, *line[1:]] for name, line in zip(names, lines, strict=True)]
        widths[0] = max(map(len, names))
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def run_summary(run: Run) -> str:
    """Return what was run, where, and how long it took, a line per fact."""
    return table(["", ""], run_facts(run), left=2)


def kernel_table(run: Run) -> str:
    """Return count and durations of each kernel."""
    busy_s = float(run.tasks.duration_s.sum())
    rows = [
        [
            s.kernel,
            str(s.count),
            format_time(s.total_s),
            f"{100 * s.total_s / busy_s:.1f} %" if busy_s else _NONE,
            *map(format_time, (s.mean_s, s.median_s, s.std_s, s.min_s, s.max_s)),
        ]
        for s in kernel_statistics(run)
    ]
    headers = ["kernel", "tasks", "total", "share", "mean", "median", "std", "min", "max"]
    return table(headers, rows)


def worker_table(run: Run) -> str:
    """Return tasks and idleness of each worker, or of alike ones together if there are many.

    Of runs that moved data also the memory, and the share of the makespan that the worker
    waited for data.
    """
    workers = run.workers
    kinds: dict[Hashable, list[int]] = {}
    for number, worker in enumerate(workers):
        alike = (worker.architecture, worker.memory)
        kinds.setdefault(alike if len(workers) > MAX_LISTED_WORKERS else number, []).append(number)
    idle, counts = np.abs(idleness_percent(run)), task_counts(run)
    rows = []
    for members in kinds.values():
        names = [workers[members[0]].name, workers[members[-1]].name]
        several = f"{names[0]} to {names[1]} ({len(members)})"
        rows.append(
            [
                names[0] if len(members) == 1 else several,
                workers[members[0]].architecture,
                _span(counts[members], "{:.0f}"),
                f"{_span(idle[members], '{:.1f}')} %",
            ]
        )
    headers = ["worker", "architecture", "tasks", "idle"]
    if run.transfers is None:
        return table(headers, rows, left=2)
    from tasksim.run.metrics import idle_time

    waited = [each["transfer"] for each in idle_time(run).of_workers()]
    for row, members in zip(rows, kinds.values(), strict=True):
        row.insert(2, run.memories[workers[members[0]].memory].name)
        known = [seconds for each in members if (seconds := waited[each]) is not None]
        shares = 100 * np.array(known) / (run.makespan_s or 1.0)
        row.append("unknown" if not known else f"{_span(shares, '{:.1f}')} %")
    headers = ["worker", "architecture", "memory", "tasks", "idle", "for data"]
    return table(headers, rows, left=3)


def _span(values: Floats | Indices, form: str) -> str:
    """Return the smallest and the largest value, or the one that they are after rounding."""
    ends = dict.fromkeys(form.format(value) for value in (values.min(), values.max()))
    return " to ".join(ends)


def memory_table(run: Run) -> str:
    """Return size and greatest use of each memory, what was copied into it and out of it."""
    from tasksim.run.copystatistics import pair_statistics

    pairs = pair_statistics(run)
    most_used: dict[int, int] = {}
    if run.memory is not None:
        for memory in np.unique(run.memory.memory).tolist():
            most_used[memory] = int(run.memory.used_bytes[run.memory.memory == memory].max())
    rows = [
        [
            memory.name,
            _known(memory.size_bytes, format_size),
            _known(most_used.get(index), format_size),
            format_size(sum(pair.bytes for pair in pairs if pair.target == memory.name)),
            format_size(sum(pair.bytes for pair in pairs if pair.source == memory.name)),
        ]
        for index, memory in enumerate(run.memories)
    ]
    return table(["memory", "size", "most used", "copied in", "out"], rows)


def transfer_table(run: Run) -> str:
    """Return the copies per pair of memories: how many, how much, how fast, how long."""
    from tasksim.run.copystatistics import pair_statistics

    rows = [
        [
            f"{pair.source} to {pair.target}",
            str(pair.count),
            format_size(pair.bytes),
            format_bandwidth(pair.bytes / pair.busy_s) if pair.busy_s else _NONE,
            f"{100 * pair.busy_s / (run.makespan_s or 1.0):.1f} %",
        ]
        for pair in pair_statistics(run)
    ]
    return table(["from and to", "copies", "size", "bandwidth", "busy"], rows)


def bounds_table(bounds: Bounds | Mapping[str, float], makespan_s: float | None = None) -> str:
    """Return the lower bounds, and how far above each the makespan is, if one is given."""
    values = bounds if not hasattr(bounds, "to_json") else bounds.to_json()
    names = [BOUND_NAMES.get(name, name) for name in values]
    if makespan_s is None:
        rows = [[n, format_time(v)] for n, v in zip(names, values.values(), strict=True)]
        return table(["bound", "time"], rows)
    rows = [
        [name, format_time(value), _percent(_ratio(makespan_s, value))]
        for name, value in zip(names, values.values(), strict=True)
    ]
    return table(["bound", "time", "makespan"], rows)


def path_table(path: PracticalPath) -> str:
    """Return where the time of the practical critical path went."""
    total_s = sum(path.kernel_s.values()) + sum(path.waited_s.values()) or 1.0
    parts = [(f"in {kernel}", seconds) for kernel, seconds in path.kernel_s.items()]
    parts += [(f"waiting: {reason}", seconds) for reason, seconds in path.waited_s.items()]
    rows = [[name, format_time(s), f"{100 * s / total_s:.1f} %"] for name, s in parts if s]
    return table([_tasks(len(path.steps)), "time", "share"], rows)


def comparison_table(comparison: Comparison) -> str:
    """Return the two runs side by side, then kernel by kernel; b is measured against a."""
    a, b = comparison.a, comparison.b
    facts = [
        ["run", a.kind, b.kind, ""],
        ["scheduler", a.scheduler, b.scheduler, ""],
        ["platform", a.platform, b.platform, ""],
        *(
            [["workers", _kinds(a.workers), _kinds(b.workers), ""]]
            if a.workers != b.workers
            else []
        ),
        [
            "makespan",
            duration_text(a.makespan_s),
            duration_text(b.makespan_s),
            f"{comparison.error_percent:+.2f} %",
        ],
        *_compared_alone(comparison),
        [
            "busy",
            format_time(a.busy_s),
            format_time(b.busy_s),
            _percent(_ratio(b.busy_s, a.busy_s)),
        ],
        ["idle", f"{a.idleness_percent:.1f} %", f"{b.idleness_percent:.1f} %", ""],
        *_compared_copies(a, b),
        *(_compared_messages(comparison.messages) if comparison.messages else []),
        ["tasks per worker", _spread(a.worker_tasks), _spread(b.worker_tasks), ""],
    ]
    parts = [table(["", "a", "b", "b against a"], facts), _kernel_comparison(comparison.kernels)]
    if a.graph != b.graph:
        parts.insert(0, f"graph of a: {a.graph}\ngraph of b: {b.graph}")
    if comparison.messages is not None:
        messages = comparison.messages
        parts.append(_message_comparison(messages))
        if messages.first_difference is not None:
            parts.append(f"first difference of messages: {messages.first_difference}")
    if comparison.inside is not None:
        parts.append(comparison.inside.text())
    return "\n\n".join([*parts, *_shift_lines(comparison)])


def _compared_alone(comparison: Comparison) -> list[list[str]]:
    """Return what others took, and the makespans without that, if one of the runs knows it."""
    if comparison.error_alone_percent is None:
        return []
    sides = comparison.a, comparison.b
    taken = [
        _NONE if side.others_s is None
        else f"{format_time(side.others_s)} ({_share(side.others_s, _capacity_s(side))})"
        for side in sides
    ]  # fmt: skip
    alone = [duration_text(side.undisturbed_s) for side in sides]
    shares = [side.crowded_share for side in sides]
    crowded = [_NONE if share is None else f"{100 * share:.0f} % of tasks" for share in shares]
    return [
        ["others had the cores", *taken, ""],
        *(
            [["slowed by others", *crowded, ""]]
            if any(share is not None for share in shares)
            else []
        ),
        ["makespan, alone", *alone, f"{comparison.error_alone_percent:+.2f} %"],
    ]


def _compared_copies(a: Side, b: Side) -> list[list[str]]:
    """Return what workers waited for and what was copied, if one of the runs recorded copies."""
    if a.transfers is None and b.transfers is None:
        return []
    rows = [
        [name, *(_share(s.idle_waits_s[cause], _capacity_s(s)) for s in (a, b)), ""]
        for cause, name in IDLE_NAMES.items()
    ]
    sizes = [_known(side.transferred_bytes, format_size) for side in (a, b)]
    change = _percent(_ratio(b.transferred_bytes or 0, a.transferred_bytes or 0))
    known = a.transferred_bytes is not None and b.transferred_bytes is not None
    return [
        *rows,
        ["copies", _known(a.transfers), _known(b.transfers), ""],
        ["copied", *sizes, change if known else ""],
        ["evictions", _known(a.evictions), _known(b.evictions), ""],
    ]


def _capacity_s(side: Side) -> float:
    """Return the time of all workers of a run."""
    return len(side.worker_tasks) * side.makespan_s


def _share(seconds: float | None, whole_s: float) -> str:
    """Return the share of *seconds* in *whole_s*."""
    return "unknown" if seconds is None else f"{100 * seconds / (whole_s or 1.0):.1f} %"


def _known(value: Any, text: Callable[[Any], str] = str) -> str:
    """Return *value* as a *text*, or a dash if it is not known."""
    return _NONE if value is None else text(value)


def _kernel_comparison(kernels: Sequence[KernelComparison]) -> str:
    alone = any(k.alone_ratio is not None for k in kernels)
    rows = [
        [
            k.kernel,
            str(k.count_a) if k.count_a == k.count_b else f"{k.count_a} / {k.count_b}",
            format_time(k.total_a_s),
            format_time(k.total_b_s),
            _known(k.mean_a_s, format_time),
            _known(k.mean_b_s, format_time),
            _percent(k.mean_ratio),
            *([_percent(k.alone_ratio)] if alone else []),
            _known(k.ks_distance, "{:.3f}".format),
        ]
        for k in kernels
    ]
    headers = ["kernel", "tasks", "total a", "total b", "mean a", "mean b", "b against a"]
    return table([*headers, *(["alone"] if alone else []), "KS"], rows)


def _shift_lines(comparison: Comparison) -> list[str]:
    shift = comparison.end_shift
    if shift is None:
        return []
    if not shift.largest_s:
        return ["Tasks of b end when those of a do."]
    return [
        f"Tasks of b end {_later(shift.mean_s)} on average "
        f"(distance: mean {format_time(shift.mean_absolute_s)}, "
        f"95 % within {format_time(shift.p95_absolute_s)}, "
        f"largest {_later(shift.largest_s)}, task {shift.largest_task})."
    ]


def _later(seconds: float) -> str:
    return f"{format_time(abs(seconds))} {'earlier' if seconds < 0 else 'later'}"


def _tasks(count: int) -> str:
    return f"{count} task" if count == 1 else f"{count} tasks"


def _kinds(kinds: Mapping[str, int]) -> str:
    return " + ".join(f"{count} {kind}" for kind, count in kinds.items())


def _ratio(value: float, reference: float) -> float | None:
    return value / reference if reference else None


def _percent(ratio: float | None) -> str:
    """Return by how much a ratio is above 1."""
    return _NONE if ratio is None else f"{100 * (ratio - 1):+.1f} %"


def _spread(counts: Sequence[int]) -> str:
    if not counts:
        return _NONE
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


MAX_PAIRS: Final = 12
"""Maximum number of rows of a table that is read at a glance, as for all pairs of four nodes."""


def _compared_messages(messages: MessageComparison) -> list[list[str]]:
    """Return the rows about messages of the table that has two runs side by side."""
    a, b = messages.a, messages.b
    return [
        ["messages", str(a.count), str(b.count), above(b.count, a.count)],
        ["sent", format_size(a.bytes), format_size(b.bytes), above(b.bytes, a.bytes)],
        *(
            [name, format_time(one), format_time(other), above(other, one)]
            for name, one, other in (
                ("messages move", a.moving_s, b.moving_s),
                ("messages wait", a.waiting_s, b.waiting_s),
            )
        ),
    ]


def _message_comparison(messages: MessageComparison) -> str:
    """Return the messages per pair of nodes; of many pairs those whose time differs most."""
    pairs = sorted(messages.pairs, key=lambda p: -abs(p.b.moving_s - p.a.moving_s))
    shown = sorted(pairs[:MAX_PAIRS], key=lambda p: (p.source, p.target))
    rows = [
        [
            f"{pair.source} -> {pair.target}",
            str(pair.a.count),
            str(pair.b.count),
            format_time(pair.a.moving_s),
            format_time(pair.b.moving_s),
            above(pair.b.moving_s, pair.a.moving_s),
        ]
        for pair in shown
    ]
    return table(["from, to", "in a", "in b", "moving in a", "in b ", "b against a"], rows)


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
    many = "copy" if profile.copies == 1 else "copies"
    copies = f"{profile.copies} {many}, {format_size(profile.copied_bytes)}"
    parts = [(f"in {k.kernel}", str(k.tasks), str(k.of), k.total_s) for k in profile.kernels]
    parts += [
        (f"waiting: {why}", copies if why == "transfer" else "", "", seconds)
        for why, seconds in profile.waited_s.items()
        if seconds
    ]
    rows = [[*texts, format_time(s), f"{100 * s / whole_s:.1f} %"] for *texts, s in parts]
    return table([_tasks(profile.tasks), "on the path", "in the run", "time", "share"], rows)


def path_message_line(found: PathMessages) -> str:
    """Return the number, the size and the time of the messages between nodes on the path."""
    many = "1 message" if found.count == 1 else f"{found.count} messages"
    times = f"moved {format_time(found.moving_s)}, waited {format_time(found.waiting_s)}"
    return f"{many} between nodes on the path: {format_size(found.size_bytes)}, {times}"


def path_cost_table(profile: PathProfile) -> str:
    """Return the costs of the path, of each kernel on it, and of the workers; "" if not known."""
    if profile.costs is None:
        return ""
    rows = [
        _row("along the path", profile.costs.path),
        *(_row(f"  {k.kernel}", k.costs) for k in profile.kernels if k.costs is not None),
        _row("longest of any path", profile.costs.longest),
        _row("most of any worker", profile.costs.most),
        _row("mean of the workers", profile.costs.mean),
    ]
    return table(["costs", "synchronisations", "words", "Mflop"], rows)


def slack_table(profile: PathProfile) -> str:
    """Return the slack of each kernel's tasks; "" if the graph is unknown."""
    rows = [
        [kernel, str(slack.without), format_time(slack.median_s), format_time(slack.max_s)]
        for kernel, slack in profile.slack.items()
    ]
    return table(["slack", "tasks without", "median", "most"], rows) if rows else ""


def _row(name: str, costs: BspCosts) -> list[str]:
    words = "-" if costs.words is None else f"{costs.words:.10g}"
    flop = "-" if costs.flop is None else f"{costs.flop / 1e6:.1f}"
    return [name, f"{costs.synchronisations:.10g}", words, flop]
