"""Campaign of counters, of a kernel over a domain or of an application's tasks.

Kernels are timed at configurations drawn from a domain. The tasks of an application are all counted
and timed at once, on data that its own tasks created.
"""

from __future__ import annotations

import csv
import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, TasksimError, unknown
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.threadclock import no_garbage_collection
from tasksim.calibration.campaign import shuffled
from tasksim.calibration.counters.hardware import PerfCounters
from tasksim.calibration.counters.valgrind import count
from tasksim.calibration.domain_campaign import MeasureOptions
from tasksim.calibration.timed_executions import TimedExecutions
from tasksim.calibration.tools import core_frequency
from tasksim.formats.counters import counters_of, read_counts
from tasksim.graph.apps.registry import generate
from tasksim.kernels.dense import dense_kernel
from tasksim.kernels.program import bind
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.rows import plain_number
from tasksim.models.samples import COUNTERS
from tasksim.native.execute import execute
from tasksim.native.pulse import idle_core_of_any
from tasksim.platform.description import Platform
from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.base.arrays import Floats
    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.application_campaign import SettingsDomain
    from tasksim.calibration.domain import Domain
    from tasksim.graph.taskgraph import TaskGraph

    Row = tuple[int, Sequence[float | str], Mapping[str, float], float]
    """Run, parameters, counters of one execution, duration in seconds."""

__all__ = [
    "COUNTER_SOURCES",
    "CounterOptions",
    "CounterSummary",
    "Visit",
    "measure_application_counters",
    "measure_counters",
    "timed",
    "timed_application",
    "write_counters",
]

COUNTER_SOURCES: Final = ("valgrind", "perf", "file")
BURST_S: Final = 0.01
"""Duration of a visit, in seconds; its median is a sample: long compared with the clock's
resolution and interrupts."""
MIN_BURST_EXECUTIONS: Final = 3
"""Smallest number of executions of a visit, so that their median is not a disturbed one."""
MAX_BURST_EXECUTIONS: Final = 100


@dataclass(frozen=True)
class CounterOptions:
    """Options of a measurement of counters.

    Attributes
    ----------
    source
        ``"valgrind"``, ``"perf"``, or ``"file:PATH"`` with the counts of another tool.
    samples, design, seed
        Configurations to count, as in :meth:`~tasksim.calibration.domain.Domain.draw`.
    runs
        Number of times that each is timed, at different times; models need at least three.
    executions
        Number of executions of the kernel that the counts of a file contain.
    dtype
        ``"float64"`` or ``"float32"`` [default: from the kernel's name].
    load
        Number of streaming processes, on cores of their own, beside which each configuration is
        timed once more: models tell computation from memory access by the difference.
    """

    source: str = "valgrind"
    samples: int = 20
    design: str = "lhs"
    seed: int = 0
    runs: int = 3
    executions: float = 1.0
    dtype: str | None = None
    load: int = 0

    def __post_init__(self) -> None:
        kind = self.source.partition(":")[0]
        if kind not in COUNTER_SOURCES:
            raise unknown("source", kind, COUNTER_SOURCES)
        if (kind == "file") != (":" in self.source):
            legal = "file:PATH" if kind == "file" else kind
            raise InputError(f"source: got '{self.source}'; legal: {legal}")
        if self.load < 0:
            raise InputError(f"load={self.load}; legal: 0 or more")
        for name in ("samples", "runs", "executions"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}={getattr(self, name):g}; legal: more than 0")


@dataclass(frozen=True)
class CounterSummary:
    """Results of a campaign of counters.

    Attributes
    ----------
    kernel, source : str
    configurations, samples : int
    counters : tuple of str
        Columns of the file.
    notes : tuple of str
        Remarks on the counts.
    seconds : float
    """

    kernel: str
    source: str
    configurations: int
    samples: int
    counters: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float


def measure_counters(
    domain: Domain,
    output: Path,
    options: CounterOptions | None = None,
    *,
    force: bool = False,
    progress: ShareProgress | None = None,
) -> CounterSummary:
    """Count a kernel at configurations drawn from *domain*; write samples to *output*.

    Each sample is an execution: its parameters, its counters, its duration. Counts are of warm
    executions; a counter file holds one configuration, or has parameters in its name:
    ``perf-{n}.csv``.

    Raises
    ------
    InputError
        If *output* exists, or a counter file is missing or malformed.
    TasksimError
        If the source is not available; the message says how to get it.
    """
    options = options or CounterOptions()
    refuse_existing(output, force=force)
    if options.load:
        from tasksim.calibration.counters.load import check_load

        check_load(options.load)
    begun = time.monotonic()
    table = domain.draw(options.samples, options.seed, options.design)  # type: ignore[arg-type]
    configurations = [dict(zip(domain.names, row, strict=True)) for row in table.tolist()]
    if progress is not None:
        progress(f"counting with {options.source}", 0.1)
    counted, notes, durations = _counted(domain.kernel, configurations, options)
    if progress is not None:
        progress("timing", 0.6)
    here = durations is None
    if durations is None:
        durations = timed(domain.kernel, configurations, options)
        frequency = core_frequency()
        counted = [{**one, "frequency_hz": frequency} for one in counted]
    rows = _rows(configurations, counted, durations)
    if options.load:
        if not here:
            raise InputError(f"load={options.load}: {options.source} has its own durations")
        if progress is not None:
            progress(f"timing beside a load of {options.load}", 0.8)
        rows, told = _with_load(domain.kernel, configurations, options, rows)
        notes = [*notes, told]
    names = write_counters(output, domain.names, rows, force=force)
    elapsed = time.monotonic() - begun
    found = len(configurations), len(rows), names, tuple(notes), elapsed
    return CounterSummary(domain.kernel, options.source, *found)


