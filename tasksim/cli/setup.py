"""From the options of a command to a graph, a platform and kernel models; and back from a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base import library as libraries
from tasksim.base.errors import InputError, unknown
from tasksim.scenario.durations import constants, parse_durations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasksim.engine.durations import Models
    from tasksim.formats.registry import GraphInput
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary
    from tasksim.platform.description import Platform

__all__ = ["Request", "Setup", "parse_engine"]


@dataclass(frozen=True)
class Request:
    """What is to be run and where, as texts of the command line."""

    graph: str
    settings: tuple[str, ...] = ()
    platform: str | None = None
    workers: int | None = None
    models: str | None = None
    durations: str | None = None
    model_names: str | None = None
    library: Path | None = None
    changes: tuple[str, ...] = ()

    def build(self) -> Setup:
        """Return the graph, the platform and the models.

        Raises :exc:`InputError` if options exclude each other or miss one another, or name what
        is not there.
        """
        self._check()
        costs = self._costs()
        graph = self._graph() if costs is None else costs.graph
        platform = self._platform(costs)
        if self.durations is not None:
            seconds = parse_durations(self.durations, graph)
            return Setup(self, graph, platform, constants(graph, platform, seconds), None, seconds)
        given = self._given(graph, platform) if costs is None or self.models else costs.models
        if given is not None:
            return Setup(self, graph, platform, given, None, None)
        from tasksim.models.files.store import ModelLibrary

        models = ModelLibrary(self._models_path(platform))
        _require(models, graph, platform)
        return Setup(self, graph, platform, models, models, None)

    def _check(self) -> None:
        if self.platform is not None and self.workers is not None:
            raise InputError("--platform and --workers exclude each other: a platform has workers")
        if self.models is not None and self.durations is not None:
            raise InputError("--models and --durations exclude each other: give one of them")
        if self.model_names is not None and self.durations is not None:
            raise InputError("--model-names is for models; --durations names kernels")
        if self.platform is None and self.workers is None and not _is_costs(self.graph):
            more = "" if self.durations is not None else " or --platform NAME"
            raise InputError(f"where to run? give --workers N{more}")
        if self._platform_changes() and self.platform is None:
            raise InputError("--set changes a platform file: give --platform NAME")
        parse_engine(self.changes)

    def _platform_changes(self) -> list[str]:
        return [text for text in self.changes if not _is_engine(text)]

    def _graph(self) -> TaskGraph:
        from tasksim.formats.graphs import load_graph

        graph = load_graph(self.graph, list(self.settings))
        if self.model_names is None:
            return graph
        if "{kernel}" not in self.model_names:
            raise InputError(
                f"--model-names: got '{self.model_names}'; legal: a text with {{kernel}} in it, "
                "such as 'prefix_{kernel}'"
            )
        names = [self.model_names.replace("{kernel}", name) for name in graph.kernels]
        return replace(graph, model_names=tuple(names))

    def _costs(self) -> GraphInput | None:
        """Return what a file of costs per processor says, if the graph is one."""
        if not _is_costs(self.graph):
            return None
        from tasksim.formats.graphs import read_graph

        if self.model_names is not None:
            raise InputError(f"--model-names is for models; {self.graph} says what tasks take")
        return read_graph(self.graph, self.settings)

    def _platform(self, costs: GraphInput | None) -> Platform:
        if costs is not None and self.platform is None and self.workers is None:
            assert costs.platform is not None  # that is what makes it a file of costs
            return costs.platform
        if self.platform is None:
            from tasksim.platform.description import Platform

            return Platform.identical(self.workers or 0)
        from tasksim.platform.load import load

        return load(self.platform, self.library, self._platform_changes())

    def _given(self, graph: TaskGraph, platform: Platform) -> Models | None:
        """Return the durations that the graph's tasks say, if there are no models but these."""
        if not (self.models is self.model_names is platform.models is None):
            return None
        from tasksim.models.kinds.given import GivenDurations, gives_durations

        return GivenDurations(graph) if gives_durations(graph) else None

    def _models_path(self, platform: Platform) -> Path:
        if self.models is not None:
            return libraries.find("models", self.models, library=self.library)
        if platform.models is None:
            whose = f"platform {platform.name} names none"
            if self.platform is None:
                whose = "identical workers have none"
            raise InputError(
                f"no kernel models: {whose}; give --models DIR, or --durations KERNEL=SECONDS,..."
            )
        return platform.models_folder(self.library)


