"""Facts of a run for people, a name and a text each: what was run, where, and how long it took."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.notebook import html_summary
from tasksim.base.times import duration_text
from tasksim.base.units import format_energy, format_power, format_size, format_time
from tasksim.run.copystatistics import moved_bytes, thrashing
from tasksim.run.metrics import efficiency, kernel_statistics, waits
from tasksim.run.slices import mean_sum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = ["BOUND_NAMES", "above", "run_facts", "run_html"]

BOUND_NAMES: Final = {
    "critical_path_s": "critical path",
    "area_s": "area bound",
    "node_area_s": "work of the node with most",
    "volume_s": "messages of the node with most",
    "path_s": "critical path with messages",
}
"""What people call the bounds."""

_BINS: Final = 150  # of the picture in notebooks: two pixels each


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Return what was run, where, and how long it took."""
    kinds = Counter(worker.architecture for worker in run.workers)
    return [
        ("graph", f"{run.graph_label} ({_count(len(run), 'task')})"),
        ("run", f"{run.kind}, scheduler {run.scheduler}, seed {run.seed}{_noise(run)}"),
        ("platform", f"{run.platform} ({_kinds(kinds)})"),
        ("makespan", duration_text(run.makespan_s)),
        *_bound_texts(run.bounds or {}, run.makespan_s),
        ("efficiency", f"{100 * efficiency(run):.1f} %"),
        ("mean wait", ", ".join(_mean_waits(run))),
        *_copies(run),
        *_messages(run),
        *_energy(run),
        ("took", format_time(run.wall_s)),
    ]


def run_html(run: Run) -> str:
    """Return what a notebook shows of a run: the facts, how busy it was, the kernels."""
    rows = [
        [s.kernel, str(s.count), format_time(s.total_s), format_time(s.mean_s)]
        for s in kernel_statistics(run)
    ]
    title = f"Run of {run.graph_label}"
    header = ["kernel", "tasks", "total", "mean"]
    return html_summary(title, run_facts(run), header=header, rows=rows, picture=_picture(run))


def above(value: float, reference: float) -> str:
    """Return by how much *value* is above *reference*; ``-`` where that is 0."""
    return f"{100 * (value / reference - 1):+.1f} %" if reference else "-"


def _messages(run: Run) -> list[tuple[str, str]]:
    """Return how many messages went between nodes, where there are several."""
    if run.messages is None:
        return []
    nodes = len({worker.node for worker in run.workers})
    size = format_size(float(run.messages.size_bytes.sum()))
    return [("messages", f"{_count(len(run.messages), 'message')}, {size}, between {nodes} nodes")]


def _energy(run: Run) -> list[tuple[str, str]]:
    """Return what was used, as far as it is known what the machine draws."""
    facts = []
    if run.power is not None:
        from tasksim.run.energy import energy

        used = energy(run)
        parts = {"tasks": used.tasks_j.sum(), "idle": used.idle_j.sum(), "static": used.static_j}
        if used.copies_j:
            parts["copies"] = used.copies_j
        text = ", ".join(f"{what} {format_energy(float(joules))}" for what, joules in parts.items())
        mean = format_power(used.total_j / run.makespan_s) if run.makespan_s else "no time"
        facts.append(("energy", f"{format_energy(used.total_j)}, {mean} in the mean ({text})"))
    if run.counted_j is not None:
        facts.append(("energy counted", f"{format_energy(run.counted_j)} by the whole machine"))
    return facts


def _noise(run: Run) -> str:
    """Return whether tasks took draws or means, if the run says it; native ones take what comes."""
    if run.kind != "simulated" or "noise" not in run.config:
        return ""
    return ", no noise" if run.config["noise"] == "none" else ", with the models' noise"


def _bound_texts(bounds: Mapping[str, float], makespan_s: float) -> list[tuple[str, str]]:
    return [
        (
            BOUND_NAMES.get(name, name),
            f"{duration_text(value)} (makespan {above(makespan_s, value)})",
        )
        for name, value in bounds.items()
    ]


def _mean_waits(run: Run) -> list[str]:
    waited, count = waits(run), max(len(run), 1)
    parts = [(waited.dependency_s, "dependencies"), (waited.queue_s, "a worker")]
    if run.transfers is not None:
        parts.insert(1, (waited.transfer_s, "data"))
    return [f"{format_time(part.sum() / count)} for {what}" for part, what in parts]


def _copies(run: Run) -> list[tuple[str, str]]:
    """Return what was moved, if that is known."""
    if run.transfers is None:
        return []
    size = f"{format_size(moved_bytes(run))}, {thrashing(run):.2f} times the data that moved"
    return [("copies", f"{len(run.transfers)} ({size}), {_count(run.evictions, 'eviction')}")]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _kinds(kinds: Mapping[str, int]) -> str:
    return " + ".join(f"{count} {kind}" for kind, count in kinds.items())


def _picture(run: Run) -> str:
    """Return how many workers were busy over the run, as a small SVG; nothing of an empty run."""
    if not run.makespan_s or not run.workers:
        return ""
    share = _busy_share(run)
    places = " ".join(f"{2 * x},{40 * (1 - y):.1f}" for x, y in _steps(share))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="40" role="img">'
        "<title>busy workers over time</title>"
        '<rect width="300" height="40" fill="#e6ebf2"/>'
        f'<polygon points="0,40 {places} 300,40" fill="#1954dc"/></svg>'
    )


def _steps(share: NDArray[np.float64]) -> list[tuple[int, float]]:
    return [(x, y) for bin_, y in enumerate(share.tolist()) for x in (bin_, bin_ + 1)]


def _busy_share(run: Run) -> NDArray[np.float64]:
    """Return which share of the workers' time tasks took, in each slice of the run."""
    edges = np.linspace(0.0, run.makespan_s, _BINS + 1)
    busy = mean_sum(run.tasks.start_s, run.tasks.end_s, edges)
    return np.clip(busy / len(run.workers), 0.0, 1.0)
