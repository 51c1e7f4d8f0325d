"""Durations that a graph gives itself: every task has a parameter ``duration_s``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.columns import DURATION, columns
from tasksim.models.kernelmodel import KernelModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.document import Node
    from tasksim.models.samples import Samples

__all__ = ["GivenDurations", "GivenModel", "gives_durations"]


class GivenModel(KernelModel):
    """The duration that a task itself says, its parameter ``duration_s``: nothing is learnt.

    Examples
    --------
    >>> GivenModel().predict([[0.5], [2.0]]).tolist()
    [0.5, 2.0]
    """

    kind = "given"
    needs_fit = False
    automatic = False

    def __init__(self) -> None:
        self.names_ = (DURATION,)
        self.domain_ = {DURATION: (0.0, math.inf)}

    def fit(self, samples: Samples) -> Self:  # noqa: ARG002
        """Return the model: there is nothing to learn."""
        return self

    def report(self) -> dict[str, Any]:
        """Return the report of every kind, all of it empty."""
        counts = {"samples": 0, "dropped": 0, "configurations": 0}
        return {
            "kind": self.kind, **counts, "mlogq": None, "bias": None, "mape": None, "worst": None,
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the model as plain data."""
        return {"kind": self.kind, "options": {}}

    def _fit(self, samples: Samples) -> NDArray[np.bool_]:
        return np.ones(len(samples), dtype=bool)

    def _predict(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        return table[:, 0].copy()

    def _sample(
        self,
        table: NDArray[np.float64],
        rng: np.random.Generator,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        return self._predict(table)

    def _to_json(self) -> dict[str, Any]:
        return {}

    def _from_json(self, node: Node) -> None:
        pass


class GivenDurations:
    """Kernel models for a graph that says how long its tasks take, on every architecture.

    Parameters
    ----------
    graph : TaskGraph
        One whose tasks all have a parameter ``duration_s``.

    Raises
    ------
    InputError
        Naming the kernels whose tasks do not say.
    """

    def __init__(self, graph: TaskGraph) -> None:
        if silent := _silent_kernels(graph):
            raise InputError(
                f"graph {graph.name}: tasks of {', '.join(silent)} have no parameter {DURATION}"
            )
        self._kernels = tuple(sorted(graph.model_names))

    def kernels(self) -> tuple[str, ...]:
        """Return the kernel models there are, in order of their names."""
        return self._kernels

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Raise :exc:`InputError` for the first of *kernels* that the graph does not have."""
        for kernel in kernels:
            if kernel not in self._kernels:
                raise unknown("kernel", kernel, self._kernels)

    def model(self, kernel: str, architecture: str) -> KernelModel:  # noqa: ARG002
        """Return the model of *kernel*; :exc:`InputError` if the graph has no such kernel."""
        self.require([kernel])
        model = GivenModel()
        model.label = kernel
        return model

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: what is given does not depend on where the data are."""

    def predict(
        self, kernel: str, architecture: str, names: Sequence[str], table: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the column ``duration_s`` of *table*, whose columns are *names*."""
        model = self.model(kernel, architecture)
        return model.predict(columns(model, names, table))


def gives_durations(graph: TaskGraph) -> bool:
    """Return whether all tasks of *graph* say how long they take."""
    return not _silent_kernels(graph)


def _silent_kernels(graph: TaskGraph) -> list[str]:
    named = zip(graph.kernels, graph.parameter_names, strict=True)
    return [kernel for kernel, names in named if DURATION not in names]
