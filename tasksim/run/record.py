"""Runs of task graphs, with their records and everything needed to repeat them."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from tasksim.base.units import duration_text
from tasksim.base.versions import version_of
from tasksim.run.recordtables import MemoryTable, MessageTable, TaskTable, TransferTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from tasksim.base.documents.json_document import JsonNode
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.decisions import DecisionTable
    from tasksim.run.numa import NumaUse
    from tasksim.run.power import PowerInfo

__all__ = [
    "Disturbance",
    "FarData",
    "MemoryInfo",
    "MemoryTable",
    "MessageTable",
    "Run",
    "RunKind",
    "TaskTable",
    "TransferTable",
    "WorkerInfo",
]

_LIBRARIES = ("tasksim", "numpy", "scipy", "simpy")

STEAL_TICK_S: Final = 0.01
"""Resolution of the reported host time, in seconds: one tick may precede the run."""
MACHINE_FACTS: Final = (
    "steal_s",
    "throttled_s",
    "alone_s",
    "pressure_s",
    "cache_bytes",
    "displaced_share",
    "detour_s",
    "read_ratio",
)
"""Fields after those of the workers."""

RunKind = Literal["simulated", "native"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker in a run's record."""

    name: str
    architecture: str
    node: int = 0
    memory: int = 0
    """Index of the memory that its tasks read and write."""


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """A memory in a run's record."""

    name: str
    node: int = 0
    size_bytes: float | None = None
    """None if it has no limit."""


@dataclass(frozen=True)
class Disturbance:
    """Report of the system on the workers' threads and the machine during a native run.

    Attributes
    ----------
    waited_s : tuple of float or None
        Per worker, time in which its thread was ready and had no core; None if not reported.
    preemptions : tuple of int
        Per worker, number of times that the system took its core.
    steal_s : float or None
        Time that the host took from all cores of this machine, if reported.
    throttled_s : float or None
        Time for which a limit of the control group throttled the process.
    alone_s : float or None
        Makespan that the run would have had alone (:mod:`tasksim.scenario.alone`); None if it
        was not replayed.
    pressure_s : float or None
        Time in which any thread of the machine was ready and had no core.
    cache_bytes : float or None
        Size of the machine's last-level cache.
    displaced_share : float or None
        Share of the data near a core that others displace within 6 ms
        (:mod:`tasksim.native.cache_state`).
    detour_s : float or None
        Additional time that data take between the workers' cores, where the host has moved them
        (:mod:`tasksim.native.detour`).
    read_ratio : float or None
        Time of reads from the cache that cores share and from memory, relative to the least that
        the machine has shown (:mod:`tasksim.native.cache_state`).
    """

    waited_s: tuple[float | None, ...]
    preemptions: tuple[int, ...]
    steal_s: float | None = None
    throttled_s: float | None = None
    alone_s: float | None = None
    pressure_s: float | None = None
    cache_bytes: float | None = None
    displaced_share: float | None = None
    detour_s: float | None = None
    read_ratio: float | None = None

    @property
    def total_s(self) -> float:
        """Time in seconds that other programs and the host took from all workers."""
        stolen_s = max((self.steal_s or 0.0) - STEAL_TICK_S, 0.0)
        return sum(waited or 0.0 for waited in self.waited_s) + stolen_s

    def without(self, own_s: float) -> Disturbance:
        """Return the disturbance less *own_s*, in which a thread of the run had the workers' cores.

        The time is subtracted from each worker in proportion to its wait.
        """
        waited_s = sum(waited or 0.0 for waited in self.waited_s)
        share = max(1.0 - own_s / waited_s, 0.0) if waited_s else 1.0
        waited = (None if each is None else each * share for each in self.waited_s)
        return replace(self, waited_s=tuple(waited))

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, node: JsonNode, workers: int) -> Disturbance:
        """Return the disturbance written by :meth:`to_json` for a run on *workers* workers."""
        from tasksim.base.documents.json_document import JsonNode  # only readers need it

        waited = [each.maybe(JsonNode.number) for each in node["waited_s"]]
        preemptions = [each.integer() for each in node["preemptions"]]
        for name, values in (("waited_s", waited), ("preemptions", preemptions)):
            if len(values) != workers:
                raise node[name].error(f"got {len(values)} values; the run has {workers} workers")
        found = cls(
            tuple(waited), tuple(preemptions),
            *(node.get(name, None).maybe(JsonNode.number) for name in MACHINE_FACTS),
        )  # fmt: skip
        share = found.displaced_share
        if share is not None and not 0.0 <= share <= 1.0:
            raise node["displaced_share"].error(f"got {share:g}; legal: 0 to 1")
        for name, least in (("detour_s", 0.0), ("read_ratio", 1.0)):
            value = getattr(found, name)
            if value is not None and not value >= least:
                raise node[name].error(f"got {value:g}; legal: {least:g} or more")
        return found


