"""Values of a scenario in one form, checked and varied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeVar, overload

from tasksim.base.arguments import flag, one_of, whole_number
from tasksim.base.errors import InputError, option, short, unknown
from tasksim.graph.apps.registry import name_and_settings, names_generator
from tasksim.graph.taskgraph import TaskGraph
from tasksim.platform.description import MAX_WORKERS, Platform
from tasksim.run.record import Run
from tasksim.scenario.durations import durations_of

if TYPE_CHECKING:
    from tasksim.engine.durations import Models
    from tasksim.engine.pricing import Noise
    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.models.modelnames import ModelNames
    from tasksim.native.runtimes import Runtime
    from tasksim.network.clusterfile import ClusterFile
    from tasksim.scenario.durations import Durations
    from tasksim.schedulers.base import Scheduler

    AnyGraph = str | Path | TaskGraph | Run
    AnyPlatform = str | Path | Platform
    AnyModels = str | Path | Models | Mapping[str, Any]
    AnyScheduler = str | Scheduler | type[Scheduler]
    AnyDurations = str | Mapping[str, Any] | Sequence[tuple[str, float]]
    AnyModelNames = str | Path | Mapping[str, str] | Sequence[tuple[str, str]]

__all__ = [
    "CLOCKS",
    "ENGINE_OPTIONS",
    "NODE_FIELDS",
    "NOISES",
    "ClockKind",
    "Setup",
    "is_plain",
]

Given = TypeVar("Given")
Kept = TypeVar("Kept")

ClockKind = Literal["simulated", "native"]
CLOCKS: tuple[ClockKind, ...] = ("simulated", "native")
NOISES: tuple[Noise, ...] = ("none", "model")

ENGINE_OPTIONS: Final = {
    "simultaneous_pushes": ("serial", "blind"), "submission": ("costs", "recorded"),
    "far_data": ("charged", "mean"),
}  # fmt: skip
"""Options of ``--set engine.OPTION=VALUE``, and their legal values."""

NODE_FIELDS: Final = ("network", "nodes", "grid", "owner")
"""Fields of a scenario that put it on several nodes."""
MAX_NODES: Final = 65_536
"""Maximum number of nodes, as in :mod:`tasksim.network.cluster`, which few commands import."""
_PATHS: Final = ("graph.", "platform.", "network.", "engine.")
"""Prefixes of paths that do not name a parameter of the scenario."""


class InForm(Generic[Given, Kept]):
    """A field that converts its value to one form when it is set, such as a path to text."""

    def __init__(self, form: Callable[[Given], Any], *default: Given) -> None:
        self._form, self._default = form, default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, setup: None, owner: type) -> Given: ...
    @overload
    def __get__(self, setup: object, owner: type) -> Kept: ...
    def __get__(self, setup: object | None, owner: type) -> Given | Kept:
        if setup is None:  # dataclass asks for the default
            if not self._default:
                raise AttributeError(self._name)
            return self._default[0]
        found: Kept = vars(setup)[self._name]
        return found

    def __set__(self, setup: object, given: Given) -> None:
        default = bool(self._default) and given is self._default[0]
        vars(setup)[self._name] = given if default else self._form(given)


def _name_or(kind: type | None, what: str) -> Callable[[Any], Any]:
    """Return a converter of names and paths to text, which keeps None and objects of a *kind*.

    Messages call the value *what*.
    """

    def form(value: object) -> Any:
        if isinstance(value, Path | str):
            return _text(str(value), what)
        if value is None or (kind is not None and isinstance(value, kind)):
            return value
        more = "" if kind is None else f", or a {kind.__name__}"
        if what == "platform" and isinstance(value, int):
            more += f"; for identical workers: workers={value}"
        raise InputError(f"{what}: got {short(value)}; legal: a name, a path{more}")

    return form


def _text(text: str, what: str) -> str:
    """Return a name or path; refuse one that no system allows."""
    if "\0" in text:
        raise InputError(
            f"{what}: got {short(text)}; legal: a name or a path, without null characters"
        )
    return text


def _texts(given: Any, what: str = "settings") -> tuple[str, ...]:
    """Return ``KEY=VALUE`` texts from a mapping or from texts; messages call them *what*.

    >>> _texts({"tiles": 20, "priorities": "none"})
    ('tiles=20', 'priorities=none')
    """
    if isinstance(given, Mapping):
        return tuple(f"{key}={value}" for key, value in given.items())
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{what}: got {short(given)}; legal: a list of texts KEY=VALUE")
    texts = tuple(given)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"{what}: got {short(text)}; legal: texts KEY=VALUE")
    return texts


def _change_texts(given: Any) -> tuple[str, ...]:
    return tuple(text.strip() for text in _texts(given, "changes"))


def _model_names(given: object) -> ModelNames | None:
    """Return *given* as names of models; raise :exc:`InputError` if it is something else."""
    if given is None:
        return None
    from tasksim.models.modelnames import model_names_of

    return model_names_of(given)


def _graph(given: Any) -> Any:
    """Return *given* if it is a graph, or may name one."""
    if isinstance(given, TaskGraph | Run):
        return given
    if not isinstance(given, Path | str):
        raise InputError(
            f"graph: got {short(given)}; legal: the name of a generator, a file, a TaskGraph, or "
            "a Run"
        )
    _text(str(given), "graph")
    return given


def _models(given: Any) -> Any:
    """Return models, their name, or a mapping, which :class:`Setup` turns into durations."""
    if isinstance(given, Mapping) or hasattr(given, "model"):
        return given
    return _name_or(None, "models")(given)


def _scheduler(given: Any) -> Any:
    """Return *given* if it is a name, or has push and pop."""
    has = [callable(getattr(given, method, None)) for method in ("push", "pop")]
    if not (isinstance(given, str) or all(has)):
        raise InputError(
            f"scheduler: got {short(given)}; legal: a name, or a Scheduler or its class, with "
            "push(task) and pop(worker)"
        )
    return given


def is_plain(value: object) -> bool:
    """Return whether a value of a scenario is plain data with a hash, and no object."""
    return value is None or isinstance(value, str | int | float | tuple)


@dataclass(frozen=True, repr=False)
class Setup:
    """Values of a scenario.

    :class:`~tasksim.scenario.scenario.Scenario` describes each of them.

    Raises
    ------
    InputError
        If a value is illegal, or two of them exclude each other.
    """

    graph: InForm[AnyGraph, str | TaskGraph | Run] = InForm(_graph)
    settings: InForm[Mapping[str, object] | Sequence[str], tuple[str, ...]] = InForm(_texts, ())
    platform: InForm[AnyPlatform | None, str | Platform | None] = InForm(
        _name_or(Platform, "platform"), None
    )
    workers: int | None = None
    models: InForm[AnyModels | None, str | Models | None] = InForm(_models, None)
    durations: InForm[AnyDurations | None, Durations | None] = InForm(
        lambda given: None if given is None else durations_of(given), None
    )
    model_names: InForm[AnyModelNames | None, str | tuple[tuple[str, str], ...] | None] = InForm(
        _model_names, None
    )
    library: InForm[str | Path | None, str | None] = InForm(_name_or(None, "library"), None)
    changes: InForm[Sequence[str], tuple[str, ...]] = InForm(_change_texts, ())
    scheduler: InForm[AnyScheduler, AnyScheduler] = InForm(_scheduler, "lws")
    seed: int = 0
    noise: Noise = "none"
    clock: ClockKind = "simulated"
    pin: bool = True
    runtime: Runtime = "auto"
    network: InForm[str | Path | None, str | None] = InForm(_name_or(None, "network"), None)
    nodes: int | None = None
    grid: str | None = None
    owner: str = "row"

    def __post_init__(self) -> None:
        """Convert the values that depend on each other, and check them."""
        values, graph = vars(self), self.graph
        models: Any = self.models
        if isinstance(graph, Path):
            values["graph"] = str(graph)
        elif isinstance(graph, str):
            name, more = name_and_settings(graph)
            if names_generator(name):
                values["graph"], values["settings"] = name, (*more, *self.settings)
        if isinstance(models, Mapping):
            if self.durations is not None:
                raise InputError("models and durations are both seconds per kernel: give one")
            values["models"], values["durations"] = None, durations_of(models)
        if self.workers is not None:
            values["workers"] = whole_number(self.workers, option("workers"), 1, MAX_WORKERS)
        values["seed"] = whole_number(self.seed, "seed")
        one_of(self.noise, NOISES, "noise")
        one_of(self.clock, CLOCKS, "clock")
        flag(self.pin, "pin")
        if self.runtime != "auto":
            from tasksim.native.runtimes import RUNTIMES

            one_of(self.runtime, RUNTIMES, "runtime")
        self._check_nodes()
        if self.platform is not None and self.workers is not None:
            raise InputError(
                f"{option('platform')} and {option('workers')} exclude each other: a platform has "
                "workers"
            )
        if isinstance(self.durations, str):
            for other in ("models", "model_names"):
                if getattr(self, other) is not None:
                    raise InputError(
                        f"{option(other)} and {option('durations', self.durations)} exclude each "
                        "other: the durations are those of the recorded run"
                    )
        self.engine  # noqa: B018  # raises for unknown options

    def _check_nodes(self) -> None:
        """Raise :exc:`InputError` for illegal nodes, grids and owners."""
        if self.nodes is not None:
            whole_number(self.nodes, option("nodes"), 1, MAX_NODES)
        if not isinstance(self.owner, str) or not self.owner:
            raise InputError(f"{option('owner')}: got {self.owner!r:.60}; legal: a name")
        grid = self.node_grid
        if grid is not None and self.nodes not in (None, grid.nodes):
            got = f"{option('grid', str(self.grid))} has {grid.nodes} nodes"
            raise InputError(f"{got}, {option('nodes', str(self.nodes))}")
        if self.clock == "native" and self.is_on_nodes:
            raise InputError(
                f"{option('nodes')}, {option('grid')} and {option('network')} are for simulations;"
                " real runs on several nodes are started with mpiexec"
            )

    def __hash__(self) -> int:
        """Return a hash of the names; of objects, only the types count."""
        values = (getattr(self, field.name) for field in fields(self))
        return hash(tuple(v if is_plain(v) else type(v).__name__ for v in values))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"

    # Derived values

    @property
    def graph_label(self) -> str:
        """The graph as on the command line: ``cholesky tiles=20``."""
        graph = self.graph
        if isinstance(graph, Run):
            return graph.graph_label
        return " ".join([graph if isinstance(graph, str) else graph.name, *self.settings])

    @property
    def scheduler_label(self) -> str:
        """Name of the scheduler."""
        given = self.scheduler
        if isinstance(given, str):
            return given
        kind = given if isinstance(given, type) else type(given)
        return getattr(given, "name", "") or kind.__name__

    @property
    def label(self) -> str:
        """The scenario on one line: ``cholesky tiles=20, xeon-2c, 2x2 nodes, dm``."""
        where = self.platform if self.platform is not None else self.workers
        if isinstance(where, int):
            where = f"{where} worker{'s' if where > 1 else ''}"
        nodes = self.grid or self.nodes
        parts = [
            self.graph_label,
            where.name if isinstance(where, Platform) else where,
            f"{nodes} nodes" if nodes else None,
            *self.changes,
            self.scheduler_label,
            f"seed {self.seed}" if self.seed else None,
            f"noise {self.noise}" if self.noise != "none" else None,
            self.clock if self.clock != "simulated" else None,
        ]
        return ", ".join(part for part in parts if part is not None)

    def policy(self) -> str | Scheduler:
        """Return the scheduler of one run; a class gives a new one each time."""
        given = self.scheduler
        if not isinstance(given, type):
            return given
        try:
            made = given()
        except TypeError as error:
            raise InputError(f"scheduler {given.__name__}: {error}") from None
        if not getattr(made, "name", ""):
            vars(made)["name"] = given.__name__
        return made

    @property
    def needs_estimates(self) -> bool:
        """Whether the scheduler needs estimates of durations."""
        scheduler: object = self.scheduler
        if isinstance(scheduler, str):
            from tasksim.schedulers.registry import create

            scheduler = create(scheduler)
        return bool(getattr(scheduler, "needs_estimates", False))

    @cached_property
    def engine(self) -> dict[str, Any]:
        """Options of the engine in :attr:`changes`.

        Raises :exc:`InputError` for unknown options and values.
        """
        found: dict[str, Any] = {}
        for text in self.changes:
            if not text.startswith("engine."):
                continue
            name, equals, value = text.removeprefix("engine.").partition("=")
            where = f"{option('set')} {text}"
            if name not in ENGINE_OPTIONS or not equals:
                raise unknown("option of the engine", name, ENGINE_OPTIONS, where)
            if value.strip() not in ENGINE_OPTIONS[name]:
                raise unknown(name, value.strip(), ENGINE_OPTIONS[name], where)
            found[name] = value.strip()
        return found

    @property
    def platform_changes(self) -> list[str]:
        """Entries of :attr:`changes` for the platform."""
        return [text for text in self.changes if not text.startswith(("engine.", "network."))]

    @property
    def network_changes(self) -> list[str]:
        """Entries of :attr:`changes` for the network between nodes."""
        return [text for text in self.changes if text.startswith("network.")]

    @property
    def is_on_nodes(self) -> bool:
        """Whether the scenario has nodes and a network."""
        words = self.network, self.nodes, self.grid
        return words != (None, None, None) or self.cluster_file is not None

    @property
    def cluster_file(self) -> ClusterFile | None:
        """The content of the cluster file, if the platform names one."""
        name = self.platform
        if not isinstance(name, str) or not name.endswith((".yaml", ".yml")):
            return None
        from tasksim.network.clusterfile import read_cluster_file

        return read_cluster_file(Path(name))

    @property
    def node_grid(self) -> NodeGrid | None:
        """The given grid of nodes; None for the default, the one nearest to a square."""
        if self.grid is None:
            return None
        from tasksim.graph.distribution.owners import NodeGrid

        grid = NodeGrid.parse(self.grid) if isinstance(self.grid, str) else None
        if grid is None:
            legal = "ROWSxCOLUMNS of nodes, such as 2x4"
            raise InputError(f"{option('grid')}: got {self.grid!r:.60}; legal: {legal}")
        return grid

    # Variants

    def vary(self, changes: Mapping[str, Any] | None = None, /, **values: Any) -> Self:
        """Return the scenario with some values changed.

        Parameters
        ----------
        changes : mapping, optional
            Path -> value: ``graph.KEY`` is a setting of the generator, ``platform.PATH``,
            ``network.PATH`` and ``engine.OPTION`` are as for ``--set``, anything else is a
            parameter of the scenario. A later value for a path replaces an earlier one.
        **values
            Parameters of the scenario, by name.

        Returns
        -------
        Scenario

        Raises
        ------
        InputError
            If there is no such path or parameter, or a value is illegal.

        Examples
        --------
        >>> import tasksim
        >>> tasksim.Scenario("cholesky", workers=2).vary({"graph.tiles": 4}, scheduler="prio")
        <Scenario cholesky tiles=4, 2 workers, prio>
        """
        known = [field.name for field in fields(self)]
        new: dict[str, Any] = {}
        for path, value in {**(changes or {}), **values}.items():
            if path.startswith(_PATHS):
                field = "settings" if path.startswith("graph.") else "changes"
                before = new.get(field, getattr(self, field))
                new[field] = _with_texts(before, [(path.removeprefix("graph."), "=", value)])
            elif path in known:
                new[path] = value
            else:
                legal = [*known, *(f"{prefix}NAME" for prefix in _PATHS)]
                raise unknown("parameter of a scenario", path, legal)
        for one, other in (("workers", "platform"), ("platform", "workers")):
            if new.get(one) is not None and other not in new:
                new[other] = None  # a scenario has either: the new one replaces the old one
        return replace(self, **new)

    def with_seed(self, seed: int) -> Self:
        """Return the scenario with another seed; fast, because it checks nothing again."""
        found = object.__new__(type(self))
        vars(found).update(vars(self), seed=seed)
        return found

    def with_changes(self, texts: Iterable[str]) -> Self:
        """Return the scenario with further ``--set`` texts, which replace those of the same path.

        Examples
        --------
        >>> import tasksim
        >>> one = tasksim.Scenario("lu", workers=2, changes=["engine.submission=costs"])
        >>> one.with_changes(["engine.submission=recorded"]).changes
        ('engine.submission=recorded',)
        """
        parts = [text.partition("=") for text in _change_texts(tuple(texts))]
        return replace(self, changes=_with_texts(self.changes, parts))

    def variants(self, axes: Mapping[str, Iterable[Any]]) -> list[Self]:
        """Return a scenario for every combination of values, the last axis changing fastest.

        Parameters
        ----------
        axes : mapping
            Path -> values, with paths as in :meth:`vary`.

        Returns
        -------
        list of Scenario

        Raises
        ------
        InputError
            As :meth:`vary`.

        Examples
        --------
        >>> import tasksim
        >>> two = {"graph.tiles": [4, 8], "scheduler": ["eager", "prio"]}
        >>> for scenario in tasksim.Scenario("lu", workers=2).variants(two):
        ...     print(scenario.label)
        lu tiles=4, 2 workers, eager
        lu tiles=4, 2 workers, prio
        lu tiles=8, 2 workers, eager
        lu tiles=8, 2 workers, prio
        """
        found = [self]
        for path, values in axes.items():
            wanted = list(values)
            found = [scenario.vary({path: value}) for scenario in found for value in wanted]
        return found


def _with_texts(texts: tuple[str, ...], new: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """Return *texts* with *new* ones, given as parts, which replace texts of the same path."""
    for key, equals, value in new:
        keys = [text.partition("=")[0].strip() for text in texts]
        text = f"{key}{equals}{value}"
        if key.strip() in keys:
            place = keys.index(key.strip())
            texts = (*texts[:place], text, *texts[place + 1 :])
        else:
            texts = (*texts, text)
    return texts
