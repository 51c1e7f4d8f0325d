"""Parameters of generators, with their types and legal values.

A generator's annotations define the legal values::

    def cholesky(tiles: Count, tile_size: Count = 256, dtype: Dtype = "float64") -> TaskGraph
"""

from __future__ import annotations

import inspect
import math
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from tasksim.base.errors import InputError, nearest
from tasksim.base.numerals import decimal_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "AtLeast",
    "AtMost",
    "Count",
    "Depth",
    "Dtype",
    "Parameter",
    "Seconds",
    "Seed",
    "Value",
    "parameters_of",
]

Value: TypeAlias = str | int | float


@dataclass(frozen=True)
class AtLeast:
    """Lower limit of a number."""

    value: float


@dataclass(frozen=True)
class AtMost:
    """Upper limit of a number."""

    value: float


@dataclass(frozen=True)
class Time:
    """Mark of a number of seconds, which a text may give with another unit: ``2 ms``."""


Count = Annotated[int, AtLeast(1)]
Depth = Annotated[int, AtLeast(0)]
Seed = Annotated[int, AtLeast(0)]
Seconds = Annotated[float, AtLeast(0), Time()]
Dtype = Literal["float64", "float32"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a generator.

    ``default`` is None without a default. The parameter is then ``required``, or optional with a
    value that the generator chooses.
    """

    name: str
    kind: type[int] | type[float] | type[str]
    default: Value | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: float = -math.inf
    maximum: float = math.inf
    is_time: bool = False

    @property
    def legal(self) -> str:
        """Legal values in words: ``an integer from 1``."""
        if self.choices:
            return ", ".join(self.choices)
        words = {int: "an integer", float: "a number", str: "text"}[self.kind]
        low = f" from {self.minimum:g}" if self.minimum > -math.inf else ""
        high = f" to {self.maximum:g}" if self.maximum < math.inf else ""
        unit = ", or a time with its unit: 2ms" if self.is_time else ""
        return words + low + high + unit

    def convert(self, value: object, where: str) -> Value:
        """Return *value*, a text or a number, converted to this parameter's type.

        Raises :exc:`InputError` with *where*, the value, and the legal values.
        """
        if self.kind is str:
            if not self.choices or value in self.choices:
                return str(value)
            hint = nearest(str(value), self.choices)
            raise InputError(f"{where}: {self.name}: got {value!r}{hint} (legal: {self.legal})")
        number = _number(value)
        if self.is_time and isinstance(value, str) and math.isnan(number):
            from tasksim.base.units import parse_quantity  # few settings have a unit

            with suppress(InputError):
                number = parse_quantity(value, "time")
        whole = self.kind is float or number.is_integer()
        if math.isfinite(number) and whole and self.minimum <= number <= self.maximum:
            return _exact(value) if self.kind is int else number
        raise InputError(f"{where}: {self.name}: got {value!r}; legal: {self.legal}")


def parameters_of(
    function: Callable[..., Any], *, skip: int = 0, by_default: bool = False
) -> tuple[Parameter, ...]:
    """Return the parameters of a generator *function*, from its annotations.

    The first *skip* parameters are not settings. Without annotations, defaults that are numbers or
    texts give the types, if *by_default*.

    Raises :exc:`InputError` for a parameter without a type, or with one that texts cannot express.
    """
    hints = get_type_hints(function, include_extras=True)
    given = list(inspect.signature(function).parameters.items())[skip:]
    for name, parameter in given:
        if name not in hints and by_default and type(parameter.default) in (int, float, str):
            hints[name] = type(parameter.default)
        if name not in hints:
            raise InputError(f"parameter {name} has no annotation" + " and no default" * by_default)
    return tuple(_parameter(name, hints[name], parameter.default) for name, parameter in given)


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    required = default is inspect.Parameter.empty
    value: Value | None = None if required else default
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not NoneType]
        hint = parts[0] if len(parts) == 1 else hint  # T | None is T
    limits: Sequence[object] = ()
    if get_origin(hint) is Annotated:
        hint, *limits = get_args(hint)
    if get_origin(hint) is Literal:
        return Parameter(name, str, value, required, choices=get_args(hint))
    low = next((limit.value for limit in limits if isinstance(limit, AtLeast)), -math.inf)
    high = next((limit.value for limit in limits if isinstance(limit, AtMost)), math.inf)
    if hint not in (int, float, str):
        raise InputError(f"parameter {name}: {hint} is not int, float, str or choices of text")
    is_time = any(isinstance(limit, Time) for limit in limits)
    return Parameter(name, hint, value, required, minimum=low, maximum=high, is_time=is_time)


def _number(value: object) -> float:
    """Return *value* as a float; NaN, which is never legal, for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | Real):
        return math.nan
    if isinstance(value, str):
        number = decimal_number(value.strip())
        return math.nan if number is None else number
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _exact(value: Any) -> int:
    """Return an integral *value* as an int; texts such as ``100e3`` are integers too."""
    if isinstance(value, str):
        whole = whole_number(value.strip())
        return int(float(value)) if whole is None else whole
    return int(value)