@cache
def _versions() -> dict[str, str]:
    return {"python": ".".join(map(str, sys.version_info[:3]))} | {
        name: version_of(name) or "not installed" for name in _LIBRARIES
    }


class FarData(NamedTuple):
    """Time that far data took from the tasks of a simulated run.

    Parameters
    ----------
    extra_s : float
        Sum over its tasks, more than with all data in the cache.
    mean_s : float
        The same if each kernel had as large a share of far data as where it was measured: this is
        in the models' means, and in what schedulers expect.
    """

    extra_s: float
    mean_s: float


@dataclass(frozen=True, repr=False)
class Run:
    """A run of a task graph on workers, simulated or native.

    Two runs are equal if everything but ``wall_s``, the engine and ``graph`` is equal. A notebook
    shows the facts of a run, how busy its workers were, and its kernels.

    Parameters
    ----------
    kind : {"simulated", "native"}
        Whether it was simulated or executed.
    graph_name : str
        Generator of its graph.
    graph_arguments : dict
        Arguments of the generator.
    kernel_names : tuple of str
        Kernels of the graph.
    workers : tuple of WorkerInfo
        Workers that ran the tasks.
    platform : str
        Name of the platform.
    scheduler : str
        Scheduler with its options, as text.
    seed : int or None
        Seed of random choices.
    tasks : TaskTable
        Task records.
    config : dict, optional
        Configuration that repeats the run, fully resolved: plain JSON data.
    versions : dict, optional
        Versions of tasksim, Python and the libraries that made the run [default: those here].
    wall_s : float, default 0.0
        Wall time of the simulation or execution in seconds.
    engine : str, default ""
        Engine: ``compiled`` or ``simpy``; for native runs ``compiled`` or ``python``; empty if
        unknown.
    engine_why : str, default ""
        Why it was not the compiled core, or that the core called a Python scheduler.
    bounds : dict or None, default None
        Lower bounds on the makespan in seconds, by name (see :mod:`tasksim.run.bounds`).
    transfers : TransferTable or None, default None
        Copies between memories; None if no data were moved, or copies were not recorded.
    memory : MemoryTable or None, default None
        Use of the memories.
    memories : tuple of MemoryInfo, default ()
        Memories of the platform; empty if *transfers* and *memory* are None.
    evictions : int, default 0
        Number of copies that were dropped to make room.
    uncertainty : dict or None, default None
        Uncertainty of the makespan, as ``Prediction.to_json`` writes it, if the simulation was
        asked for it.
    graph : TaskGraph or None, default None
        The graph, if no generator can make it again; it is kept with the run.
    messages : MessageTable or None, default None
        Messages between nodes; None if there is only one node.
    power : PowerInfo or None, default None
        Power of its machine, for :func:`tasksim.run.energy.energy`; None if unknown.
    numa : NumaUse or None, default None
        Accesses between memory domains; None if memory is uniform, or of a native run.
    far_data : FarData or None, default None
        Time that far data took from the tasks; None if models say nothing of it, and where cores
        slow each other down.
    counted_j : float or None, default None
        Energy in joules that the machine counted during a native run, for all programs together;
        None if it has no counters.
    disturbance : Disturbance or None, default None
        Time that others took from the workers of a native run; None if unknown.
    decisions : DecisionTable or None, default None
        Decisions of the scheduler; None if the simulation was not asked for them.

    See Also
    --------
    simulate, execute : Make runs.
    load_run : Reads one.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> run.makespan_s, len(run), run.label(3)
    (38.0, 20, 'trsm #3')
    """

    kind: RunKind
    graph_name: str
    graph_arguments: dict[str, str | int | float]
    kernel_names: tuple[str, ...]
    workers: tuple[WorkerInfo, ...]
    platform: str
    scheduler: str
    seed: int | None
    tasks: TaskTable
    config: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=lambda: dict(_versions()))
    wall_s: float = field(default=0.0, compare=False)
    engine: str = field(default="", compare=False)
    engine_why: str = field(default="", compare=False)
    bounds: dict[str, float] | None = None
    transfers: TransferTable | None = None
    memory: MemoryTable | None = None
    memories: tuple[MemoryInfo, ...] = ()
    evictions: int = 0
    uncertainty: dict[str, Any] | None = None
    graph: TaskGraph | None = field(default=None, compare=False)
    messages: MessageTable | None = None
    power: PowerInfo | None = None
    numa: NumaUse | None = None
    far_data: FarData | None = None
    counted_j: float | None = field(default=None, compare=False)
    disturbance: Disturbance | None = field(default=None, compare=False)
    decisions: DecisionTable | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        what = f"{self.kind} {self.graph_label}, {self.scheduler} on {self.platform}"
        return f"<Run {what}: {len(self)} tasks, {duration_text(self.makespan_s)}>"

    def _repr_html_(self) -> str:
        """Return a summary for notebooks: facts, how busy the workers were, the kernels."""
        from tasksim.run.facts import run_html

        return run_html(self)

    def explore(
        self,
        path: str | Path | None = None,
        force: bool = False,
        *,
        over: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return a page on which sliders change the run's scenario, replayed in the browser.

        A native run is replayed as :func:`tasksim.simulate` replays it.

        Parameters
        ----------
        path : str, Path or None, default None
            Where to write the page, a file ``.html``; None: nowhere. A notebook shows it in a cell.
        force : bool, default False
            Whether to replace a file that is there.
        over : mapping or None, default None
            Sliders for parameters of the graph's generator: by the name of each its values, a list
            or a text such as ``"4..24"``; None: usual ones, an empty mapping: none.

        Returns
        -------
        LivePage

        Raises
        ------
        InputError
            If the scenario cannot be made again, its graph has no such parameters or values, or
            *path* exists and *force* is not given.

        See Also
        --------
        tasksim.explore : the same as a function.
        tasksim.save_page : writes runs as they were to a page.
        """
        # By name: a page is made of rooms above this one.
        return import_module("tasksim.view.live.page").explore(self, path, force, over=over)

    def reproduce(self, *, trust: bool = False, engine: str = "auto") -> Any:
        """Solve the run's scenario again, and return all differences, bit by bit.

        Parameters
        ----------
        trust : bool, default False
            Import a generator or a scheduler that the run names as ``MODULE:NAME``.
        engine : {"auto", "simpy", "compiled"}, default "auto"
            Engine of the replay; the result is the same with each.

        Returns
        -------
        tasksim.scenario.reproduction.Reproduction
            With ``same``, ``first_difference``, and what has changed since: ``changes``.

        Raises
        ------
        InputError
            If the run is not simulated, or its scenario cannot be solved any more.

        Examples
        --------
        >>> import tasksim
        >>> run = tasksim.simulate("chain length=3", workers=1)
        >>> run.reproduce().same
        True
        """
        # By name: a scenario is of a room above this one.
        module = import_module("tasksim.scenario.reproduction")
        return module.reproduce(self, trust=trust, engine=engine)

    @property
    def makespan_s(self) -> float:
        """End of the last task in seconds; the clock starts at 0 with the first submission."""
        return float(self.tasks.end_s.max()) if len(self.tasks) else 0.0

    @property
    def graph_label(self) -> str:
        """Generator and arguments of the graph: ``cholesky tiles=20 tile_size=256``."""
        arguments = (f"{name}={value}" for name, value in self.graph_arguments.items())
        return " ".join([self.graph_name, *arguments])

    def label(self, task: int) -> str:
        """Return the name of a task for messages: ``gemm #17``."""
        return f"{self.kernel_names[self.tasks.kernel[task]]} #{self.tasks.task[task]}"

    def to_pandas(self) -> pd.DataFrame:
        """Return the task records as a pandas frame; the usual name for :meth:`frame`."""
        return self.frame()

    def frame(self) -> pd.DataFrame:
        """Return the task records as a pandas frame, with names instead of indices.

        The columns are those of :class:`TaskTable`, and ``duration_s``, ``architecture`` and
        ``node``; ``kernel``, ``worker`` and ``architecture`` are categories.
        """
        from tasksim.base.extras import needed_for

        with needed_for("a pandas frame"):
            import pandas as pd

        worker = self.tasks.worker
        named = {
            "kernel": _categories(self.tasks.kernel, self.kernel_names),
            "worker": _categories(worker, [w.name for w in self.workers]),
            "architecture": _categories(worker, [w.architecture for w in self.workers]),
            "node": np.array([w.node for w in self.workers], dtype=np.int32)[worker],
            "duration_s": self.tasks.duration_s,
        }
        plain = {f.name: getattr(self.tasks, f.name) for f in fields(self.tasks)}
        return pd.DataFrame(plain | named)


def _categories(codes: NDArray[np.integer[Any]], names: Sequence[str]) -> pd.Categorical:
    """Return ``names[codes]`` as a categorical; equal names become one category."""
    import pandas as pd

    unique = pd.Index(list(dict.fromkeys(names)), dtype=object)
    merged = unique.get_indexer(pd.Index(names, dtype=object))
    return pd.Categorical.from_codes(merged[codes], categories=unique)
