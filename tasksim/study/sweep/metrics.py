"""Metrics of cells, optional columns of a study's table.

They need whole runs, with tables of tasks and transfers, which the fast batch simulation does not
make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.run.record import Run

__all__ = ["METRICS", "measured"]


def _copies(run: Run) -> float:
    return float(0 if run.transfers is None else len(run.transfers))


def _waits(name: str) -> Callable[[Run], float]:
    def mean(run: Run) -> float:
        from tasksim.run.metrics import waits

        return float(getattr(waits(run), name).sum() / max(len(run), 1))

    return mean


def _idle_s(run: Run) -> float:
    from tasksim.run.metrics import idle_s

    return float(idle_s(run).sum())


def _energy_j(run: Run) -> float:
    from tasksim.run.energy import energy

    return energy(run).total_j


METRICS: Final[dict[str, Callable[[Run], float]]] = {
    "copies": _copies,
    "energy_j": _energy_j,
    "evictions": lambda run: float(run.evictions),
    "idle_s": _idle_s,
    "mean_dependency_wait_s": _waits("dependency_s"),
    "mean_transfer_wait_s": _waits("transfer_s"),
    "mean_queue_wait_s": _waits("queue_s"),
}
"""Functions that compute the metrics of a run, by name."""


def measured(run: Run, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return the metrics *names* of a *run*."""
    return tuple(METRICS[name](run) for name in names)
