"""What has been measured so far, and whether it is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tasksim.calibration.precision import relative_half_width
from tasksim.models.base import Samples
from tasksim.models.history import within_fence
from tasksim.models.robust import typical_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["Book", "Configuration", "Options", "Stop"]

Stop = Literal["tolerance", "limit"]


@dataclass(frozen=True)
class Options:
    """How long to measure.

    A configuration (a kernel with exact parameters) is known well enough when Student's
    interval of its mean is within *tolerance* of the mean, and it has *min_samples* samples from
    *min_runs* runs. The interval is that of the means of the runs: samples of one run are
    alike, and would make the mean look better known than it is.
    """

    tolerance: float = 0.02
    confidence: float = 0.95
    min_samples: int = 10
    min_runs: int = 5
    max_seconds: float = 60.0
    schedulers: tuple[str, ...] = ("lws", "eager")
    seed: int = 0
    pin: bool = True


@dataclass(frozen=True)
class Configuration:
    """A kernel with exact parameters, and how well its duration is known."""

    kernel: str
    parameters: dict[str, float]
    count: int
    """Samples that count, that is, without outliers."""
    dropped: int
    """Outliers."""
    mean_s: float
    half_width: float
    """Of the interval of the mean, relative to the mean."""
    stopped: Stop

    def __str__(self) -> str:
        pairs = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.kernel} ({pairs})"


class Book:
    """The samples of each kernel: those of earlier calibrations, and the new ones."""

    def __init__(self, earlier: Mapping[str, Samples] | None = None) -> None:
        self.samples: dict[str, Samples] = dict(earlier or {})
        self._earlier = frozenset(self.samples)
        self.new: dict[str, tuple[str, ...]] = {}
        """The kernels that this calibration has measured, and how: "in situ", "by itself"."""
        runs = [s.runs.max() for s in self.samples.values() if s.runs is not None and len(s.runs)]
        self.next_run = int(max(runs, default=-1)) + 1

    def has_earlier(self, kernel: str) -> bool:
        """Return whether samples of earlier calibrations of *kernel* count."""
        return kernel in self._earlier

    def add_run(self, run: Run, graph: TaskGraph) -> None:
        """Add the duration of every task of a native *run* of *graph*."""
        durations = run.tasks.end_s - run.tasks.start_s
        for kernel, name in enumerate(graph.model_names):
            tasks = np.flatnonzero(graph.kernel == kernel)
            table = graph.parameters[kernel][graph.row[tasks]]
            if len(tasks):
                self.add(name, graph.parameter_names[kernel], table, durations[tasks], "in situ")
        self.next_run += 1

    def add(
        self,
        kernel: str,
        names: tuple[str, ...],
        parameters: NDArray[np.float64],
        durations_s: NDArray[np.float64],
        how: str,
    ) -> None:
        """Add samples of *kernel*, as part of the current run; *how* says the manner in words."""
        runs = np.full(len(durations_s), self.next_run)
        more = Samples(names, parameters, durations_s, runs)
        before = self.samples.get(kernel)
        self.samples[kernel] = more if before is None else Samples.concat([before, more])
        self.new[kernel] = tuple(dict.fromkeys((*self.new.get(kernel, ()), how)))

    def configurations(self, options: Options) -> Iterator[Configuration]:
        """Yield every configuration that this calibration measures, by kernel."""
        for kernel in sorted(self.new):
            samples = self.samples[kernel]
            rows, inverse = np.unique(samples.parameters, axis=0, return_inverse=True)
            for index, row in enumerate(rows):
                mine = samples.select(inverse == index)
                parameters = dict(zip(samples.names, row.tolist(), strict=True))
                yield _judged(kernel, parameters, mine, options)

    def settled(self, options: Options) -> bool:
        """Return whether every configuration is known well enough."""
        return all(c.stopped == "tolerance" for c in self.configurations(options))


def _judged(
    kernel: str, parameters: dict[str, float], samples: Samples, options: Options
) -> Configuration:
    inside = within_fence(samples.durations_s)
    kept = samples.select(inside)
    of_runs = _run_means(kept)
    half_width = relative_half_width(of_runs, options.confidence)
    enough = len(kept) >= options.min_samples and len(of_runs) >= options.min_runs
    return Configuration(
        kernel=kernel,
        parameters=parameters,
        count=len(kept),
        dropped=len(samples) - len(kept),
        mean_s=typical_mean(samples.durations_s, samples.runs, inside),
        half_width=half_width,
        stopped="tolerance" if enough and half_width <= options.tolerance else "limit",
    )


def _run_means(samples: Samples) -> NDArray[np.float64]:
    """Return the mean of each run's samples; of unknown runs, each sample counts for one."""
    if samples.runs is None:
        return samples.durations_s
    _, run = np.unique(samples.runs, return_inverse=True)
    means: NDArray[np.float64] = np.bincount(run, samples.durations_s) / np.bincount(run)
    return means
