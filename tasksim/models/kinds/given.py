"""Models of given durations, constant per kernel or stored in the tasks of a graph.

Every task of such a graph has a parameter ``duration_s``; or, if its durations depend on the
processor, parameters ``NAME_s``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tasksim.base.errors import InputError, expect, nearest, unknown
from tasksim.models.fitted import columns
from tasksim.models.kernelmodel import KernelModel, nothing_reported
from tasksim.models.rows import DURATION_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.samples import Samples

__all__ = [
    "ConstantLibrary",
    "ConstantModel",
    "GivenCosts",
    "GivenDuration",
    "GivenDurations",
    "GivenLibrary",
    "GivenModel",
    "given_model",
    "gives_durations",
    "kernels_without_duration",
    "parameter",
]


class GivenDuration(KernelModel):
    """A model of durations that are given, not measured.

    It learns nothing from samples.
    """

    needs_fit = False
    automatic = False

    def fit(self, samples: Samples) -> Self:  # noqa: ARG002
        """Return the model unchanged."""
        return self

    def report(self) -> dict[str, Any]:
        """Return an empty report with the keys of every kind."""
        return nothing_reported(self.kind)

    def to_json(self) -> dict[str, Any]:
        """Return the model as plain data."""
        return {"kind": self.kind, "options": self.get_params()}

    def _fit(self, samples: Samples) -> Bools:
        return np.ones(len(samples), dtype=bool)

    def _sample(self, table: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        return self._predict(table)

    def _to_json(self) -> dict[str, Any]:
        return {}

    def _from_json(self, node: JsonNode) -> None:
        pass


class GivenLibrary:
    """A library of models with given durations, or with names of parameters that hold them."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        """Kernel -> what is given for it."""

    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels with a duration, sorted."""
        return tuple(sorted(self._given))

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Raise :exc:`InputError` for the first of *kernels* that is unknown."""
        for kernel in kernels:
            if kernel not in self._given:
                raise unknown("kernel", kernel, self._given)

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*; raise :exc:`InputError` if it has no duration there."""
        raise NotImplementedError

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: a given duration does not depend on the location of data."""

    def predict(
        self, kernel: str, architecture: str, names: Sequence[str], table: Floats
    ) -> Floats:
        """Return the duration of *kernel* per row of *table*, whose columns are *names*."""
        model = self.model(kernel, architecture)
        return model.predict(columns(model, names, table))


class ConstantModel(GivenDuration):
    """A model with the same duration for any parameters.

    It needs no samples and no fit.

    Parameters
    ----------
    duration_s : float
        In seconds; finite and not negative.

    See Also
    --------
    tasksim.ConstantLibrary : Constants for all kernels of a graph.

    Examples
    --------
    >>> ConstantModel(2.0).predict([[256], [512]]).tolist()
    [2.0, 2.0]
    """

    kind = "constant"

    def __init__(self, duration_s: float) -> None:
        self.duration_s = duration_s
        self.names_ = ()
        self.domain_ = {}

    def report(self) -> dict[str, Any]:
        """Return an empty report with the keys of every kind, and the duration."""
        return {**super().report(), "duration_s": self.duration_s}

    def _predict(self, table: Floats) -> Floats:
        return np.full(len(table), checked_duration(self.duration_s, self.label))

    def _inside(self, table: Floats) -> Bools:
        return np.ones(len(table), dtype=bool)

    def _table(self, parameters: ArrayLike, *, keep_unseen: bool = False) -> Floats:  # noqa: ARG002
        table = np.asarray(parameters)
        if table.ndim != 2:
            raise self._refusal(
                f"parameters must have one row per task; got an array of shape {table.shape}"
            )
        return table

    def _from_json(self, node: JsonNode) -> None:
        node["options"]["duration_s"].not_negative("a duration in seconds, not negative")


class ConstantLibrary(GivenLibrary):
    """A library of constant kernel models.

    Parameters
    ----------
    durations_s : mapping
        Kernel -> duration in seconds, the same on every architecture; or kernel -> a mapping,
        architecture -> duration, for a kernel that can run only there.

    Raises
    ------
    InputError
        If a duration is not a finite number, or is negative.

    See Also
    --------
    ModelLibrary : A library of fitted models.

    Examples
    --------
    >>> library = ConstantLibrary({"potrf": 0.02, "gemm": {"cpu": 0.06, "cuda": 0.003}})
    >>> library.model("gemm", "cuda").predict([[256]]).tolist()
    [0.003]
    """

    def __init__(self, durations_s: Mapping[str, float | Mapping[str, float]]) -> None:
        expect(durations_s, Mapping, "durations_s")
        super().__init__(
            {
                kernel: {name: _constant(s, kernel, name) for name, s in given.items()}
                if isinstance(given, Mapping)
                else _constant(given, kernel)
                for kernel, given in durations_s.items()
            }
        )

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Raise :exc:`InputError` with the names of all *kernels* without any duration."""
        missing = [kernel for kernel in dict.fromkeys(kernels) if kernel not in self._given]
        if missing:
            raise InputError(
                f"no duration for kernel{'s' if len(missing) > 1 else ''} "
                f"{', '.join(map(repr, missing))}{nearest(missing[0], self._given)} "
                f"(given: {', '.join(self._given) or 'none'})"
            )

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*; raise :exc:`InputError` if it has no duration there."""
        self.require([kernel])
        found: ConstantModel | dict[str, ConstantModel] = self._given[kernel]
        if isinstance(found, ConstantModel):
            return found
        if architecture not in found:
            raise InputError(
                f"no duration for kernel '{kernel}' on architecture '{architecture}'"
                f"{nearest(architecture, found)} (given: {', '.join(found) or 'none'})"
            )
        return found[architecture]


def _constant(duration_s: float, kernel: str, architecture: str = "") -> ConstantModel:
    where = f" on {architecture}" if architecture else ""
    model = ConstantModel(checked_duration(duration_s, f"kernel '{kernel}'{where}"))
    model.label = f"{kernel}{where}"
    return model


def checked_duration(duration_s: object, label: str = "") -> float:
    """Return *duration_s* as a float; it must be a finite number that is not negative."""
    number = duration_s if isinstance(duration_s, int | float) else math.nan
    if not isinstance(duration_s, bool) and math.isfinite(number) and number >= 0:
        return float(number)
    prefix = f"{label}: " if label else ""
    raise InputError(
        f"{prefix}a duration must be a number of seconds, not negative, got {duration_s!r}"
    )


class GivenModel(GivenDuration):
    """A model that returns one of the task's own parameters.

    It learns nothing.

    Parameters
    ----------
    seconds : str, default "duration_s"
        Name of the parameter with the duration: ``NAME_s`` has that on one architecture.

    Examples
    --------
    >>> GivenModel().predict([[0.5], [2.0]]).tolist()
    [0.5, 2.0]
    """

    kind = "given"

    def __init__(self, seconds: str = DURATION_PARAMETER) -> None:
        self.seconds = seconds
        self.names_ = (seconds,)
        self.domain_ = {seconds: (0.0, math.inf)}

    def _predict(self, table: Floats) -> Floats:
        return table[:, 0].copy()


class GivenDurations(GivenLibrary):
    """A library of models for a graph with given durations.

    Parameters
    ----------
    graph : TaskGraph
        A graph whose tasks all have a parameter ``duration_s``, their duration on every
        architecture but those for which they have a parameter ``NAME_s``.

    Raises
    ------
    InputError
        If tasks have no duration; the message names their kernels.
    """

    def __init__(self, graph: TaskGraph) -> None:
        if missing := kernels_without_duration(graph):
            raise InputError(
                f"graph {graph.name}: tasks of {', '.join(missing)} have no parameter "
                f"{DURATION_PARAMETER}"
            )
        super().__init__(dict(zip(graph.model_names, graph.parameter_names, strict=True)))

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*; raise :exc:`InputError` if it is not in the graph."""
        self.require([kernel])
        model = given_model(self._given[kernel], architecture)
        model.label = kernel
        return model


