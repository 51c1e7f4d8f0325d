"""Recorded nodes: a run over several nodes is replayed on as many, if nothing else is said."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base import library as libraries
from tasksim.base.errors import InputError, option
from tasksim.run.sharedcores import SHARED_CORES

if TYPE_CHECKING:
    from tasksim.run.record import Run
    from tasksim.scenario.replayed import Replayed
    from tasksim.scenario.scenario import Scenario

__all__ = ["cores_of", "known_network", "on_its_nodes"]

_CLUSTER = "network", "nodes", "grid", "owner"


def on_its_nodes(scenario: Scenario, replayed: Replayed) -> Scenario:
    """Return *scenario* with the nodes of the run that is replayed, where it had several.

    What the scenario itself says of where to run counts: a platform, workers, nodes or a grid.

    Raises
    ------
    InputError
        If the ranks had not all as many workers, or nobody knows what was between them.
    """
    words = (scenario.platform, scenario.workers, scenario.nodes, scenario.grid)
    if scenario.clock == "native" or words != (None,) * len(words):
        return scenario
    run = replayed.run
    if run.kind == "native" and run.messages is not None:
        return _as_ranks(scenario, run, replayed.where)
    said: Any = run.config.get("cluster")
    return _as_simulated(scenario, run, said) if isinstance(said, dict) else scenario


def cores_of(scenario: Scenario, replayed: Replayed) -> int | None:
    """Return the cores that ranks shared in the run that is replayed, on as many nodes."""
    if scenario.platform is not None:
        return None
    cores = replayed.run.config.get(SHARED_CORES)
    nodes = len({worker.node for worker in replayed.run.workers})
    asked = scenario.nodes
    return cores if isinstance(cores, int) and asked in (None, nodes) else None


def known_network(machine: str, library: str | Path | None) -> str | None:
    """Return the path of what was calibrated between ranks of a *machine*; None if nothing was."""
    folder = None if library is None else Path(library)
    found = libraries.names("networks", ".yaml", folder)
    return str(found[machine].resolve()) if machine in found else None


def _as_ranks(scenario: Scenario, run: Run, where: Path) -> Scenario:
    workers = Counter(worker.node for worker in run.workers)
    each = set(workers.values())
    if len(each) > 1:
        raise InputError(
            f"{where}: its ranks had {', '.join(map(str, sorted(each)))} workers; say where to "
            f"replay it: {option('workers', 'N')} and {option('nodes', 'N')}"
        )
    said: Any = run.config.get("ranks")
    said = said if isinstance(said, dict) else {}
    network = scenario.network or said.get("network")
    network = network or known_network(str(run.platform), scenario.library)
    if network is None and scenario.durations == "alone":
        network = _own_network(run)
    if network is None:
        raise InputError(
            f"{where}: it ran over {len(workers)} ranks, and no library has the network "
            f"{run.platform} between them; give {option('network', 'NETWORK')}, or "
            f"{option('library', 'FOLDER')} of where 'mpiexec -n {len(workers)} tasksim calibrate "
            "network --library FOLDER' has written it"
        )
    words = {"nodes": len(workers), "grid": said.get("grid"), "workers": each.pop()}
    return scenario.vary(network=network, owner=_owner(scenario, said), **words)


def _own_network(run: Run) -> str:
    """Return a network in which messages take what they took in the *run* itself; warn of that."""
    from tasksim.run.messageline import network_of_messages

    assert run.messages is not None  # whoever asks has looked
    ranks = len({worker.node for worker in run.workers})
    warnings.warn(
        f"no library has the network {run.platform} between the ranks: without what others took, "
        "messages take what undisturbed ones took in the run itself; "
        f"'mpiexec -n {ranks} tasksim calibrate network --library FOLDER' measures it",
        stacklevel=2,
    )
    return network_of_messages(run.messages)


def _as_simulated(scenario: Scenario, run: Run, said: dict[str, Any]) -> Scenario:
    words = {name: said.get(name) for name in _CLUSTER if said.get(name) is not None}
    words["owner"] = _owner(scenario, said)
    if scenario.network is not None:
        words["network"] = scenario.network
    platform: Any = run.config.get("platform")
    platform = platform if isinstance(platform, dict) else {}
    path, workers = platform.get("path"), platform.get("workers")
    if isinstance(workers, int):
        words["workers"] = workers
    if isinstance(path, str) and path.endswith((".yaml", ".yml")):
        words["platform"] = path  # which may say the nodes, too
    return scenario.vary(**words)


def _owner(scenario: Scenario, said: dict[str, Any]) -> str:
    """Return who owns what: as the scenario says, if that is not the default, or as it was."""
    return scenario.owner if scenario.owner != "row" else str(said.get("owner", "row"))
