"""Generators of task graphs by name, from tasksim, other packages and the user.

A generator is a function that returns a :class:`~tasksim.graph.taskgraph.TaskGraph`; its annotated
parameters are its settings::

    @generator("wavefront")
    def wavefront(tiles: Count, tile_size: Count = 256) -> TaskGraph:
        \"\"\"Return ...\"\"\"

Another package adds such a function, decorated or not, by an entry point of the group
``tasksim.generators``, and an application by one of the group ``tasksim.applications``; a user's
own function is called ``MODULE:FUNCTION``.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_type_hints

from tasksim.base.errors import GraphError, InputError, expect, unknown
from tasksim.base.registry import Registry, is_own
from tasksim.graph.apps.parameters import Parameter, Value, parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "GENERATORS",
    "PRIORITIES_PARAMETER",
    "Generator",
    "find",
    "generate",
    "generator",
    "generators",
    "name_and_settings",
    "names",
    "names_generator",
    "parse",
    "parse_settings",
]

Function = TypeVar("Function", bound="Callable[..., TaskGraph]")

PRIORITIES_PARAMETER = Parameter("priorities", str, "app", choices=("app", "bottom-level", "none"))
"""Parameter of all generators."""

SETTING_AT_END: Final = re.compile(r"(.*\S)\s+([^\s=]+=\S*)", re.DOTALL)
"""Pattern of a text and the setting at its end."""


@dataclass(frozen=True)
class Generator:
    """A registered generator.

    Attributes
    ----------
    name
        Name of the generator.
    function
        Function that returns the graph, with the application's priorities.
    parameters
        The settings, including ``priorities``.
    executor
        Native executor of its graphs, ``executor(graph, workers, seed)``, if the generator has one.
    """

    name: str
    function: Callable[..., TaskGraph]
    parameters: tuple[Parameter, ...]
    executor: Callable[[TaskGraph, int, int], Any] | None = None

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        lines = (self.function.__doc__ or "").strip().splitlines()
        return lines[0] if lines else ""

    def complete(self, arguments: Mapping[str, object]) -> dict[str, Value]:
        """Return the converted *arguments*, completed by defaults.

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
                    f"give {parameter.name}=VALUE, "
                    f"{'one of ' if parameter.choices else ''}{parameter.legal}"
                )
        defaults = {name: p.default for name, p in known.items() if p.default is not None}
        values = defaults | given
        return {name: values[name] for name in known if name in values}

    def __call__(self, **arguments: object) -> TaskGraph:
        """Return the graph for *arguments*; see :meth:`complete`."""
        values: dict[str, Any] = self.complete(arguments)
        own = {name: value for name, value in values.items() if name != PRIORITIES_PARAMETER.name}
        try:
            made = self.function(**own)
        except GraphError as error:
            raise GraphError(f"{self.name}: {error}") from error
        if (priorities := values[PRIORITIES_PARAMETER.name]) != "app":
            from tasksim.graph.apps.priorities import with_priorities

            made = with_priorities(made, priorities)
        return replace(made, name=self.name, arguments=values)


def _adopt(name: str, found: Any) -> Generator:
    """Return the generator of the function *found*; refuse functions not annotated as generators.

    Only functions annotated to return a graph are ever called.
    """
    where = f"generator '{name}'"
    if isinstance(made := getattr(found, "generator", None), Generator):  # an application
        return replace(made, name=name)
    if not inspect.isfunction(found):
        raise InputError(f"{where}: {found!r} is not a function that returns a TaskGraph")
    try:
        returned = get_type_hints(found).get("return")
        parameters = (*parameters_of(found), PRIORITIES_PARAMETER)
    except (InputError, NameError, TypeError) as error:
        raise InputError(f"{where}: its annotations cannot be read: {error}") from error
    from tasksim.graph.taskgraph import TaskGraph

    if not (isinstance(returned, type) and issubclass(returned, TaskGraph)):
        raise InputError(
            f"{where}: the function is not annotated to return a graph; legal: def"
            f" {found.__name__}(...) -> TaskGraph"
        )
    return Generator(name, found, parameters)


