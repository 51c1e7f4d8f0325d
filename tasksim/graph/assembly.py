"""Register of a graph's configurations, and the last step of its builders.

A configuration is a kernel with the exact values of its parameters; they are numbered.
"""

from __future__ import annotations

from sys import float_info
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import GraphError
from tasksim.base.numerals import sorted_names
from tasksim.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from tasksim.graph.csr import Int32, Int64
    from tasksim.graph.dependencies import Accesses
    from tasksim.graph.handles import HandleRegister

__all__ = ["ConfigurationRegister", "assembled"]

LARGEST_FLOAT: Final = float_info.max


class ConfigurationRegister:
    """The configurations of a graph that is being built."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[object, ...], int] = {}
        """Configurations as given -> their numbers, for the look-up of every task."""
        self.parameter_names: dict[str, tuple[str, ...]] = {}
        """Kernel -> the names of its parameters."""
        self._rows: dict[str, dict[tuple[float, ...], int]] = {}  # values -> number
        self._codes: dict[str, dict[str, dict[str, int]]] = {}
        """Kernel -> parameter -> name of a category -> its number, in the order of appearance."""
        self._count = 0

    def add(
        self,
        key: tuple[object, ...],
        kernel: str,
        parameters: Mapping[str, float | str],
        where: str,
    ) -> int:
        """Return the number of a configuration, and register it under *key*.

        Raises :exc:`GraphError`, and registers nothing, for an illegal name or value.
        """
        names = self.parameter_names.get(kernel)
        # Graphs may have as many configurations as tasks, so plainly legal ones skip the check.
        if names != tuple(parameters) or not _are_amounts(parameters.values()):
            self.check(kernel, parameters, where)
            names = names or tuple(parameters)
            coded: dict[str, float] = {}
            for name in names:
                value = parameters[name]
                if isinstance(value, str):  # a category, numbered in the order of appearance
                    codes = self._codes.setdefault(kernel, {}).setdefault(name, {})
                    value = codes.setdefault(value, len(codes))
                coded[name] = value
            parameters = coded
        elif kernel in self._codes:
            self.check(kernel, parameters, where)  # numbers although earlier tasks have names
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
        """Raise :exc:`GraphError` unless a task may have this *kernel* and these values."""
        if not (isinstance(kernel, str) and kernel):
            raise GraphError(f"task {where}: kernel {kernel!r:.60}; legal: a name")
        names = self.parameter_names.get(kernel, tuple(parameters))
        if len(names) != len(parameters) or any(name not in parameters for name in names):
            raise GraphError(
                f"{kernel} {where}: parameters ({', '.join(parameters)}); "
                f"earlier tasks of {kernel} have ({', '.join(names)})"
            )
        codes, earlier = self._codes.get(kernel, {}), kernel in self.parameter_names
        for name, value in parameters.items():
            if isinstance(value, str) and value and (name in codes or not earlier):
                continue
            amount = isinstance(value, int | float | np.integer | np.floating)
            if not (amount and 0 <= value <= LARGEST_FLOAT) or name in codes:  # type: ignore[operator]
                legal = "a finite number from 0"
                if not earlier:
                    legal += ", or the name of a category"
                elif name in codes:
                    legal = f"the name of a category, as in earlier tasks of {kernel}"
                raise GraphError(
                    f"{kernel} {where}: parameter {name} is {value!r:.60}; legal: {legal}"
                )

    @property
    def categories(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Kernel -> parameter -> the names of its categories, in order."""
        return {
            kernel: {name: sorted_names(codes) for name, codes in of.items()}
            for kernel, of in self._codes.items()
        }

    def tables(
        self, configuration: array[int] | Int64
    ) -> tuple[Int32, Int32, tuple[NDArray[np.float64], ...]]:
        """Return the kernel and row of each task, and the tables of all kernels."""
        kernel_of = np.zeros(sum(map(len, self._rows.values())), dtype=np.int32)
        row_of = np.zeros_like(kernel_of)
        tables = []
        for kernel, (name, names) in enumerate(self.parameter_names.items()):
            rows = self._rows[name]
            numbers = np.fromiter(rows.values(), dtype=np.int64, count=len(rows))
            kernel_of[numbers] = kernel
            row_of[numbers] = np.arange(len(rows))
            table = np.array(list(rows), dtype=np.float64).reshape(len(rows), len(names))
            for parameter, codes in self._codes.get(name, {}).items():
                # Categories are renumbered in order.
                column, order = names.index(parameter), sorted_names(codes)
                renumbered = np.array([order.index(of) for of in codes])
                table[:, column] = renumbered[table[:, column].astype(np.intp)]
            tables.append(table)
        tasks = np.array(configuration, dtype=np.int64)
        return kernel_of[tasks], row_of[tasks], tuple(tables)


def assembled(
    name: str,
    arguments: Mapping[str, Any],
    model_names: Mapping[str, str],
    register: ConfigurationRegister,
    configuration: array[int] | Int64,
    priority: Int32,
    handles: HandleRegister,
    accesses: Accesses,
    successors: tuple[Int64, Int32],
    hints: tuple[Int32, Int32],
) -> TaskGraph:
    """Return the graph after checks.

    *configuration* and *priority* are per task; *successors* are pointers and tasks, as in a
    sparse matrix; *hints* are handles, and the tasks after which they are no longer used.
    """
    kernel, row, tables = register.tables(configuration)
    names = register.parameter_names
    sizes, homes = handles.columns()
    graph = TaskGraph(
        name=name,
        arguments=dict(arguments),
        kernels=tuple(names),
        parameter_names=tuple(names.values()),
        parameters=tables,
        model_names=tuple(model_names.get(kernel, kernel) for kernel in names),
        kernel=kernel,
        row=row,
        priority=priority,
        access_ptr=accesses.pointers(len(priority)),
        access_handle=accesses.handle,
        access_mode=accesses.mode,
        successor_ptr=successors[0],
        successors=successors[1],
        handle_size=sizes,
        handle_home=homes,
        handle_blocks=tuple(handles.blocks),
        hint_handle=hints[0],
        hint_after=hints[1],
        categories=register.categories,
    )
    graph.validate()
    return graph


def _are_amounts(values: Iterable[object]) -> bool:
    """Return whether all *values* are plain legal numbers; other types may be legal, too."""
    return all(
        (value.__class__ is int or value.__class__ is float) and 0 <= value <= LARGEST_FLOAT
        for value in values
    )
