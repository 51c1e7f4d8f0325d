"""Times as figures and tables show them."""

from __future__ import annotations

__all__ = ["duration_text", "time_unit"]


def time_unit(until_s: float) -> tuple[float, str]:
    """Return the factor and the unit that show times up to *until_s* with few digits.

    >>> time_unit(0.25)
    (1000.0, 'ms')
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if until_s * factor >= 1.0:
            return factor, unit
    return (1.0, "s") if until_s <= 0 else (1e9, "ns")


def duration_text(seconds: float) -> str:
    """Return a duration with four digits: ``1.234 s``, ``56.78 ms``, ``12345 s``."""
    factor, unit = time_unit(abs(seconds))
    value = seconds * factor
    return f"{value:.0f} {unit}" if 1000 <= abs(value) < 1e9 else f"{value:.4g} {unit}"
