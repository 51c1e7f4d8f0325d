"""Quantities with units, such as ``"12.5 GB/s"``, ``"4.7 GiB"``, ``"10 us"``.

Inside tasksim every quantity is a float in seconds, bytes, bytes or flop per second, hertz, watts
or joules. Only this module reads them from text and writes them as text. Reading is exact: the
result is the float nearest to the written number, for all units.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from sys import float_info
from typing import Final, Literal

from tasksim.base.errors import InputError, nearest

__all__ = [
    "Dimension",
    "counted",
    "duration_text",
    "exact_quantity",
    "format_bandwidth",
    "format_energy",
    "format_power",
    "format_size",
    "format_time",
    "parse_quantity",
    "time_unit",
    "unit_names",
]

Dimension = Literal["time", "size", "bandwidth", "flop_rate", "frequency", "power", "factor"]

_TIME: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_PREFIXES: Final = ("", "k", "M", "G", "T")


def _prefixed(unit: str, prefixes: tuple[str, ...] = _PREFIXES) -> dict[str, Fraction]:
    """Return *unit* with decimal *prefixes*, of which each is a thousand times the one before."""
    return {f"{prefix}{unit}": Fraction(1000**power) for power, prefix in enumerate(prefixes)}


_DECIMAL_SIZE: Final = _prefixed("B")
_BINARY_SIZE: Final = {
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
    "TiB": Fraction(2**40),
}
_SIZE: Final = _DECIMAL_SIZE | _BINARY_SIZE
_UNITS: Final[dict[Dimension, dict[str, Fraction]]] = {
    "time": _TIME,
    "size": _SIZE,
    "bandwidth": {f"{unit}/s": scale for unit, scale in _SIZE.items()},
    "flop_rate": _prefixed("flop/s"),
    "frequency": _prefixed("Hz", ("", "k", "M", "G")),
    "power": {"mW": Fraction(1, 1000), **_prefixed("W", ("", "k", "M"))},
    "factor": {},
}
_ALIASES: Final = {"\N{MICRO SIGN}s": "us", "\N{GREEK SMALL LETTER MU}s": "us"}
_EXAMPLES: Final[dict[Dimension, str]] = {
    "time": "10 us",
    "size": "4.7 GiB",
    "bandwidth": "12.5 GB/s",
    "flop_rate": "30 Gflop/s",
    "frequency": "2.6 GHz",
    "power": "9.5 W",
    "factor": "1.5",
}
_MIN_HOURS_S: Final = 36000.0
"""Duration in seconds from which hours are easier to read: five digits of seconds are not."""
_MIN_DAYS_H: Final = 100
"""Duration in hours from which days are: an hour is then a hundredth at most, as the last of three
digits is."""
_MAX_DAYS_S: Final = 1e9
"""Duration in seconds above which only the order of magnitude counts: thirty years."""
_NUMBER: Final = r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_QUANTITY: Final = re.compile(rf"({_NUMBER})\s*(.*)", re.DOTALL)
_FACTOR: Final = re.compile(rf"[x×]?\s*({_NUMBER})")


def unit_names(dimension: Dimension) -> tuple[str, ...]:
    """Return the legal units of a *dimension*, as :func:`parse_quantity` reads them."""
    return tuple(_UNITS[dimension])


def parse_quantity(value: object, dimension: Dimension) -> float:
    """Return the quantity *value* in tasksim's internal unit, or as a factor.

    Parameters
    ----------
    value
        A text of a number and a unit: ``"12.5 GB/s"``. Units are case-sensitive, the space is
        optional, and ``µs`` means ``us``. A factor has no unit: ``"x2"``, ``"1.5"``, ``1.5``.
        A bare number is accepted only if it is unambiguous: as a factor, or if it is 0.
    dimension
        ``"time"`` (seconds), ``"size"`` (bytes), ``"bandwidth"`` (bytes/s), ``"flop_rate"``
        (flop/s), ``"frequency"`` (Hz), ``"power"`` (W) or ``"factor"``.

    Raises
    ------
    InputError
        If *value* is not such a quantity. The message has the value, an example, the legal units
        and the nearest one.

    Notes
    -----
    ``kB`` is 1000 bytes and ``KiB`` is 1024 (IEC 80000-13). Signs are kept: the caller decides
    whether a negative value makes sense.

    Examples
    --------
    >>> parse_quantity("60 us", "time")
    6e-05
    >>> parse_quantity("1.5 KiB", "size")
    1536.0
    >>> parse_quantity("x2", "factor")
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _malformed(value, dimension)
    if dimension == "factor":
        match = _FACTOR.fullmatch(str(value).strip())
        if match is None:
            raise _malformed(value, dimension)
        return _scaled(match[1], Fraction(1), value)
    if not isinstance(value, str):
        return _parse_number(value, dimension)
    match = _QUANTITY.fullmatch(value.strip())
    if match is None:
        raise _malformed(value, dimension)
    number, unit = match.groups()
    if not unit:
        try:
            bare = Decimal(number)
        except InvalidOperation:  # the exponent is too large even for Decimal
            raise _too_large(value) from None
        return _parse_number(bare, dimension)
    scale = _UNITS[dimension].get(_ALIASES.get(unit, unit))
    if scale is None:
        raise _malformed(value, dimension, unit)
    return _scaled(number, scale, value)


