"""Facts of a run for people, as text and, for notebooks, in HTML with a chart of busy workers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.units import (
    counted,
    duration_text,
    format_energy,
    format_power,
    format_size,
    format_time,
)
from tasksim.run.metrics import efficiency, kernel_statistics, waits

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.run.numa import NumaUse
    from tasksim.run.record import Disturbance, FarData, Run

__all__ = ["BOUND_NAMES", "above", "run_facts", "run_html"]

BOUND_NAMES: Final = {
    "critical_path_s": "critical path",
    "area_s": "area bound",
    "node_area_s": "work of the node with most",
    "volume_s": "messages of the node with most",
    "path_s": "critical path with messages",
    "mixed_s": "mixed bound",
    "mixed_with_copies_s": "mixed bound with copies",
    "solver_s": "solver's bound",
}
"""Names of the bounds for people."""


NOTABLE_SHARE: Final = 0.01
"""Share of the tasks' time by which far data must make a run longer or shorter to be a fact."""


def run_facts(run: Run, *, with_wall_time: bool = True) -> list[tuple[str, str]]:
    """Return the facts of *run*: graph, platform, makespan and the like.

    Facts that are not known, such as the energy of a machine, are left out; so is, without
    *with_wall_time*, the time that the run took on this machine.
    """
    noise = ""
    if run.kind == "simulated" and "noise" in run.config:
        drawn = run.config["noise"] != "none"
        noise = ", with the models' noise" if drawn else ", no noise"
    kinds = Counter(worker.architecture for worker in run.workers)
    workers = " + ".join(f"{count} {kind}" for kind, count in kinds.items())
    facts = [
        ("graph", f"{run.graph_label} ({counted(len(run), 'task')})"),
        ("run", f"{run.kind}, scheduler {run.scheduler}, seed {run.seed}{noise}"),
        ("platform", f"{run.platform} ({workers})"),
        ("makespan", duration_text(run.makespan_s)),
    ]
    if run.disturbance is not None:
        facts += _disturbance_facts(run, run.disturbance)
    for name, bound_s in (run.bounds or {}).items():
        text = f"{duration_text(bound_s)} (makespan {above(run.makespan_s, bound_s)})"
        facts.append((BOUND_NAMES.get(name, name), text))
    facts += [
        ("efficiency", f"{100 * efficiency(run):.1f} %" if run.makespan_s else "-"),
        ("mean wait", _mean_waits(run)),
    ]
    if run.transfers is not None:
        from tasksim.run.copystatistics import moved_bytes, thrashing

        size = f"{format_size(moved_bytes(run))}, {thrashing(run):.2f} times the data that moved"
        text = f"{len(run.transfers)} ({size}), {counted(run.evictions, 'eviction')}"
        facts.append(("copies", text))
    if run.messages is not None:
        nodes = len({worker.node for worker in run.workers})
        size = format_size(float(run.messages.size_bytes.sum()))
        text = f"{counted(len(run.messages), 'message')}, {size}, between {nodes} nodes"
        facts.append(("messages", text))
    if run.numa is not None:
        facts.append(("remote access", _remote_access(run, run.numa)))
    if run.far_data is not None and (text := _far_data(run, run.far_data)):
        facts.append(("far data", text))
    if run.power is not None:
        facts.append(("energy", _energy(run)))
    if run.counted_j is not None:
        facts.append(("energy counted", f"{format_energy(run.counted_j)} by the whole machine"))
    return [*facts, ("took", format_time(run.wall_s))] if with_wall_time else facts


def _disturbance_facts(run: Run, disturbance: Disturbance) -> list[tuple[str, str]]:
    """Return the facts on the time that others took from a native run."""
    from tasksim.run.others import disturbance_summary

    told = disturbance_summary(run)
    if told is None:
        return []
    if disturbance.alone_s is not None:
        alone = duration_text(disturbance.alone_s)
        alone += " (the same run, replayed without other programs)"
    else:
        replay = f"tasksim simulate RUN --durations alone --scheduler {run.scheduler}"
        alone = f"unknown until it is replayed under {run.scheduler}: '{replay}'"
    return [("others", told), ("alone", alone)]


