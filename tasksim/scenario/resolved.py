"""Resolution of the names in a scenario to its graph, platform and models.

:class:`Source` decides what the name of the graph stands for, :class:`Resolver` finds the rest, and
a :class:`Resolved` has what was found.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from tasksim.base.errors import InputError, option
from tasksim.graph.apps.registry import names_generator, parse
from tasksim.graph.taskgraph import TaskGraph
from tasksim.models.rows import DURATION_PARAMETER
from tasksim.platform.description import Platform
from tasksim.scenario.durations import kernels_without, known_durations, seconds_of_graph
from tasksim.scenario.setup import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tasksim.engine.durations import Models
    from tasksim.engine.simulation import Simulation
    from tasksim.formats.registry import Format, GraphInput
    from tasksim.models.files.store import ModelLibrary
    from tasksim.network.cluster import Cluster
    from tasksim.network.clusterfile import ClusterFile
    from tasksim.run.measured import DurationWord
    from tasksim.run.record import Run
    from tasksim.scenario.durations import SecondsByKernel
    from tasksim.scenario.replayed import Replayed
    from tasksim.scenario.setup import Setup

__all__ = [
    "Resolved",
    "Resolver",
    "Source",
    "network_file",
    "resolve",
]

ADVICE_TOPICS: Final = (
    "without_models", "extrapolated", "beyond_contention", "without_noise", "clocked", "numa",
    "overfull", "unused_durations", "disturbed",
)  # fmt: skip
"""Topics of a simulation's warnings, in the order of their output."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Source:
    """Source of the graph of a scenario, decided once.

    Attributes
    ----------
    given : str, TaskGraph or Run
        The graph of the scenario, or its name.
    settings : tuple of str
        Settings of the generator.
    format : Format or None
        Format of a file, or of the folder of a run; None for a generator or an object.
    recorded : Replayed or None
        The recorded run that takes the place of a graph.
    """

    given: str | TaskGraph | Run
    settings: tuple[str, ...] = ()
    format: Format | None = None
    recorded: Replayed | None = None

    @classmethod
    def of(cls, scenario: Setup) -> Source:
        """Return the source of a scenario's graph; it reads a recorded run, but no graph.

        Raises
        ------
        InputError
            If the name is unknown, or the run is malformed.
        """
        given, settings = scenario.graph, scenario.settings
        if isinstance(given, TaskGraph) or (isinstance(given, str) and names_generator(given)):
            return cls(given, settings)
        found, recorded, is_run = None, None, True
        if isinstance(given, str):
            from tasksim.formats.graphs import file_format
            from tasksim.run.foldernames import is_run_folder

            found = file_format(given)
            is_run = is_run_folder(Path(given))
        # Formats of other packages may read both graphs and runs: those files are graphs here.
        if is_run:
            from tasksim.scenario.replayed import Replayed

            library = None if scenario.library is None else Path(scenario.library)
            recorded = Replayed.of(given, library)
        return cls(given, settings, found, recorded)

    @cached_property
    def graph(self) -> TaskGraph:
        """The task graph."""
        given, recorded = self.given, self.recorded
        if isinstance(given, TaskGraph):
            made = given
        elif recorded is not None:
            made = recorded.graph
        elif self.format is not None:
            return self.content.graph
        else:
            return parse(str(given), self.settings)
        if self.settings:
            raise InputError(f"graph {made.name}: only a generator takes settings")
        return made

    @cached_property
    def content(self) -> GraphInput:
        """Content of the file: the graph, and the platform and models that come with it."""
        from tasksim.formats.graphs import graph_in

        return graph_in(Path(str(self.given)), self.format, self.settings)

    @property
    def brings_platform(self) -> bool:
        """Whether it is a file of costs per processor, which has its own platform and models."""
        return self.format is not None and self.format.brings_platform

    def files(self) -> list[Path]:
        """Return the files of the graph; none of a generator or an object."""
        return [] if self.format is None else self.format.files_of(Path(str(self.given)))


