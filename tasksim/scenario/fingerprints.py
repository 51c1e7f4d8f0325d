"""SHA-256 fingerprints of a scenario and of the files that it depends on."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import is_folder, sha256_of
from tasksim.graph.apps import registry
from tasksim.graph.taskgraph import TaskGraph
from tasksim.run.record import Run
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.setup import is_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tasksim.platform.description import Platform
    from tasksim.scenario.setup import Setup

__all__ = ["changed_files", "fingerprint", "fingerprints"]

_OWN: Final = {"scheduler", "seed", "engine"}
"""Fields of a scenario that do not affect its graph, platform or models, or that its changes
contain."""


def changed_files(run: Run) -> list[str]:
    """Return the files that a recorded *run* depends on and that have changed since."""
    from tasksim.base.documents.json_document import JsonNode

    known = JsonNode(run.config, ("config",)).get("sha256", {})
    return [path for path, noted in known.items() if sha256_of(Path(path)) != noted.value]


def fingerprint(scenario: Setup, resolver: Resolver | None = None) -> str:
    """Return the identity of *scenario*, different for scenarios that may have other results.

    A path in place of a name does not change the fingerprint; another content of a file that the
    scenario depends on, or another version of tasksim, does.

    Parameters
    ----------
    scenario : Scenario
    resolver : Resolver, optional
        Reads files that several scenarios share only once; for thousands of scenarios.

    Raises
    ------
    InputError
        If a file is missing, or models or a scheduler were made in Python.
    """
    return next(fingerprints(scenario, [scenario.seed], resolver))


def fingerprints(
    scenario: Setup, seeds: Iterable[int], resolver: Resolver | None = None
) -> Iterator[str]:
    """Yield the fingerprint of *scenario* with each of *seeds* instead of its own.

    Their common part is digested once. Raises as :func:`fingerprint`.
    """
    import json

    from tasksim.base.versions import version_of

    if not isinstance(scenario.scheduler, str):
        raise InputError(
            f"{scenario.label}: its scheduler was made in Python, which has no lasting name"
        )
    resolver = resolver or Resolver()
    scenario = resolver.placed(scenario)
    shared = _shared_part(scenario, resolver)
    shared.update(f', "scheduler": {json.dumps(scenario.scheduler)}, "seed": '.encode())
    # A checkout that is not installed has no version.
    version = json.dumps(resolver.once("tasksim", lambda: version_of("tasksim") or "unknown"))
    for seed in seeds:
        whole = shared.copy()
        whole.update(f'{json.dumps(seed)}, "tasksim": {version}}}'.encode())
        yield str(whole.hexdigest())


def _shared_part(scenario: Setup, resolver: Resolver) -> Any:
    """Return the unfinished digest that scenarios share if only scheduler and seed differ.

    It is the digest of a JSON text with sorted keys, up to these two keys.
    """
    key = tuple(value for name, value in vars(scenario).items() if name not in _OWN)
    # The models of a native scenario depend on its scheduler.
    if scenario.clock == "native" or not all(map(is_plain, key)):
        return _digested(scenario, resolver)
    return resolver.once(("fingerprint", *key), lambda: _digested(scenario, resolver)).copy()


def _digested(scenario: Setup, resolver: Resolver) -> Any:
    """Return that digest, from the fields and files of a scenario."""
    import json

    names = scenario.model_names
    data = {
        "clock": scenario.clock,
        "graph": _graph_content(scenario, resolver),
        "platform": _platform_content(scenario, resolver),
        "models": _models_content(scenario, resolver),
        "model_names": dict(names) if isinstance(names, tuple) else names,
        "engine": scenario.engine,
        "noise": scenario.noise,
        "pin": scenario.pin if scenario.clock == "native" else None,
    }
    if (cluster := resolver.cluster(scenario, resolver.platform(scenario))) is not None:
        network = cluster.network
        said = f"{network.topology!r} {network.model!r}"
        if scenario.network_changes:
            said += f" {scenario.network_changes!r}"
        shared = [] if cluster.cores is None else [cluster.cores]
        data["cluster"] = [len(cluster.nodes), said, scenario.grid, scenario.owner, *shared]
    if scenario.clock == "native" and scenario.runtime != "auto":
        data["runtime"] = scenario.runtime
    return hashlib.sha256(json.dumps(data, sort_keys=True)[:-1].encode())


def _graph_content(scenario: Setup, resolver: Resolver) -> Any:
    graph = scenario.graph
    if isinstance(graph, Run):
        raise InputError(f"{scenario.label}: a run in memory has no fingerprint; save it")
    if isinstance(graph, TaskGraph):
        return _graph_digest(graph)
    source = resolver.source(scenario)

    def content() -> Any:
        if source.format is None:
            return {"generator": graph, **registry.parse_settings(graph, scenario.settings)}
        return [_required_digest(path) for path in source.files()]

    return resolver.once(("graph content", graph, scenario.settings), content)


def _graph_digest(graph: TaskGraph) -> str:
    """Return the SHA-256 of all columns of a graph."""
    whole = hashlib.sha256()
    for field in fields(graph):
        value = getattr(graph, field.name)
        if field.name == "by_rank" and not value:
            continue  # fingerprints in older stores are of graphs without this field
        whole.update(field.name.encode())
        parts = value if isinstance(value, tuple) else (value,)
        for part in parts:
            whole.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return whole.hexdigest()


def _platform_content(scenario: Setup, resolver: Resolver) -> Any:
    """Return the content of a platform after its changes, wherever its file is."""

    def content(named: Platform) -> str:
        platform = replace(named, path=None, models=None, description="")
        values = (f"{field.name}={getattr(platform, field.name)!r}" for field in fields(platform))
        return f"Platform({', '.join(values)})"

    return resolver.derived("platform content", content, resolver.platform(scenario))


def _models_content(scenario: Setup, resolver: Resolver) -> Any:
    from tasksim.models.files.store import ModelLibrary
    from tasksim.scenario.kernel_models import models_path

    if isinstance(scenario.durations, str):
        return scenario.durations
    if scenario.durations is not None:
        given: Any = sorted(scenario.durations)
        if scenario.models is None and resolver.platform(scenario).models is None:
            return given
        others = scenario.vary(durations=None)
        return {"durations": given, "models": _models_content(others, resolver)}
    models = scenario.models
    if isinstance(models, ModelLibrary):
        return _folder_digests(models.path)
    if models is not None and not isinstance(models, str):
        raise InputError(
            f"{scenario.label}: its models were made in Python, which have no lasting name"
        )
    if models is None and resolver.source(scenario).brings_platform:
        return None
    native = scenario.clock == "native"
    if models is None and native and not scenario.needs_estimates:
        return None
    platform = resolver.platform(scenario)
    if models is None and platform.models is None and not native:
        return None  # the tasks have durations of their own

    def content(platform: Platform, *_: Any) -> list[tuple[str, str]]:
        return _folder_digests(models_path(scenario, platform))

    return resolver.derived("models content", content, platform, models, scenario.library)


def _folder_digests(path: Path) -> list[tuple[str, str]]:
    """Return the digests of a folder of coefficient files, or of one file of models."""
    if not is_folder(path):
        return [("", _required_digest(path))]
    files = sorted(p for p in path.glob("*.json") if not p.name.startswith("."))
    return [(p.name, _required_digest(p)) for p in files]


def _required_digest(path: Path) -> str:
    found = sha256_of(path)
    if found is None:
        raise InputError(f"{path}: no such file")
    return found
