"""Runs: records of a run of a task graph, and everything needed to repeat it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tasksim.base.units import duration_text
from tasksim.base.versions import version_of
from tasksim.run.recordtables import MemoryTable, MessageTable, TaskTable, TransferTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.disturbance import Disturbance
    from tasksim.run.power import PowerInfo

__all__ = [
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


@cache
def _versions() -> dict[str, str]:
    return {"python": ".".join(map(str, sys.version_info[:3]))} | {
        name: version_of(name) or "not installed" for name in _LIBRARIES
    }


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
        Scheduler with its options.
    seed : int or None
        Seed of random choices.
    tasks : TaskTable
        Task records.
    config : dict, optional
        Configuration that repeats the run.
    versions : dict, optional
        Versions of tasksim, Python and libraries [default: those here].
    wall_s : float, default 0.0
        Wall time of the simulation or execution in seconds.
    engine : str, default ""
        Engine: ``compiled`` or ``simpy``; for native runs ``compiled`` or ``python``.
    engine_why : str, default ""
        Why it was not the compiled core, or that the core called a Python scheduler.
    bounds : dict or None, default None
        Lower bounds on the makespan in seconds.
    transfers, memory : TransferTable, MemoryTable or None, default None
        Copies between memories, and use of the memories.
    memories : tuple of MemoryInfo, default ()
        Memories of the platform.
    evictions : int, default 0
        Number of copies that were dropped to make room.
    uncertainty : dict or None, default None
        Uncertainty of the makespan, if the simulation was asked for it.
    graph : TaskGraph or None, default None
        The graph, if no generator can make it again; it is kept with the run.
    messages : MessageTable or None, default None
        Messages between nodes, if there are several.
    power : PowerInfo or None, default None
        Power of its machine; None if unknown.
    counted_j : float or None, default None
        Energy that the machine counted during a native run in joules; None if it has no counters.
    disturbance : Disturbance or None, default None
        Time that others took from the workers of a native run; None if unknown.

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
    """Arguments of the generator."""
    kernel_names: tuple[str, ...]
    workers: tuple[WorkerInfo, ...]
    platform: str
    """Name of the platform."""
    scheduler: str
    """Scheduler with its options, as text."""
    seed: int | None
    tasks: TaskTable
    config: dict[str, Any] = field(default_factory=dict)
    """Configuration that repeats the run, fully resolved: plain JSON data."""
    versions: dict[str, str] = field(default_factory=lambda: dict(_versions()))
    """Versions of tasksim, Python and the libraries that made the run; default: those here."""
    wall_s: float = field(default=0.0, compare=False)
    """Wall time of the simulation or execution in seconds."""
    engine: str = field(default="", compare=False)
    """Engine: ``compiled`` or ``simpy``, natively ``python``; empty if unknown."""
    engine_why: str = field(default="", compare=False)
    """Why it was not the compiled core."""
    bounds: dict[str, float] | None = None
    """Lower bounds on the makespan, in seconds, by name (see :mod:`tasksim.run.bounds`)."""
    transfers: TransferTable | None = None
    """Copies between memories; None if no data were moved, or copies were not recorded."""
    memory: MemoryTable | None = None
    """Use of the memories."""
    memories: tuple[MemoryInfo, ...] = ()
    """Memories of the platform; empty if ``transfers`` and ``memory`` are None."""
    evictions: int = 0
    """Number of copies that were dropped to make room."""
    uncertainty: dict[str, Any] | None = None
    """Uncertainty of the makespan, as written by ``Prediction.to_json``."""
    graph: TaskGraph | None = field(default=None, compare=False)
    """The graph, if it is kept with the run because no generator can make it again."""
    messages: MessageTable | None = None
    """Messages between nodes; None if there is only one node."""
    power: PowerInfo | None = None
    """Power of its machine, for :func:`tasksim.run.energy.energy`."""
    counted_j: float | None = field(default=None, compare=False)
    """Energy that the machine itself counted, for all programs together, in joules."""
    disturbance: Disturbance | None = field(default=None, compare=False)
    """Time that others took from the workers of a native run."""

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        what = f"{self.kind} {self.graph_label}, {self.scheduler} on {self.platform}"
        return f"<Run {what}: {len(self)} tasks, {duration_text(self.makespan_s)}>"

    def _repr_html_(self) -> str:
        """Return a summary for notebooks: facts, how busy the workers were, the kernels."""
        from tasksim.run.runhtml import run_html

        return run_html(self)

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
