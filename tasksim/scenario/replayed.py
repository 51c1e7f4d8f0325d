"""Recorded runs in place of graphs, with their platforms and durations."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tasksim.base import library as libraries
from tasksim.base.errors import InputError, option
from tasksim.run.record import Run
from tasksim.run.sharedcores import SHARED_CORES
from tasksim.scenario.setup import NODE_FIELDS, Setup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.measured import DurationWord, MeasuredDurations

__all__ = ["Replayed", "known_network"]

AnySetup = TypeVar("AnySetup", bound=Setup)


@dataclass(frozen=True, eq=False)
class Replayed:
    """A recorded run in place of a graph.

    Attributes
    ----------
    run : Run
    where : Path
        Path that it was read from, or the label of a run in memory, for messages.
    library : Path or None
        Library to search first for its platform.
    """

    run: Run
    where: Path
    library: Path | None = None

    @classmethod
    def of(cls, graph: str | Run, library: Path | None) -> Replayed:
        """Return the given or named run; raise :exc:`InputError` if its records are wrong."""
        if isinstance(graph, Run):
            return cls(graph, Path(graph.graph_name), library)
        from tasksim.formats.runs import load_checked_run

        return cls(load_checked_run(graph), Path(graph), library)

    @cached_property
    def graph(self) -> TaskGraph:
        """Graph of the recorded run."""
        from tasksim.formats.graphs import graph_of

        return graph_of(self.run, self.where, until=0.9)

    def platform(self, settings: Sequence[str] = (), *, alone: bool = False) -> Platform:
        """Return the platform of the run with *settings*; with *alone*, without other programs."""
        from tasksim.formats.platforms import platform_of

        return platform_of(self.run, self.where, self.library, settings, alone=alone)

    def placed(self, scenario: AnySetup) -> AnySetup:
        """Return *scenario* with the nodes of the run, if it had several.

        A platform, workers, nodes or a grid of the scenario itself take precedence.

        Raises
        ------
        InputError
            If the ranks had different numbers of workers, or their network is unknown.
        """
        words = (scenario.platform, scenario.workers, scenario.nodes, scenario.grid)
        if scenario.clock == "native" or words != (None,) * len(words):
            return scenario
        run = self.run
        if run.kind == "native" and run.messages is not None:
            return _as_ranks(scenario, run, self.where)
        said: Any = run.config.get("cluster")
        return _as_simulated(scenario, run, said) if isinstance(said, dict) else scenario

    def cores(self, scenario: Setup) -> int | None:
        """Return the number of cores that the ranks shared, if *scenario* has as many nodes."""
        if scenario.platform is not None:
            return None
        cores = self.run.config.get(SHARED_CORES)
        nodes = len({worker.node for worker in self.run.workers})
        return cores if isinstance(cores, int) and scenario.nodes in (None, nodes) else None

    def durations(self, what: DurationWord) -> MeasuredDurations:
        """Return the durations of its tasks."""
        from tasksim.run.measured import MeasuredDurations

        return MeasuredDurations(self.run, self.graph, what, self._speeds)

    @cached_property
    def submitted_s(self) -> NDArray[np.float64]:
        """Submission time of each of its tasks."""
        times = np.zeros(len(self.graph))
        times[self.run.tasks.task] = self.run.tasks.submitted_s
        return times

    @property
    def _speeds(self) -> dict[str, float]:
        """Speeds of its workers; empty if its platform is no longer known."""
        try:
            platform = self.platform()
        except InputError:
            return {}
        return {name: platform.compute_speed(name) for name in platform.speeds}


def known_network(machine: str, library: str | Path | None) -> str | None:
    """Return the path of the calibrated network of a *machine*; None if there is none."""
    folder = None if library is None else Path(library)
    found = libraries.names("networks", ".yaml", folder)
    return str(found[machine].resolve()) if machine in found else None


def _as_ranks(scenario: AnySetup, run: Run, where: Path) -> AnySetup:
    workers = Counter(worker.node for worker in run.workers)
    each = set(workers.values())
    if len(each) > 1:
        raise InputError(
            f"{where}: its ranks had {', '.join(map(str, sorted(each)))} workers; to replay it, "
            f"give {option('workers', 'N')} and {option('nodes', 'N')}"
        )
    said: Any = run.config.get("ranks")
    said = said if isinstance(said, dict) else {}
    network = scenario.network or said.get("network")
    network = network or known_network(str(run.platform), scenario.library)
    if network is None and scenario.durations == "alone":
        network = _own_network(run)
    if network is None:
        raise InputError(
            f"{where}: a run over {len(workers)} ranks, and no library has their network "
            f"{run.platform}; give {option('network', 'NETWORK')}, or measure it by "
            f"'mpiexec -n {len(workers)} tasksim calibrate network --library FOLDER' and give "
            f"{option('library', 'FOLDER')}"
        )
    words = {"nodes": len(workers), "grid": said.get("grid"), "workers": each.pop()}
    return scenario.vary(network=network, owner=_owner(scenario, said), **words)


def _own_network(run: Run) -> str:
    """Return a network with the message times of the *run* itself, with a warning."""
    from tasksim.run.messageline import network_of_messages

    assert run.messages is not None  # the caller has checked
    ranks = len({worker.node for worker in run.workers})
    warnings.warn(
        f"no library has the network {run.platform} between the ranks: messages without the time "
        "of other programs take as long as undisturbed messages of the run itself; "
        f"'mpiexec -n {ranks} tasksim calibrate network --library FOLDER' measures it",
        stacklevel=2,
    )
    return network_of_messages(run.messages)


def _as_simulated(scenario: AnySetup, run: Run, said: dict[str, Any]) -> AnySetup:
    words = {name: said.get(name) for name in NODE_FIELDS if said.get(name) is not None}
    words["owner"] = _owner(scenario, said)
    if scenario.network is not None:
        words["network"] = scenario.network
    platform: Any = run.config.get("platform")
    platform = platform if isinstance(platform, dict) else {}
    path, workers = platform.get("path"), platform.get("workers")
    if isinstance(workers, int):
        words["workers"] = workers
    if isinstance(path, str) and path.endswith((".yaml", ".yml")):
        words["platform"] = path  # it may be a cluster file, with nodes of its own
    return scenario.vary(**words)


def _owner(scenario: Setup, said: dict[str, Any]) -> str:
    """Return the distribution of the data: the scenario's, or the run's if it has the default."""
    return scenario.owner if scenario.owner != "row" else str(said.get("owner", "row"))
