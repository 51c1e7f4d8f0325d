"""JSON of a scenario, as in ``config`` of ``run.json``, with readers of earlier versions.

::

    {"version": 2, "clock": "simulated",
     "graph":    {"name": "cholesky", "path": null, "settings": ["tiles=20", ...]},
     "platform": {"name": "xeon-2c", "path": "/.../xeon-2c.yaml", "workers": null, "set": []},
     "models":   {"name": "xeon-2c", "path": "/.../xeon-2c", "durations_s": null, "names": null},
     "library": null, "scheduler": "dm", "seed": 0, "noise": "none", "pin": true,
     "runtime": "compiled", "cluster": {...}, "sha256": {"/.../xeon-2c.yaml": "..."}}

Names are those of generators and libraries, and paths are absolute; if both are present, the path
takes precedence as long as it exists. ``runtime`` is present if the scenario has one, ``cluster``
(network, nodes, grid and owner) if it has nodes. Only runs have ``sha256``, the digests of the
files that they depend on. Version 1 had no number: its simulations lack ``clock`` and ``pin``, and
its native runs have ``workers`` and the name of the models at the top.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tasksim.base.errors import InputError
from tasksim.base.versions import newer
from tasksim.graph.apps import registry
from tasksim.graph.taskgraph import TaskGraph
from tasksim.platform.description import Platform
from tasksim.run.record import Run
from tasksim.scenario.resolved import network_file
from tasksim.scenario.setup import CLOCKS, NOISES, ClockKind, Setup
from tasksim.schedulers import registry as schedulers

if TYPE_CHECKING:
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.engine.pricing import Noise
    from tasksim.models.modelnames import ModelNames
    from tasksim.native.runtimes import Runtime
    from tasksim.run.measured import DurationWord
    from tasksim.scenario.durations import Durations
    from tasksim.scenario.resolved import Resolved

__all__ = ["OBJECT_KEY", "VERSION", "decode", "encode", "refuse_foreign"]

S = TypeVar("S", bound=Setup)

VERSION = 2
"""Version of the JSON; it increases when a change would mislead a reader of earlier versions."""

OBJECT_KEY = "object"
"""Key of the description of an object that was made in Python and has no name."""


def encode(
    scenario: Setup, found: Resolved | None = None, *, digests: bool = True
) -> dict[str, Any]:
    """Return *scenario* as plain JSON data.

    Parameters
    ----------
    scenario : Scenario
    found : Resolved, optional
        The objects that its names stand for. With them, the data have all settings, the paths and
        the digests, and a description of each object that was made in Python.
    digests : bool, default True
        Include the digests of the files, for which all of them are read.

    Raises
    ------
    InputError
        If there is no *found*, and an object was made in Python.
    """
    names, platform, library = scenario.model_names, scenario.platform, scenario.library
    if isinstance(platform, Platform):
        where: dict[str, Any] = {"name": None, "path": None, OBJECT_KEY: platform.name}
    else:
        path = None if found is None else found.platform.path
        where = _entry("platforms", ".yaml", platform, path, library)
    seconds: Any = None if found is None else found.seconds
    if isinstance(scenario.durations, str):
        seconds = scenario.durations
    elif seconds is None and scenario.durations is not None:
        seconds = dict(scenario.durations)
    sources = {} if found is None else found.sources
    data: dict[str, Any] = {
        "version": VERSION,
        "clock": scenario.clock,
        "graph": _graph(scenario, found),
        "platform": {**where, "workers": scenario.workers, "set": list(scenario.changes)},
        "models": {
            **_models(scenario, found),
            "durations_s": seconds,
            "names": dict(names) if isinstance(names, tuple) else names,
            **({"sources": sources} if sources else {}),
        },
        "library": _absolute(library),
        "scheduler": scenario.scheduler_label,
        "seed": scenario.seed,
        "noise": scenario.noise,
        "pin": scenario.pin,
        **({} if scenario.runtime == "auto" else {"runtime": scenario.runtime}),
    }
    if scenario.is_on_nodes if found is None else found.cluster is not None:
        text, name = scenario.network, network_file(scenario.network)
        if text is not None and name is not None:
            text = str(Path(name).resolve()) + text[len(name) :]
        data["cluster"] = {
            "network": text, "nodes": scenario.nodes, "grid": scenario.grid, "owner": scenario.owner
        }  # fmt: skip
    if found is not None:
        if digests:
            from tasksim.base.files import sha256_of

            known = ((str(path.resolve()), sha256_of(path)) for path in found.files())
            data["sha256"] = {path: noted for path, noted in known if noted is not None}
        return data
    made = [name for name in ("graph", "platform", "models") if OBJECT_KEY in data[name]]
    made += [] if isinstance(scenario.scheduler, str) else ["scheduler"]
    if made:
        raise InputError(
            f"{scenario.label}: {' and '.join(made)} made in Python: no name to write; "
            "save each to a file, and give its name or path"
        )
    return data


def decode(kind: type[S], data: Any, where: str | Path = "scenario", *, trust: bool = False) -> S:
    """Return the scenario in data that this version of :func:`encode` or an earlier one wrote.

    Parameters
    ----------
    kind : type
        Class of the scenario.
    data : dict
        Plain JSON data.
    where : str or Path, default "scenario"
        Source of the data, for messages.
    trust : bool, default False
        Import a generator or a scheduler given as ``MODULE:NAME``; otherwise only registered names
        are legal.

    Raises
    ------
    FormatError
        If the data are malformed; the message has the path in *data*, the value and the legal ones.
    InputError
        If the data name code to import, and *trust* is not given.
    """
    from tasksim.base.documents.json_document import JsonNode

    node = JsonNode(data, ("config",))
    version = node.get("version", 1)
    if version.value == 1:
        found = _old_native(kind, node) if "workers" in node.mapping() else _scenario(kind, node)
    elif version.value == VERSION:
        found = _scenario(kind, node)
    else:
        raise version.error(
            newer(version.value, VERSION) or f"got {version.value!r}; legal: 1 to {VERSION}"
        )
    if not trust:
        refuse_foreign(found, where)
    return found


def refuse_foreign(scenario: Setup, where: str | Path) -> None:
    """Raise :exc:`InputError` if *scenario* names something that would be imported."""
    graph, scheduler = scenario.graph, scenario.scheduler
    if isinstance(graph, str) and registry.names_generator(graph):
        registry.GENERATORS.refuse_foreign(graph, where)
    if isinstance(scheduler, str):
        schedulers.refuse_foreign(scheduler, where)


# Writing


def _graph(scenario: Setup, found: Resolved | None) -> dict[str, Any]:
    graph = scenario.graph
    made = found.graph if found is not None else graph
    if isinstance(graph, Run):
        return {"name": None, "path": None, "settings": [], OBJECT_KEY: repr(graph)}
    if isinstance(graph, TaskGraph):
        # A generated graph knows its generator and all its arguments.
        if graph.name not in registry.GENERATORS or "priorities" not in graph.arguments:
            return {"name": None, "path": None, "settings": [], OBJECT_KEY: repr(graph)}
        graph = graph.name
    # The source has decided already whether the name is that of a generator.
    generated = registry.names_generator(graph) if found is None else found.source.format is None
    if not generated:
        return {"name": None, "path": _absolute(graph), "settings": []}
    settings = list(scenario.settings)
    if isinstance(made, TaskGraph):
        settings = [f"{key}={value}" for key, value in made.arguments.items()]
    return {"name": graph, "path": None, "settings": settings}


def _models(scenario: Setup, found: Resolved | None) -> dict[str, Any]:
    models = scenario.models
    if found is not None and found.library is not None:
        return _entry("models", "", None, found.library.path, scenario.library)
    if models is None or isinstance(models, str):
        return _entry("models", "", models, None, scenario.library)
    from tasksim.models.files.store import ModelLibrary

    if isinstance(models, ModelLibrary):
        return _entry("models", "", None, models.path, scenario.library)
    return {"name": None, "path": None, OBJECT_KEY: type(models).__name__}


def _entry(
    kind: str, suffix: str, text: str | None, path: Path | None, library: str | None
) -> dict[str, Any]:
    """Return the name in a library and the path of a file or folder: as found, else as given."""
    if path is not None:
        from tasksim.base.library import names

        known = names(kind, suffix, None if library is None else Path(library))
        name = next((name for name, p in known.items() if p.resolve() == path.resolve()), None)
        return {"name": name, "path": _absolute(path)}
    is_path = text is not None and (Path(text).suffix != "" or "/" in text)
    return {"name": None if is_path else text, "path": _absolute(text) if is_path else None}


def _absolute(path: str | Path | None) -> str | None:
    return None if path is None else str(Path(path).resolve())


# Reading


def _scenario(kind: type[S], node: JsonNode) -> S:
    from tasksim.native.runtimes import RUNTIMES

    graph, platform, models = node["graph"], node["platform"], node["models"]
    durations = models["durations_s"]
    return kind(
        graph=_place(graph) or "",
        settings=tuple(each.text() for each in graph["settings"]),
        platform=_place(platform),
        workers=_integer(platform["workers"]),
        models=_place(models),
        durations=_durations(durations),
        model_names=_model_names(models["names"]),
        library=_folder(_text(node["library"])),
        changes=tuple(each.text() for each in platform["set"]),
        scheduler=node.get("scheduler", "lws").text(),
        seed=node.get("seed", 0).integer(),
        noise=cast("Noise", node.get("noise", "none").one_of(NOISES)),
        clock=cast("ClockKind", node.get("clock", "simulated").one_of(CLOCKS)),
        pin=_truth(node.get("pin", True)),
        runtime=cast("Runtime", node.get("runtime", "auto").one_of(RUNTIMES)),
        **_cluster_fields(node.get("cluster", {})),
    )


def _cluster_fields(node: JsonNode) -> dict[str, Any]:
    """Return the fields of a scenario about nodes."""
    if not node.mapping():
        return {}
    return {
        "network": _text(node.get("network", None)),
        "nodes": _integer(node.get("nodes", None)),
        "grid": _text(node.get("grid", None)),
        "owner": node.get("owner", "row").text(),
    }


def _durations(node: JsonNode) -> Durations | None:
    if node.value is None:
        return None
    if isinstance(node.value, str):
        from tasksim.run.measured import DURATION_WORDS

        return cast("DurationWord", node.one_of(DURATION_WORDS))
    return tuple((kernel, seconds.number()) for kernel, seconds in node.items())


def _model_names(node: JsonNode) -> ModelNames | None:
    """Return the names of models; they were written in full, as a file could change later."""
    if isinstance(node.value, dict):
        return tuple((kernel, model.text()) for kernel, model in node.items())
    if node.value is not None and "{kernel}" not in node.text():
        raise node.expected("a text with {kernel} in it, or a mapping from kernels to models")
    return _text(node)


def _old_native(kind: type[S], node: JsonNode) -> S:
    graph = node["graph"]
    name = graph["name"].text()
    generated = registry.names_generator(name)
    return kind(
        graph=name,
        settings=tuple(each.text() for each in graph["settings"]) if generated else (),
        workers=node["workers"].integer(),
        models=_text(node["models"]),
        library=_folder(_text(node["library"])),
        scheduler=node["scheduler"].text(),
        seed=node["seed"].integer(),
        clock="native",
        pin=_truth(node["pin"]),
    )


def _place(entry: JsonNode) -> str | None:
    """Return the path in an entry if it still exists, else its name."""
    made = entry.get(OBJECT_KEY, None)
    if made.value is not None:
        raise made.error(f"made in Python ({made.value}), and not kept with the run")
    from tasksim.base.files import exists

    path, name = _text(entry["path"]), _text(entry["name"])
    return path if path is not None and (exists(Path(path)) or name is None) else name


def _text(node: JsonNode) -> str | None:
    return None if node.value is None else node.text()


def _integer(node: JsonNode) -> int | None:
    return None if node.value is None else node.integer()


def _truth(node: JsonNode) -> bool:
    if not isinstance(node.value, bool):
        raise node.expected("true or false")
    return node.value


def _folder(path: str | None) -> str | None:
    from tasksim.base.files import is_folder

    return path if path is not None and is_folder(Path(path)) else None
