"""Steering of the measurements of kernels by the makespan of a graph.

The graph is simulated with the kernels' means so far; the noise of tasks and the errors of the
means are drawn anew each time, and the practical critical path is traced: near-critical paths are
critical in some of the simulations. A kernel's mean matters as much as its seconds on the path:
with g_c of them, a relative deviation s_c of n_c bursts, and t_c seconds per burst,

    Var(makespan) = sum of g_c^2 s_c^2 / n_c
    next: the largest g_c^2 s_c^2 / (n_c (n_c + 1) t_c)

The measurement ends when Student's interval of the makespan, with Welch and Satterthwaite's degrees
of freedom, is as narrow as requested. The idea is Critter's (E. Hutter and E. Solomonik,
"Accelerating distributed-memory autotuning via statistical analysis of execution paths", IPDPS
2021), applied to errors of means, which all tasks of a kernel share: Critter's intervals divide by
the number of occurrences on the path, which is right for the noise of tasks.

A burst runs one kernel alone, on all workers. The bursts of a quarter of a second count as one run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, option
from tasksim.base.interruption import unbroken
from tasksim.base.units import duration_text
from tasksim.calibration.kernels_under_load import BATCH_S, Bursts, KernelCall
from tasksim.calibration.precision import percent, share_done, welch_quantile
from tasksim.engine.batch import task_tables
from tasksim.engine.simulation import Simulation
from tasksim.kernels.dense import kernel_names
from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.quantiles import group_means, within_fence
from tasksim.models.samples import Samples
from tasksim.platform.description import Platform
from tasksim.run.critical import tasks_on_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tasksim.base.arrays import Floats, Indices, Ints
    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.calibration.timed_executions import ExecutionTimes
    from tasksim.graph.taskgraph import TaskGraph

    Burst = Callable[[KernelCall], tuple[ExecutionTimes, float]]
    """Measurement of a kernel for a moment: its executions, and the time that it takes."""

__all__ = [
    "Configuration",
    "Known",
    "Steered",
    "Steering",
    "check_steerable",
    "configurations_of",
    "measure_steered",
]

MIN_BURSTS: Final = 5
"""Smallest number of bursts of each configuration, on the path or not. With 3, some kernels look
precise by luck: of nine makespans of made-up kernels that were to be known to 2 %, three were off
by 3 to 4 %; with 5 none was."""
TRACED_SIMULATIONS: Final = 8
"""Number of simulations whose paths are traced each time: a path that is critical in one of eight
counts."""
TRACE_INTERVAL_SHARE: Final = 0.1
"""Number of bursts between two traces of the paths, as a share of those made so far: paths change
as means do, by less and less."""
BURSTS_PER_MEAN: Final = 4
"""Number of consecutive bursts that are averaged: consecutive bursts may be slow together, and the
means of four then differ by more than half of the differences of single ones."""
MIN_MEANS: Final = 4
"""Smallest number of such averages: the deviation of fewer is chance."""
MIN_EXECUTIONS: Final = 6
"""Smallest number of executions of a burst, with its warm-up."""
MAX_DEVIATION: Final = 1.0
"""Largest relative deviation of bursts: larger ones are stalls, which a simulation need not see."""


class Configuration(NamedTuple):
    """A kernel with exact parameters."""

    kernel: str
    names: tuple[str, ...]
    row: tuple[float, ...]

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters by name."""
        return dict(zip(self.names, self.row, strict=True))

    def __str__(self) -> str:
        pairs = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.kernel} ({pairs})"


