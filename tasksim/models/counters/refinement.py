"""Refinement: cycles per instruction without memory, and the unhidden part of memory time.

Cycles per instruction are linear in the time of memory accesses, in cycles per instruction:
``CPI = CPI_core + BF_mem · T_mem``. The slope is the part of that time that computing does not
hide, the intercept is the rest. (N. Ding et al. print them with their names swapped.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refined"]


def refined(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return BF_mem and CPI_core of the line through *points*, (T_mem, CPI).

    Two points come from two frequencies of the core, or from two loads of the memory. The line
    through two points is exact; more are fitted by least squares.

    Parameters
    ----------
    points : sequence of (float, float)
        Time of memory accesses per instruction, and cycles per instruction, both in cycles.

    Raises
    ------
    InputError
        If there are fewer than two different times of memory.

    Examples
    --------
    >>> bf_mem, cpi_core = refined([(2.0, 0.9), (3.0, 1.1)])
    >>> round(bf_mem, 12), round(cpi_core, 12)
    (0.2, 0.5)
    """
    t_mem, cpi = np.array(points, dtype=np.float64).reshape(-1, 2).T
    if not (np.isfinite(t_mem).all() and np.isfinite(cpi).all()):
        raise InputError(f"points must be finite, got {points!r}")
    if len(np.unique(t_mem)) < 2:
        raise InputError(
            "a refinement needs two different times of memory: measure at a second frequency, or "
            f"beside another load of the memory; got T_mem {', '.join(f'{t:g}' for t in t_mem)}"
        )
    centered = t_mem - t_mem.mean()
    slope = float(centered @ cpi / (centered @ centered))
    return slope, float(cpi.mean() - slope * t_mem.mean())
