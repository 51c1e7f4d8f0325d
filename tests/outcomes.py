"""Outcomes of the experiment with other runs."""

from __future__ import annotations

from dataclasses import replace

from tasksim.scenario.repetitions import ScenarioRuns


def with_runs(outcome, native=None, simulated=None):
    """Return *outcome* with other native runs, or with another simulated run per variant."""
    measured, predicted = outcome.measured, outcome.predicted
    if native is not None:
        measured = ScenarioRuns(measured.scenario, tuple(native))
    if simulated is not None:
        predicted = {
            name: ScenarioRuns(measured.scenario, (run,)) for name, run in simulated.items()
        }
    return replace(outcome, measured=measured, predicted=predicted)