@dataclass(frozen=True, eq=False)
class Resolved:
    """A scenario with the objects that its names stand for.

    Attributes
    ----------
    scenario : Setup
    source : Source
        Where the graph comes from.
    graph : TaskGraph
    platform : Platform
    models : models or None
        Models of the durations. None for a native run whose scheduler needs no estimates.
    library : ModelLibrary or None
        The models if they are files; None if all durations are given.
    seconds : dict of str -> float, or None
        Given seconds per kernel, or per ``ARCHITECTURE:KERNEL``; they override models.
    engine : dict
        Further fields of the :class:`~tasksim.engine.simulation.Simulation`.
    cluster : Cluster or None
        The nodes of a simulation over several, each a copy of the platform.
    """

    scenario: Setup
    source: Source
    graph: TaskGraph
    platform: Platform
    models: Models | None
    library: ModelLibrary | None = None
    seconds: dict[str, float] | None = None
    engine: dict[str, Any] = field(default_factory=dict)
    cluster: Cluster | None = None

    def bounds(self) -> dict[str, float]:
        """Return the lower bounds on the makespan, the same as in a simulated run."""
        from tasksim.engine.pricing import Prices
        from tasksim.run.bounds import bounds

        far_data = self.engine.get("far_data", "charged")
        means = Prices(self.graph, self.platform, self.known_models(), far_data).means
        workers = [self.nodes * len(group.workers) for group in self.platform.classes]
        return bounds(self.graph, means, workers).to_json()

    def bounds_on_nodes(self) -> dict[str, float]:
        """Return the lower bounds that include nodes and messages; empty for a single node."""
        cluster = self.cluster
        if cluster is None or len(cluster.nodes) == 1 or len(set(map(id, cluster.nodes))) > 1:
            return {}
        from tasksim.engine.cluster.bounds import cluster_bounds
        from tasksim.engine.durations import durations
        from tasksim.graph.distribution.owners import grid_or_square
        from tasksim.graph.distribution.parts import cut_by

        grid = grid_or_square(self.scenario.node_grid, len(cluster.nodes))
        cut = cut_by(self.graph, grid, self.scenario.owner)
        fastest = durations(self.graph, self.platform, self.known_models()).min(axis=0)
        workers = [len(node.workers) for node in cluster.nodes]
        return cluster_bounds(cut, fastest, workers, cluster.network).to_json()

    def simulation(self, scenario: Setup | None = None) -> Simulation:
        """Return the input of an engine.

        A given *scenario* may differ from this one in scheduler, seed and noise.
        """
        from tasksim.engine.simulation import Simulation

        scenario = scenario or self.scenario
        if self.nodes > 1 and self.engine.get("submitted_s") is not None:
            raise InputError("engine.submission=recorded is for one node")
        return Simulation(
            self.graph,
            self.cluster or self.platform,
            self.known_models(),
            scenario.policy(),
            scenario.seed,
            scenario.noise,
            **self.engine,
            grid=scenario.node_grid,
            owner=scenario.owner,
        )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return 1 if self.cluster is None else len(self.cluster.nodes)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Source of each kernel's durations; empty if all kernels have the same source.

        A source is ``given``, ``models``, or ``tasks`` for durations of the tasks themselves.
        """
        models, given = self.models, {name.rpartition(":")[2] for name in self.seconds or ()}
        if models is None or not hasattr(models, "model"):
            return {}
        found, groups = {}, self.platform.classes
        for kernel, name in zip(self.graph.kernels, self.graph.model_names, strict=True):
            found[kernel] = "given" if kernel in given else "tasks"
            for group in () if kernel in given else groups:
                with suppress(InputError):
                    models.model(name, group.models)
                    found[kernel] = "models"
        return found if len(set(found.values())) > 1 else {}

    def files(self) -> list[Path]:
        """Return the files that a run of this scenario depends on."""
        paths = self.source.files()
        if self.platform.path is not None:
            paths.append(self.platform.path)
        if self.library is not None:
            paths += dict.fromkeys(map(self.library.file_of, self.graph.model_names))
        if self.cluster is not None:
            file = network_file(self.scenario.network)
            paths += [] if file is None else [Path(file)]
            if self.scenario.cluster_file is not None:
                paths.append(Path(str(self.scenario.platform)))
        return paths

    def known_models(self) -> Models:
        """Return the models; :exc:`InputError` if there are none."""
        if self.models is None:
            raise InputError(f"{self.scenario.label}: there are no models of the durations")
        return self.models

    def advice(self, *topics: str) -> dict[str, list[str]]:
        """Return the warnings of a simulation by topic; by default of all topics.

        ``without_models``
            Workers that stay idle because no kernel has a model for them, or that given durations
            keep from kernels.
        ``extrapolated``
            Kernels whose models have to extrapolate.
        ``beyond_contention``
            Memory domains with more workers than contention was measured for.
        ``without_noise``
            With noise, kernels whose models have no distribution.
        ``clocked``
            Kernels whose time all counts as computing, at another frequency than measured.
        ``numa``
            Kernels whose remote accesses cost nothing, because their memory share is unknown.
        ``overfull``
            Memories that are too small for the data at home in them.
        ``unused_durations``
            Architectures with durations in the graph and without workers on the platform.
        ``disturbed``
            Measured durations that contain time in which other programs had the cores.
        """
        graph, platform, models, library = self.graph, self.platform, self.models, self.library
        said: dict[str, list[str]] = {topic: [] for topic in topics or ADVICE_TOPICS}
        mute = set(ADVICE_TOPICS).difference(said)
        if library is None:
            mute |= {"without_models", "extrapolated", "beyond_contention"}
        if not platform.memory_domains:
            mute.add("beyond_contention")
        if models is None or self.scenario.noise == "none":
            mute.add("without_noise")
        if models is None or not platform.frequencies:
            mute.add("clocked")
        if models is None or platform.numa is None:
            mute.add("numa")
        if self.cluster is None and all(each.size_bytes is None for each in platform.memories):
            mute.add("overfull")
        if not any(
            DURATION_PARAMETER in names and sum(name.endswith("_s") for name in names) > 1
            for names in graph.parameter_names
        ):  # durations per architecture are parameters of the tasks
            mute.add("unused_durations")
        if not hasattr(models, "others_share"):
            mute.add("disturbed")
        if mute.issuperset(said):
            return said
        from tasksim.scenario.advice import warnings_of

        topics = tuple(topic for topic in said if topic not in mute)
        given = {name.rpartition(":")[2] for name in self.seconds or ()}
        return said | warnings_of(
            topics, graph, platform, models, given, self.cluster, self.scenario
        )

    def warnings(self) -> list[str]:
        """Return all lines of :meth:`advice`."""
        return [line for lines in self.advice().values() for line in lines]


def resolve(scenario: Setup) -> Resolved:
    """Return *scenario* with the objects that its names stand for.

    Raises :exc:`InputError` if a name is unknown, or its parts do not go together.
    """
    return Resolver().resolve(scenario)


class Resolver:
    """Resolver of scenarios, which makes or reads each shared object once.

    Files are read once, even if they change later: use a new resolver for a new study.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def resolve(self, scenario: Setup, *, estimated: bool = True) -> Resolved:
        """Return *scenario* with the objects that its names stand for; raises as :func:`resolve`.

        Without *estimated*, the scheduler of a native run gets no estimates even if it needs them.
        """
        native = scenario.clock == "native"
        source = self.source(scenario)
        scenario = self.placed(scenario)
        platform = self.platform(scenario)
        graph = self._graph(scenario, source)
        models: Models | None = None
        library: ModelLibrary | None = None
        seconds: dict[str, float] | None = None
        if isinstance(scenario.durations, str):
            models = self._measured(scenario, source, scenario.durations)
        elif scenario.durations is not None:
            models, seconds = self._completed(scenario, graph, platform, scenario.durations)
        elif scenario.models is not None or (native and estimated and scenario.needs_estimates):
            models = self._models(scenario, platform, graph)
        elif not native:
            models = self._given(scenario, source, graph, platform)
            models = models or self._models(scenario, platform, graph)
        if hasattr(models, "file_of"):  # a ModelLibrary; its class is imported only if there is one
            library = cast("ModelLibrary", models)
            graph, platform = self._with_library(scenario, graph, platform, library, bool(seconds))
        if any(device.synchronous for device in platform.devices.values()):
            from tasksim.scenario.advice import refuse_misspelt_synchronous

            self.derived("checked", refuse_misspelt_synchronous, graph, platform, library)
        engine = dict(scenario.engine)
        if engine.pop("submission", "costs") == "recorded":
            if source.recorded is None or native:
                what = "a native run" if native else scenario.graph_label
                raise InputError(
                    f"{option('set')} engine.submission=recorded: got {what}; legal: a simulation "
                    "of a recorded run"
                )
            engine["submitted_s"] = source.recorded.submitted_s
        cluster = self.cluster(scenario, platform)
        return Resolved(
            scenario, source, graph, platform, models, library, seconds, engine, cluster
        )

    def _completed(
        self, scenario: Setup, graph: TaskGraph, platform: Platform, given: SecondsByKernel
    ) -> tuple[Models, dict[str, float]]:
        """Return models of the *given* durations, completed by models, and the graph's seconds."""
        seconds = seconds_of_graph(given, graph)
        missing = kernels_without(graph, seconds)
        models: Models | None = None
        if not missing:
            for name in ("models", "model_names"):
                if getattr(scenario, name) is not None:
                    raise InputError(
                        f"{option(name)}: {option('durations')} has all kernels already; leave "
                        "one out"
                    )
        elif scenario.models is not None or platform.models is not None:
            models = self._models(scenario, platform, graph)
        else:
            raise InputError(
                f"{option('durations')}: kernel {', '.join(missing)} of graph {graph.name} missing;"
                f" give {','.join(f'{kernel}=SECONDS' for kernel in missing)} as well, or "
                f"{option('models', 'DIR')}"
            )

        def known(graph: TaskGraph, platform: Platform, models: Models | None, _: Any) -> Models:
            return known_durations(graph, platform, seconds, models)

        return self.derived("given", known, graph, platform, models, given), seconds

    def _models(self, scenario: Setup, platform: Platform, graph: TaskGraph) -> Models:
        """Return the models that the scenario names, or those of the platform."""
        if scenario.models is not None and not isinstance(scenario.models, str):
            return scenario.models
        from tasksim.models.files.store import ModelLibrary
        from tasksim.scenario.kernel_models import models_path

        path = models_path(scenario, platform, graph)
        return self.once(("models", path.resolve()), lambda: ModelLibrary(path))

    def _with_library(
        self,
        scenario: Setup,
        graph: TaskGraph,
        platform: Platform,
        models: ModelLibrary,
        completed: bool,
    ) -> tuple[TaskGraph, Platform]:
        """Return graph and platform with the files' facts about Python's lock and energies."""
        from tasksim.scenario.kernel_models import (
            model_architectures,
            require_models,
            with_energies,
            with_lock_turns,
        )

        simulated = scenario.clock != "native"
        architectures = model_architectures(platform)
        require_models(models, graph, architectures, completed=simulated, further=completed)
        if platform.power is not None:
            platform = self.derived("energies", with_energies, graph, platform, models)
        if simulated:
            graph = self.derived("in turns", with_lock_turns, graph, models, architectures)
        return graph, platform

    def cluster(self, scenario: Setup, platform: Platform) -> Cluster | None:
        """Return the nodes of the scenario, each a copy of *platform*; None without nodes.

        Raises :exc:`InputError` if their number or their network is unknown.
        """
        file, grid = self._cluster_file(scenario), scenario.node_grid
        words = scenario.network, scenario.nodes, grid
        if scenario.clock == "native" or (file is None and words == (None, None, None)):
            for change in scenario.network_changes:
                raise InputError(
                    f"{option('set')} {change} changes a network between nodes: "
                    f"give {option('nodes', 'N')} and {option('network', 'NETWORK')}"
                )
            return None
        from tasksim.formats.platforms import load_network
        from tasksim.network.cluster import Cluster

        nodes = scenario.nodes or (grid.nodes if grid else None) or (file.count if file else None)
        if nodes is None:
            raise InputError(
                f"the number of nodes is missing: give {option('nodes', 'N')} or "
                f"{option('grid', 'PxQ')}"
            )
        network: Any = None if file is None else file.network
        if (text := scenario.network) is not None:
            key: Hashable = ("network", text, scenario.library)
            network = self.once(key, lambda: load_network(text, scenario.library))
        if network is None:
            if nodes > 1:
                raise InputError(
                    f"the network between the nodes is missing: give {option('network', 'NETWORK')}"
                )
            from tasksim.network.load import read_network

            network = read_network("switch:bandwidth=1GB/s,latency=1us")  # unused by a single node
        cores = None if file is None else file.cores
        if file is None and (recorded := self.source(scenario).recorded) is not None:
            cores = recorded.cores(scenario)
        if changes := scenario.network_changes:
            from tasksim.network.settings import with_settings

            network = with_settings(network.sized(nodes), changes)

        def alike(platform: Platform, nodes: int, cores: int | None, *_: Any) -> Cluster:
            return Cluster.alike(platform, nodes, network, cores)

        return self.derived(
            "cluster", alike, platform, nodes, cores, scenario.network, tuple(changes)
        )

    def _cluster_file(self, scenario: Setup) -> ClusterFile | None:
        """Return the cluster file that a scenario names as its platform; None for any other."""
        name = scenario.platform
        if not isinstance(name, str):
            return None
        return self.once(("cluster file", name), lambda: scenario.cluster_file)

    def source(self, scenario: Setup) -> Source:
        """Return the source of a scenario's graph; raises as :func:`resolve`."""
        given: Any = scenario.graph
        name = given if isinstance(given, str) else id(given)
        key = ("source", name, scenario.settings, scenario.library)
        return self.once(key, lambda: Source.of(scenario))

    def placed(self, scenario: Setup) -> Setup:
        """Return *scenario* on the nodes of the recorded run that it replays, if it had several."""
        recorded = self.source(scenario).recorded
        return scenario if recorded is None else recorded.placed(scenario)

    def _graph(self, scenario: Setup, source: Source) -> TaskGraph:
        """Return the graph, with the scenario's names of models."""
        names = scenario.model_names
        if names is None:
            return source.graph
        if source.brings_platform:
            raise InputError(
                f"{option('model_names')} is for models, but {source.given} has durations"
            )
        from tasksim.scenario.kernel_models import with_model_names

        return self.derived("renamed", with_model_names, source.graph, names)

    def _measured(self, scenario: Setup, source: Source, word: DurationWord) -> Models:
        """Return the durations of the tasks in the recorded run."""
        recorded = source.recorded
        if recorded is None:
            raise InputError(
                f"{option('durations')} {word}: graph {scenario.graph_label} is not a recorded "
                "run; legal: a run folder as the graph, or KERNEL=SECONDS,..."
            )

        def measured(recorded: Replayed, word: DurationWord) -> Models:
            return recorded.durations(word)

        return self.derived("measured", measured, recorded, word)

    def _given(
        self, scenario: Setup, source: Source, graph: TaskGraph, platform: Platform
    ) -> Models | None:
        """Return durations from the graph's file, run or tasks, if no models are named."""
        if source.brings_platform:
            models: Models = source.content.models
            return models
        if not (scenario.model_names is platform.models is None):
            return None
        from tasksim.models.kinds.given import GivenDurations, gives_durations

        if source.recorded is not None:
            return self._measured(scenario, source, "measured")
        return GivenDurations(graph) if gives_durations(graph) else None

    def platform(self, scenario: Setup) -> Platform:
        """Return the platform of a scenario; raises as :func:`resolve`."""
        changes = scenario.platform_changes
        if isinstance(scenario.platform, Platform):
            if changes:
                raise InputError(
                    f"{option('set')} changes a platform file: give its name or path, not a "
                    "Platform object"
                )
            return scenario.platform
        if scenario.platform is not None:
            from tasksim.formats.platforms import load_platform

            file = self._cluster_file(scenario)
            library = scenario.library
            name = scenario.platform if file is None else file.like
            key = ("platform", name, library, *changes)
            return self.once(key, lambda: load_platform(name, library, changes))
        if scenario.clock == "native":
            from tasksim.native.this_machine import this_machine

            return this_machine(scenario.workers)
        return self._unnamed_platform(scenario, changes)

    def _unnamed_platform(self, scenario: Setup, changes: list[str]) -> Platform:
        """Return the platform of a simulation that names none: its workers', or its graph's."""
        source, workers = self.source(scenario), scenario.workers
        if workers is None and (recorded := source.recorded) is not None:

            def own(recorded: Replayed, alone: bool, changes: Sequence[str]) -> Platform:
                return recorded.platform(changes, alone=alone)

            alone = scenario.durations == "alone"
            return self.derived("its platform", own, recorded, alone, tuple(changes))
        if workers is not None:
            found: Platform | None = self.derived("identical", Platform.identical, workers)
        else:
            found = source.content.platform if source.brings_platform else None
        if found is None:
            more = "" if scenario.durations is not None else f" or {option('platform', 'NAME')}"
            raise InputError(f"the platform is missing: give {option('workers', 'N')}{more}")
        if changes:
            raise InputError(
                f"{option('set')} changes a platform file: give {option('platform', 'NAME')}"
            )
        return found

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of *make*, which is called once per *key*."""
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]
        return found

    def derived(self, kind: str, make: Callable[..., T], *parts: Any) -> T:
        """Return ``make(*parts)``, made once for the same objects and equal plain values.

        The objects are kept with the result, so that their ids stay unique.
        """
        key = (kind, *(part if is_plain(part) else id(part) for part in parts))
        return self.once(key, lambda: (make(*parts), parts))[0]


def network_file(text: str | None) -> str | None:
    """Return the file at the beginning of *text*, which names a network; None if there is none."""
    from tasksim.base.files import is_file

    name = "" if text is None else text.partition(":")[0]
    return name if name and is_file(Path(name)) else None