def exact_quantity(value: float, dimension: Dimension) -> str:
    """Return a short text that :func:`parse_quantity` reads back to the very same float.

    It is meant for files; :func:`format_time` and its like write for people.

    >>> exact_quantity(1.2345678901234568e-05, "time"), exact_quantity(3 * 2**30, "size")
    ('12.345678901234568 us', '3 GiB')
    """
    value = float(value)
    if not math.isfinite(value):
        raise InputError(
            f"{value!r} is not a {_word(dimension)}: only finite values can be written"
        )
    if dimension == "factor":
        return repr(value)
    decimal = _exact_decimal(value, dimension)
    binary = _exact_binary(value, dimension)
    return binary if binary and len(binary) <= len(decimal) else decimal


def format_time(seconds: float) -> str:
    """Return a duration with three digits, for people, in hours or days from ten hours on.

    A duration below a picosecond counts as 0: it is the residue of a subtraction.

    >>> format_time(0.0123), format_time(7200.0), format_time(45240.0), format_time(1e-15)
    ('12.3 ms', '7200 s', '12 h 34 min', '0 s')
    """
    if abs(seconds) < 1e-12:
        return "0 s"
    if _MIN_HOURS_S <= abs(seconds) < _MAX_DAYS_S:
        return _hours(seconds)
    steps = (("ns", 1e-9, 1e3), ("us", 1e-6, 1e3), ("ms", 1e-3, 1e3), ("s", 1.0, math.inf))
    return _human(seconds, steps, "s")


def format_size(size_bytes: float) -> str:
    """Return a size with three digits and a binary unit, for people.

    >>> format_size(4.7 * 2**30), format_size(17)
    ('4.7 GiB', '17 B')
    """
    steps = [(unit, float(scale), 1024.0) for unit, scale in _BINARY_SIZE.items()]
    return _human(size_bytes, (("B", 1.0, 1024.0), *steps), "B")


def format_energy(joules: float) -> str:
    """Return an energy with three digits, for people.

    >>> format_energy(0.0213), format_energy(1530.0)
    ('21.3 mJ', '1.53 kJ')
    """
    steps = (("uJ", 1e-6, 1e3), ("mJ", 1e-3, 1e3), ("J", 1.0, 1e3), ("kJ", 1e3, math.inf))
    return _human(joules, steps, "J")


def format_power(watts: float) -> str:
    """Return a power with three digits, for people.

    >>> format_power(9.5), format_power(0.25)
    ('9.5 W', '250 mW')
    """
    steps = (("mW", 1e-3, 1e3), ("W", 1.0, 1e3), ("kW", 1e3, math.inf))
    return _human(watts, steps, "W")


def format_bandwidth(bytes_per_s: float) -> str:
    """Return a bandwidth with three digits and a decimal unit, for people.

    >>> format_bandwidth(12.5e9)
    '12.5 GB/s'
    """
    steps = [(f"{unit}/s", float(scale), 1e3) for unit, scale in _DECIMAL_SIZE.items()]
    return _human(bytes_per_s, tuple(steps), "B/s")


def time_unit(until_s: float) -> tuple[float, str]:
    """Return the factor and the unit that show times up to *until_s* with few digits.

    >>> time_unit(0.25)
    (1000.0, 'ms')
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if until_s * factor >= 1.0:
            return factor, unit
    return (1.0, "s") if until_s <= 0 else (1e9, "ns")


def counted(number: int, noun: str) -> str:
    """Return a *number* of things, named by a *noun* whose plural ends in s.

    >>> counted(1, "core"), counted(2, "core")
    ('1 core', '2 cores')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration_text(seconds: float) -> str:
    """Return a duration with four digits, in hours or days from ten hours on.

    >>> duration_text(0.05678), duration_text(12345.4), duration_text(2844748.0)
    ('56.78 ms', '12345 s', '32 d 22 h')
    """
    if _MIN_HOURS_S <= abs(seconds) < _MAX_DAYS_S:
        return _hours(seconds)
    factor, unit = time_unit(abs(seconds))
    value = seconds * factor
    return f"{value:.0f} {unit}" if 1000 <= abs(value) < 1e9 else f"{value:.4g} {unit}"


