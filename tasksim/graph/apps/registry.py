"""Generators of task graphs, by name.

A generator is a function that returns a :class:`~tasksim.graph.taskgraph.TaskGraph`; its
annotated parameters are what users can set::

    @generator("wavefront")
    def wavefront(tiles: Count, tile_size: Count = 256) -> TaskGraph:
        \"\"\"Return ...\"\"\"
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from tasksim.base.errors import GraphError, InputError, expect, unknown
from tasksim.graph.apps.parameters import Parameter, Value, parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "Generator",
    "find",
    "generate",
    "generator",
    "generators",
    "names",
    "parse",
    "parse_settings",
]

Function = TypeVar("Function", bound="Callable[..., TaskGraph]")

# Those that come with tasksim, and the modules that register them: imported when asked for,
# so that the command line starts without NumPy.
_BUILT_IN: Mapping[str, str] = {
    "cholesky": "tasksim.graph.apps.cholesky",
    "lu": "tasksim.graph.apps.lu",
    "qr": "tasksim.graph.apps.qr",
    "chain": "tasksim.graph.apps.synthetic",
    "fork-join": "tasksim.graph.apps.synthetic",
    "random-layered": "tasksim.graph.apps.synthetic",
    "fmm": "tasksim.graph.apps.fmm",
}
_PRIORITIES = Parameter("priorities", str, "app", choices=("app", "bottom-level", "none"))


@dataclass(frozen=True)
class Generator:
    """A registered generator.

    Attributes
    ----------
    name
        What users call it.
    function
        Returns the graph, with the application's priorities.
    parameters
        What users can set, ``priorities`` included.
    """

    name: str
    function: Callable[..., TaskGraph]
    parameters: tuple[Parameter, ...]

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        lines = (self.function.__doc__ or "").strip().splitlines()
        return lines[0] if lines else ""

    def complete(self, arguments: Mapping[str, object]) -> dict[str, Value]:
        """Return *arguments* converted, with the defaults of those that are not given.

        Raises
        ------
        InputError
            If a name is unknown, a value illegal, or a required one missing.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in arguments:
            if name not in known:
                raise unknown("parameter", name, known, self.name)
        given = {
            name: known[name].convert(value, self.name)
            for name, value in arguments.items()
            if value is not None
        }
        for parameter in self.parameters:
            if parameter.required and parameter.name not in given:
                raise InputError(
                    f"{self.name}: {parameter.name} is missing; "
                    f"give {parameter.name}=VALUE, {parameter.legal}"
                )
        defaults = {name: p.default for name, p in known.items() if p.default is not None}
        values = defaults | given
        return {name: values[name] for name in known if name in values}

    def __call__(self, **arguments: object) -> TaskGraph:
        """Return the graph for *arguments*; see :meth:`complete`."""
        from tasksim.graph.apps.priorities import with_priorities

        values: dict[str, Any] = self.complete(arguments)
        own = {name: value for name, value in values.items() if name != _PRIORITIES.name}
        try:
            made = self.function(**own)
        except GraphError as error:
            raise GraphError(f"{self.name}: {error}") from error
        graph = with_priorities(made, values[_PRIORITIES.name])
        return replace(graph, name=self.name, arguments=values)


_registered: dict[str, Generator] = {}


def generator(name: str) -> Callable[[Function], Function]:
    """Register the decorated function as the generator *name*."""

    def register(function: Function) -> Function:
        home = f"{function.__module__}.{function.__qualname__}"
        taken = _registered.get(name)
        if taken and f"{taken.function.__module__}.{taken.function.__qualname__}" != home:
            raise InputError(f"generator '{name}' exists already; choose another name for {home}")
        parameters = (*parameters_of(function), _PRIORITIES)
        _registered[name] = Generator(name, function, parameters)
        return function

    return register


def names() -> list[str]:
    """Return the names of all generators, without importing them."""
    return list(dict.fromkeys([*_BUILT_IN, *_registered]))


def find(name: str) -> Generator:
    """Return the generator *name*.

    Raises
    ------
    InputError
        If there is none; with the nearest name.
    """
    expect(name, str, "generator")
    if name not in _registered and name in _BUILT_IN:
        import_module(_BUILT_IN[name])
    if name not in _registered:
        raise unknown("generator", name, names())
    return _registered[name]


def generators() -> list[Generator]:
    """Return all generators, in the order of :func:`names`."""
    return [find(name) for name in names()]


def generate(name: str, /, **arguments: object) -> TaskGraph:
    """Return the graph of generator *name* for *arguments*.

    The graph's ``arguments`` are complete: with them, the same call gives the same graph.

    Raises
    ------
    InputError
        If the generator or an argument is unknown, a value illegal, or a required one missing.

    Examples
    --------
    >>> generate("cholesky", tiles=4)
    <TaskGraph cholesky: 20 tasks, 30 edges>
    """
    return find(name)(**arguments)


def parse(name: str, settings: Iterable[str]) -> TaskGraph:
    """Return the graph of generator *name* for *settings* such as ``tiles=20``.

    Raises
    ------
    InputError
        As :func:`generate`; also if a setting is not ``KEY=VALUE`` or given twice.

    Examples
    --------
    >>> parse("cholesky", ["tiles=4", "priorities=none"])
    <TaskGraph cholesky: 20 tasks, 30 edges>
    """
    return find(name)(**parse_settings(name, settings))


def parse_settings(name: str, settings: Iterable[str]) -> dict[str, Value]:
    """Return the complete arguments of generator *name* for *settings*, without the graph.

    Raises
    ------
    InputError
        As :func:`parse`.
    """
    known = [parameter.name for parameter in find(name).parameters]
    arguments: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError(
                f"{name}: got '{setting}'; legal: KEY=VALUE with KEY one of {', '.join(known)}"
            )
        if key in arguments:
            raise InputError(f"{name}: {key} is given twice: {arguments[key]} and {value}")
        arguments[key] = value
    return find(name).complete(arguments)
