"""Bases that a tensor corrects: a power law, or a sum of products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.models.tensor.products import Products, fit_products
from tasksim.models.tensor.trend import Trend, fit_trend
from tasksim.models.validation.folds import fold_of_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.base.documents.json_document import Node
    from tasksim.models.tensor.grid import Axis

    Table = NDArray[np.float64]

__all__ = ["BASES", "Base", "base_to_json", "choose_base", "fit_base", "read_base"]

Base = Trend | Products

BASES: Final = ("power", "products")
"""Kinds of bases to choose from. A third one, ``"level"``, the mean, is for tensors without a base;
files contain it as a power law with exponents of 0."""


def fit_base(kind: str, axes: Sequence[Axis], table: Table, values: Table) -> Base:
    """Return the base of a *kind* for *values*, logarithms, at the rows of *table*."""
    trend = fit_trend(axes, table, values)
    if kind == "power":
        return trend
    if kind == "products":
        return fit_products(axes, table, values, trend)
    return Trend(float(values.mean()), [np.zeros_like(effect) for effect in trend.effects])


def choose_base(axes: Sequence[Axis], table: Table, values: Table, folds: int, seed: int) -> str:
    """Return the kind of base with the smaller cross-validated error."""
    fold = fold_of_each(len(table), folds, seed)
    errors = dict.fromkeys(BASES, 0.0)
    for kind in BASES:
        for part in range(int(fold.max()) + 1):
            out = fold == part
            base = fit_base(kind, axes, table[~out], values[~out])
            errors[kind] += float(np.abs(base.values(axes, table[out]) - values[out]).sum())
    return min(BASES, key=lambda kind: errors[kind])


def base_to_json(base: Base) -> dict[str, Any]:
    """Return *base* as plain data."""
    if isinstance(base, Trend):
        return {"kind": "power", "level": base.level, "effects": base.effects}
    return {
        "kind": "products",
        "exponents": base.exponents,
        "coefficients": base.coefficients,
        "effects": base.effects,
    }


def read_base(node: Node, axes: Sequence[Axis]) -> Base:
    """Read what :func:`base_to_json` wrote."""
    kind = node["kind"].one_of(BASES)
    effects = list(node["effects"])
    if len(effects) != len(axes):
        raise node["effects"].expected(f"a list of {len(axes)}")
    other = 1 if kind == "power" else 0
    lengths = [len(axis) if axis.kind == "categorical" else other for axis in axes]
    levels = [effect.vector(length) for effect, length in zip(effects, lengths, strict=True)]
    if kind == "power":
        return Trend(node["level"].number(), levels)
    rows = list(node["exponents"])
    exponents = np.array([row.vector(len(axes)) for row in rows]).reshape(len(rows), len(axes))
    if (exponents != np.rint(exponents)).any() or (np.abs(exponents) >= 2**31).any():
        raise node["exponents"].expected("whole numbers of 32 bits")
    coefficients = node["coefficients"].vector(len(rows))
    if not (len(rows) and (coefficients > 0).all()):
        raise node["coefficients"].expected("positive numbers")
    return Products(exponents.astype(np.int64), coefficients, levels)
