"""Facts of a run for people, as names and texts: the task graph, the platform, the times."""

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
"""Names of the bounds for people."""


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Return the facts of *run*: graph, platform, makespan and the like."""
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
    """Return the relative excess of *value* over *reference* as text; ``-`` if that is 0."""
    return f"{100 * (value / reference - 1):+.1f} %" if reference else "-"


def _others(run: Run) -> list[tuple[str, str]]:
    """Return the time that others took, and the makespan of the run alone, if known."""
    if run.disturbance is None:
        return []
    from tasksim.run.disturbance import disturbance_summary

    told = disturbance_summary(run)
    if told is None:
        return []
    return [("others", told), ("alone", _alone(run, run.disturbance.alone_s))]


def _alone(run: Run, alone_s: float | None) -> str:
    """Return the makespan of *run* alone, with its source, or how to get it."""
    if alone_s is not None:
        return f"{duration_text(alone_s)} (the same run replayed without what others took)"
    replay = f"tasksim simulate RUN --durations alone --scheduler {run.scheduler}"
    return f"unknown until it is replayed under {run.scheduler}: '{replay}'"


def _messages(run: Run) -> list[tuple[str, str]]:
    """Return the number of messages between nodes, if there are several nodes."""
    if run.messages is None:
        return []
    nodes = len({worker.node for worker in run.workers})
    size = format_size(float(run.messages.size_bytes.sum()))
    return [("messages", f"{_count(len(run.messages), 'message')}, {size}, between {nodes} nodes")]


def _energy(run: Run) -> list[tuple[str, str]]:
    """Return the used energy, as far as the machine's power is known."""
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
    """Return whether a simulated run used draws or means, if the run has it."""
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
    """Return the copied data, if recorded."""
    if run.transfers is None:
        return []
    from tasksim.run.copystatistics import moved_bytes, thrashing

    size = f"{format_size(moved_bytes(run))}, {thrashing(run):.2f} times the data that moved"
    return [("copies", f"{len(run.transfers)} ({size}), {_count(run.evictions, 'eviction')}")]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _kinds(kinds: Mapping[str, int]) -> str:
    return " + ".join(f"{count} {kind}" for kind, count in kinds.items())
