"""Durations given by a graph: every task has a parameter ``duration_s``.

A graph may give durations per processor, too: its tasks then have parameters ``NAME_s``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.fitted import columns
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.rows import DURATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import Node
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.samples import Samples

__all__ = [
    "GivenCosts",
    "GivenDurations",
    "GivenModel",
    "ProcessorModel",
    "gives_durations",
    "parameter",
]


class GivenModel(KernelModel):
    """A model that returns the task's own parameter ``duration_s``; it learns nothing.

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
        """Return the model unchanged."""
        return self

    def report(self) -> dict[str, Any]:
        """Return an empty report with the keys of every kind."""
        counts = {"samples": 0, "dropped": 0, "configurations": 0}
        return {
            "kind": self.kind, **counts, "mlogq": None, "bias": None, "mape": None, "worst": None,
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the model as plain data."""
        return {"kind": self.kind, "options": {}}

    def _fit(self, samples: Samples) -> Bools:
        return np.ones(len(samples), dtype=bool)

    def _predict(self, table: Floats) -> Floats:
        return table[:, 0].copy()

    def _sample(
        self,
        table: Floats,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Floats:
        return self._predict(table)

    def _to_json(self) -> dict[str, Any]:
        return {}

    def _from_json(self, node: Node) -> None:
        pass


class GivenDurations:
    """A library of models for a graph with given durations, the same on every architecture.

    Parameters
    ----------
    graph : TaskGraph
        A graph whose tasks all have a parameter ``duration_s``.

    Raises
    ------
    InputError
        If tasks have no duration; the message names their kernels.
    """

    def __init__(self, graph: TaskGraph) -> None:
        if silent := _silent_kernels(graph):
            raise InputError(
                f"graph {graph.name}: tasks of {', '.join(silent)} have no parameter {DURATION}"
            )
        self._kernels = tuple(sorted(graph.model_names))

    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernel models, sorted."""
        return self._kernels

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Raise :exc:`InputError` for the first of *kernels* that is not in the graph."""
        for kernel in kernels:
            if kernel not in self._kernels:
                raise unknown("kernel", kernel, self._kernels)

    def model(self, kernel: str, architecture: str) -> KernelModel:  # noqa: ARG002
        """Return the model of *kernel*; raise :exc:`InputError` if it is not in the graph."""
        self.require([kernel])
        model = GivenModel()
        model.label = kernel
        return model

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: a given duration does not depend on the location of data."""

    def predict(
        self, kernel: str, architecture: str, names: Sequence[str], table: Floats
    ) -> Floats:
        """Return the column ``duration_s`` of *table*, whose columns are *names*."""
        model = self.model(kernel, architecture)
        return model.predict(columns(model, names, table))


def gives_durations(graph: TaskGraph) -> bool:
    """Return whether all tasks of *graph* have a duration."""
    return not _silent_kernels(graph)


def _silent_kernels(graph: TaskGraph) -> list[str]:
    named = zip(graph.kernels, graph.parameter_names, strict=True)
    return [kernel for kernel, names in named if DURATION not in names]


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
        self, kernel: str, architecture: str, names: Sequence[str], table: Floats
    ) -> Floats:
        """Return the column of *architecture* in *table*, whose columns are *names*."""
        model = self.model(kernel, architecture)
        return model.predict(columns(model, names, table))
