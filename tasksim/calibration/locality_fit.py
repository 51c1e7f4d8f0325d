"""Fit of locality: the cost of far data, from native runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.reuse import accessed_bytes, reuse_distances
from tasksim.models.locality import Locality
from tasksim.models.quantiles import within_fence
from tasksim.run.disturbance import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["REACHES", "FarSamples", "far_samples", "fit_locality"]

REACHES = tuple(float(2**exponent) for exponent in range(20, 29))
"""Reaches to try, in bytes: 1 MiB to 256 MiB, by powers of two."""

MIN_SAMPLES = 30
"""Smallest number of tasks of a kernel to fit a slope. Not measured: fewer would fit noise, more
would leave out rare kernels, whose far data cost little altogether."""


@dataclass(frozen=True)
class FarSamples:
    """Tasks of one kernel and configuration in one run."""

    kernel: str
    parameters: tuple[float, ...]
    durations_s: NDArray[np.float64]
    far_bytes: NDArray[np.float64]
    """Far bytes per reach (rows) and task (columns)."""
    accessed_bytes: NDArray[np.float64]


def far_samples(run: Run, graph: TaskGraph) -> list[FarSamples]:
    """Return the durations of *run* with the far bytes for every reach."""
    sizes = accessed_bytes(graph)
    distances = reuse_distances(graph, np.argsort(run.tasks.start_s, kind="stable").tolist())
    owner = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))
    far = np.array(
        [np.bincount(owner, sizes * (distances > r), minlength=len(graph)) for r in REACHES]
    )
    total = np.bincount(owner, sizes, minlength=len(graph)).astype(np.float64)
    durations = undisturbed_s(run)
    model_name = dict(zip(graph.kernels, graph.model_names, strict=True))
    return [
        FarSamples(model_name[kernel], tuple(row), durations[t], far[:, t], total[t])
        for kernel, row, t in graph.configurations()
    ]


def fit_locality(samples: Sequence[FarSamples]) -> dict[str, Locality]:
    """Return each kernel's cost of far data; kernels with too few samples are left out.

    For each kernel and reach, durations, centred per configuration and without outliers, are
    regressed on far bytes. All kernels share one reach, that of the shared cache: the one with the
    least sum of squared relative residuals over all kernels. Negative costs are set to 0.
    """
    kernels = {name: _centred(parts) for name, parts in _by_kernel(samples).items()}
    usable = {name: parts for name, parts in kernels.items() if len(parts[0]) >= MIN_SAMPLES}
    if not usable:
        return {}
    slopes = {name: _slopes(y, far) for name, (y, far, _) in usable.items()}
    residuals = [
        sum(_residual(usable[name][0], usable[name][1][i], slopes[name][i]) for name in usable)
        for i in range(len(REACHES))
    ]
    best = int(np.argmin(residuals))
    return {
        name: Locality(REACHES[best], float(slopes[name][best]), float(shares[best]))
        for name, (_, _, shares) in usable.items()
    }


Centred = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def _by_kernel(samples: Sequence[FarSamples]) -> Mapping[str, list[FarSamples]]:
    grouped: dict[str, list[FarSamples]] = {}
    for part in samples:
        grouped.setdefault(part.kernel, []).append(part)
    return grouped


def _centred(parts: list[FarSamples]) -> Centred:
    """Return durations and far bytes, centred per configuration, and the shares of far bytes."""
    durations, far, kept_far, kept_bytes = [], [], [], []
    configurations: dict[tuple[float, ...], list[FarSamples]] = {}
    for part in parts:
        configurations.setdefault(part.parameters, []).append(part)
    for mine in configurations.values():
        y = np.concatenate([part.durations_s for part in mine])
        x = np.concatenate([part.far_bytes for part in mine], axis=1)
        # Only the fence: effects that most runs share matter for a mean, but hide a slope.
        keep = within_fence(y)
        y, x = y[keep], x[:, keep]
        durations.append(y - y.mean())
        far.append(x - x.mean(axis=1, keepdims=True))
        kept_far.append(x.sum(axis=1))
        kept_bytes.append(np.concatenate([part.accessed_bytes for part in mine])[keep].sum())
    shares = np.sum(kept_far, axis=0) / max(1.0, float(np.sum(kept_bytes)))
    return np.concatenate(durations), np.concatenate(far, axis=1), shares


def _slopes(y: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
    variance = (far**2).sum(axis=1)
    covariance = far @ y
    slopes = np.divide(covariance, variance, out=np.zeros(len(far)), where=variance > 0)
    positive: NDArray[np.float64] = np.maximum(0.0, slopes)
    return positive


def _residual(y: NDArray[np.float64], far: NDArray[np.float64], slope: float) -> float:
    """Return the squared residuals relative to the variance, so that kernels count equally."""
    variance = float((y**2).sum())
    return float(((y - slope * far) ** 2).sum()) / variance * len(y) if variance else 0.0
