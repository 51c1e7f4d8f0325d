"""Outcomes of the experiment with other runs."""

from __future__ import annotations

from dataclasses import replace

from tasksim.study.cells import Cell, Compared


def with_runs(outcome, native=None, simulated=None):
    """Return *outcome* with other native runs, or with another simulated run per variant."""
    compared = outcome.compared
    measured, predicted = compared.measured, compared.predicted
    if native is not None:
        measured = Cell(measured.scenario, tuple(native))
    if simulated is not None:
        predicted = {name: Cell(measured.scenario, (run,)) for name, run in simulated.items()}
    return replace(outcome, compared=Compared(measured, predicted))
