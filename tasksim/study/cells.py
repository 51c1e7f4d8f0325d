"""Cells of studies: a scenario and its runs; and cells that were predicted and measured.

::

    questions = base.variants({"graph.tiles": [8, 12], "scheduler": ["eager", "lws"]})
    predicted = [solved(question) for question in questions]
    measured = measure([q.vary(clock="native") for q in questions], repetitions=5)
    rows = [Compared(m, {"models": p}) for m, p in zip(measured.cells, predicted)]
    print(ErrorSummary.of(row.error("models") for row in rows))
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tasksim.run.record import Run
    from tasksim.scenario.resolved import Resolver
    from tasksim.scenario.scenario import Scenario

__all__ = ["Cell", "Compared", "ErrorSummary", "solved"]


@dataclass(frozen=True, eq=False)
class Cell:
    """A scenario and its runs: natively its repetitions, simulated one per draw.

    Parameters
    ----------
    scenario : Scenario
        What was asked.
    runs : tuple of Run, default ()
        In the order in which they were made.

    See Also
    --------
    solved, tasksim.study.repetitions.measure : make cells.

    Examples
    --------
    >>> from tasksim.scenario.scenario import Scenario
    >>> cell = solved(Scenario("chain length=3 duration=0.5", workers=1))
    >>> cell.median_s, cell.spread
    (1.5, 0.0)
    """

    scenario: Scenario
    runs: tuple[Run, ...] = ()

    @property
    def makespans_s(self) -> list[float]:
        """The makespans in seconds, in the order of the runs."""
        return [run.makespan_s for run in self.runs]

    @property
    def median_s(self) -> float:
        """The median makespan in seconds."""
        return statistics.median(self.makespans_s)

    @property
    def alone_s(self) -> float | None:
        """The median makespan that native runs would have had alone; None if nobody knows."""
        found = [run.disturbance.alone_s for run in self.runs if run.disturbance is not None]
        known = [alone_s for alone_s in found if alone_s is not None]
        return statistics.median(known) if known else None

    @property
    def spread(self) -> float:
        """Largest minus smallest makespan, relative to the median."""
        return (max(self.makespans_s) - min(self.makespans_s)) / self.median_s

    @property
    def median_run(self) -> Run:
        """The run whose makespan is the median (of an even number: the lower one)."""
        ordered = sorted(self.runs, key=lambda run: run.makespan_s)
        return ordered[(len(ordered) - 1) // 2]


def solved(scenario: Scenario, resolver: Resolver | None = None) -> Cell:
    """Return the cell of *scenario* with one run, made now.

    Parameters
    ----------
    scenario : Scenario
    resolver : Resolver, optional
        Makes what several scenarios name only once.
    """
    from tasksim.scenario.resolved import Resolver
    from tasksim.scenario.solving import solve

    return Cell(scenario, (solve((resolver or Resolver()).resolve(scenario)),))


@dataclass(frozen=True, eq=False)
class Compared:
    """A cell that was measured, and those that were to predict it.

    Parameters
    ----------
    measured : Cell
        With at least one run.
    predicted : mapping of str to Cell
        By what tells them from each other, such as their models.
    """

    measured: Cell
    predicted: Mapping[str, Cell]

    def predicted_s(self, variant: str) -> float:
        """Return the makespan that a variant predicts, in seconds: the median of its runs."""
        return self.predicted[variant].median_s

    def error(self, variant: str) -> float:
        """Return the signed relative error of a variant against the measured median."""
        return self.predicted_s(variant) / self.measured.median_s - 1

    def to_json(self) -> dict[str, Any]:
        """Return makespans and errors as plain data."""
        scenario = self.measured.scenario
        return {
            "graph": scenario.graph_label,
            "scheduler": scenario.scheduler_label,
            "measured_s": self.measured.makespans_s,
            "median_s": self.measured.median_s,
            "spread": self.measured.spread,
            "predicted_s": {name: self.predicted_s(name) for name in self.predicted},
            "errors": {name: self.error(name) for name in self.predicted},
        }


@dataclass(frozen=True)
class ErrorSummary:
    """Relative errors in short.

    Attributes
    ----------
    median, worst : float
        Of the absolute errors.
    mean_signed : float
    """

    median: float
    worst: float
    mean_signed: float

    @classmethod
    def of(cls, errors: Iterable[float]) -> ErrorSummary:
        """Return the summary of signed relative *errors*; :exc:`InputError` if there are none."""
        signed = list(errors)
        if not signed:
            raise InputError("no errors to summarise: nothing was predicted and measured")
        sizes = [abs(error) for error in signed]
        return cls(statistics.median(sizes), max(sizes), statistics.mean(signed))