def _mean_waits(run: Run) -> str:
    """Return the mean times that a task waits for dependencies, for data and for a worker."""
    waited, count = waits(run), max(len(run), 1)
    data = [] if run.transfers is None else [("data", waited.transfer_s)]
    parts = [("dependencies", waited.dependency_s), *data, ("a worker", waited.queue_s)]
    return ", ".join(
        f"{'unknown' if part is None else format_time(part.sum() / count)} for {what}"
        for what, part in parts
    )


def _energy(run: Run) -> str:
    from tasksim.run.energy import energy

    used = energy(run)
    shares = {"tasks": used.tasks_j.sum(), "idle": used.idle_j.sum(), "static": used.static_j}
    if used.copies_j:
        shares["copies"] = used.copies_j
    text = ", ".join(f"{what} {format_energy(float(part))}" for what, part in shares.items())
    mean = format_power(used.total_j / run.makespan_s) if run.makespan_s else "no time"
    return f"{format_energy(used.total_j)}, {mean} on average ({text})"


def _remote_access(run: Run, use: NumaUse) -> str:
    share, size = f"{100 * use.remote_share:.1f} %", format_size(use.remote_bytes)
    busy_s = float(run.tasks.duration_s.sum())
    time = f"{100 * use.total_extra_s / busy_s:.1f} % of the tasks' time" if busy_s else "no time"
    return f"{share} of all accesses ({size}), {time}"


def _far_data(run: Run, far: FarData) -> str:
    """Return the cost of far data, if it differs notably from that in the models' means."""
    busy_s = float(run.tasks.duration_s.sum())
    if abs(far.extra_s - far.mean_s) < NOTABLE_SHARE * busy_s:
        return ""
    shares = [f"{100 * part_s / busy_s:.1f} %" for part_s in far]
    return f"{shares[0]} of the tasks' time, {shares[1]} where the models were measured"


def above(value: float, reference: float) -> str:
    """Return the relative excess of *value* over *reference* as text; ``-`` if that is 0."""
    return f"{100 * (value / reference - 1):+z.1f} %" if reference else "-"


_CHART_BINS: Final = 150  # of the chart, two pixels each


def run_html(run: Run) -> str:
    """Return the HTML summary of a run: facts, busy workers over time, kernels."""
    from tasksim.base.notebook import html_summary  # only notebooks need it

    rows = [
        [s.kernel, str(s.count), format_time(s.total_s), format_time(s.mean_s)]
        for s in kernel_statistics(run)
    ]
    title = f"Run of {run.graph_label}"
    header = ["kernel", "tasks", "total", "mean"]
    return html_summary(title, run_facts(run), header=header, rows=rows, picture=_picture(run))


def _picture(run: Run) -> str:
    """Return a small SVG of the number of busy workers over time; empty for an empty run."""
    if not run.makespan_s or not run.workers:
        return ""
    steps = [(x, y) for bin_, y in enumerate(_busy_share(run).tolist()) for x in (bin_, bin_ + 1)]
    places = " ".join(f"{2 * x},{40 * (1 - y):.1f}" for x, y in steps)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="40" role="img">'
        "<title>busy workers over time</title>"
        '<rect width="300" height="40" fill="#e9edf1"/>'
        f'<polygon points="0,40 {places} 300,40" fill="#0b62a8"/></svg>'
    )


def _busy_share(run: Run) -> Floats:
    """Return the busy share of the workers' time in each slice of the run."""
    from tasksim.run.slices import mean_sum

    edges = np.linspace(0.0, run.makespan_s, _CHART_BINS + 1)
    busy = mean_sum(run.tasks.start_s, run.tasks.end_s, edges)
    return np.clip(busy / len(run.workers), 0.0, 1.0)
