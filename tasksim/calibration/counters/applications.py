"""Counters of an application's tasks: all kernels at once, on data that its own tasks created."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.files import refuse_existing
from tasksim.calibration.counters.campaign import (
    BURST_S,
    MAX_BURST_EXECUTIONS,
    CounterSummary,
    write_counters,
)
from tasksim.calibration.domain_results import MeasureOptions
from tasksim.calibration.frequency import core_frequency
from tasksim.graph.apps.registry import generate
from tasksim.kernels.program import bind
from tasksim.models.counters.columns import COUNTERS
from tasksim.native.execute import execute
from tasksim.platform.description import Platform
from tasksim.run.disturbance import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tasksim.calibration.application_campaign import SettingsDomain
    from tasksim.calibration.counters.campaign import CounterOptions
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Visit", "measure_application_counters", "timed_application"]

MIN_VISIT_EXECUTIONS: Final = 3
"""Smallest number of executions, so that their median is not a disturbed one."""


@dataclass(frozen=True)
class Visit:
    """Durations of an application's tasks at one time.

    Attributes
    ----------
    run, number : int
        Index of the run, and index of the settings.
    graph : TaskGraph
    durations_s : float64 array
        Median of some executions of each task, in seconds.
    """

    run: int
    number: int
    graph: TaskGraph
    durations_s: NDArray[np.float64]


def measure_application_counters(
    domain: SettingsDomain,
    output: Path,
    options: CounterOptions,
    *,
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> CounterSummary:
    """Count and time all tasks of an application on one core; write a file per kernel.

    A sample is a task in one of ``options.runs`` runs, which are made at different times: its
    counters, and the median duration of some executions.

    Raises
    ------
    InputError
        If the source is not ``valgrind``, *output* has such files, settings are out of range, or a
        parameter of a kernel has the name of another column of the files.
    TasksimError
        If Valgrind is not available.
    """
    if options.source != "valgrind":
        raise InputError(
            f"source {options.source}: the tasks of an application are counted one by one; legal: "
            "valgrind"
        )
    begun = time.monotonic()
    for path in sorted(output.glob("*-counters.csv")) if output.is_dir() else []:
        refuse_existing(path, force=force)
    measured = MeasureOptions(options.samples, seed=options.seed, design=options.design)  # type: ignore[arg-type]
    settings = domain.settings(measured)
    _refuse_names_of_columns(domain.application, settings[0])
    if progress is not None:
        progress("counting with valgrind", 0.1)
    counts, told = _counts(domain.application, settings, options.seed)
    rows: dict[str, tuple[tuple[str, ...], list[Any]]] = {}
    frequency = core_frequency()
    visits = timed_application(domain.application, settings, options)
    for done, visit in enumerate(visits):
        if progress is not None:
            progress("timing", 0.5 + 0.5 * done / (options.runs * len(settings)))
        _add(visit, counts, frequency, rows)
    if not rows:
        raise InputError(f"{domain.application}: no task ran, so there is nothing to count")
    output.mkdir(parents=True, exist_ok=True)
    for kernel, (names, found) in rows.items():
        columns = write_counters(output / f"{kernel}-counters.csv", names, found, force=force)
    notes = [f"counted in a simulated processor, with the BLAS kernels for {told['core']}"]
    if told["by_python"]:
        notes.append(f"counted with Python's calls of them: {', '.join(told['by_python'])}")
    samples = sum(len(found) for _, found in rows.values())
    return CounterSummary(
        f"{domain.application} ({', '.join(rows)})", options.source, len(settings), samples,
        columns, tuple(notes), time.monotonic() - begun,
    )  # fmt: skip


def _refuse_names_of_columns(application: str, settings: Mapping[str, Any]) -> None:
    graph = generate(application, **settings)
    for kernel, names in zip(graph.model_names, graph.parameter_names, strict=True):
        for name in names:
            if name in ("run", "duration_s", *COUNTERS):
                raise InputError(
                    f"{application}: kernel {kernel} has a parameter {name}, which is the name of "
                    "another column of the counter file"
                )


def _counts(
    application: str, settings: Sequence[Mapping[str, Any]], seed: int
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    from tasksim.calibration.counters.valgrind import count

    asked = {"name": application, "settings": list(settings)}
    return count({"application": asked, "seed": seed})


def timed_application(
    application: str, settings: Sequence[Mapping[str, Any]], options: CounterOptions
) -> Iterator[Visit]:
    """Run *application* with each of *settings* in each run, in random order; yield visits.

    Each task is timed once per run, at different times, and each time is a median without time that
    others took.
    """
    platform = Platform.identical(1)
    for run in range(options.runs):
        rng = np.random.default_rng([options.seed, run])
        for number in rng.permutation(len(settings)).tolist():
            graph = generate(application, **settings[number])
            program = bind(graph, 1, options.seed)
            execute(graph, platform, "eager", program=program)  # warm up: a cold run is no sample
            several: list[NDArray[np.float64]] = []
            begun = time.perf_counter()
            while len(several) < MIN_VISIT_EXECUTIONS or time.perf_counter() - begun < BURST_S:
                timed = execute(graph, platform, "eager", program=program)
                several.append(undisturbed_s(timed))
                if len(several) >= MAX_BURST_EXECUTIONS:
                    break
            yield Visit(run, number, graph, np.median(several, axis=0))


def _add(
    visit: Visit,
    counts: Mapping[str, Mapping[str, float]],
    frequency_hz: float,
    rows: dict[str, tuple[tuple[str, ...], list[Any]]],
) -> None:
    """Append a sample per task to *rows*."""
    graph = visit.graph
    for task, duration_s in enumerate(visit.durations_s.tolist()):
        counted = counts.get(f"{visit.number}.{task}")
        if counted is None:
            raise TasksimError(f"{graph.name}: task {task} was not counted")
        name, parameters = graph.model_names[graph.kernel[task]], graph.parameters_of(task)
        _, found = rows.setdefault(name, (tuple(parameters), []))
        counters = {**counted, "frequency_hz": frequency_hz}
        found.append((visit.run, list(parameters.values()), counters, duration_s))
