"""Checks of ``run.json``: its numbers must agree with the records beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import parse_json, position
from tasksim.base.errors import CheckFailed
from tasksim.base.files import read_text
from tasksim.run.metrics import summary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.run.record import Run

    Place = tuple[str | int, ...]

__all__ = ["check_header"]

_ROUNDING: Final = 1e-9
"""Relative tolerance: other versions of NumPy add in another order, which changes the last digits;
numbers edited by hand differ in the first ones."""
_EARLIER_KEYS: Final = {"parallel_efficiency": "efficiency"}
"""Names of metrics in files of earlier versions."""


def check_header(run: Run, path: Path) -> None:
    """Raise :exc:`CheckFailed` if the file *path* contradicts the records of *run*.

    Parameters
    ----------
    run : Run
        The run as read, with its tables.
    path : Path
        Its ``run.json``. Only the makespan and the metrics are checked: all else is read from the
        file and cannot differ.
    """
    text = read_text(path)
    said = parse_json(text)
    computed = {"makespan_s": run.makespan_s, "metrics": summary(run)}
    for place, here, there in _differences(said, computed, (), _ROUNDING * run.makespan_s):
        line, column = position(text, place)
        name = ".".join(map(str, place))
        raise CheckFailed(
            f"{path}:{line}:{column}: {name} is {here!r}, the records of the run say {there!r}"
        )


def _differences(
    said: Any, computed: Any, place: Place, tolerance: float
) -> Iterator[tuple[Place, Any, Any]]:
    """Yield differences between values that both have."""
    if isinstance(said, dict) and isinstance(computed, dict):
        for key in (key for key in said if _EARLIER_KEYS.get(key, key) in computed):
            there = computed[_EARLIER_KEYS.get(key, key)]
            yield from _differences(said[key], there, (*place, key), tolerance)
    elif isinstance(said, list) and isinstance(computed, list) and len(said) == len(computed):
        for number, pair in enumerate(zip(said, computed, strict=True)):
            yield from _differences(*pair, (*place, number), tolerance)
    elif not _same(said, computed, tolerance):
        yield place, said, computed


def _same(said: Any, computed: Any, tolerance: float) -> bool:
    if isinstance(said, bool) or not isinstance(said, int | float):
        return bool(said == computed)
    if not isinstance(computed, int | float):
        return False
    return math.isclose(said, computed, rel_tol=_ROUNDING, abs_tol=tolerance)
