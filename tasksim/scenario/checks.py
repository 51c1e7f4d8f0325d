"""Checks of a scenario's values, one by one and together, in words for who reads the message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tasksim.base.arguments import flag, one_of, short, whole_number
from tasksim.base.errors import InputError, option
from tasksim.graph.apps.registry import name_and_settings, names_generator
from tasksim.graph.taskgraph import TaskGraph
from tasksim.run.record import Run

if TYPE_CHECKING:
    from tasksim.graph.distribution.owners import Grid
    from tasksim.models.modelnames import ModelNames
    from tasksim.network.clusterfile import ClusterFile
    from tasksim.scenario.scenario import Scenario

__all__ = [
    "CLOCKS",
    "NOISES",
    "Clock",
    "Noise",
    "brings_platform",
    "check_choices",
    "check_nodes",
    "check_place",
    "check_scheduler",
    "check_together",
    "class_name",
    "cluster_file",
    "graph_and_settings",
    "grid_of",
    "is_on_nodes",
    "is_plain",
    "legal_model_names",
    "name_or",
    "names_run",
]

Clock = Literal["simulated", "native"]
CLOCKS: tuple[Clock, ...] = ("simulated", "native")
Noise = Literal["none", "model"]
NOISES: tuple[Noise, ...] = ("none", "model")

_MOST = 65_536  # as tasksim.network.cluster says, which few commands need
_GRID = re.compile(r"([1-9]\d{0,6})[x×]([1-9]\d{0,6})")


def check_choices(scenario: Scenario) -> None:
    """Raise :exc:`InputError` for what is none of a few words."""
    one_of(scenario.noise, NOISES, "noise")
    one_of(scenario.clock, CLOCKS, "clock")
    flag(scenario.pin, "pin")
    if scenario.runtime != "auto":
        from tasksim.native.runtimes import RUNTIMES

        one_of(scenario.runtime, RUNTIMES, "runtime")


def legal_model_names(given: object) -> ModelNames | None:
    """Return *given* as names of models; raise :exc:`InputError` for what is none."""
    if given is None:
        return None
    from tasksim.models.modelnames import model_names_of

    return model_names_of(given)


def check_together(scenario: Scenario) -> None:
    """Raise :exc:`InputError` for what excludes each other."""
    name = option
    check_nodes(scenario)
    if scenario.platform is not None and scenario.workers is not None:
        raise InputError(
            f"{name('platform')} and {name('workers')} exclude each other: a platform has workers"
        )
    if isinstance(scenario.durations, str):
        for other in ("models", "model_names"):
            if getattr(scenario, other) is not None:
                raise InputError(
                    f"{name(other)} and {name('durations', scenario.durations)} exclude each "
                    "other: a recorded run says what each of its tasks took"
                )


def check_place(scenario: Scenario) -> None:
    """Raise :exc:`InputError` if nothing says where a simulation runs."""
    nowhere = scenario.platform is None and scenario.workers is None
    if nowhere and names_run(scenario.graph):
        return
    if nowhere and not brings_platform(scenario.graph):
        if isinstance(scenario.graph, str):
            from tasksim.formats.graphs import refuse_unknown

            refuse_unknown(scenario.graph)
        given = scenario.durations is not None
        more = "" if given else f" or {option('platform', 'NAME')}"
        raise InputError(f"where to run? give {option('workers', 'N')}{more}")
    if scenario.platform_changes and scenario.platform is None:
        raise InputError(
            f"{option('set')} changes a platform file: give {option('platform', 'NAME')}"
        )


def brings_platform(graph: object) -> bool:
    """Return whether *graph* names a file of costs per processor, which brings a platform along."""
    if not isinstance(graph, str) or names_generator(graph) or names_run(graph):
        return False
    from tasksim.formats.graphs import graph_format

    return graph_format(graph).brings_platform


def check_nodes(scenario: Scenario) -> None:
    """Raise :exc:`InputError` for nodes, a grid or an owner that none can be."""
    if scenario.nodes is not None:
        whole_number(scenario.nodes, option("nodes"), 1, _MOST)
    if not isinstance(scenario.owner, str) or not scenario.owner:
        raise InputError(f"{option('owner')}: got {scenario.owner!r:.60}; legal: a name")
    grid = grid_of(scenario)
    if grid is not None and scenario.nodes not in (None, grid.nodes):
        got = f"{option('grid', str(scenario.grid))} has {grid.nodes} nodes"
        raise InputError(f"{got}, {option('nodes', str(scenario.nodes))}")
    if scenario.clock == "native" and is_on_nodes(scenario):
        raise InputError(
            f"{option('nodes')}, {option('grid')} and {option('network')} are for simulations;"
            " real runs on several nodes are started with mpiexec"
        )


def grid_of(scenario: Scenario) -> Grid | None:
    """Return the grid that is asked for; None: the one that is as square as can be."""
    if scenario.grid is None:
        return None
    from tasksim.graph.distribution.owners import Grid

    found = _GRID.fullmatch(scenario.grid.strip()) if isinstance(scenario.grid, str) else None
    if found is None:
        legal = "ROWSxCOLUMNS of nodes, such as 2x4"
        raise InputError(f"{option('grid')}: got {scenario.grid!r:.60}; legal: {legal}")
    return Grid(int(found[1]), int(found[2]))


def is_on_nodes(scenario: Scenario) -> bool:
    """Return whether *scenario* asks for nodes and what is between them, in its own words."""
    words = scenario.network, scenario.nodes, scenario.grid
    return words != (None, None, None) or cluster_file(scenario) is not None


def cluster_file(scenario: Scenario) -> ClusterFile | None:
    """Return what the file of a cluster says, if the platform names one."""
    name = scenario.platform
    if not isinstance(name, str) or not name.endswith((".yaml", ".yml")):
        return None
    from tasksim.network.clusterfile import read_cluster_file

    return read_cluster_file(Path(name))


def names_run(graph: object) -> bool:
    """Return whether *graph* is a recorded run, or names one."""
    if not isinstance(graph, str):
        return isinstance(graph, Run)
    if names_generator(graph):
        return False
    from tasksim.run.foldernames import is_run_folder

    return is_run_folder(Path(graph))


def graph_and_settings(graph: object) -> tuple[str | TaskGraph | Run, tuple[str, ...]]:
    """Return the graph, and the settings that stand behind its name."""
    if isinstance(graph, TaskGraph | Run):
        return graph, ()
    if isinstance(graph, Path):
        return _text(str(graph), "graph"), ()
    if not isinstance(graph, str):
        raise InputError(
            f"graph: got {short(graph)}; legal: the name of a generator, a file, a TaskGraph, or "
            "a Run of one"
        )
    _text(graph, "graph")
    name, settings = name_and_settings(graph)
    return (name, tuple(settings)) if names_generator(name) else (graph, ())


def name_or(value: object, kind: type | None, what: str) -> Any:
    """Return a name or path as text; an object of a *kind*, and None, as they are."""
    if isinstance(value, Path | str):
        return _text(str(value), what)
    if value is None or (kind is not None and isinstance(value, kind)):
        return value
    more = "" if kind is None else f", or a {kind.__name__}"
    raise InputError(f"{what}: got {short(value)}; legal: a name, a path{more}")


def _text(text: str, what: str) -> str:
    """Return a name or path; refuse what no system has for one."""
    if "\0" in text:
        raise InputError(f"{what}: got {short(text)}; legal: a name or path, no null characters")
    return text


def check_scheduler(scheduler: object) -> None:
    """Raise :exc:`InputError` unless *scheduler* is a name, or has push and pop."""
    has = [callable(getattr(scheduler, method, None)) for method in ("push", "pop")]
    if not (isinstance(scheduler, str) or all(has)):
        raise InputError(
            f"scheduler: got {short(scheduler)}; legal: a name, a Scheduler, or its class: what "
            "has push(task) and pop(worker)"
        )


def class_name(scheduler: object) -> str:
    """Return the name of a class, or of that of an object."""
    kind = scheduler if isinstance(scheduler, type) else type(scheduler)
    return kind.__name__


def is_plain(value: object) -> bool:
    """Return whether a value of a scenario is no object: it has a hash of its own."""
    return value is None or isinstance(value, str | int | float | tuple)
