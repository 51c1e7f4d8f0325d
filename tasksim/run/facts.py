"""Facts of a run for people, a name and a text each: what was run, where, and how long it took."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from tasksim.base.units import duration_text, format_energy, format_power, format_size, format_time
from tasksim.run.metrics import efficiency, waits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.run.record import Run

__all__ = ["BOUND_NAMES", "above", "run_facts"]

BOUND_NAMES: Final = {
    "critical_path_s": "critical path",
    "area_s": "area bound",
    "node_area_s": "work of the node with most",
    "volume_s": "messages of the node with most",
    "path_s": "critical path with messages",
}
"""What people call the bounds."""


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Return what was run, where, and how long it took."""
    kinds = Counter(worker.architecture for worker in run.workers)
    return [
        ("graph", f"{run.graph_label} ({_count(len(run), 'task')})"),
        ("run", f"{run.kind}, scheduler {run.scheduler}, seed {run.seed}{_noise(run)}"),
        ("platform", f"{run.platform} ({_kinds(kinds)})"),
        ("makespan", duration_text(run.makespan_s)),
        *_others(run),
        *_bound_texts(run.bounds or {}, run.makespan_s),
        ("efficiency", f"{100 * efficiency(run):.1f} %"),
        ("mean wait", ", ".join(_mean_waits(run))),
        *_copies(run),
        *_messages(run),
        *_energy(run),
        ("took", format_time(run.wall_s)),
    ]


def above(value: float, reference: float) -> str:
    """Return by how much *value* is above *reference*; ``-`` where that is 0."""
    return f"{100 * (value / reference - 1):+.1f} %" if reference else "-"


def _others(run: Run) -> list[tuple[str, str]]:
    """Return what others took of the cores, and how long it would have been alone, if known."""
    if run.disturbance is None:
        return []
    from tasksim.run.disturbance import disturbance_summary

    told = disturbance_summary(run)
    if told is None:
        return []
    return [("others", told), ("alone", _alone(run, run.disturbance.alone_s))]


def _alone(run: Run, alone_s: float | None) -> str:
    """Return how long *run* would have been alone, and how that is known, or could be."""
    if alone_s is not None:
        return f"{duration_text(alone_s)} (the same run replayed without what others took)"
    replay = f"tasksim simulate RUN --durations alone --scheduler {run.scheduler}"
    return f"not known, as nobody has replayed it under {run.scheduler}; '{replay}' does"


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
    from tasksim.run.copystatistics import moved_bytes, thrashing

    size = f"{format_size(moved_bytes(run))}, {thrashing(run):.2f} times the data that moved"
    return [("copies", f"{len(run.transfers)} ({size}), {_count(run.evictions, 'eviction')}")]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _kinds(kinds: Mapping[str, int]) -> str:
    return " + ".join(f"{count} {kind}" for kind, count in kinds.items())