def configurations_of(graph: TaskGraph) -> tuple[list[Configuration], Indices]:
    """Return the configurations of a graph's tasks, and the index of each task's configuration.

    Raises
    ------
    InputError
        If a kernel has a parameter with categories: their numbers differ from graph to graph.
    """
    for named, categories in graph.categories.items():
        raise InputError(
            f"{graph.name}: kernel {named} has categories ({', '.join(categories)}); "
            "measuring until a makespan is known needs numbers: calibrate without "
            f"{option('until')}"
        )
    of_task = np.zeros(len(graph), dtype=np.intp)
    found: dict[Configuration, int] = {}
    for kernel, name in enumerate(graph.model_names):
        tasks = np.flatnonzero(graph.kernel == kernel)
        rows, which = np.unique(
            graph.parameters[kernel][graph.row[tasks]], axis=0, return_inverse=True
        )
        names = graph.parameter_names[kernel]
        numbers = [
            found.setdefault(Configuration(name, names, tuple(row)), len(found))
            for row in rows.tolist()
        ]
        of_task[tasks] = np.array(numbers, dtype=np.intp)[which.ravel()]
    return list(found), of_task


class Known(NamedTuple):
    """Measurements of each configuration.

    Parameters
    ----------
    bursts : ndarray
        Number of bursts; they are independent, samples of one burst are not.
    mean_s : ndarray
        Mean of the bursts' means in seconds.
    deviation : ndarray
        Deviation of the bursts' means, relative to the mean.
    noise : ndarray
        Deviation of samples, relative to the mean.
    """

    bursts: Ints
    mean_s: Floats
    deviation: Floats
    noise: Floats


