"""Counters of an application's tasks: all kernels at once, on data that its own tasks made."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.files import refuse_existing
from tasksim.calibration.counters.campaign import CounterSummary, write_counters
from tasksim.calibration.domain_results import MeasureOptions
from tasksim.calibration.frequency import core_frequency
from tasksim.graph.apps.registry import generate
from tasksim.kernels.program import bind
from tasksim.native.execute import execute
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.calibration.application_campaign import SettingsDomain
    from tasksim.calibration.counters.campaign import CounterOptions

__all__ = ["measure_application_counters"]


def measure_application_counters(
    domain: SettingsDomain,
    output: Path,
    options: CounterOptions,
    *,
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> CounterSummary:
    """Count and time all tasks of an application on one core; write a file per kernel.

    Raises
    ------
    InputError
        If the source is not ``valgrind``, *output* has such files, or settings are not legal.
    TasksimError
        If Valgrind is not to be had here.
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
    if progress is not None:
        progress("counting with valgrind", 0.1)
    counts, told = _counts(domain.application, settings, options.seed)
    rows: dict[str, tuple[tuple[str, ...], list[Any]]] = {}
    frequency = core_frequency()
    for number, chosen in enumerate(settings):
        if progress is not None:
            progress("timing", 0.5 + 0.5 * number / len(settings))
        _timed(domain.application, chosen, number, counts, options, frequency, rows)
    if not rows:
        raise InputError(f"{domain.application}: no task ran: there is nothing to count")
    output.mkdir(parents=True, exist_ok=True)
    for kernel, (names, found) in rows.items():
        columns = write_counters(output / f"{kernel}-counters.csv", names, found, force=force)
    notes = [f"counted in a simulated processor, with the BLAS kernels for {told['core']}"]
    if told["by_python"]:
        notes.append(f"with what Python does to call them: {', '.join(told['by_python'])}")
    samples = sum(len(found) for _, found in rows.values())
    return CounterSummary(
        f"{domain.application} ({', '.join(rows)})", options.source, len(settings), samples,
        columns, tuple(notes), time.monotonic() - begun,
    )  # fmt: skip


def _counts(
    application: str, settings: Sequence[Mapping[str, Any]], seed: int
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    from tasksim.calibration.counters.valgrind import count

    asked = {"name": application, "settings": list(settings)}
    return count({"application": asked, "seed": seed})


def _timed(
    application: str,
    settings: Mapping[str, Any],
    number: int,
    counts: Mapping[str, Mapping[str, float]],
    options: CounterOptions,
    frequency_hz: float,
    rows: dict[str, tuple[tuple[str, ...], list[Any]]],
) -> None:
    """Run the application with these *settings*, and add a sample per task and run to *rows*."""
    graph = generate(application, **settings)
    program, platform = bind(graph, 1, options.seed), Platform.identical(1)
    execute(graph, platform, "eager", program=program)  # what is cold is not measured
    for run in range(options.runs):
        durations = execute(graph, platform, "eager", program=program).tasks.duration_s.tolist()
        for task, duration_s in enumerate(durations):
            counted = counts.get(f"{number}.{task}")
            if counted is None:
                raise TasksimError(f"{application}: task {task} was not counted")
            name, parameters = graph.model_names[graph.kernel[task]], graph.parameters_of(task)
            _, found = rows.setdefault(name, (tuple(parameters), []))
            counters = {**counted, "frequency_hz": frequency_hz}
            found.append((run, list(parameters.values()), counters, duration_s))
