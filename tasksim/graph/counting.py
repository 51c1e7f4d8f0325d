"""Time to count the indirect parameters of tasks, before their submission.

A parameter such as the number of interactions of a group of cells explains a duration, but has to
be counted first. A generator or an application marks the counting code::

    with counting("neighbours", kernels=("assemble",)):
        neighbours = sum(len(cell.faces) for cell in piece)
    flow.insert("assemble", ..., cells=len(piece), neighbours=neighbours)

Nothing is measured, at no cost, unless :func:`counted_times` observes.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Counted", "CountedTimes", "counted_times", "counting"]

Counted: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Kernels, and the counted parameters of their tasks."""
CountedTimes: TypeAlias = dict[Counted, float]

_OBSERVED: ContextVar[CountedTimes | None] = ContextVar("counted times", default=None)


@contextmanager
def counting(*parameters: str, kernels: Sequence[str]) -> Iterator[None]:
    """Mark code that counts indirect *parameters* of the tasks of *kernels*.

    Parameters
    ----------
    *parameters : str
        Names of the parameters.
    kernels : sequence of str
        Kernels of these tasks.

    Raises
    ------
    InputError
        If no parameter or no kernel is named.

    See Also
    --------
    parameter_costs : The time of counting, beside the run.

    Examples
    --------
    >>> import tasksim
    >>> with tasksim.counting("neighbours", kernels=["assemble"]):
    ...     neighbours = sum([4, 3, 6])
    """
    names = tuple(parameters), tuple(kernels) if isinstance(kernels, list | tuple) else ()
    for what, given in zip(("parameters", "kernels"), names, strict=True):
        if not given or not all(isinstance(name, str) for name in given):
            raise InputError(f"counting: {what}: got {given or 'none'}; legal: a list of names")
    times = _OBSERVED.get()
    if times is None:
        yield
        return
    begin_s = perf_counter()
    try:
        yield
    finally:
        key = names[1], names[0]
        times[key] = times.get(key, 0.0) + perf_counter() - begin_s


@contextmanager
def counted_times() -> Iterator[CountedTimes]:
    """Observe counting within the block; yield the growing lists of times in seconds."""
    times: CountedTimes = {}
    token = _OBSERVED.set(times)
    try:
        yield times
    finally:
        _OBSERVED.reset(token)