def _rows(
    configurations: Sequence[Mapping[str, int]],
    counted: Sequence[Mapping[str, float]],
    durations: Sequence[Sequence[float]],
    first_run: int = 0,
) -> list[Row]:
    return [
        (first_run + run, list(configurations[index].values()), counted[index], durations_s[run])
        for index, durations_s in enumerate(durations)
        for run in range(len(durations_s))
    ]


def _with_load(
    kernel: str, configurations: list[dict[str, int]], options: CounterOptions, rows: list[Row]
) -> tuple[list[Row], str]:
    """Return *rows* with those beside a memory load, and a note on the slowdown of accesses."""
    from tasksim.calibration.counters.load import (
        faster_beside,
        latencies,
        latency_factor,
        loaded_memory,
    )

    with loaded_memory(0):
        alone = latencies()
    with loaded_memory(options.load):
        beside = latencies()
        durations = timed(kernel, configurations, options)
    before = [row[2] for row in rows if row[0] == 0]
    frequency = core_frequency()
    slower = [
        {**one, "latency_factor": latency_factor(one, alone, beside), "frequency_hz": frequency}
        for one in before
    ]
    quiet: list[Row] = [
        (run, values, {**one, "latency_factor": 1.0}, seconds) for run, values, one, seconds in rows
    ]
    factor = beside["memory"] / alone["memory"]
    told = f"beside {options.load} streaming, memory latency is {factor:.2f} times as high"
    told = "; ".join([told, *faster_beside(alone, beside)])
    return [*quiet, *_rows(configurations, slower, durations, options.runs)], told


def write_counters(
    path: Path, parameters: Sequence[str], rows: Sequence[Row], *, force: bool = False
) -> tuple[str, ...]:
    """Write samples with counters as a CSV file; return the names of its counters."""
    refuse_existing(path, force=force)
    names = tuple(name for name in COUNTERS if all(name in counted for _, _, counted, _ in rows))
    out = io.StringIO(newline="")
    out.writelines(f"# {name}: {COUNTERS[name]}\n" for name in names)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", *parameters, *names, "duration_s"])
    for run, values, counted, duration_s in rows:
        cells = [
            cell if isinstance(cell, str) else plain_number(float(cell))  # a category has a name
            for cell in (*values, *(counted[name] for name in names))
        ]
        writer.writerow([run, *cells, duration_s])
    write_text(path, out.getvalue())
    return names


def _counted(
    kernel: str, configurations: list[dict[str, int]], options: CounterOptions
) -> tuple[list[dict[str, float]], list[str], list[list[float]] | None]:
    """Return counters per configuration, notes, and durations if the source has them."""
    kind, _, place = options.source.partition(":")
    if kind == "valgrind":
        return (*_by_valgrind(kernel, configurations, options), None)
    if kind == "perf":
        return (*_by_perf(kernel, configurations, options), None)
    return _by_files(place, configurations, options)


def _by_valgrind(
    kernel: str, configurations: list[dict[str, int]], options: CounterOptions
) -> tuple[list[dict[str, float]], list[str]]:
    found, precision = dense_kernel(kernel)
    counts, told = count(
        {
            "kernel": found.name,
            "dtype": options.dtype or precision.dtype,
            "seed": options.seed,
            "configurations": configurations,
        }
    )
    note = f"counted in a simulated processor, with the BLAS kernels for {told['core']}"
    return [counts[str(index)] for index in range(len(configurations))], [note]