def gives_durations(graph: TaskGraph) -> bool:
    """Return whether all tasks of *graph* have a duration."""
    return not kernels_without_duration(graph)


def kernels_without_duration(graph: TaskGraph) -> list[str]:
    """Return the kernels of *graph* whose tasks have no duration."""
    named = zip(graph.kernels, graph.parameter_names, strict=True)
    return [kernel for kernel, names in named if DURATION_PARAMETER not in names]


def parameter(processor: str) -> str:
    """Return the name of the parameter with the costs on *processor*."""
    return f"{processor}_s"


def given_model(names: Iterable[str], architecture: str) -> GivenModel:
    """Return the model for tasks with the parameters *names*, which have a given duration.

    It returns their duration on *architecture* if there is a parameter with it, else the one that
    is the same on every architecture.
    """
    own = parameter(architecture)
    return GivenModel(own) if own in names else GivenModel()


class GivenCosts(GivenLibrary):
    """A library of models for a graph with given durations on each architecture.

    Parameters
    ----------
    graph : TaskGraph
        Each kernel has a parameter ``NAME_s`` per architecture that can run it
        (:func:`tasksim.formats.costs_csv.read_costs` makes such graphs).
    """

    def __init__(self, graph: TaskGraph) -> None:
        super().__init__(dict(zip(graph.model_names, graph.parameter_names, strict=True)))

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:
        """Raise :exc:`InputError` for the first of *kernels* that no architecture can run."""
        own = set(map(parameter, architectures))
        for kernel in kernels:
            super().require([kernel])
            if own and own.isdisjoint(self._given[kernel]):
                self.model(kernel, architectures[0])

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*; raise :exc:`InputError` if it cannot run there."""
        self.require([kernel])
        known = [name.removesuffix("_s") for name in self._given[kernel]]
        if architecture not in known:
            raise unknown("processor", architecture, known, f"task {kernel}")
        model = GivenModel(parameter(architecture))
        model.label = f"{kernel} on {architecture}"
        return model
