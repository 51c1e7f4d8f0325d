"""Samples of the kernels of a calibration, with the precision of their means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.threadclock import has_thread_clock
from tasksim.calibration.precision import TotalTime, newest_runs, relative_half_width, total_time
from tasksim.models.kinds.history import typical_mean
from tasksim.models.quantiles import FENCE_WIDTH, group_means, inliers
from tasksim.models.samples import Samples
from tasksim.run.disturbance import has_processor_times
from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tasksim.base.arrays import Floats
    from tasksim.calibration.calibration_options import CalibrationOptions, StopReason
    from tasksim.calibration.timed_executions import ExecutionTimes
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["BY_ITSELF", "IN_SITU", "MAX_RUNS", "KernelSamples", "MeasuredConfiguration"]

IN_SITU: Final = "in situ"
BY_ITSELF: Final = "by itself"
"""Methods of measurement: in runs of a task graph, or alone."""
MAX_RUNS: Final = 30
"""Number of newest runs of an input whose samples are kept for a linear model. They give the mean
to within 2 % if runs differ by 5 %."""


@dataclass(frozen=True)
class MeasuredConfiguration:
    """A kernel with exact parameters, and the precision of its mean duration."""

    kernel: str
    parameters: dict[str, float]
    count: int
    """Number of samples without outliers."""
    dropped: int
    """Number of outliers."""
    mean_s: float
    half_width: float
    """Half-width of the mean's confidence interval, relative to the mean."""
    stopped: StopReason
    """Reason for the end of its measurement."""

    def __str__(self) -> str:
        pairs = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.kernel} ({pairs})"


class KernelSamples:
    """Samples of each kernel, from earlier calibrations and from this one.

    The kernels in *linear* have linear models. Only their samples from the newest 30 runs of each
    input are kept: hundreds of tasks per run would make the files grow without bound.
    """

    def __init__(
        self, earlier: Mapping[str, Samples] | None = None, linear: Collection[str] = ()
    ) -> None:
        self.samples: dict[str, Samples] = dict(earlier or {})
        self.linear = frozenset(linear)
        self._earlier = frozenset(self.samples)
        self.new: dict[str, tuple[str, ...]] = {}
        """Kernel measured by this calibration -> methods: "in situ", "by itself"."""
        runs = [s.runs.max() for s in self.samples.values() if s.runs is not None and len(s.runs)]
        self.next_run = self.first_run = int(max(runs, default=-1)) + 1

    def has_earlier(self, kernel: str) -> bool:
        """Return whether samples of earlier calibrations of *kernel* count."""
        return kernel in self._earlier

    def add_run(self, run: Run, graph: TaskGraph) -> None:
        """Add the durations of a native *run* of *graph*, less time that others took."""
        own_s = undisturbed_s(run, graph)
        wall_s = run.tasks.duration_s if has_processor_times(run) else None
        for kernel, name in enumerate(graph.model_names):
            tasks = np.flatnonzero(graph.kernel == kernel)
            table = graph.parameters[kernel][graph.row[tasks]]
            if len(tasks):
                names = graph.parameter_names[kernel]
                wall = None if wall_s is None else wall_s[tasks]
                named = graph.categories.get(graph.kernels[kernel])
                self.add(name, names, table, own_s[tasks], IN_SITU, wall, named)
                if name in self.linear:
                    self.samples[name] = newest_runs(self.samples[name], MAX_RUNS)
        self.next_run += 1

    def add(
        self,
        kernel: str,
        names: tuple[str, ...],
        parameters: Floats,
        durations_s: Floats,
        how: str,
        wall_s: Floats | None = None,
        categories: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Add samples of *kernel* to the current run; *how* describes the method.

        If *wall_s* is given, it holds the wall times, and the durations exclude time that others
        took. *categories* has the names of the categories whose numbers are values of parameters.
        """
        runs = np.full(len(durations_s), self.next_run)
        more = Samples(
            names, parameters, durations_s, runs, wall_s=wall_s, categories=categories or {}
        )
        before = self.samples.get(kernel)
        self.samples[kernel] = more if before is None else Samples.concat([before, more])
        self.new[kernel] = tuple(dict.fromkeys((*self.new.get(kernel, ()), how)))

    def add_executions(
        self, kernel: str, parameters: Mapping[str, float], times: ExecutionTimes
    ) -> None:
        """Add executions of *kernel* alone, less time that others took."""
        names, row = tuple(parameters), [list(parameters.values())]
        table = np.repeat(np.array(row, dtype=np.float64), len(times.own_s), axis=0)
        wall_s = times.wall_s if has_thread_clock() else None
        self.add(kernel, names, table, times.own_s, BY_ITSELF, wall_s)

    def by_total(self, kernel: str) -> bool:
        """Return whether the precision of *kernel* is judged by its total time."""
        return kernel in self.linear and IN_SITU in self.new.get(kernel, ())

    def total(self, kernel: str, options: CalibrationOptions) -> TotalTime:
        """Return the total time of *kernel* in the inputs that this calibration runs."""
        return total_time(self.samples[kernel], options.confidence, self.first_run)

    def configurations(
        self, options: CalibrationOptions, kernels: Collection[str] | None = None
    ) -> Iterator[MeasuredConfiguration]:
        """Yield each configuration that this calibration measured, of all kernels or *kernels*."""
        for kernel in sorted(self.new if kernels is None else kernels):
            samples = self.samples[kernel]
            # Reason to stop for configurations whose mean is not precise.
            by_total = self.by_total(kernel) and self.known(kernel, options)
            otherwise: StopReason = "total" if by_total else "limit"
            rows, group = samples.configurations()
            inside = inliers(
                samples, group, FENCE_WIDTH
            )  # as for the model, which is fitted to them
            order = np.argsort(group, kind="stable")
            parts = np.split(order, np.cumsum(np.bincount(group))[:-1])
            for row, part in zip(rows.tolist(), parts, strict=True):
                runs = None if samples.runs is None else samples.runs[part]
                durations_s, kept = samples.durations_s[part], inside[part]
                count = int(kept.sum())
                of_runs = durations_s[kept]  # if runs are unknown, the samples themselves
                if runs is not None:
                    _, run = np.unique(runs[kept], return_inverse=True)
                    of_runs = group_means(of_runs, run)
                half_width = relative_half_width(of_runs, options.confidence)
                enough = count >= options.min_samples and len(of_runs) >= options.min_runs
                precise = enough and half_width <= options.tolerance
                yield MeasuredConfiguration(
                    kernel=kernel,
                    parameters=dict(zip(samples.names, row, strict=True)),
                    count=count,
                    dropped=len(durations_s) - count,
                    mean_s=typical_mean(durations_s, runs, kept),
                    half_width=half_width,
                    stopped="tolerance" if precise else otherwise,
                )

    def settled(self, options: CalibrationOptions) -> bool:
        """Return whether every measured kernel is known well enough."""
        return all(self.known(kernel, options) for kernel in self.new)

    def known(self, kernel: str, options: CalibrationOptions) -> bool:
        """Return whether *kernel* is known well enough: its total time, or every configuration."""
        if self.by_total(kernel):
            total = self.total(kernel, options)
            return total.runs >= options.min_runs and total.half_width <= options.tolerance
        return all(c.stopped == "tolerance" for c in self.configurations(options, [kernel]))
