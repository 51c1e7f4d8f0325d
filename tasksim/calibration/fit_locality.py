"""Fit of the cost of far data to native runs.

The distance of a task's data follows from the order in which the tasks of a run started. Samples
keep the bytes that were far, so that models are fitted to durations without their cost.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.engine.locality import MIN_NEAR_SHARE
from tasksim.graph.reuse import accessed_bytes, read_and_written_bytes, reuse_distances, task_bytes
from tasksim.models.locality import Locality
from tasksim.models.quantiles import within_fence
from tasksim.native.caches import data_caches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tasksim.base.arrays import Bools, Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import Entry
    from tasksim.models.samples import Samples
    from tasksim.run.record import Run


__all__ = ["FarTable", "Reaches", "fit_locality", "without_far_data"]

DEFAULT_REACHES_BYTES: Final = tuple(float(2**exponent) for exponent in range(20, 29))
"""Reaches to try if the system does not report caches: 1 MiB to 256 MiB, powers of two."""
CACHE_SHARES: Final = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Reaches to try, as shares of the last-level cache. Others use a part of it, and each access
counts, also where several are to the same data; but half of the data of a larger distance may
still be there."""
MIN_BEYOND_SHARE: Final = 0.1
"""Smallest share of the bytes used again that must be wholly far for a reach to be tried. Costs
that are extrapolated from data that are far in part may be twice too large."""
MIN_SAMPLES: Final = 30
"""Smallest number of tasks of a kernel to fit a cost. Not measured: fewer would fit noise, more
would leave out rare kernels, whose far data cost little altogether."""
MIN_RUNS: Final = 3
"""Smallest number of runs to judge a cost by cross-validation: two differences have no spread."""
MAX_FOLDS: Final = 10
"""Largest number of folds of runs: more leave out less, and change little."""
MIN_STANDARD_ERRORS: Final = 2.0
"""Number of standard errors by which a cost must reduce the error in runs that were left out:
chance does so in one of forty cases."""


class Reaches(NamedTuple):
    """Reaches to try, in bytes, and the size of the last-level cache; None if it is unknown."""

    reaches: tuple[float, ...]
    cache_bytes: float | None
    known: bool = False
    """Whether the only reach is that of earlier files."""

    @classmethod
    def of_this_machine(cls) -> Reaches:
        """Return shares of this machine's last-level cache; powers of two if it is unknown."""
        caches = data_caches()
        if not caches:
            return cls(DEFAULT_REACHES_BYTES, None)
        size = float(caches[-1].size_bytes)
        return cls(tuple(share * size for share in CACHE_SHARES), size)

    @classmethod
    def as_before(cls, earlier: Iterable[Entry | None]) -> Reaches | None:
        """Return the reach of *earlier* files: samples count far bytes for it; None if unknown."""
        for entry in earlier:
            known = None if entry is None else entry.locality
            if known is not None and known.near_bytes == 0:
                return cls((known.reach_bytes,), known.cache_bytes, known=True)
        return None


