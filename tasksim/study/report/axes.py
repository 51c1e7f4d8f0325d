"""Axes of a study, the columns that vary.

Their values are in order, and numbers if possible.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError
from tasksim.base.numerals import decimal_number
from tasksim.base.units import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasksim.base.units import Dimension

__all__ = ["ABSENT", "StudyAxis", "numbers_of", "ordered", "value_text"]

ABSENT: Final = ""
"""The value of a setting in cells that do not have it."""

COUNT_NAMES: Final = ("count", "workers", "nodes", "cores", "threads")
"""Last parts of the paths that count resources of the machine; speed-up is shown over them."""

MAX_QUANTITY: Final = 1e100
"""Largest absolute value on the axis of a figure; the smallest except 0 is its inverse."""

_UNITS: Final[dict[Dimension, str]] = {
    "factor": "", "bandwidth": "B/s", "size": "B", "time": "s", "flop_rate": "flop/s",
    "frequency": "Hz", "power": "W",
}  # fmt: skip
"""Units by dimension, in the order in which values are tried."""


@dataclass(frozen=True)
class StudyAxis:
    """A column of a study's table with several values.

    Parameters
    ----------
    name : str
        Name of the column: ``graph``, ``platform``, ``scheduler``, ``seed``, or the path of a
        setting.
    values : tuple
        The values in order: numbers ascending, texts in natural order.
    numbers : tuple of float or None
        The values as numbers; None if one of them is not a number. Quantities are in seconds,
        bytes, B/s, flop/s, Hz, W.
    unit : str, default ""
    aliases : tuple of str, default ()
        Columns that vary with this one, value by value: for example the number of tiles, if the
        size of the matrix is fixed and the size of tiles varies.

    Examples
    --------
    >>> axis = StudyAxis.of("platform.links.pcie.bandwidth", ["100 GB/s", "12 GB/s"])
    >>> axis.values, axis.numbers, axis.unit
    (('12 GB/s', '100 GB/s'), (12000000000.0, 100000000000.0), 'B/s')
    """

    name: str
    values: tuple[Any, ...]
    numbers: tuple[float, ...] | None
    unit: str = ""
    aliases: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, values: Iterable[Any]) -> StudyAxis:
        """Return the axis of a column with these *values*, which may repeat."""
        distinct = list(dict.fromkeys(values))
        present = [value for value in distinct if value != ABSENT]
        numbers, unit = numbers_of(present)
        if numbers is None or not all(
            number == 0 or MAX_QUANTITY > abs(number) > 1.0 / MAX_QUANTITY for number in numbers
        ):
            return cls(name, tuple(ordered(distinct)), None)
        pairs = sorted(zip(numbers, present, strict=True), key=lambda pair: (pair[0], str(pair[1])))
        absent = [ABSENT] if len(present) < len(distinct) else []
        return cls(
            name,
            (*(value for _, value in pairs), *absent),
            (*(number for number, _ in pairs), *(math.nan for _ in absent)),
            unit,
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def label(self) -> str:
        """The name in texts and figures, without the first part of a path."""
        return re.sub(r"^(graph|platform|engine)\.", "", self.name)

    @property
    def is_numeric(self) -> bool:
        """Whether all present values are numbers, and there are two or more."""
        return self.numbers is not None and sum(map(math.isfinite, self.numbers)) > 1

    @property
    def is_count(self) -> bool:
        """Whether it counts workers, nodes or the like, with values from 1."""
        known = [n for n in self.numbers or () if math.isfinite(n)]
        named = self.name.rpartition(".")[2] in COUNT_NAMES
        return self.is_numeric and named and all(n >= 1 and n == int(n) for n in known)

    @property
    def is_size(self) -> bool:
        """Whether it is a numeric setting of the graph."""
        return self.is_numeric and self.name.startswith("graph.")


def numbers_of(values: Sequence[Any]) -> tuple[list[float] | None, str]:
    """Return *values* as numbers, and their unit; None if one of them is not a number.

    >>> numbers_of(["x2", "x0.5"]), numbers_of([8, "12"]), numbers_of(["8", "lws"])
    (([2.0, 0.5], ''), ([8.0, 12.0], ''), (None, ''))
    """
    if not values or any(isinstance(value, bool) for value in values):
        return None, ""
    plain = [_plain(value) for value in values]
    found = [number for number in plain if number is not None]
    if len(found) == len(values):
        return found, ""
    for dimension in _UNITS:
        try:
            return [parse_quantity(value, dimension) for value in values], _UNITS[dimension]
        except InputError:
            continue
    return None, ""


def _plain(value: Any) -> float | None:
    if isinstance(value, str):
        return decimal_number(value.strip())
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return *values* in natural order: ``gpu2`` before ``gpu10``.

    >>> ordered(["gpu10", "gpu2", "cpu"])
    ['cpu', 'gpu2', 'gpu10']
    """
    return sorted(values, key=_natural)


def _natural(value: Any) -> tuple[tuple[bool, int, str], ...]:
    parts = re.split(r"(\d+)", str(value))
    return tuple((p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts)


def value_text(value: Any) -> str:
    """Return the text of an axis' value; whole numbers have no decimal point.

    >>> value_text(8.0), value_text("12 GB/s"), value_text(ABSENT)
    ('8', '12 GB/s', '–')
    """
    if value == ABSENT:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
