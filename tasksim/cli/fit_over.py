"""``tasksim fit --over``: a fit with each combination of values of options, in a table."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.models.optionsweep import Trial
    from tasksim.models.samples import Samples

__all__ = ["combinations", "over_rows", "over_text"]

SWEPT: Final = {"rank": int, "cells": int, "regularization": float}
"""Options that --over takes, all of tensors, and the type of their values."""
MAX_TRIALS: Final = 400
"""Largest number of combinations: each has a cross-validation."""


def combinations(texts: Sequence[str], given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all combinations of the values in texts such as ``rank=1,2,4``.

    *given* are the options that already have a value.

    Raises
    ------
    InputError
        For an unknown option, one that is given twice, or a wrong value.

    Examples
    --------
    >>> combinations(["rank=1,2", "cells=4,8"], {})[:2]
    [{'rank': 1, 'cells': 4}, {'rank': 1, 'cells': 8}]
    """
    axes: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = (word.strip() for word in text.partition("="))
        if name not in SWEPT:
            raise unknown("option of --over", name, list(SWEPT))
        if name in axes or given.get(name) is not None:
            raise InputError(f"--over {text}: {name} is given twice")
        axes[name] = [_value(name, part.strip(), text) for part in values.split(",") if equals]
        if not axes[name] or len(set(axes[name])) < len(axes[name]):
            raise InputError(f"--over {text}: legal: {name}=VALUE,..., each value once")
    count = 1
    for axis in axes.values():
        count *= len(axis)
    if count > MAX_TRIALS:
        raise InputError(f"--over: {count} combinations; legal: {MAX_TRIALS} at most")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _value(name: str, text: str, whole: str) -> Any:
    kind = SWEPT[name]
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not 0 < value < float("inf"):
        what = "whole numbers" if kind is int else "numbers"
        raise InputError(f"--over {whole}: got '{text}'; legal: {what} above 0")
    return value


def over_rows(trials: Sequence[Trial], file: Path, test: Samples | None) -> list[dict[str, Any]]:
    """Return a row for each trial: values, errors, density, bytes."""
    from tasksim.cli.fit_result import fit_result

    rows = []
    for trial in trials:
        result = fit_result(trial.selection, file, test)
        tensor = result["tensor"] or {}
        rows.append(
            {
                **trial.values,
                "mlogq_cv": result["mlogq_cv"],
                **({} if test is None else {"mlogq_test": result["mlogq_test"]}),
                "density": tensor.get("density"),
                "size_bytes": result["size_bytes"],
            }
        )
    return rows


def over_text(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of the trials."""
    names = list(rows[0])
    table = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(names))]
    for line in table:
        yield "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