class FarTable:
    """Bytes that the tasks of native runs accessed, by kernel and run.

    Per reach to try (rows) and task: the bytes that it only read and that it wrote, and how many of
    each were far. Nothing is known of tasks that are the first to access a datum: what was done
    before the run may have left it in the cache.
    """

    def __init__(self, reaches: Reaches) -> None:
        self.reaches = reaches
        self._of: dict[str, dict[int, Floats]] = {}
        self._reused_bytes = 0.0
        self._beyond_bytes = np.zeros(len(reaches.reaches))

    def add(self, number: int, run: Run, graph: TaskGraph) -> None:
        """Add *run*, whose samples have this *number*, kernel by kernel as the samples."""
        order = np.argsort(run.tasks.start_s, kind="stable").tolist()
        distances = reuse_distances(graph, order)
        sizes = accessed_bytes(graph)
        accessed = read_and_written_bytes(graph)
        table = np.array(
            [
                [*accessed, *read_and_written_bytes(graph, sizes * np.minimum(distances / r, 1.0))]
                for r in self.reaches.reaches
            ]
        )
        reused = np.isfinite(distances)
        self._reused_bytes += float(sizes[reused].sum())
        for place, reach in enumerate(self.reaches.reaches):
            self._beyond_bytes[place] += float(sizes[reused & (distances > reach)].sum())
        table[:, :, task_bytes(graph, np.where(reused, 0.0, sizes)) > 0] = np.nan
        for kernel, name in enumerate(graph.model_names):
            tasks = np.flatnonzero(graph.kernel == kernel)
            of = self._of.setdefault(name, {})
            more = table[:, :, tasks]
            of[number] = np.concatenate([of[number], more], axis=2) if number in of else more

    def keep(self, kernel: str, runs: Iterable[int]) -> None:
        """Forget all other runs of *kernel*."""
        kept = set(runs)
        of = self._of.get(kernel, {})
        for number in of.keys() - kept:
            del of[number]

    def __len__(self) -> int:
        """Return the number of pairs of a kernel and a run."""
        return sum(map(len, self._of.values()))

    @property
    def observed(self) -> Bools:
        """Per reach to try, whether enough data were used again beyond it."""
        if self.reaches.known:
            return np.ones(1, dtype=bool)
        seen: Bools = self._beyond_bytes >= MIN_BEYOND_SHARE * self._reused_bytes
        return seen & (self._reused_bytes > 0)

    def columns(self, kernel: str, samples: Samples) -> Floats:
        """Return the bytes that *samples* of *kernel* accessed, as in the table; NaN: unknown."""
        found = np.full((len(self.reaches.reaches), 4, len(samples)), np.nan)
        if samples.accessed_bytes is not None:
            found[:] = samples.accessed_bytes.T
        if samples.runs is not None:
            for number, table in self._of.get(kernel, {}).items():
                found[:, :, samples.runs == number] = table
        return found


def fit_locality(
    samples: Mapping[str, Samples], table: FarTable
) -> tuple[dict[str, Locality], dict[str, Samples]]:
    """Return each kernel's cost of far data, and the *samples* with the bytes that were far.

    For each kernel and reach, durations relative to the mean of their configuration, without
    outliers, are regressed on far bytes read and written (non-negative least squares). All kernels
    share one reach, that of the shared cache: the one with the least sum of squared relative
    residuals over all kernels. A kernel has a cost if that reduces the error of runs that are left
    out of its fit.
    """
    columns = {name: table.columns(name, some) for name, some in samples.items()}
    kernels = {name: _Kernel(samples[name], rows) for name, rows in columns.items()}
    usable = {name: kernel for name, kernel in kernels.items() if kernel.usable}
    residuals = [
        sum(kernel.residual(reach) for kernel in usable.values())
        for reach in range(len(table.reaches.reaches))
    ]
    best = int(np.argmin(np.where(table.observed, residuals, np.inf)))
    found = {}
    for name, kernel in usable.items() if table.observed.any() else ():
        known = kernel.locality(best, table.reaches)
        if known is not None:
            found[name] = known
    kept = {
        name: some
        if np.isnan(columns[name]).all()
        else replace(some, accessed_bytes=columns[name][best].T)
        for name, some in samples.items()
    }
    return found, kept


def without_far_data(samples: Samples, locality: Locality | None) -> Samples:
    """Return *samples* as if each had accessed the mean share of far data, as its model says."""
    if locality is None or samples.accessed_bytes is None:
        return samples
    read, written, far_read, far_written = samples.accessed_bytes.T
    more_s = locality.seconds_per_far_byte * (far_read - locality.mean_far_share * read)
    more_s += locality.seconds_per_far_written_byte * (
        far_written - locality.mean_far_written_share * written
    )
    durations_s = samples.durations_s - np.nan_to_num(more_s)
    least_s = MIN_NEAR_SHARE * samples.durations_s
    return replace(samples, durations_s=np.maximum(durations_s, least_s))