def _by_perf(
    kernel: str, configurations: list[dict[str, int]], options: CounterOptions
) -> tuple[list[dict[str, float]], list[str]]:
    """Return medians over executions of the processor's counts."""
    found: list[dict[str, float]] = []
    notes: list[str] = []
    with PerfCounters() as counters, single_threaded_blas(), no_garbage_collection():
        for sizes in configurations:
            body = standalone(kernel, sizes, options.dtype, options.seed)
            several = []
            for _ in range(max(3, options.runs)):
                body.reset()
                body.run()
                body.reset()
                counters.start()
                body.run()
                counted = counters.stop()
                several.append(counters_of(counted, "perf"))
                notes += counted.notes
            # Stalls may lack in some, where other programs use all counters.
            names = [n for n in several[0] if all(n in one for one in several)]
            found.append({n: float(np.median([one[n] for one in several])) for n in names})
    return found, sorted(set(notes))


def _by_files(
    place: str, configurations: list[dict[str, int]], options: CounterOptions
) -> tuple[list[dict[str, float]], list[str], list[list[float]] | None]:
    """Return the counts of other tools' files, one file per configuration."""
    paths = [_path(place, sizes) for sizes in configurations]
    if len(set(paths)) < len(paths):
        raise InputError(
            f"source file:{place}: {len(paths)} configurations need a file each; put the "
            f"parameters into the name: file:perf-{{{next(iter(configurations[0]))}}}.csv"
        )
    files = [read_counts(path) for path in paths]
    found = [
        counters_of(file, str(path), options.executions)
        for file, path in zip(files, paths, strict=True)
    ]
    notes = [f"{p}: {n}" for p, file in zip(paths, files, strict=True) for n in file.notes]
    times = [file.duration_s for file in files]
    if any(time_s is None for time_s in times):
        return found, notes, None
    for one, time_s in zip(found, times, strict=True):
        if "cycles" in one and time_s:
            one["frequency_hz"] = one["cycles"] * options.executions / time_s
    return found, notes, [[time_s / options.executions] for time_s in times if time_s]


def _path(place: str, sizes: Mapping[str, int]) -> Path:
    try:
        return Path(place.format_map(sizes))
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"source file:{place}: {error}; legal in braces: {', '.join(sizes)}"
        ) from None


def timed(
    kernel: str, configurations: list[dict[str, int]], options: CounterOptions
) -> list[list[float]]:
    """Return the durations of each configuration, one per run, each run in random order."""
    found: list[list[float]] = [[] for _ in configurations]
    with single_threaded_blas(), no_garbage_collection():
        for run in range(options.runs):
            for index in shuffled(len(configurations), options.seed, run):
                body = standalone(kernel, configurations[index], options.dtype, options.seed)
                executions = TimedExecutions(idle_core_of_any(), kernel=kernel)
                body.run()  # warm up: a cold run is no sample
                for _ in _burst():
                    body.reset()
                    executions.time(body.run)
                found[index].append(float(np.median(executions.times().own_s)))
    return found


def _burst() -> Iterator[int]:
    """Count the executions of a visit while it lasts."""
    begun = time.perf_counter()
    for done in range(MAX_BURST_EXECUTIONS):
        if done >= MIN_BURST_EXECUTIONS and time.perf_counter() - begun >= BURST_S:
            return
        yield done


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
    durations_s: Floats


def measure_application_counters(
    domain: SettingsDomain,
    output: Path,
    options: CounterOptions,
    *,
    force: bool = False,
    progress: ShareProgress | None = None,
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
    asked = {"name": domain.application, "settings": list(settings)}
    counts, told = count({"application": asked, "seed": options.seed})
    rows: dict[str, tuple[tuple[str, ...], list[Any]]] = {}
    frequency = core_frequency()
    visits = timed_application(domain.application, settings, options)
    for done, visit in enumerate(visits):
        if progress is not None:
            progress("timing", 0.5 + 0.5 * done / (options.runs * len(settings)))
        graph = visit.graph
        for task, duration_s in enumerate(visit.durations_s.tolist()):
            counted = counts.get(f"{visit.number}.{task}")
            if counted is None:
                raise TasksimError(f"{graph.name}: task {task} was not counted")
            name, parameters = graph.model_names[graph.kernel[task]], graph.parameters_of(task)
            counters = {**counted, "frequency_hz": frequency}
            _, found = rows.setdefault(name, (tuple(parameters), []))
            found.append((visit.run, list(parameters.values()), counters, duration_s))
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


def timed_application(
    application: str, settings: Sequence[Mapping[str, Any]], options: CounterOptions
) -> Iterator[Visit]:
    """Run *application* with each of *settings* in each run, in random order; yield visits.

    Each task is timed once per run, at different times, and each time is a median without time that
    others took.
    """
    platform = Platform.identical(1)
    for run in range(options.runs):
        for number in shuffled(len(settings), options.seed, run):
            graph = generate(application, **settings[number])
            program = bind(graph, 1, options.seed)
            execute(graph, platform, "eager", program=program)  # warm up: a cold run is no sample
            several = [
                undisturbed_s(execute(graph, platform, "eager", program=program)) for _ in _burst()
            ]
            yield Visit(run, number, graph, np.median(several, axis=0))