GENERATORS: Registry[Generator] = Registry(
    "generator",
    ("tasksim.generators", "tasksim.applications"),
    {
        "cholesky": "tasksim.graph.apps.cholesky:cholesky",
        "lu": "tasksim.graph.apps.lu:lu",
        "qr": "tasksim.graph.apps.qr:qr",
        "chain": "tasksim.graph.apps.synthetic:chain",
        "fork-join": "tasksim.graph.apps.synthetic:fork_join",
        "random-layered": "tasksim.graph.apps.synthetic:random_layered",
        "random-graph": "tasksim.graph.apps.random_graph:random_graph",
        "fmm": "tasksim.graph.apps.fmm:fmm",
        "loop": "tasksim.applications.loop:loop",
        "bulk-cholesky": "tasksim.graph.apps.bulk_synchronous:bulk_cholesky",
        "recursive-cholesky": "tasksim.graph.apps.recursive_cholesky:recursive_cholesky",
        "pipelined-qr": "tasksim.graph.apps.pipelined_qr:pipelined_qr",
        "summa": "tasksim.graph.apps.bulk_synchronous:summa",
        "cg": "tasksim.graph.apps.stencils:conjugate_gradient",
        "jacobi": "tasksim.graph.apps.stencils:jacobi",
        "mg": "tasksim.applications.nas.multigrid:mg",
        "ft": "tasksim.applications.nas.fourier:ft",
        "ssor": "tasksim.applications.nas.sweeps:ssor",
        "adi": "tasksim.applications.nas.lines:adi",
        "ep": "tasksim.applications.nas.pairs:ep",
        "collective": "tasksim.network.collectives.tasks:collective",
    },
    _adopt,
)
"""All generators, by name."""


def generator(name: str) -> Callable[[Function], Function]:
    """Register the decorated function as the generator *name*.

    Parameters
    ----------
    name : str
        Name of the generator.

    Raises
    ------
    InputError
        If another generator has that name, or the annotations are wrong: parameters need int,
        float, str or choices of text, the result ``TaskGraph``.

    See Also
    --------
    generate : Make a graph by the name of its generator.

    Examples
    --------
    >>> from tasksim import GraphBuilder, TaskGraph
    >>> @generator("two-steps")
    ... def two_steps(tiles: int) -> TaskGraph:
    ...     g = GraphBuilder("two-steps")
    ...     for _ in range(2 * tiles):
    ...         g.insert("step")
    ...     return g.build()
    >>> generate("two-steps", tiles=3)
    <TaskGraph two-steps: 6 tasks, 0 edges>
    """

    def register(function: Function) -> Function:
        GENERATORS.add(name, function)
        return function

    return register


def names() -> list[str]:
    """Return the names of all generators, without importing them."""
    return GENERATORS.names()


def names_generator(text: str) -> bool:
    """Return whether *text* names a generator: registered, ``MODULE:NAME`` or ``FILE.py:NAME``."""
    expect(text, str, "task graph")
    if text in GENERATORS or text.endswith(".py"):
        return True
    if not is_own(text):
        return False
    from tasksim.base.files import is_file

    return not is_file(Path(text))


def find(name: str) -> Generator:
    """Return the generator *name*, which may be the user's own ``MODULE:FUNCTION``.

    Raises
    ------
    InputError
        If there is none, with the nearest name.
    """
    return GENERATORS.resolve(name)


def generators() -> list[Generator]:
    """Return all working generators, in the order of :func:`names`."""
    return list(GENERATORS.items().values())


def generate(name: str, /, **arguments: object) -> TaskGraph:
    """Return the graph of generator *name* for *arguments*.

    The graph's ``arguments`` are complete: with them, the same call gives the same graph.

    Parameters
    ----------
    name : str
        A registered name, or ``MODULE:FUNCTION``.
    **arguments : int, float or str
        Arguments of the generator; numbers may be texts.

    Raises
    ------
    InputError
        If the generator or an argument is unknown, a value illegal, or a required one missing.

    See Also
    --------
    generator : Register a function.
    load_graph : Load a graph by name or from a file.

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


def name_and_settings(text: str) -> tuple[str, list[str]]:
    """Return the name of a graph and its settings; a path may contain blanks.

    >>> name_and_settings("cholesky tiles=4 tile_size=64")
    ('cholesky', ['tiles=4', 'tile_size=64'])
    >>> name_and_settings("/home/some one/stencil.py n=96")
    ('/home/some one/stencil.py', ['n=96'])
    """
    first, *settings = text.split() or [text]
    if not settings or names_generator(first):
        return first, settings
    name, settings = text.strip(), []
    while (found := SETTING_AT_END.fullmatch(name)) is not None:
        name, settings = found[1], [found[2], *settings]
    return name, settings


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
            legal = f"KEY=VALUE with KEY one of {', '.join(known)}"
            first = next((p.name for p in find(name).parameters if p.required), None)
            if first is None or not setting[:1].isdigit():
                raise InputError(f"{name}: got '{setting}'; legal: {legal}")
            raise InputError(
                f"{name}: got '{setting}', did you mean '{first}={setting}'? (legal: {legal})"
            )
        if key in arguments:
            raise InputError(f"{name}: {key} is given twice: {arguments[key]} and {value}")
        arguments[key] = value
    return find(name).complete(arguments)