class _Kernel:
    """The samples of a kernel whose far bytes are known, per reach to try."""

    def __init__(self, samples: Samples, columns: Floats) -> None:
        known = ~np.isnan(columns[0, 0])
        _, group = samples.configurations()
        if samples.runs is None or not known.any():
            known[:] = False
        kept = known.copy()
        for configuration in np.unique(group[known]):
            mine = np.flatnonzero(known & (group == configuration))
            # Only the fence: effects that most runs share matter for a mean, but hide a slope.
            kept[mine] = within_fence(samples.durations_s[mine])
        rows = np.flatnonzero(kept)
        self._group = np.unique(group[rows], return_inverse=True)[1]
        self._runs = np.zeros(0, np.int64) if samples.runs is None else samples.runs[rows]
        self._bytes = columns[:, :, rows]
        counts = np.bincount(self._group)
        self._typical_s = np.bincount(self._group, samples.durations_s[rows]) / counts
        """Mean duration per configuration: errors are relative to it."""
        scale = 1.0 / self._typical_s[self._group]
        self._y = samples.durations_s[rows] * scale
        self._far = self._bytes[:, 2:].transpose(0, 2, 1) * scale[:, None]

    @property
    def usable(self) -> bool:
        """Whether there are enough tasks and runs."""
        return len(self._y) >= MIN_SAMPLES and len(np.unique(self._runs)) >= MIN_RUNS

    def residual(self, reach: int) -> float:
        """Return the squared residuals relative to the variance, so that kernels count equally."""
        everything = np.ones(len(self._y), dtype=bool)
        y, far = self._centred(everything, reach)
        variance = float(y @ y)
        errors = y - far @ _costs(y, far)
        return float(errors @ errors) / variance * len(y) if variance else 0.0

    def locality(self, reach: int, reaches: Reaches) -> Locality | None:
        """Return the cost of far data with this reach; None if left-out runs do not show it."""
        everything = np.ones(len(self._y), dtype=bool)
        costs = _costs(*self._centred(everything, reach))
        if not (costs.any() and self._holds(reach)):
            return None
        read, written, far_read, far_written = self._bytes[reach].sum(axis=1).tolist()
        return Locality(
            reaches.reaches[reach],
            float(costs[0]),
            far_read / read if read else 0.0,
            near_bytes=0.0,
            seconds_per_far_written_byte=float(costs[1]),
            mean_far_written_share=far_written / written if written else 0.0,
            cache_bytes=reaches.cache_bytes,
        )

    def _holds(self, reach: int) -> bool:
        """Return whether the costs of other runs reduce the errors of runs that are left out."""
        runs, place = np.unique(self._runs, return_inverse=True)
        gains = np.zeros(len(runs))
        for fold in range(min(MAX_FOLDS, len(runs))):
            left_out = place % MAX_FOLDS == fold
            y, far = self._centred(~left_out, reach)
            costs = _costs(y[~left_out], far[~left_out])
            before, after = y[left_out], y[left_out] - far[left_out] @ costs
            gains += np.bincount(place[left_out], before**2 - after**2, len(runs))
        error = float(gains.std(ddof=1)) / sqrt(len(runs))
        return float(gains.mean()) > MIN_STANDARD_ERRORS * error

    def _centred(self, among: Bools, reach: int) -> tuple[Floats, Floats]:
        """Return durations and far bytes less the means of their configuration *among* some.

        Those of configurations that are not among these are 0.
        """
        counts = np.bincount(self._group[among], minlength=len(self._typical_s))
        weights = np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)

        def centred(values: Floats) -> Floats:
            means = np.bincount(self._group[among], values[among], len(counts)) * weights
            less: Floats = (values - means[self._group]) * (counts > 0)[self._group]
            return less

        far = self._far[reach]
        return centred(self._y), np.column_stack([centred(column) for column in far.T])


def _costs(y: Floats, far: Floats) -> Floats:
    """Return the costs of a far byte read and written: non-negative least squares."""
    best, least = np.zeros(2), float(y @ y)
    for columns in ([0], [1], [0, 1]):
        some = far[:, columns]
        scale = np.sqrt((some**2).sum(axis=0))
        if not scale.all():
            continue
        solved = np.linalg.lstsq(some / scale, y, rcond=None)[0] / scale
        errors = y - some @ solved
        if (solved >= 0).all() and (squares := float(errors @ errors)) < least:
            best, least = np.zeros(2), squares
            best[columns] = solved
    return best
