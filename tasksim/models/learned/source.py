"""A learned model as C source, for programs that predict without tasksim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.models.forms import checked_names
from tasksim.models.learned.correction import MAX_FAR, SECANT_LENGTH
from tasksim.models.learned.forest import DEPTH
from tasksim.models.tensor.bases import Trend
from tasksim.models.tensor.grid import MIN_VALUE_SHARE
from tasksim.models.terms.leastsquares import LEAST_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.base.arrays import Floats, Indices
    from tasksim.models.learned.correction import Correction
    from tasksim.models.tensor.bases import Base
    from tasksim.models.tensor.grid import TensorAxis

__all__ = ["c_source"]

_NUMBERS_PER_LINE = 6
"""Numbers of 17 digits that fit a line of 120 characters."""


def c_source(
    name: str,
    axes: Sequence[TensorAxis],
    law: Base,
    correction: Correction | None,
    smear: float,
    categories: Mapping[str, tuple[str, ...]],
) -> str:
    """Return C99 source: ``double name(double m, double n)``, in seconds.

    Categories are given by their numbers, which a comment lists.

    Raises
    ------
    InputError
        If *name* or a parameter is not a legal name in C.
    """
    names = checked_names([axis.name for axis in axes], name, "c")
    lines = ["#include <math.h>", ""]
    if correction is not None:
        lines += _tables(correction)
        lines += [*_inside(correction), ""]
    lines += ["/* Predicted duration in seconds."]
    for parameter, known in categories.items():
        lines.append(f"   {parameter}: " + ", ".join(f"{i} {n}" for i, n in enumerate(known)))
    lines[-1] += " */"
    arguments = ", ".join(f"double {parameter}" for parameter in names) or "void"
    lines += [f"double {name}({arguments})", "{"]
    lines += [f"    double logs = {_law(axes, law)};"]
    if correction is not None:
        lines += list(_columns(correction, axes))
        lines += ["    logs += inside(column);", *_beyond(correction, axes)]
    lines += [
        f"    double seconds = {smear!r} * exp(fmin(logs, 700.0));",
        f"    return fmax(seconds, {LEAST_S!r});",
        "}",
        "",
    ]
    return "\n".join(lines)


_SURFACE_CODE = [
    "    for (int c = 0; c < COLUMNS; c++)",
    "        logs += slopes[c] * column[c];",
    "    for (int p = 0; p < PAIRS; p++)",
    "        logs += bends[p] * column[pairs[p][0]] * column[pairs[p][1]];",
]
_PROCESS_CODE = [
    "    for (int j = 0; j < CENTRES; j++) {",
    "        double squares = 0.0;",
    "        for (int c = 0; c < COLUMNS; c++) {",
    "            double distance = column[c] / lengths[c] - centres[j][c];",
    "            squares += distance * distance;",
    "        }",
    "        logs += weights[j] / (1.0 + squares / 2.0);",
    "    }",
]
_FOREST_CODE = [
    "    for (int t = 0; t < TREES; t++) {",
    "        int leaf = 0;",
    f"        for (int q = 0; q < {DEPTH}; q++)",
    "            leaf = 2 * leaf + (column[asked[t][q]] >= borders[t][q]);",
    "        logs += values[t][leaf];",
    "    }",
]


def _inside(correction: Correction) -> list[str]:
    """Return the function of the columns that is the correction inside the domain."""
    lines = ["static double inside(const double *column)", "{", "    double logs = level;"]
    lines += _SURFACE_CODE
    if correction.process is not None:
        lines += _PROCESS_CODE
    if correction.forest is not None:
        lines += _FOREST_CODE
    return [*lines, "    return logs;", "}"]


def _beyond(correction: Correction, axes: Sequence[TensorAxis]) -> Iterator[str]:
    """Yield the statements that continue the correction outside the domain."""
    first = np.searchsorted(correction.features.parameters, np.arange(len(axes))).tolist()
    if correction.reach == 0 or all(axis.kind == "categorical" for axis in axes):
        return
    yield "    double edge = inside(column), far, here;"
    for place, axis in zip(first, axes, strict=True):
        if axis.kind == "categorical":
            continue
        outside, inside = _scaled(axis, axis.name), _scaled(axis, _clipped(axis))
        yield f"    far = (({outside}) - ({inside})) / {axis.span[1]!r};"
        yield "    if (far != 0.0) {"
        yield f"        here = column[{place}];"
        yield f"        column[{place}] -= far > 0.0 ? {SECANT_LENGTH!r} : -{SECANT_LENGTH!r};"
        share = correction.reach / SECANT_LENGTH
        yield f"        far = fmin(fabs(far), {MAX_FAR!r});"
        yield f"        logs += {share!r} * (edge - inside(column)) * far;"
        yield f"        column[{place}] = here;"
        yield "    }"


def _law(axes: Sequence[TensorAxis], law: Base) -> str:
    """Return the logarithm of the law as an expression."""
    added = [
        f"{_array(effect)}[(int){axis.name}]"
        for axis, effect in zip(axes, law.effects, strict=True)
        if axis.kind == "categorical"
    ]
    if isinstance(law, Trend):
        sums = [
            f"{float(effect[0])!r} * ({_scaled(axis, axis.name)})"
            for axis, effect in zip(axes, law.effects, strict=True)
            if axis.kind != "categorical"
        ]
        return "\n        + ".join([repr(law.level), *sums, *added])
    products = []
    for coefficient, row in zip(law.coefficients.tolist(), law.exponents.tolist(), strict=True):
        product = repr(coefficient)
        for axis, power in zip(axes, row, strict=True):
            if power:
                # At least where the logarithm is cut off.
                least = MIN_VALUE_SHARE * float(axis.edges[0]) if axis.logarithmic else 0.0
                product += f" * pow(fmax({axis.name}, {least!r}), {power})"
        products.append(product)
    total = "\n            + ".join(products)
    return "\n        + ".join([f"log(fmax({total}, {float(np.finfo(float).tiny)!r}))", *added])


def _array(values: Floats) -> str:
    return "((const double[]){" + ", ".join(map(repr, values.tolist())) + "})"


def _scaled(axis: TensorAxis, value: str) -> str:
    """Return a value on the scale of its axis, as :meth:`TensorAxis.scale` does."""
    high = float(axis.edges[-1])
    if axis.logarithmic:
        return f"log(fmax({value}, {MIN_VALUE_SHARE * float(axis.edges[0])!r}))"
    if high <= 0:
        return value
    return f"({value} > {high!r} ? {high!r} + {high!r} * log({value} / {high!r}) : {value})"


def _clipped(axis: TensorAxis) -> str:
    """Return the parameter, or the end of its range that is nearest."""
    first, last = axis.edges[[0, -1]].tolist()
    return f"fmin(fmax({axis.name}, {first!r}), {last!r})"


def _columns(correction: Correction, axes: Sequence[TensorAxis]) -> Iterator[str]:
    """Yield the statements that fill the array ``column``."""
    yield f"    double column[{max(len(correction.features.parameters), 1)}];"
    place = 0
    for axis in axes:
        if axis.kind == "categorical":
            for level in axis.points.tolist():
                yield f"    column[{place}] = {axis.name} == {level!r} ? sqrt(0.5) : 0.0;"
                place += 1
            continue
        low, width = axis.span
        yield f"    column[{place}] = ({_scaled(axis, _clipped(axis))} - {low!r}) / {width!r};"
        place += 1


def _tables(correction: Correction) -> list[str]:
    surface, process, forest = correction.surface, correction.process, correction.forest
    found = [
        f"enum {{ COLUMNS = {len(surface.slopes)}, PAIRS = {len(surface.bends)}, "
        f"CENTRES = {0 if process is None else len(process.weights)}, "
        f"TREES = {0 if forest is None else len(forest)} }};",
        f"static const double level = {surface.level!r};",
        _table("double", "slopes", surface.slopes),
        _table("double", "bends", surface.bends if len(surface.bends) else np.zeros(1)),
        _table("int", "pairs", surface.pairs if len(surface.pairs) else np.zeros((1, 2), int)),
    ]
    if process is not None:
        found += [
            _table("double", "lengths", process.lengths),
            _table("double", "weights", process.weights),
            _table("float", "centres", process.centres),
        ]
    if forest is not None:
        trees = zip(forest.columns.tolist(), forest.cells.tolist(), strict=True)
        borders = [
            [forest.borders[column][cell] for column, cell in zip(*tree, strict=True)]
            for tree in trees
        ]
        found += [
            _table("int", "asked", forest.columns),
            _table("double", "borders", np.array(borders)),
            _table("float", "values", forest.values),
        ]
    return [*found, ""]


def _table(of: str, name: str, values: Floats | Indices) -> str:
    """Return the definition of a constant array with one or two dimensions."""
    shape = "".join(f"[{length}]" for length in values.shape)
    rows = values.tolist()
    if values.ndim == 2:
        body = ",\n".join(f"    {{\n{_filled(row)}\n    }}" for row in rows)
    else:
        body = _filled(rows)
    return f"static const {of} {name}{shape} = {{\n{body}\n}};"


def _filled(values: list[float]) -> str:
    texts = [repr(value) for value in values]
    return ",\n".join(
        "    " + ", ".join(texts[at : at + _NUMBERS_PER_LINE])
        for at in range(0, len(texts), _NUMBERS_PER_LINE)
    )
