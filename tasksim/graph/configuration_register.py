"""Configurations of kernels: each kernel with the exact values of its parameters, numbered."""

from __future__ import annotations

from sys import float_info
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import GraphError

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from tasksim.graph.csr import Int32, Int64

__all__ = ["ConfigurationRegister"]

LARGEST: Final = float_info.max


class ConfigurationRegister:
    """The configurations of a graph that is being built."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[object, ...], int] = {}
        """Configurations as they were given -> their numbers: what is looked up for every task."""
        self.parameter_names: dict[str, tuple[str, ...]] = {}
        """Kernel -> the names of its parameters."""
        self._rows: dict[str, dict[tuple[float, ...], int]] = {}  # values -> number
        self._count = 0

    def add(
        self, key: tuple[object, ...], kernel: str, parameters: Mapping[str, float], where: str
    ) -> int:
        """Return the number of a configuration, which *key* stands for from now on.

        Raises :exc:`GraphError`, and registers nothing, where a name or a value is not legal.
        """
        names = self.parameter_names.get(kernel)
        # Graphs may have as many configurations as tasks: what is plainly right is not checked.
        if names != tuple(parameters) or not _are_amounts(parameters.values()):
            self.check(kernel, parameters, where)
            names = names or tuple(parameters)
            parameters = {name: parameters[name] for name in names}
        values = tuple(map(float, parameters.values()))
        rows = self._rows.setdefault(kernel, {})
        number = rows.get(values)
        if number is None:
            number = rows[values] = self._count
            self._count += 1
        self.parameter_names[kernel] = names
        self.numbers[key] = number
        return number

    def check(self, kernel: object, parameters: Mapping[str, object], where: str) -> None:
        """Raise :exc:`GraphError` unless a task may be of this *kernel*, with these values."""
        if not (isinstance(kernel, str) and kernel):
            raise GraphError(f"task {where}: kernel {kernel!r:.60}; legal: a name")
        names = self.parameter_names.get(kernel, tuple(parameters))
        if len(names) != len(parameters) or any(name not in parameters for name in names):
            raise GraphError(
                f"{kernel} {where}: parameters ({', '.join(parameters)}); "
                f"earlier tasks of {kernel} have ({', '.join(names)})"
            )
        for name, value in parameters.items():
            if not _is_amount(value):
                raise GraphError(
                    f"{kernel} {where}: parameter {name} is {value!r:.60}; "
                    "legal: a finite number from 0"
                )

    def tables(
        self, configuration: array[int] | Int64
    ) -> tuple[Int32, Int32, tuple[NDArray[np.float64], ...]]:
        """Return kernel and row per task, of *configuration* per task; and all kernels' tables."""
        kernel_of = np.zeros(sum(map(len, self._rows.values())), dtype=np.int32)
        row_of = np.zeros_like(kernel_of)
        tables = []
        for kernel, (name, names) in enumerate(self.parameter_names.items()):
            rows = self._rows[name]
            numbers = np.fromiter(rows.values(), dtype=np.int64, count=len(rows))
            kernel_of[numbers] = kernel
            row_of[numbers] = np.arange(len(rows))
            tables.append(np.array(list(rows), dtype=np.float64).reshape(len(rows), len(names)))
        tasks = np.array(configuration, dtype=np.int64)
        return kernel_of[tasks], row_of[tasks], tuple(tables)


def _are_amounts(values: Iterable[object]) -> bool:
    """Return whether all *values* are plain numbers that are legal; others may be, too."""
    return all(
        (value.__class__ is int or value.__class__ is float) and 0 <= value <= LARGEST
        for value in values
    )


def _is_amount(value: object) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and bool(0 <= value <= LARGEST)  # type: ignore[operator]
