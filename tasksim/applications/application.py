"""Applications: functions that insert tasks, for simulation and execution.

::

    @tasksim.application("stencil")
    def stencil(g, n=4096, steps=50, blocks=16):
        x = g.cut("x", n, blocks)
        for _ in range(steps):
            for i in range(blocks):
                g.insert(smooth, x[i], x.get(i - 1), x.get(i + 1))

An application generates task graphs and executes them, as the shipped generators do.
"""

from __future__ import annotations

import inspect
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.flow import TaskFlow
from tasksim.applications.program import FlowProgram
from tasksim.base.errors import InputError, TasksimError, short
from tasksim.base.registry import raised_text
from tasksim.graph.apps.parameters import Parameter, parameters_of
from tasksim.graph.apps.registry import GENERATORS, PRIORITIES_PARAMETER, Generator

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Application", "application"]


class Application:
    """A function that inserts the tasks of an application, and its settings.

    Parameters
    ----------
    name : str
        Name of the application.
    function : callable
        ``function(g, ...)``: *g* is a :class:`TaskFlow`; the other parameters are settings, whose
        types are annotations or those of defaults.

    Attributes
    ----------
    generator : Generator
        Generator of its graphs.

    See Also
    --------
    application : Make and register an application.
    """

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        self.name = name
        self.function = function
        parameters = (*_settings(function, name), PRIORITIES_PARAMETER)

        def graph(**settings: Any) -> TaskGraph:
            return self._flow(recording=False, **settings).graph()

        update_wrapper(graph, function)  # it has the name and the docstring of the function
        update_wrapper(self, function, updated=())
        self.generator = Generator(name, graph, parameters, self.program)

    def __repr__(self) -> str:
        return f"<Application {self.name}>"

    def __call__(self, **settings: object) -> TaskGraph:
        """Return its task graph, without making data or calling kernels."""
        return self.generator(**settings)

    def program(
        self,
        graph: TaskGraph,
        workers: int,
        seed: int = 0,
        held: NDArray[np.integer] | None = None,
    ) -> FlowProgram:
        """Return the program of *graph*, a graph of this application, with data and kernels.

        If *held* lists the needed data, only these are made.

        Raises
        ------
        InputError
            If the application now makes another graph of these settings, or the data cannot be
            made.
        """
        settings = {k: v for k, v in graph.arguments.items() if k != PRIORITIES_PARAMETER.name}
        flow = self._flow(recording=True, **settings)
        again = flow.graph()
        same = graph.kernels == again.kernels and all(
            np.array_equal(getattr(graph, column), getattr(again, column))
            for column in ("kernel", "access_ptr", "access_handle", "access_mode", "handle_size")
        )
        if not same:
            raise InputError(
                f"graph {graph.name}: the application now makes another graph of the same settings;"
                " its random numbers must come from a seed among the settings"
            )
        return FlowProgram(graph, flow, workers, seed, held)

    program.holds_parts = True  # type: ignore[attr-defined]

    def _flow(self, *, recording: bool, **settings: Any) -> TaskFlow:
        flow = TaskFlow(self.name, recording=recording)
        try:
            returned = self.function(flow, **settings)
        except TasksimError:
            raise
        except Exception as error:
            raise InputError(f"application {self.name}: {raised_text(error)}") from error
        if returned is not None:
            raise InputError(
                f"application {self.name} returned {short(returned)}; legal: None, as its tasks go"
                " into the flow"
            )
        return flow


def application(name: str) -> Callable[[Callable[..., object]], Application]:
    """Register the decorated function as the application *name*.

    Parameters
    ----------
    name : str
        Name of the application once its module is imported; otherwise it is ``MODULE:FUNCTION``, or
        ``FILE.py:FUNCTION``.

    Returns
    -------
    callable
        The decorator, which returns an :class:`Application`; called with settings, that returns a
        task graph.

    Raises
    ------
    InputError
        If another application has that name, or parameters of the function have neither annotations
        nor defaults.

    See Also
    --------
    kernel : Declare the function of tasks.
    generator : Register a function that only makes graphs.

    Examples
    --------
    >>> import tasksim
    >>> from tasksim import RW, R
    >>> @tasksim.kernel
    ... def add(total: RW, part: R): total += part
    >>> @tasksim.application("adding")
    ... def adding(g, parts=4):
    ...     total = g.array("total")
    ...     for part in g.arrays("part", [()] * parts, initial=1.0):
    ...         g.insert(add, total, part)
    ...     g.check(lambda results: abs(results[total] - parts), tolerance=0, what="sum")
    >>> adding(parts=3)
    <TaskGraph adding: 3 tasks, 2 edges>
    >>> tasksim.execute("adding parts=3", workers=1, check=True).kind
    'native'
    """

    def register(function: Callable[..., object]) -> Application:
        made = Application(name, function)
        GENERATORS.add(name, made)
        return made

    return register


def _settings(function: Callable[..., object], name: str) -> tuple[Parameter, ...]:
    """Return the settings of an application's *function*: its parameters except the first."""
    if not inspect.isfunction(function):
        raise InputError(f"application {name}: got {short(function)}; legal: a function")
    if not inspect.signature(function).parameters:
        raise InputError(f"application {name}: its function has no parameter; legal: def {name}(g)")
    try:
        return parameters_of(function, skip=1, by_default=True)
    except (InputError, NameError, TypeError) as error:
        raise InputError(f"application {name}: {error}") from error