class Steering:
    """Choice of the next configuration, until the makespan is known well enough.

    Parameters
    ----------
    graph : TaskGraph
        Graph whose makespan is to be predicted.
    platform : Platform
        Platform of the simulations, with cores only.
    until : float
        Half-width of the mean makespan's interval to reach, relative.
    confidence : float, default 0.95
        Confidence level of that interval.
    scheduler : str, default "lws"
        Scheduler of the simulations.
    seed : int, default 0
        Seed of all random numbers.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("cholesky", tiles=4)
    >>> steering = Steering(graph, tasksim.load_platform("xeon-2c"), until=0.02)
    >>> steering.next().kernel
    'potrf'
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        until: float,
        *,
        confidence: float = 0.95,
        scheduler: str = "lws",
        seed: int = 0,
    ) -> None:
        self.graph, self.until = graph, until
        self.configurations, self._of_task = configurations_of(graph)
        self._platform, self._scheduler = platform, scheduler
        self._confidence, self._seed = confidence, seed
        size = len(self.configurations)
        self._bursts: list[list[Floats]] = [[] for _ in range(size)]
        self._seconds, self._timed = np.zeros(size), np.zeros(size)
        self._looks, self._look_at = 0, 0
        self.path_s = np.zeros(size)
        """Seconds of the makespan per configuration."""
        self.makespan_s = 0.0
        self.half_width = float("inf")
        """Half-width of the mean makespan's interval, relative."""
        self._known: Known | None = None

    def add(self, which: Configuration, durations_s: Floats, seconds: float) -> None:
        """Record a burst of a configuration, and its measuring time."""
        index = self._note(which, durations_s)
        self._seconds[index] += seconds
        self._timed[index] += 1

    def add_earlier(self, samples: Mapping[str, Samples]) -> None:
        """Record earlier measurements of the configurations; their runs count as bursts."""
        for one in self.configurations:
            of = samples.get(one.kernel)
            if of is None or of.names != one.names:
                continue
            mine = of.select((of.parameters == np.array(one.row)).all(axis=1))
            runs = np.arange(len(mine)) if mine.runs is None else mine.runs
            for run in np.unique(runs):
                self._note(one, mine.durations_s[runs == run])

    def _note(self, which: Configuration, durations_s: Floats) -> int:
        index = self.configurations.index(which)
        self._bursts[index].append(np.asarray(durations_s, dtype=np.float64))
        self._known = None
        return index

    @property
    def counts(self) -> list[int]:
        """Number of bursts of each configuration."""
        return [len(bursts) for bursts in self._bursts]

    @property
    def seconds(self) -> float:
        """Total measuring time in seconds."""
        return float(self._seconds.sum())

    def next(self) -> Configuration | None:
        """Return the next configuration to measure; None if the makespan is precise enough."""
        counts = np.array(self.counts)
        if counts.min() < MIN_BURSTS:
            return self.configurations[int(counts.argmin())]
        if counts.sum() >= self._look_at:
            self._look(counts)
        self._judge()
        if self.half_width <= self.until:
            self.judge()  # trace again: the paths are some bursts old
            if self.half_width <= self.until:
                return None
        known = self.known()
        worth = (self.path_s * known.deviation) ** 2 / (counts * (counts + 1) * self._burst_s)
        return self.configurations[int(worth.argmax())]

    def judge(self) -> None:
        """Update the precision of the makespan."""
        self._look(np.array(self.counts))
        self._judge()

    def known(self) -> Known:
        """Return the measurements of each configuration, without outliers, as in models."""
        if self._known is None:
            columns = [_of_bursts(bursts) for bursts in self._bursts]
            count, *rest = zip(*columns, strict=True)
            self._known = Known(np.array(count), *map(np.array, rest))
        return self._known

    def progress(self, what: str) -> str:
        """Return the progress so far as text: the burst *what*, and the precision."""
        if not np.isfinite(self.half_width):
            return what
        return f"{what}, makespan {duration_text(self.makespan_s)} +- {percent(self.half_width)}"

    def share(self) -> float:
        """Return the share of the measurement that is done."""
        return share_done(self.until, self.half_width)

    def prevented(self, seconds: float) -> str:
        """Return why the makespan is not known to the precision after *seconds*."""
        if not np.isfinite(self.half_width):
            return f"the time is over ({seconds:g} s) before each kernel was measured a few times"
        shares = self.shares()
        most = int(shares.argmax())
        return (
            f"the time is over ({seconds:g} s); {100 * shares[most]:.0f} % of the variance is due "
            f"to {self.configurations[most]}; about {duration_text(self.seconds_to_go())} more "
            "of measuring would suffice if the machine stays as it is"
        )

    def shares(self) -> Floats:
        """Return the share of each configuration in the variance of the makespan."""
        variances = self._variances()
        return np.asarray(variances / variances.sum() if variances.sum() else variances)

    def seconds_to_go(self) -> float:
        """Return the measuring time until the makespan is precise enough, with the noise so far.

        With the best allocation, n_c proportional to g_c s_c / sqrt(t_c), the total time is (sum of
        g_c s_c sqrt(t_c))^2 / Var.
        """
        known, quantile = self.known(), self._quantile(self._variances())
        if not np.isfinite(quantile):
            return float("inf")
        wanted = (self.until * self.makespan_s / quantile) ** 2
        cost = (self.path_s * known.deviation * np.sqrt(self._burst_s)).sum() ** 2 / wanted
        return max(float(cost) - self.seconds, float(self._burst_s.min()))

    @property
    def _burst_s(self) -> Floats:
        """Return the duration of a burst; for earlier measurements, that of a few executions."""
        timed = self._seconds / np.maximum(self._timed, 1)
        return np.where(self._timed > 0, timed, MIN_EXECUTIONS * self.known().mean_s)

    def _variances(self) -> Floats:
        known = self.known()
        return np.asarray((self.path_s * known.deviation) ** 2 / known.bursts)

    def _quantile(self, variances: Floats) -> float:
        return welch_quantile(variances, self.known().bursts, self._confidence)

    def _judge(self) -> None:
        variances = self._variances()
        width = self._quantile(variances) * float(np.sqrt(variances.sum()))
        self.half_width = width / self.makespan_s if self.makespan_s else float("inf")

    def _look(self, counts: Ints) -> None:
        """Trace the practical critical paths of simulations with the measurements so far."""
        known = self.known()
        rng = np.random.default_rng([self._seed, self._looks])
        self._looks += 1
        luck = rng.standard_normal((TRACED_SIMULATIONS // 2, len(known.bursts)))
        # Draw each error of means with its opposite: the mean makespan does not move.
        drawn = [self._drawn(known, of, rng) for of in (*luck, *-luck)]
        models = _Histories(self.samples())
        items = [
            Simulation(
                self.graph, self._platform, models, self._scheduler, drawn=partial(np.asarray, one)
            )
            for one in drawn
        ]
        size = len(self.configurations)
        path_s, spans = np.zeros(size), []
        for table in task_tables(items):
            tasks = [task for task, _ in tasks_on_path(table)]
            path_s += np.bincount(self._of_task[tasks], table.duration_s[tasks], size)
            spans.append(float(table.end_s.max(initial=0.0)))
        self.path_s, self.makespan_s = path_s / TRACED_SIMULATIONS, float(np.mean(spans))
        self._look_at = int(counts.sum()) + max(1, int(TRACE_INTERVAL_SHARE * counts.sum()))

    def _drawn(self, known: Known, luck: Floats, rng: np.random.Generator) -> Floats:
        """Return durations with means off by *luck* and with noise, shape (classes, tasks)."""
        means = known.mean_s * np.exp(luck * known.deviation / np.sqrt(known.bursts))
        spread = np.sqrt(np.log1p(known.noise**2))[self._of_task]
        noise = np.exp(spread * rng.standard_normal(len(spread)) - spread**2 / 2)
        classes = len(self._platform.classes)
        return np.tile(means[self._of_task] * noise, (classes, 1))

    def samples(self) -> dict[str, Samples]:
        """Return all measurements by kernel; each burst is a run."""
        parts: dict[str, list[Samples]] = {}
        run = 0
        for one, bursts in zip(self.configurations, self._bursts, strict=True):
            for durations in bursts:
                table = np.repeat([one.row], len(durations), axis=0)
                table = table.reshape(len(durations), len(one.names))
                runs = np.full(len(durations), run)
                parts.setdefault(one.kernel, []).append(Samples(one.names, table, durations, runs))
                run += 1
        return {kernel: Samples.concat(mine) for kernel, mine in parts.items()}


class _Histories:
    """History models of samples, for a simulation."""

    def __init__(self, samples: Mapping[str, Samples]) -> None:
        self._models = {kernel: HistoryModel().fit(of) for kernel, of in samples.items()}

    def model(self, kernel: str, architecture: str) -> HistoryModel:  # noqa: ARG002
        """Return the model of *kernel*."""
        return self._models[kernel]

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: kernels measured alone have all data near."""


def _of_bursts(bursts: list[Floats]) -> tuple[int, float, float, float]:
    """Return the number of bursts, their mean, and relative deviations of bursts and samples."""
    if not bursts:
        return 0, 0.0, 0.0, 0.0
    durations = np.concatenate(bursts)
    of = np.repeat(np.arange(len(bursts)), [len(burst) for burst in bursts])
    kept = within_fence(durations)
    _, which = np.unique(of[kept], return_inverse=True)
    means = group_means(durations[kept], which)
    mean = float(means.mean())
    apart = _apart(means) / mean
    noise = min(float(durations[kept].std() / mean), MAX_DEVIATION)
    return len(means), mean, apart, noise


def _apart(means: Floats) -> float:
    """Return the deviation of bursts, increased if consecutive ones are correlated."""
    if len(means) < 2:
        return MAX_DEVIATION * float(means.mean())
    single = float(means.std(ddof=1))
    if len(means) < BURSTS_PER_MEAN * MIN_MEANS:
        return single
    fours = (
        means[: len(means) // BURSTS_PER_MEAN * BURSTS_PER_MEAN]
        .reshape(-1, BURSTS_PER_MEAN)
        .mean(axis=1)
    )
    return max(single, float(fours.std(ddof=1)) * BURSTS_PER_MEAN**0.5)


@dataclass
class Steered:
    """Result of a steered measurement, with its precision and the obstacle to a higher one.

    Attributes
    ----------
    until
        Requested half-width of the mean makespan's interval, relative.
    half_width
        Reached half-width; infinite if it is unknown yet.
    makespan_s
        Mean makespan of the simulations that steered.
    seconds
        Measuring time without simulations.
    bursts
        Number of bursts of each configuration.
    path_share
        Share of each configuration in the makespan.
    prevented
        Why the precision is less than requested; None if it is not.
    """

    until: float
    half_width: float = float("inf")
    makespan_s: float = 0.0
    seconds: float = 0.0
    bursts: dict[str, int] = field(default_factory=dict)
    path_share: dict[str, float] = field(default_factory=dict)
    prevented: str | None = "interrupted before anything was known"

    def note(self, steering: Steering) -> None:
        """Take over the results of *steering* so far."""
        names = [str(one) for one in steering.configurations]
        self.half_width, self.makespan_s = steering.half_width, steering.makespan_s
        self.seconds = steering.seconds
        self.bursts = dict(zip(names, steering.counts, strict=True))
        whole = steering.makespan_s or 1.0
        self.path_share = dict(zip(names, (steering.path_s / whole).tolist(), strict=True))

    def text(self) -> str:
        """Return the result as text, in a line or two."""
        counts = ", ".join(f"{name} {count}" for name, count in self.bursts.items())
        found = "not known"
        if np.isfinite(self.half_width):
            found = f"{duration_text(self.makespan_s)}, its mean known to "
            found += percent(self.half_width)
        line = (
            f"makespan {found} after {duration_text(self.seconds)} of measuring; bursts: {counts}"
        )
        return (
            line
            if self.prevented is None
            else f"{line}\nnot known to {percent(self.until)}: {self.prevented}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "until": self.until,
            "reached": self.prevented is None,
            "prevented": self.prevented,
            "half_width": self.half_width if np.isfinite(self.half_width) else None,
            "makespan_s": self.makespan_s,
            "measured_s": self.seconds,
            "bursts": self.bursts,
            "path_share": self.path_share,
        }


def check_steerable(graph: TaskGraph) -> None:
    """Raise :exc:`InputError` if a kernel of *graph* cannot be measured alone."""
    alone = kernel_names()
    others = [name for name in graph.model_names if name not in alone]
    if others:
        raise InputError(
            f"{', '.join(others)}: these kernels cannot be measured alone, so the makespan cannot "
            "steer their measurement; calibrate without it"
        )


def measure_steered(
    graph: TaskGraph,
    workers: int,
    collected: KernelSamples,
    options: CalibrationOptions,
    steered: Steered,
    after_burst: ShareProgress,
    burst: Burst | None = None,
) -> None:
    """Measure the kernels that the makespan of *graph* depends on until it is known or time is up.

    Samples are in *collected* at once, the result in *steered*; *after_burst* is called as in
    :func:`~tasksim.calibration.insitu.measure_in_situ`.
    """
    begun, run_begun = time.monotonic(), 0.0
    measure = burst or Bursts(workers, pin=options.pin)
    steering = Steering(
        graph,
        Platform.identical(workers),
        steered.until,
        confidence=options.confidence,
        scheduler=options.schedulers[0],
        seed=options.seed,
    )
    steering.add_earlier(collected.samples)
    with single_threaded_blas():
        while (one := steering.next()) is not None:
            times, seconds = measure(KernelCall(one.kernel, one.parameters))
            with unbroken():
                collected.add_executions(one.kernel, one.parameters, times)
            steering.add(one, times.own_s, seconds)
            if steering.seconds - run_begun >= BATCH_S:
                run_begun, collected.next_run = steering.seconds, collected.next_run + 1
            used = (time.monotonic() - begun) / options.max_seconds
            steered.note(steering)
            after_burst(steering.progress(str(one)), max(used, steering.share()))
            # Whatever the time: without a burst of each kernel nothing could be predicted.
            if used >= 1 and min(steering.counts) > 0:
                steered.prevented = steering.prevented(options.max_seconds)
                break
            steered.prevented = "interrupted"
        else:
            steered.note(steering)
            steered.prevented = None
    collected.next_run += 1