@dataclass(frozen=True)
class Setup:
    """A graph, a platform and kernel models, and how they were asked for."""

    request: Request
    graph: TaskGraph
    platform: Platform
    models: Models
    model_library: ModelLibrary | None
    """The models, where they are files; None for durations that were given."""
    seconds: dict[str, float] | None
    """Seconds per kernel, or ``ARCHITECTURE:KERNEL``, with ``--durations``."""

    def bounds(self) -> dict[str, float]:
        """Return the lower bounds on the makespan, the same as those of a simulation."""
        from tasksim.engine.durations import durations
        from tasksim.engine.locality import near_and_far
        from tasksim.run.bounds import bounds

        means = durations(self.graph, self.platform, self.models)
        near, _ = near_and_far(self.graph, self.platform, self.models, means)
        workers = [len(group.workers) for group in self.platform.classes]
        return bounds(self.graph, near, workers).to_json()

    def engine(self) -> dict[str, Any]:
        """Return the options of the engine that were set."""
        return parse_engine(self.request.changes)

    def extrapolated(self) -> list[str]:
        """Say of which kernels the models are asked beyond what they were fitted to."""
        if self.model_library is None:
            return []
        from tasksim.scenario.advice import extrapolated

        return extrapolated(self.graph, self.models, _model_architectures(self.platform))

    def without_models(self) -> list[str]:
        """Say which workers run nothing, as no kernel has a model there."""
        if self.model_library is None:
            return []
        from tasksim.scenario.advice import without_models

        return without_models(self.graph, self.models, _model_architectures(self.platform))

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`tasksim.cli.recorded.request_of` makes the same request of."""
        request = self.request
        models = None if self.model_library is None else self.model_library.path
        generated = _is_generator(request.graph)
        settings = [f"{key}={value}" for key, value in self.graph.arguments.items()]
        return {
            "graph": {
                "name": request.graph if generated else None,
                "path": None if generated else _absolute(request.graph),
                "settings": settings if generated else [],
            },
            "platform": {
                "name": _name_in_library("platforms", ".yaml", self.platform.path, request.library),
                "path": _absolute(self.platform.path),
                "workers": request.workers,
                "set": list(request.changes),
            },
            "models": {
                "name": _name_in_library("models", "", models, request.library),
                "path": _absolute(models),
                "durations_s": self.seconds,
                "names": request.model_names,
            },
            "library": _absolute(request.library),
            "sha256": _fingerprints(self),
        }


ENGINE_OPTIONS = {"simultaneous_pushes": ("serial", "blind")}
"""What ``--set engine.OPTION=VALUE`` can set, and to what."""


def parse_engine(changes: Iterable[str]) -> dict[str, Any]:
    """Return the options of the engine among ``--set`` texts.

    Raises :exc:`InputError` for options and values that do not exist.
    """
    found: dict[str, Any] = {}
    for text in filter(_is_engine, changes):
        name, equals, value = text.strip().removeprefix("engine.").partition("=")
        if name not in ENGINE_OPTIONS or not equals:
            raise unknown("option of the engine", name, ENGINE_OPTIONS, f"--set {text}")
        if value.strip() not in ENGINE_OPTIONS[name]:
            raise unknown(name, value.strip(), ENGINE_OPTIONS[name], f"--set {text}")
        found[name] = value.strip()
    return found


def _is_engine(text: str) -> bool:
    return text.strip().startswith("engine.")


def _is_generator(name: str) -> bool:
    from tasksim.formats.graphs import names_generator

    return names_generator(name)


def _is_costs(graph: str) -> bool:
    """Return whether *graph* is a file of costs per processor, which brings a platform along."""
    from tasksim.formats.graphs import graph_format

    return not _is_generator(graph) and graph_format(graph).brings_platform


def _name_in_library(kind: str, suffix: str, path: Path | None, library: Path | None) -> str | None:
    """Return the name under which a library has *path*, if one does."""
    if path is None:
        return None
    known = libraries.names(kind, suffix, library)
    return next((name for name, p in known.items() if p.resolve() == path.resolve()), None)


def _absolute(path: str | Path | None) -> str | None:
    return None if path is None else str(Path(path).resolve())


def _fingerprints(setup: Setup) -> dict[str, str]:
    """Return the SHA-256 of the files that the result depends on, by path."""
    import hashlib

    paths: list[Path] = []
    if not _is_generator(setup.request.graph):
        paths += _files_of(setup.request.graph)
    if setup.platform.path is not None:
        paths.append(setup.platform.path)
    if setup.model_library is not None:
        paths += dict.fromkeys(map(setup.model_library.file_of, setup.graph.model_names))
    return {
        str(path.resolve()): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.is_file()
    }


def _files_of(graph: str) -> list[Path]:
    """Return the files that a *graph* in files consists of."""
    path = Path(graph)
    from tasksim.formats.graphs import graph_format

    return graph_format(graph).files_of(path)


def _require(models: ModelLibrary, graph: TaskGraph, platform: Platform) -> None:
    """Raise :exc:`InputError` for kernels without a model; with what ``--model-names`` could be."""
    try:
        models.require(graph.model_names, _model_architectures(platform))
    except InputError as error:
        options = [f"--model-names '{text}'" for text in _templates(graph, models.kernels())]
        if not options:
            raise
        raise InputError(f"{error}; for models called otherwise: {' or '.join(options)}") from None


def _templates(graph: TaskGraph, known: Sequence[str]) -> list[str]:
    """Return the templates after which each kernel of *graph* has a model among those *known*."""
    if set(graph.model_names) <= set(known):
        return []
    first = graph.kernels[0]
    around = [name.partition(first) for name in known if first in name]
    templates = [f"{before}{{kernel}}{after}" for before, _, after in around]
    return [
        text
        for text in templates
        if {text.replace("{kernel}", kernel) for kernel in graph.kernels} <= set(known)
    ]


def _model_architectures(platform: Platform) -> tuple[str, ...]:
    """Return the architectures whose models the workers use."""
    used = [group.models for group in platform.classes]
    return tuple(dict.fromkeys(used))