def _hours(seconds: float) -> str:
    """Return ``12 h 34 min`` or, from a hundred hours on, ``32 d 22 h``, rounded to half a part."""
    minutes = round(abs(seconds) / 60)
    if minutes < 60 * _MIN_DAYS_H:
        whole, units, rest = minutes // 60, ("h", "min"), minutes % 60
    else:
        hours = round(abs(seconds) / 3600)
        whole, units, rest = hours // 24, ("d", "h"), hours % 24
    text = f"{whole} {units[0]}" + (f" {rest} {units[1]}" if rest else "")
    return f"-{text}" if seconds < 0 else text


def _parse_number(number: float | Decimal, dimension: Dimension) -> float:
    """Return 0 for zero; refuse any other number without a unit."""
    if number == 0:
        return 0.0
    if not -float_info.max <= number <= float_info.max:
        raise _malformed(number, dimension)
    units = ", ".join(unit_names(dimension))
    raise InputError(
        f"{number} has no unit and could be any of {units}: write e.g. '{_EXAMPLES[dimension]}' "
        "(only 0 needs none, it is the same in all of them)"
    )


def _scaled(number: str, scale: Fraction, value: object) -> float:
    """Return the float nearest to *number* times *scale*."""
    # The plain float comes first: it keeps absurd exponents out of the exact arithmetic.
    rough = float(number)
    if rough == 0:
        return 0.0
    if math.isfinite(rough):
        try:
            return float(Fraction(Decimal(number)) * scale)
        except OverflowError:
            pass
    raise _too_large(value)


def _too_large(value: object) -> InputError:
    return InputError(f"{value!r} is too large: the largest number is about 1.8e308")


def _malformed(value: object, dimension: Dimension, unit: str = "") -> InputError:
    """Return the error for a *value* that is not a quantity of this *dimension*."""
    text = f"{value!r} is not a {_word(dimension)}: write e.g. '{_EXAMPLES[dimension]}'"
    units = unit_names(dimension)
    if not units:
        return InputError(f"{text} or 'x{_EXAMPLES[dimension]}'")
    return InputError(f"{text}; legal units: {', '.join(units)}{nearest(unit, units)}")


def _word(dimension: Dimension) -> str:
    return dimension.replace("_", " ")


def _exact_decimal(value: float, dimension: Dimension) -> str:
    """Return the shortest decimal digits of *value*, with a decimal unit that fits its size."""
    rounded = {unit: round(math.log10(scale)) for unit, scale in _UNITS[dimension].items()}
    # Only units that are powers of ten, in ascending order.
    exponents = {u: e for u, e in rounded.items() if Fraction(10) ** e == _UNITS[dimension][u]}
    base = next(unit for unit, exponent in exponents.items() if exponent == 0)
    if value == 0:
        return f"0 {base}"
    if not 1e-12 <= abs(value) < 1e18:  # would need many zeros; repr has an exponent
        return f"{value!r} {base}"
    fitting = [unit for unit in exponents if _UNITS[dimension][unit] <= abs(value)]
    unit = fitting[-1] if fitting else next(iter(exponents))
    return f"{Decimal(repr(value)).scaleb(-exponents[unit]).normalize():f} {unit}"


def _exact_binary(value: float, dimension: Dimension) -> str:
    """Return *value* as a whole number of the largest binary unit, or ``""``."""
    units = [u for u in _UNITS[dimension] if "iB" in u and value % _UNITS[dimension][u] == 0]
    if value == 0 or not units:
        return ""
    return f"{int(value / _UNITS[dimension][units[-1]])} {units[-1]}"


def _human(value: float, steps: tuple[tuple[str, float, float], ...], base: str) -> str:
    """Return *value* in the first unit of *steps* (unit, scale, limit) that keeps it short."""
    value = float(value)  # NumPy's floats warn when they overflow
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {base}"
    for unit, scale, limit in steps[:-1]:
        number = _three_digits(value / scale)
        if abs(float(number)) < limit:
            return f"{number} {unit}"
    unit, scale, _ = steps[-1]
    return f"{_three_digits(value / scale)} {unit}"


def _three_digits(number: float) -> str:
    return f"{number:.0f}" if 999.5 <= abs(number) < 1e9 else f"{number:.3g}"
