"""Scenario: which graph, on which platform, with which models, under which scheduler, what else.

``Scenario("cholesky tiles=20", platform="xeon-2c", scheduler="dm").solve()`` is a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import whole_number
from tasksim.base.errors import InputError, option
from tasksim.platform.description import MAX_WORKERS, Platform
from tasksim.run.record import Run
from tasksim.scenario.changes import changed, engine_options, setting_texts, with_texts
from tasksim.scenario.checks import (
    Clock,
    Noise,
    check_choices,
    check_scheduler,
    check_together,
    class_name,
    graph_and_settings,
    is_plain,
    legal_model_names,
    name_or,
)
from tasksim.scenario.durations import durations_of

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.engine.choice import Engine
    from tasksim.engine.durations import Models
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.runtimes import Runtime
    from tasksim.native.threads import Progress
    from tasksim.scenario.durations import Durations
    from tasksim.schedulers.base import Scheduler

    AnyGraph = str | Path | TaskGraph | Run
    AnyPlatform = str | Path | Platform
    AnyModels = str | Path | Models | Mapping[str, Any]
    AnyScheduler = str | Scheduler | type[Scheduler]

__all__ = ["Clock", "Noise", "Scenario"]


@dataclass(frozen=True, repr=False)
class Scenario:
    """A question that a run answers: a task graph, where it runs, and how.

    Names stand for what the libraries and registries have under them; they are looked up when
    the scenario is resolved or solved, not before. What was made in Python, such as a graph, can
    stand in a name's place. Scenarios of names alone can be written and read, compared, sent to
    other processes, and be told from all others by their :attr:`fingerprint`.

    Parameters
    ----------
    graph : str, Path, TaskGraph or Run
        The name of a generator, with settings if wanted (``"cholesky tiles=20"``), or of a file or
        run folder; a graph; or a recorded run.
    settings : mapping or sequence of str, default ()
        Of the generator: ``{"tiles": 20}`` or ``["tiles=20"]``.
    platform : str, Path, Platform or None, default None
        A name, a file, or a platform. None: *workers*, or where a recorded run ran; natively,
        this machine.
    workers : int or None, default None
        Instead of a platform: so many, without overheads; natively threads, one per usable core.
    models : str, Path, models or None, default None
        Kernel models: a folder or file, or an object. None: those of the platform.
    durations : str, mapping or None, default None
        Instead of models: seconds per kernel, or per ``ARCHITECTURE:KERNEL``; as text with units
        if wanted (``"potrf=1,gemm=60 ms"``). Of a recorded run: ``"measured"``, ``"means"`` or
        ``"alone"``: measured, less what others took.
    model_names : str, Path, mapping or None, default None
        Their names: ``"model_{kernel}"``, ``"gemm=model_22,..."``, a mapping, a YAML file of one.
    library : str, Path or None, default None
        A folder with ``platforms/`` and ``models/`` that is searched before the others.
    changes : sequence of str, default ()
        As ``--set`` has them: ``"platform.workers.cpu.count=24"``,
        ``"engine.simultaneous_pushes=blind"``, ``"engine.submission=recorded"``.
    scheduler : str, Scheduler or class, default "lws"
        A name, with options if wanted (``"dmda:alpha=2"``); a scheduler, or its class.
    seed : int, default 0
        For random choices and draws: same seed, same run.
    noise : {"none", "model"}, default "none"
        What a task costs: its model's mean, or a draw from its distribution.
    clock : {"simulated", "native"}, default "simulated"
        Whether the graph is replayed, or executed on this machine.
    pin : bool, default True
        Natively, whether each thread keeps to a core of its own.
    runtime : {"auto", "python", "compiled"}, default "auto"
        Natively, what is between two tasks: the compiled core where it is there, or Python.
    network : str, Path or None, default None
        Between nodes: ``"switch:bandwidth=4GB/s,latency=1us"``, a name or a file.
    nodes : int or None, default None
        How many, each of them the platform.
    grid : str or None, default None
        Their rows and columns, ``"2x4"``.
    owner : str, default "row"
        Which node owns what: ``row``, ``column``, ``diamond``, ``round-robin``, ``morton``.

    Raises
    ------
    InputError
        If a value is none of these, or two of them exclude each other.

    See Also
    --------
    tasksim.simulate, tasksim.execute : the same in one call.

    Examples
    --------
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> scenario = Scenario("cholesky tiles=2", workers=2, durations=seconds)
    >>> scenario
    <Scenario cholesky tiles=2, 2 workers, lws>
    >>> scenario.solve().makespan_s
    8.0
    >>> [s.solve().makespan_s for s in scenario.variants({"graph.tiles": [1, 3]})]
    [1.0, 20.0]
    """

    graph: str | TaskGraph | Run
    settings: tuple[str, ...] = ()
    platform: str | Platform | None = None
    workers: int | None = None
    models: str | Models | None = None
    durations: Durations | None = None
    model_names: str | tuple[tuple[str, str], ...] | None = None
    library: str | None = None
    changes: tuple[str, ...] = ()
    scheduler: str | Scheduler | type[Scheduler] = "lws"
    seed: int = 0
    noise: Noise = "none"
    clock: Clock = "simulated"
    pin: bool = True
    runtime: Runtime = "auto"
    network: str | None = None
    nodes: int | None = None
    grid: str | None = None
    owner: str = "row"

    if TYPE_CHECKING:
        # What the values may be before they are brought into one form.
        def __init__(
            self,
            graph: AnyGraph,
            settings: Mapping[str, object] | Sequence[str] = (),
            platform: AnyPlatform | None = None,
            workers: int | None = None,
            models: AnyModels | None = None,
            durations: str | Mapping[str, Any] | Sequence[tuple[str, float]] | None = None,
            model_names: str | Path | Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
            library: str | Path | None = None,
            changes: Sequence[str] = (),
            scheduler: AnyScheduler = "lws",
            seed: int = 0,
            noise: Noise = "none",
            clock: Clock = "simulated",
            pin: bool = True,
            runtime: Runtime = "auto",
            network: str | Path | None = None,
            nodes: int | None = None,
            grid: str | None = None,
            owner: str = "row",
        ) -> None: ...

    def __post_init__(self) -> None:
        """Bring all values into one form, and check them."""
        graph, more = graph_and_settings(self.graph)
        self._keep("graph", graph)
        self._keep("settings", (*more, *setting_texts(self.settings, "settings")))
        self._keep("platform", name_or(self.platform, Platform, "platform"))
        if self.workers is not None:
            self._keep("workers", whole_number(self.workers, option("workers"), 1, MAX_WORKERS))
        self._keep_models()
        self._keep("library", name_or(self.library, None, "library"))
        self._keep("changes", setting_texts(self.changes, "changes"))
        check_scheduler(self.scheduler)
        self._keep("seed", whole_number(self.seed, "seed"))
        check_choices(self)
        check_together(self)
        self._keep("network", name_or(self.network, None, "network"))
        self.engine  # noqa: B018  # raises for options that do not exist

    def _keep_models(self) -> None:
        """Bring what tasks take into one form: models, or durations."""
        models: Any = self.models
        if isinstance(models, Mapping):
            if self.durations is not None:
                raise InputError("models and durations are both seconds per kernel: give one")
            self._keep("durations", models)
            self._keep("models", None)
        elif not hasattr(models, "model"):
            self._keep("models", name_or(models, None, "models"))
        if self.durations is not None:
            self._keep("durations", durations_of(self.durations))
        self._keep("model_names", legal_model_names(self.model_names))

    def _keep(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def __hash__(self) -> int:
        """Return a hash of the names; objects count with their types only."""
        values = (getattr(self, field.name) for field in fields(self))
        return hash(tuple(v if is_plain(v) else type(v).__name__ for v in values))

    def __repr__(self) -> str:
        return f"<Scenario {self.label}>"

    @property
    def graph_label(self) -> str:
        """The graph as one writes it: ``cholesky tiles=20``."""
        graph = self.graph
        if isinstance(graph, Run):
            return graph.graph_label
        return " ".join([graph if isinstance(graph, str) else graph.name, *self.settings])

    @property
    def label(self) -> str:
        """In a line what is asked: ``cholesky tiles=20, xeon-2c, dm``."""
        from tasksim.scenario.nodes import label_of

        return label_of(self)

    @property
    def scheduler_label(self) -> str:
        """Name of the scheduler."""
        if isinstance(self.scheduler, str):
            return self.scheduler
        return getattr(self.scheduler, "name", "") or class_name(self.scheduler)

    @cached_property
    def engine(self) -> dict[str, Any]:
        """The options of the engine that :attr:`changes` set."""
        return engine_options(self.changes)

    @property
    def platform_changes(self) -> list[str]:
        """Entries of :attr:`changes` for the platform."""
        return [text for text in self.changes if not text.startswith("engine.")]

    # Others like it

    def vary(self, changes: Mapping[str, Any] | None = None, /, **values: Any) -> Scenario:
        """Return the scenario with some things changed.

        Parameters
        ----------
        changes : mapping, optional
            Path -> value: ``graph.KEY`` is a setting of the generator, ``platform.PATH`` and
            ``engine.OPTION`` are as ``--set`` has them, anything else is a parameter of the
            scenario. The last word on a path counts.
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
        >>> Scenario("cholesky", workers=2).vary({"graph.tiles": 4}, scheduler="prio")
        <Scenario cholesky tiles=4, 2 workers, prio>
        """
        known = [field.name for field in fields(self)]
        return replace(self, **changed(self, known, {**(changes or {}), **values}))

    def with_changes(self, texts: Iterable[str]) -> Scenario:
        """Return the scenario with ``--set`` texts besides its own; the last word on a path counts.

        Examples
        --------
        >>> one = Scenario("cholesky", platform="xeon-2c", changes=["platform.workers.cpu.count=1"])
        >>> one.with_changes(["platform.workers.cpu.count=2"]).changes
        ('platform.workers.cpu.count=2',)
        """
        parts = [text.partition("=") for text in setting_texts(tuple(texts), "changes")]
        return replace(self, changes=with_texts(self.changes, parts))

    def variants(self, axes: Mapping[str, Iterable[Any]]) -> list[Scenario]:
        """Return a scenario for every combination of values, the last axis changing fastest.

        Parameters
        ----------
        axes : mapping
            Path -> values, paths as in :meth:`vary`.

        Returns
        -------
        list of Scenario

        Raises
        ------
        InputError
            As :meth:`vary`.

        Examples
        --------
        >>> two = {"graph.tiles": [4, 8], "scheduler": ["eager", "prio"]}
        >>> for scenario in Scenario("lu", workers=2).variants(two):
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

    # Answers

    def solve(
        self,
        *,
        check: bool = False,
        progress: Progress | None = None,
        engine: Engine = "auto",
    ) -> Run:
        """Return the run: simulated, or executed on this machine.

        Parameters
        ----------
        check : bool, default False
            Verify every invariant of the run; natively also what was computed.
        progress : callable, optional
            Natively, called a few times per second with how many tasks are done, and of how many.
        engine : {"auto", "simpy", "compiled"}, default "auto"
            What replays a simulated run; the result is the same to the last bit. ``auto``: the
            compiled core where it is there and knows all that is asked, else SimPy's engine.

        Returns
        -------
        Run
            With this scenario in its ``config``, so that it can be made again.

        Raises
        ------
        InputError
            If something that is named is not there, or does not go together.
        CheckFailed
            If *check* finds anything wrong.
        """
        from tasksim.scenario.resolved import resolve
        from tasksim.scenario.solving import solve

        return solve(resolve(self), check=check, progress=progress, engine=engine)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the scenario and of the files it names, which identifies it.

        Cheap: no graph is made and no model is read. Raises :exc:`InputError` if something was
        made in Python, which has no lasting name.
        """
        from tasksim.scenario.fingerprints import fingerprint

        return fingerprint(self)

    # JSON

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data, as ``run.json`` has them; see :mod:`tasksim.scenario.document`.

        Raises :exc:`InputError` if something was made in Python, which has no lasting name.
        """
        from tasksim.scenario.document import encode

        return encode(self)

    @classmethod
    def from_json(cls, data: Any, *, trust: bool = False) -> Scenario:
        """Return the scenario that :meth:`to_json` has written, also an earlier version of it.

        Parameters
        ----------
        data : dict
            Plain JSON data.
        trust : bool, default False
            Whether a generator or a scheduler that they name as ``MODULE:NAME`` is imported;
            else only registered names are legal.

        Raises
        ------
        InputError
            If it is none, or names what would have to be imported.
        """
        from tasksim.scenario.document import decode

        return decode(cls, data, trust=trust)
