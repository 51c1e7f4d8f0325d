"""Closed forms of fitted models: a sum of terms, a power law, measured means.

A kind of model returns the forms it has from
:meth:`~tasksim.models.kernelmodel.KernelModel.linear`,
``power`` and ``means``. Diagnosis, reports, source code and exporters ask for the form they need
instead of the kind, so that kinds of other packages are supported, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.models.terms.formulas import Terms

__all__ = ["LinearForm", "MeansForm", "PowerForm"]


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A duration as a sum of coefficients times terms, with the statistics of the coefficients.

    Parameters
    ----------
    terms : Terms
        The terms, over the names of the parameters.
    coef : ndarray, shape (terms,)
        The coefficients, in seconds per unit of the term.
    intervals : ndarray, shape (terms, 2)
        Their 95 % confidence intervals; NaN if unknown.
    pvalues : ndarray, shape (terms,)
        p-values of the hypothesis that a coefficient is 0; NaN if unknown.
    floor_s : float
        Lower bound of predictions, in seconds.
    domain : mapping, default={}
        Parameter -> lowest and highest value measured. For a term with a pole at 0, the lowest
        value replaces 0.
    rsquared, rsquared_adj : float, default=nan
        R² and adjusted R² of the fit.
    """

    terms: Terms
    coef: NDArray[np.float64]
    intervals: NDArray[np.float64]
    pvalues: NDArray[np.float64]
    floor_s: float
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rsquared: float = float("nan")
    rsquared_adj: float = float("nan")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of columns."""
        return self.terms.names

    @property
    def term_names(self) -> tuple[str, ...]:
        """The terms as text; the constant is ``"1"``."""
        return tuple(map(str, self.terms.terms))

    @property
    def used_parameters(self) -> tuple[str, ...]:
        """The parameters that occur in a term."""
        used = {factor.parameter for term in self.terms.terms for factor in term.factors}
        return tuple(name for name in self.names if name in used)

    def formula(self, digits: int = 6) -> str:
        """Return the formula, in seconds, as text: ``1.2e-06 + 3.4e-11*m*n*k - 5e-09*m``."""
        pieces = []
        for name, value in zip(self.term_names, self.coef.tolist(), strict=True):
            product = f"{abs(value):.{digits}g}" + ("" if name == "1" else f"*{name}")
            pieces.append(("- " if value < 0 else "+ ") + product)
        text = " ".join(pieces)
        return f"-{text[2:]}" if text.startswith("- ") else text.removeprefix("+ ")

    def raw(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the terms per row of *table*, which may be negative."""
        values: NDArray[np.float64] = self.terms.design(table) @ self.coef
        return values

    def predict(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the duration per row of *table*: the sum of the terms, at least the floor."""
        return np.maximum(self.raw(self._without_poles(table)), self.floor_s)

    def floored(self, table: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which rows of *table* are raised to the floor."""
        return np.asarray(self.raw(self._without_poles(table)) < self.floor_s)

    def elasticities(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d ln duration / d ln coefficient, shape (rows, terms): the share of each term."""
        expected = self.predict(table)[:, None]
        return np.asarray(self.terms.design(self._without_poles(table)) * self.coef / expected)

    def _without_poles(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Replace 0 in *table* by the lowest measured value where a term has a pole at 0."""
        for factor in (factor for term in self.terms.terms for factor in term.factors):
            column = self.names.index(factor.parameter)
            zero = table[:, column] == 0
            if factor.has_pole and zero.any() and factor.parameter in self.domain:
                table = table.copy()
                table[zero, column] = self.domain[factor.parameter][0]
        return table


@dataclass(frozen=True)
class PowerForm:
    """A duration as a power law of one parameter, a·x^b + c.

    Parameters
    ----------
    a_s, b, c_s : float
        Factor and constant in seconds; the exponent has no unit.
    constant : bool
        Whether the law has a constant; if not, *c_s* is 0.
    """

    a_s: float
    b: float
    c_s: float
    constant: bool


@dataclass(frozen=True, eq=False)
class MeansForm:
    """The mean duration of each measured configuration.

    Parameters
    ----------
    rows : ndarray, shape (configurations, parameters)
        The configurations.
    mean_s, deviation_s : ndarray, shape (configurations,)
        Mean and standard deviation of the samples, in seconds.
    count : ndarray of int, shape (configurations,)
        Number of samples.
    by_size : bool, default=False
        Whether the only parameter is the size of the data in bytes, whatever its name.
    footprints, flops : tuple, default=()
        StarPU's footprint and flops per configuration, None if unknown; empty if unknown for
        all.
    """

    rows: NDArray[np.float64]
    mean_s: NDArray[np.float64]
    deviation_s: NDArray[np.float64]
    count: NDArray[np.int64]
    by_size: bool = False
    footprints: tuple[int | None, ...] = ()
    flops: tuple[float | None, ...] = ()
