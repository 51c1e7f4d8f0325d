"""Durations given by a graph per processor: its tasks have parameters ``NAME_s``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.base.errors import unknown
from tasksim.models.columns import columns
from tasksim.models.kinds.given import GivenModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["GivenCosts", "ProcessorModel", "parameter"]


def parameter(processor: str) -> str:
    """Return the name of the parameter with the costs on *processor*."""
    return f"{processor}_s"


class ProcessorModel(GivenModel):
    """A model that returns the task's duration on one processor; it learns nothing.

    Examples
    --------
    >>> ProcessorModel("P0").predict([[14.0], [13.0]]).tolist()
    [14.0, 13.0]
    """

    def __init__(self, processor: str) -> None:
        super().__init__()
        self.processor = processor
        self.names_ = (parameter(processor),)
        self.domain_ = {self.names_[0]: (0.0, float("inf"))}

    def to_json(self) -> dict[str, Any]:
        """Return the model as plain data."""
        return {"kind": self.kind, "options": {"processor": self.processor}}


class GivenCosts:
    """A library of models for a graph with given durations on each architecture.

    Parameters
    ----------
    graph : TaskGraph
        Each kernel has a parameter ``NAME_s`` per architecture that can run it
        (:func:`tasksim.formats.costs_csv.read_costs` makes such graphs).
    """

    def __init__(self, graph: TaskGraph) -> None:
        self._names = dict(zip(graph.model_names, graph.parameter_names, strict=True))

    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels, sorted."""
        return tuple(sorted(self._names))

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:
        """Raise :exc:`InputError` for the first of *kernels* that no architecture can run."""
        for kernel in kernels:
            if kernel not in self._names:
                raise unknown("kernel", kernel, self._names)
            if architectures and not any(
                parameter(a) in self._names[kernel] for a in architectures
            ):
                self.model(kernel, architectures[0])

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*; raise :exc:`InputError` if it cannot run there."""
        self.require([kernel])
        known = [name.removesuffix("_s") for name in self._names[kernel]]
        if architecture not in known:
            raise unknown("processor", architecture, known, f"task {kernel}")
        model = ProcessorModel(architecture)
        model.label = f"{kernel} on {architecture}"
        return model

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: a given duration does not depend on the location of data."""

    def predict(
        self, kernel: str, architecture: str, names: Sequence[str], table: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the column of *architecture* in *table*, whose columns are *names*."""
        model = self.model(kernel, architecture)
        return model.predict(columns(model, names, table))
