"""Campaign of counters: a kernel over a domain, counted by a source, timed besides."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.memory import no_garbage_collection
from tasksim.calibration.counters.hardware import PerfCounters
from tasksim.calibration.frequency import core_frequency
from tasksim.calibration.timed_executions import TimedExecutions
from tasksim.formats.counters.events import counters_of
from tasksim.formats.counters.read import read_counts
from tasksim.kernels.dense import dense_kernel
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.counters.columns import COUNTERS
from tasksim.models.rows import plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.calibration.domain import Domain
    from tasksim.formats.counters.events import Counted
    from tasksim.kernels.standalone import Standalone

    Row = tuple[int, Sequence[float], Mapping[str, float], float]
    """Run, parameters, counters of one execution, seconds."""

__all__ = [
    "SOURCES",
    "CounterOptions",
    "CounterSummary",
    "measure_counters",
    "timed",
    "write_counters",
]

SOURCES: Final = ("valgrind", "perf", "file")
BURST_S: Final = 0.01
"""A visit is timed for so long, and its median is a sample: the clock and interrupts are short
beside it."""
MOST_IN_BURST: Final = 100


@dataclass(frozen=True)
class CounterOptions:
    """How counters are measured.

    Attributes
    ----------
    source
        ``"valgrind"``, ``"perf"``, or ``"file:PATH"`` of what another tool has counted.
    samples, design, seed
        Which configurations: as of :meth:`~tasksim.calibration.domain.Domain.draw`.
    runs
        How often each is timed, at different times; models want three at least.
    executions
        How many executions of the kernel the counts of a file are of.
    dtype
        ``"float64"`` or ``"float32"``; by default what the kernel's name says.
    load
        Each is timed once more beside so many processes that stream, on cores of their own: models
        tell computing from memory by the two.
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
        if kind not in SOURCES:
            raise unknown("source", kind, SOURCES)
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
    """What was counted.

    Attributes
    ----------
    kernel, source : str
    configurations, samples : int
    counters : tuple of str
        The columns.
    notes : tuple of str
        What to know of the numbers.
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
    progress: Callable[[str, float], None] | None = None,
) -> CounterSummary:
    """Count a kernel at configurations drawn from *domain*; write samples to *output*.

    Each sample is an execution: its parameters, its counters, its duration. Counts are of warm
    executions; a file is of one configuration, or named by parameters: ``perf-{n}.csv``.

    Raises
    ------
    InputError
        If *output* exists, or a file is not there or wrong.
    TasksimError
        If the source is not to be had here; the message says what helps.
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
            raise InputError(f"load={options.load}: what {options.source} has was timed elsewhere")
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
    """Return *rows*, and the same beside a load of the memory; and how much slower that is."""
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
    told = f"beside {options.load} streaming, an access to memory takes {factor:.2f} times as long"
    told = "; ".join([told, *faster_beside(alone, beside)])
    return [*quiet, *_rows(configurations, slower, durations, options.runs)], told


def write_counters(
    path: Path, parameters: Sequence[str], rows: Sequence[Row], *, force: bool = False
) -> tuple[str, ...]:
    """Write samples with counters as a CSV file; return which counters it has."""
    refuse_existing(path, force=force)
    names = tuple(name for name in COUNTERS if all(name in counted for _, _, counted, _ in rows))
    out = io.StringIO(newline="")
    out.writelines(f"# {name}: {COUNTERS[name]}\n" for name in names)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", *parameters, *names, "duration_s"])
    for run, values, counted, duration_s in rows:
        numbers = [*values, *(counted[name] for name in names)]
        writer.writerow([run, *map(plain_number, map(float, numbers)), duration_s])
    write_text(path, out.getvalue())
    return names


def _counted(
    kernel: str, configurations: list[dict[str, int]], options: CounterOptions
) -> tuple[list[dict[str, float]], list[str], list[list[float]] | None]:
    """Return the counters of each configuration, notes, and durations where the source has them."""
    kind, _, place = options.source.partition(":")
    if kind == "valgrind":
        return (*_by_valgrind(kernel, configurations, options), None)
    if kind == "perf":
        return (*_by_perf(kernel, configurations, options), None)
    return _by_files(place, configurations, options)


def _by_valgrind(
    kernel: str, configurations: list[dict[str, int]], options: CounterOptions
) -> tuple[list[dict[str, float]], list[str]]:
    from tasksim.calibration.counters.valgrind import count

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
    """Return medians over executions of what the processor has counted."""
    found, notes = [], []
    with PerfCounters() as counters, single_threaded_blas(), no_garbage_collection():
        for sizes in configurations:
            body = standalone(kernel, sizes, options.dtype, options.seed)
            several = [_one(body, counters) for _ in range(max(3, options.runs))]
            notes += [note for counted in several for note in counted.notes]
            found.append(_median([counters_of(counted, "perf") for counted in several]))
    return found, sorted(set(notes))


def _one(body: Standalone, counters: PerfCounters) -> Counted:
    body.reset()
    body.run()
    body.reset()
    counters.start()
    body.run()
    return counters.stop()


def _median(several: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.median([one[name] for one in several])) for name in several[0]}


def _by_files(
    place: str, configurations: list[dict[str, int]], options: CounterOptions
) -> tuple[list[dict[str, float]], list[str], list[list[float]] | None]:
    """Return what other tools' files have, one for each configuration."""
    paths = [_path(place, sizes) for sizes in configurations]
    if len(set(paths)) < len(paths):
        raise InputError(
            f"source file:{place}: {len(paths)} configurations, and one file for all; name the "
            f"parameters in it: file:perf-{{{next(iter(configurations[0]))}}}.csv"
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
    """Return the durations of each configuration, one per run, in random order each."""
    found: list[list[float]] = [[] for _ in configurations]
    with single_threaded_blas(), no_garbage_collection():
        for run in range(options.runs):
            rng = np.random.default_rng([options.seed, run])
            for index in rng.permutation(len(configurations)).tolist():
                body = standalone(kernel, configurations[index], options.dtype, options.seed)
                found[index].append(_burst(body))
    return found


def _burst(body: Standalone) -> float:
    """Return the median of some executions without what others took; the first does not count."""
    executions = TimedExecutions()
    body.run()
    begun = time.perf_counter()
    while len(executions) < 3 or time.perf_counter() - begun < BURST_S:
        body.reset()
        executions.time(body.run)
        if len(executions) >= MOST_IN_BURST:
            break
    return float(np.median(executions.times().own_s))
