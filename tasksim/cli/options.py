"""Options that all commands share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from shlex import split
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from tasksim.base import numerals
from tasksim.base.errors import InputError, TasksimError, unknown
from tasksim.platform.description import MAX_WORKERS

__all__ = [
    "FOLDER",
    "FREQUENCY",
    "PATH",
    "SHARE",
    "TIME",
    "WORKERS",
    "WholeNumber",
    "auto_option",
    "automatic",
    "cluster_options",
    "completing",
    "design_option",
    "dtype_option",
    "force_option",
    "given_parameters",
    "graph_argument",
    "html_option",
    "json_option",
    "library_option",
    "library_output_option",
    "output_option",
    "refuse_missing",
    "result_options",
    "samples_output_option",
    "scenario_options",
    "scheduler_option",
    "seed_option",
    "settings_by_name",
    "terms_by_kernel",
    "trust_option",
    "until_share",
]

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tasksim.base.units import Dimension
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.scenario.scenario import Scenario

    FloatType = click.ParamType[float]
else:
    FloatType = click.ParamType  # not a generic class in click 8.2


# Completion of names in shells. Click itself completes commands, options and their choices; it asks
# while a user types, so nothing of a user's is imported meanwhile.


def completing(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return the completion of a parameter, for its ``shell_complete``.

    It returns the names of a *kind*, ``graph``, ``setting``, ``scheduler``, ``platform`` or
    ``models``, that begin with the user's word; without such names, files, where they are legal.
    """

    def complete(ctx: click.Context, _param: click.Parameter, word: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # only shells need it

        names, files = _NAMES[kind]
        found = [CompletionItem(name) for name in names(ctx) if name.startswith(word)]
        return found or [CompletionItem(word, type="file")] * files

    return complete


def _graphs(ctx: click.Context) -> Iterable[str]:  # noqa: ARG001
    from tasksim.graph.apps.registry import GENERATORS

    return GENERATORS.names()


def _settings(ctx: click.Context) -> Iterable[str]:
    """Return ``KEY=`` of the generator that the command line names, without those given."""
    from tasksim.graph.apps.registry import GENERATORS

    name = ctx.params.get("graph")
    if not isinstance(name, str) or name not in GENERATORS:
        return []
    try:
        parameters = GENERATORS.find(name).parameters
    except TasksimError:  # a broken one of another package
        return []
    given = {text.partition("=")[0] for text in ctx.params.get("settings") or ()}
    return [f"{p.name}=" for p in parameters if p.name not in given]


def _schedulers(ctx: click.Context) -> Iterable[str]:  # noqa: ARG001
    from tasksim.schedulers.registry import SCHEDULERS

    return SCHEDULERS.names()


def _platforms(ctx: click.Context) -> Iterable[str]:
    from tasksim.base.library import names

    found = names("platforms", ".yaml", ctx.params.get("library"))
    return [name for name, path in found.items() if path.is_file()]


def _models(ctx: click.Context) -> Iterable[str]:
    from tasksim.base.library import names

    found = names("models", library=ctx.params.get("library"))
    return [name for name, path in found.items() if path.is_dir()]


_NAMES: Final[dict[str, tuple[Callable[[click.Context], Iterable[str]], bool]]] = {
    "graph": (_graphs, True),
    "setting": (_settings, False),
    "scheduler": (_schedulers, False),
    "platform": (_platforms, True),
    "models": (_models, True),
}
"""The names of each kind, and whether a file is legal in their place."""


class ShareType(FloatType):
    """A share of a whole, such as ``5%`` or ``0.05``."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share as a fraction."""
        if isinstance(value, float):
            return value
        number, percent, rest = str(value).strip().partition("%")
        plain = numerals.decimal_number(number.strip())
        share = -1.0 if plain is None else plain / (100.0 if percent else 1.0)
        # Without the sign, values above 1 might be percentages.
        if rest or not 0 <= share < (float("inf") if percent else 1):
            self.fail(f"{value!r} is not a share: write e.g. '5%' or '0.05'", param, ctx)
        return share


class Quantity(FloatType):
    """A number above 0 with its unit, such as ``60s`` or ``2.6GHz``, in seconds or hertz.

    *name* is its dimension, as :func:`tasksim.base.units.parse_quantity` has it.
    """

    def __init__(self, name: Dimension) -> None:
        self.name = name
        self._dimension = name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number in the unit that is computed with."""
        from tasksim.base.units import parse_quantity

        if isinstance(value, float):
            return value
        try:
            number = parse_quantity(value, self._dimension)
        except InputError as error:
            self.fail(str(error), param, ctx)
        if number <= 0:
            self.fail(f"{value!r}: must be more than 0", param, ctx)
        return number


class WholeNumber(click.IntRange):
    """A whole number within limits, called "integer" in messages and not "integer range"."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; ``010`` and ``1_0`` are none."""
        if isinstance(value, str) and numerals.whole_number(value.strip()) is None:
            self.fail(f"{value!r} is not a valid integer.", param, ctx)
        return super().convert(value, param, ctx)


PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
SHARE, TIME, FREQUENCY = ShareType(), Quantity("time"), Quantity("frequency")
WORKERS = WholeNumber(1, MAX_WORKERS)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)
force_option = click.option("--force", is_flag=True, help="Replace existing files and folders.")
html_option = click.option(
    "--html",
    type=PATH,
    help="Page to explore the runs in a browser, offline: one .html file.",
)
library_option = click.option(
    "--library",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Library to search before the others: a folder with platforms/ and models/.",
)
samples_output_option = click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help="CSV file for the samples; for an application, a folder of such files, one per kernel.",
)
design_option = click.option(
    "--design",
    type=click.Choice(["lhs", "random", "grid"]),
    default="lhs",
    help="Design of the configurations: a Latin hypercube (lhs), independent draws (random), or"
    " even spacing with both ends (grid).",
)
dtype_option = click.option(
    "--dtype",
    type=click.Choice(["float64", "float32"]),
    help="Type of the kernel's numbers. [default: that of KERNEL]",
)
trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Import modules that a recorded run names as MODULE:NAME; otherwise only registered names"
    " are legal.",
)
seed_option = click.option(
    "--seed",
    type=WholeNumber(min=0),
    default=0,
    help="Seed of random choices and draws; the same seed gives the same result.",
)


