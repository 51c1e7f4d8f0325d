"""Fitted models as others ask them: predictions, domains, and other fits of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from tasksim.base.errors import InputError
    from tasksim.models.forms import MeansForm
    from tasksim.models.samples import Samples

__all__ = ["FittedModel"]


class FittedModel(Protocol):
    """What uncertainty, validation and columns ask of a model; :class:`KernelModel` has it all.

    They are asked by that class in turn, so that it cannot be named where they are.
    """

    kind: ClassVar[str]
    needs_fit: ClassVar[bool]
    doubt_kind: ClassVar[Any]
    label: str
    names_: tuple[str, ...]
    domain_: dict[str, tuple[float, float]]
    fixed_: Mapping[str, float]

    def predict(self, parameters: ArrayLike) -> NDArray[np.float64]:
        """Return the expected duration of each row of *parameters*, in seconds."""

    def inside(self, parameters: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each row lies within the fitted range."""

    def refitted(self, samples: Samples) -> Self:
        """Return a model of the same kind and options, fitted to a part of the samples."""

    def used_parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters that predictions depend on."""

    def means(self) -> MeansForm | None:
        """Return the model as means of measured configurations; None if it is more than that."""

    def report(self) -> dict[str, Any]:
        """Return the accuracy of the fit, as plain data."""

    def _check_fitted(self, asked: str) -> None: ...

    def _refusal(self, message: str) -> InputError: ...

    def _table(self, parameters: ArrayLike) -> NDArray[np.float64]: ...

    def _elasticities(self, table: NDArray[np.float64]) -> NDArray[np.float64]: ...

    def _repetitions(
        self, table: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
