"""Predicted against measured: the same graphs and schedulers, simulated and really run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tasksim.engine.durations import Models, durations
from tasksim.engine.simulate import simulate
from tasksim.graph.apps.registry import generate
from tasksim.kernels.program import bind
from tasksim.native.execute import execute

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

__all__ = ["Case", "Outcome", "measure", "predict"]

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Case:
    """One graph under one scheduler."""

    generator: str
    arguments: dict[str, Any]
    scheduler: str

    @property
    def graph_text(self) -> str:
        """The graph as the command line names it: ``cholesky tiles=8``."""
        return " ".join([self.generator, *(f"{k}={v}" for k, v in self.arguments.items())])

    def graph(self) -> TaskGraph:
        """Generate the graph."""
        return generate(self.generator, **self.arguments)


@dataclass
class Outcome:
    """A case, what was predicted, and what was measured."""

    case: Case
    simulated: Run
    native: list[Run] = field(default_factory=list)

    @property
    def predicted_s(self) -> float:
        """The simulated makespan in seconds."""
        return self.simulated.makespan_s

    @property
    def measured_s(self) -> list[float]:
        """The makespans of the native runs in seconds, in the order of the runs."""
        return [run.makespan_s for run in self.native]

    @property
    def median_s(self) -> float:
        """The median measured makespan in seconds."""
        return statistics.median(self.measured_s)

    @property
    def spread(self) -> float:
        """Largest minus smallest measured makespan, relative to the median."""
        return (max(self.measured_s) - min(self.measured_s)) / self.median_s

    @property
    def error(self) -> float:
        """The signed relative error of the prediction against the median."""
        return self.predicted_s / self.median_s - 1

    @property
    def median_run(self) -> Run:
        """The native run whose makespan is the median (of an even number: the lower one)."""
        ordered = sorted(self.native, key=lambda run: run.makespan_s)
        return ordered[(len(ordered) - 1) // 2]

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return {
            "graph": self.case.graph_text,
            "scheduler": self.case.scheduler,
            "predicted_s": self.predicted_s,
            "measured_s": self.measured_s,
            "median_s": self.median_s,
            "spread": self.spread,
            "error": self.error,
        }


def predict(cases: Sequence[Case], platform: Platform, models: Models) -> list[Outcome]:
    """Simulate every case with the models' means."""
    return [
        Outcome(case, simulate(case.graph(), platform, models, case.scheduler)) for case in cases
    ]


def measure(
    outcomes: Sequence[Outcome],
    platform: Platform,
    models: Models,
    repetitions: int,
    progress: Progress | None = None,
) -> None:
    """Run every case natively, *repetitions* times, and add the runs to *outcomes*.

    The repetitions are interleaved (every case once, then every case again), so that a slow
    minute of the machine does not fall on one case. One run of each graph comes first and is
    not counted: it touches the memory.
    """
    graphs = {o.case.graph_text: o.case.graph() for o in outcomes}
    programs = {text: bind(graph, len(platform.workers)) for text, graph in graphs.items()}
    for text, graph in graphs.items():
        execute(graph, platform, "eager", program=programs[text])
    total = repetitions * len(outcomes)
    for done, outcome in enumerate(_interleaved(outcomes, repetitions)):
        if progress is not None:
            case = outcome.case
            progress(f"{case.graph_text}, {case.scheduler}", done / total)
        text = outcome.case.graph_text
        outcome.native.append(_run(outcome, graphs[text], programs[text], platform, models))


def _interleaved(outcomes: Sequence[Outcome], repetitions: int) -> Iterator[Outcome]:
    for _ in range(repetitions):
        yield from outcomes


def _run(
    outcome: Outcome, graph: TaskGraph, program: Program, platform: Platform, models: Models
) -> Run:
    estimates = durations(graph, platform, models).tolist()
    return execute(
        graph, platform, outcome.case.scheduler, program=program, estimates=estimates, check=True
    )