auto_option = click.option(
    "--auto",
    type=PATH,
    metavar="FILE",
    help="Source of the values of KEY=auto and --scheduler auto: a tree of 'tasksim study tree',"
    " or a result of 'tasksim tune' or 'tasksim autotune'; all .json.",
)


for_option = click.option(
    "--for",
    "predicted",
    multiple=True,
    metavar="'GRAPH KEY=VALUE...'",
    help="Task graph to predict: where the sizes of its tasks were not measured, models are judged"
    " by their extrapolation, too. May be repeated.",
)


def scheduler_option(default: str) -> Decorator:
    """Return the option ``--scheduler``."""
    return click.option(
        "--scheduler",
        default=default,
        shell_complete=completing("scheduler"),
        help="Scheduler: a name (see 'tasksim list schedulers'), NAME:OPTION=VALUE, or"
        " MODULE:CLASS.",
    )


def automatic(scenario: Scenario, file: Path | None) -> Scenario:
    """Return the scenario with every ``auto`` replaced by the choice of *file*, and print it."""
    if file is None:
        return scenario
    from tasksim.cli.output import note
    from tasksim.tuning.automatic import settled

    found, chosen = settled(scenario, file)
    note("chosen    " + " ".join(f"{n.removeprefix('graph.')}={v}" for n, v in chosen.items()))
    return found


def output_option(help: str, *, required: bool = False) -> Decorator:  # noqa: A002 - as click
    """Return the option ``--output``, for a file or a folder."""
    return click.option("-o", "--output", type=PATH, required=required, help=help)


