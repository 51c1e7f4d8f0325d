"""Position of a run relative to the intervals of a prediction, for makespan and kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.documents.json_document import FormatError, Node
from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.run.record import Run

__all__ = ["Inside", "KernelInside", "inside"]


@dataclass(frozen=True, slots=True)
class KernelInside:
    """Mean duration of a kernel's tasks in a run, and its predicted interval."""

    kernel: str
    architecture: str
    mean_s: float
    low_s: float
    high_s: float

    @property
    def inside(self) -> bool:
        """Whether the mean is inside the interval."""
        return self.low_s <= self.mean_s <= self.high_s


@dataclass(frozen=True, slots=True)
class Inside:
    """Whether a run is inside the prediction interval of another.

    Parameters
    ----------
    makespan_s : float
        Makespan of the run.
    low_s, high_s : float
        Bounds of the prediction interval of one run.
    level : float
        Confidence level of the interval.
    inside : bool
        Whether this run is inside.
    kernels : tuple of KernelInside
        Each kernel on each architecture that both have.
    """

    makespan_s: float
    low_s: float
    high_s: float
    level: float
    inside: bool
    kernels: tuple[KernelInside, ...]

    def text(self) -> str:
        """Return the result as text, in a line or two."""
        from tasksim.base.units import duration_text

        bounds = f"{duration_text(self.low_s)} to {duration_text(self.high_s)}"
        where = "inside" if self.inside else "outside"
        line = (
            f"{duration_text(self.makespan_s)} is {where} the interval of one run, {bounds} "
            f"({100 * self.level:g} %)"
        )
        out = [_kernel_text(kernel) for kernel in self.kernels if not kernel.inside]
        return "\n".join([line, *(["kernels outside of theirs: " + "; ".join(out)] if out else [])])


def inside(a: Run, b: Run) -> Inside | None:
    """Return whether one run is inside the interval of the other; None if neither has one, or both.

    Raise :exc:`InputError` if the uncertainty of a run is malformed.
    """
    if (a.uncertainty is None) == (b.uncertainty is None):
        return None
    run, said = (a, b) if a.uncertainty is None else (b, a)
    try:
        return _inside(run, Node(dict(said.uncertainty or {})))
    except FormatError as error:
        raise InputError(f"uncertainty of the run of {said.graph_label}: {error}") from None


def _inside(run: Run, said: Node) -> Inside:
    low, high = said["run_low_s"].number(), said["run_high_s"].number()
    means = _means(run)
    kernels = [
        KernelInside(*of, means[of], kernel["run_low_s"].number(), kernel["run_high_s"].number())
        for kernel in said["kernels"]
        if (of := (kernel["kernel"].text(), kernel["architecture"].text())) in means
    ]
    makespan = run.makespan_s
    within = low <= makespan <= high
    return Inside(makespan, low, high, said["level"].number(), within, tuple(kernels))


def _means(run: Run) -> dict[tuple[str, str], float]:
    """Return the mean duration of each kernel on each architecture."""
    names = list(dict.fromkeys(worker.architecture for worker in run.workers))
    where = np.array([names.index(worker.architecture) for worker in run.workers], np.intp)
    key = run.tasks.kernel * len(names) + where[run.tasks.worker]
    count = np.bincount(key)
    total = np.bincount(key, weights=run.tasks.duration_s)
    return {
        (run.kernel_names[k // len(names)], names[k % len(names)]): float(total[k] / count[k])
        for k in np.flatnonzero(count).tolist()
    }


def _kernel_text(kernel: KernelInside) -> str:
    from tasksim.base.units import duration_text

    mean, low, high = map(duration_text, (kernel.mean_s, kernel.low_s, kernel.high_s))
    return f"{kernel.kernel} on {kernel.architecture} takes {mean}, predicted {low} to {high}"
