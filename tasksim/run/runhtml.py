"""HTML summaries of runs for notebooks, with facts, kernels and a chart of busy workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.notebook import html_summary
from tasksim.base.units import format_time
from tasksim.run.facts import run_facts
from tasksim.run.metrics import kernel_statistics
from tasksim.run.slices import mean_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = ["run_html"]

_BINS: Final = 150  # of the chart, two pixels each


def run_html(run: Run) -> str:
    """Return the HTML summary of a run: facts, busy workers over time, kernels."""
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
        '<rect width="300" height="40" fill="#e6ebf2"/>'
        f'<polygon points="0,40 {places} 300,40" fill="#1954dc"/></svg>'
    )


def _busy_share(run: Run) -> NDArray[np.float64]:
    """Return the busy share of the workers' time in each slice of the run."""
    edges = np.linspace(0.0, run.makespan_s, _BINS + 1)
    busy = mean_sum(run.tasks.start_s, run.tasks.end_s, edges)
    return np.clip(busy / len(run.workers), 0.0, 1.0)