def library_output_option(help: str) -> Decorator:  # noqa: A002 - as click
    """Return the option ``--output`` for the *library* that gets the results."""
    return click.option(
        "-o",
        "--output",
        "library",
        type=FOLDER,
        default=Path(),
        show_default="the current folder",
        help=help,
    )


def given_parameters(ctx: click.Context) -> list[click.Parameter]:
    """Return the parameters of a command that its command line gives."""
    return [
        parameter
        for parameter in ctx.command.params
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        and ctx.params.get(parameter.name or "") != ()  # click says that of no arguments, too
    ]


def graph_argument(*, required: bool = True) -> Decorator:
    """Return the arguments GRAPH and KEY=VALUE."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.argument(
            "settings", nargs=-1, metavar="[KEY=VALUE]...", shell_complete=completing("setting")
        )(function)
        metavar = "GRAPH" if required else "[GRAPH]"
        return click.argument(
            "graph", required=required, metavar=metavar, shell_complete=completing("graph")
        )(function)

    return decorate


def result_options(function: F) -> F:
    """Add the options that say where results go."""
    gantt = click.option(
        "--gantt", type=PATH, help="Gantt chart to draw: a .png, .pdf or .svg file."
    )
    output = click.option("-o", "--output", type=PATH, help="New folder for the run.")
    for option in (json_option, force_option, gantt, output):
        function = option(function)
    return function


_NODE_OPTIONS = (
    click.option(
        "--network",
        help="Network between the nodes: switch:bandwidth=12.5GB/s,latency=1us (see 'tasksim"
        " list topologies'), a name, or a file, also SimGrid's (.xml).",
    ),
    click.option(
        "--nodes", type=WholeNumber(min=1), help="Number of nodes; each is a copy of the platform."
    ),
    click.option(
        "--grid", metavar="PxQ", help="Rows and columns of nodes: 2x4. [default: nearly square]"
    ),
    click.option(
        "--owner",
        default="row",
        show_default="row",
        metavar="NAME",
        help="Distribution of the data over nodes: row, column (major), diamond,"
        " round-robin, morton, partitioned, metis, parameter. The owner of what a task"
        " writes executes it.",
    ),
)

_SCENARIO_OPTIONS = (
    click.option(
        "--platform",
        shell_complete=completing("platform"),
        help="Platform: a name (see 'tasksim list platforms'), or a file.",
    ),
    click.option(
        "--workers",
        type=WORKERS,
        help="Number of identical workers without overheads, instead of a platform.",
    ),
    click.option(
        "--models",
        shell_complete=completing("models"),
        help="Kernel models: a folder, by name or path, or a file.",
    ),
    click.option(
        "--durations",
        metavar="KERNEL=TIME,...",
        help="Duration per kernel, in seconds or with a unit, used instead of its model;"
        " cuda:gemm=3ms on one architecture, *=1s for all other kernels. For a recorded run:"
        " 'measured', 'means', or 'alone', the measured durations without the time that other"
        " programs took.",
    ),
    click.option(
        "--model-names",
        metavar="NAMES",
        help="Names of models that differ from the kernels': 'prefix_{kernel}', "
        "KERNEL=MODEL,..., or a YAML file with such a mapping.",
    ),
    library_option,
    click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="PATH=VALUE",
        help="Change of the platform, platform.workers.cpu.count=24, of the network between nodes,"
        " network.links.*.latency=x2, or of the simulation, engine.submission=recorded; may be"
        " repeated.",
    ),
)


def scenario_options(function: F) -> F:
    """Add the options for the platform and the durations, gathered in one *scenario*."""
    names = ("platform", "workers", "models", "durations", "model_names", "library", "changes")

    def gathered(*args: Any, graph: str | None, settings: tuple[str, ...], **given: Any) -> Any:
        from tasksim.scenario.scenario import Scenario

        where = {name: given.pop(name) for name in names}
        return function(*args, scenario=Scenario(graph or "", settings, **where), **given)

    return _with_options(_SCENARIO_OPTIONS, gathered, function)


def cluster_options(function: F) -> F:
    """Add the options that put a *scenario* on several nodes."""
    names = ("network", "nodes", "grid", "owner")

    def gathered(*args: Any, scenario: Scenario, **given: Any) -> Any:
        words = {name: given.pop(name) for name in names}
        if any(words[name] is not None for name in names[:3]) or words["owner"] != "row":
            scenario = scenario.vary(**words)
        return function(*args, scenario=scenario, **given)

    return _with_options(_NODE_OPTIONS, gathered, function)


def _with_options(options: tuple[Decorator, ...], gathered: Any, function: F) -> F:
    """Return *gathered*, which calls *function*, with the name, the options and more *options*."""
    gathered.__doc__, gathered.__name__ = function.__doc__, function.__name__
    gathered.__click_params__ = getattr(function, "__click_params__", [])
    for option in reversed(options):
        gathered = option(gathered)
    return gathered  # type: ignore[no-any-return]


def until_share(text: str | None, what: str, example: str) -> float | None:
    """Return the share in ``WHAT:SHARE``, the text of ``--until``; None without a text.

    >>> until_share("error:5%", "error", "5%")
    0.05
    """
    if text is None:
        return None
    found, _, share = text.partition(":")
    if found != what or not share:
        raise click.BadParameter(
            f"got '{text}'; legal: {what}:SHARE, as {what}:{example}", param_hint="--until"
        )
    return float(SHARE.convert(share, None, None))


def graphs_for(texts: Iterable[str]) -> list[TaskGraph]:
    """Return the graphs that ``--for`` names.

    Raises
    ------
    InputError
        If there is no such graph.
    """
    from tasksim.formats.graphs import load_graph

    graphs = []
    for text in texts:
        try:
            name, *settings = split(text)
        except ValueError:
            raise InputError(
                f"--for: got {text!r}; legal: a graph and its settings, such as 'cholesky tiles=40'"
            ) from None
        try:
            graphs.append(load_graph(name, settings))
        except InputError as error:
            raise InputError(f"--for: {error}") from error
    return graphs


def settings_by_name(
    texts: Iterable[str],
    known: Collection[str],
    what: str,
    where: str,
    short: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return name -> value for texts such as ``m=256``.

    Parameters
    ----------
    texts : iterable of str
    known : collection of str
        Legal names.
    what, where : str
        Kind of the names, ``parameter``, and the model that has them, for messages.
    short : mapping, default {}
        Short forms of names.

    Raises
    ------
    InputError
        If a text has no name or no value, or a name is unknown or given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        name = short.get(name, name)
        if not equals or not value:
            raise InputError(f"got '{text}'; legal: {what.upper()}=VALUE")
        if name not in known:
            raise unknown(what, name, known, where)
        if name in found:
            raise InputError(f"{where}: {name} is given twice")
        found[name] = value
    return found


def refuse_missing(wanted: Iterable[str], given: Collection[str], where: str) -> None:
    """Raise :exc:`InputError` if one of the *wanted* names is not *given*."""
    if missing := [name for name in wanted if name not in given]:
        settings = " ".join(f"{name}=VALUE" for name in missing)
        raise InputError(f"{where}: {', '.join(missing)} missing; give {settings} as well")


def terms_by_kernel(texts: Iterable[str], *words: str) -> dict[str, str]:
    """Return kernel -> terms for texts such as ``M2L_in=Level + NbCells``; *words* are left out.

    Raises
    ------
    InputError
        If a text is neither, or a kernel is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        kernel, _, terms = (part.strip() for part in text.partition("="))
        if text in words:
            continue
        if not (kernel and terms):
            legal = ", or ".join(["KERNEL=TERMS, e.g. 'gemm=m*n*k + m*n'", *map(repr, words)])
            raise InputError(f"--terms: got '{text}'; legal: {legal}")
        if kernel in found:
            raise InputError(f"--terms: {kernel} is given twice; all its terms go into one text")
        found[kernel] = terms
    return found
