"""Constant models: given durations, not measured ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tasksim.base.errors import InputError, expect, nearest
from tasksim.models.fitted import columns
from tasksim.models.kernelmodel import KernelModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import Node
    from tasksim.models.samples import Samples

__all__ = ["ConstantLibrary", "ConstantModel"]


class ConstantModel(KernelModel):
    """The same duration for any parameters. It needs no samples, and no fit.

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
    needs_fit = False
    automatic = False

    def __init__(self, duration_s: float) -> None:
        self.duration_s = duration_s
        self.names_ = ()
        self.domain_ = {}

    def fit(self, samples: Samples) -> Self:  # noqa: ARG002
        """Return the model unchanged."""
        return self

    def report(self) -> dict[str, Any]:
        """Return an empty report with the keys of every kind, and the duration."""
        counts = {"samples": 0, "dropped": 0, "configurations": 0}
        errors = {"mlogq": None, "bias": None, "mape": None, "worst": None}
        return {"kind": self.kind, **counts, **errors, "duration_s": self.duration_s}

    def to_json(self) -> dict[str, Any]:
        """Return the model as plain data."""
        return {"kind": self.kind, "options": self.get_params()}

    def _fit(self, samples: Samples) -> Bools:
        return np.ones(len(samples), dtype=bool)

    def _predict(self, table: Floats) -> Floats:
        return np.full(len(table), checked_duration(self.duration_s, self.label))

    def _sample(
        self,
        table: Floats,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Floats:
        return self._predict(table)

    def _inside(self, table: Floats) -> Bools:
        return np.ones(len(table), dtype=bool)

    def _table(self, parameters: ArrayLike) -> Floats:
        table = np.asarray(parameters)
        if table.ndim != 2:
            raise self._refusal(
                f"parameters must have one row per task; got an array of shape {table.shape}"
            )
        return table

    def _to_json(self) -> dict[str, Any]:
        return {}

    def _from_json(self, node: Node) -> None:
        checked = node["options"]["duration_s"].number()
        if checked < 0:
            raise node["options"]["duration_s"].expected("a duration in seconds, not negative")


class ConstantLibrary:
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
        self._models: dict[str, KernelModel | dict[str, KernelModel]] = {}
        for kernel, given in durations_s.items():
            if isinstance(given, Mapping):
                self._models[kernel] = {
                    name: _constant(s, kernel, name) for name, s in given.items()
                }
            else:
                self._models[kernel] = _constant(given, kernel)

    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels with a duration, sorted."""
        return tuple(sorted(self._models))

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Raise :exc:`InputError` with the names of all *kernels* without any duration."""
        missing = [kernel for kernel in dict.fromkeys(kernels) if kernel not in self._models]
        if missing:
            known = ", ".join(self._models) or "none"
            raise InputError(
                f"no duration for kernel{'s' if len(missing) > 1 else ''} "
                f"{', '.join(repr(kernel) for kernel in missing)}"
                f"{nearest(missing[0], self._models)} (given: {known})"
            )

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*; raise :exc:`InputError` if it has no duration there."""
        self.require([kernel])
        found = self._models[kernel]
        if isinstance(found, KernelModel):
            return found
        if architecture not in found:
            raise InputError(
                f"no duration for kernel '{kernel}' on architecture '{architecture}'"
                f"{nearest(architecture, found)} (given: {', '.join(found) or 'none'})"
            )
        return found[architecture]

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: a constant does not depend on the location of data."""

    def predict(
        self, kernel: str, architecture: str, names: Sequence[str], table: Floats
    ) -> Floats:
        """Return the duration of *kernel*, once per row of *table*."""
        model = self.model(kernel, architecture)
        return model.predict(columns(model, names, table))


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
