"""Runs: the records that came out of one, and what is needed to repeat it."""

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
    """A worker as a run remembers it."""

    name: str
    architecture: str
    node: int = 0
    memory: int = 0
    """The index of the memory that its tasks read and write."""


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """A memory as a run remembers it."""

    name: str
    node: int = 0
    size_bytes: float | None = None
    """None: without limit."""


@cache
def _versions() -> dict[str, str]:
    return {"python": ".".join(map(str, sys.version_info[:3]))} | {
        name: version_of(name) or "not installed" for name in _LIBRARIES
    }


@dataclass(frozen=True, repr=False)
class Run:
    """A run of a task graph on workers, simulated or native.

    Two runs are equal if everything but ``wall_s``, the engine and ``graph`` is. In a notebook, a
    run shows what it was, how busy its workers were, and its kernels.

    Parameters
    ----------
    kind : {"simulated", "native"}
        What made it.
    graph_name : str
        The generator of its graph.
    graph_arguments : dict
        What that was called with.
    kernel_names : tuple of str
        The kernels of the graph.
    workers : tuple of WorkerInfo
        What ran the tasks.
    platform : str
        The name of the platform.
    scheduler : str
        The scheduler with its options.
    seed : int or None
        Of random choices.
    tasks : TaskTable
        The task records.
    config : dict, optional
        What repeats the run.
    versions : dict, optional
        Of tasksim, Python and libraries; default: those here.
    wall_s : float, default 0.0
        How long it took to simulate or to execute.
    engine : str, default ""
        What made it: ``compiled`` or ``simpy``, natively ``compiled`` or ``python``.
    engine_why : str, default ""
        Why it was not the compiled core; or that this called a scheduler written in Python.
    bounds : dict or None, default None
        Lower bounds on the makespan, in seconds.
    transfers, memory : TransferTable, MemoryTable or None, default None
        The copies between memories, and how full these were.
    memories : tuple of MemoryInfo, default ()
        The memories of the platform.
    evictions : int, default 0
        How many copies of data were dropped to make room.
    uncertainty : dict or None, default None
        How sure the makespan is, of a simulation that was asked for it.
    graph : TaskGraph or None, default None
        What was run, where no generator makes it again: it is kept with the run.
    messages : MessageTable or None, default None
        The messages between nodes, where there are several.
    power : PowerInfo or None, default None
        What its machine draws; None: nobody knows.
    counted_j : float or None, default None
        The energy that the machine counted during a native run, in joules; None: it counts none.
    disturbance : Disturbance or None, default None
        What others took from the workers of a native run; None: nobody knows.

    See Also
    --------
    simulate, execute : make runs.
    load_run : reads one.

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
    """What the generator was called with."""
    kernel_names: tuple[str, ...]
    workers: tuple[WorkerInfo, ...]
    platform: str
    """The name of the platform."""
    scheduler: str
    """The scheduler with its options, as text."""
    seed: int | None
    tasks: TaskTable
    config: dict[str, Any] = field(default_factory=dict)
    """Everything that repeats the run, fully resolved: plain JSON data."""
    versions: dict[str, str] = field(default_factory=lambda: dict(_versions()))
    """Versions of tasksim, Python and the libraries that made the run; default: those here."""
    wall_s: float = field(default=0.0, compare=False)
    """How long it took to simulate or to execute."""
    engine: str = field(default="", compare=False)
    """What made it: ``compiled``, or ``simpy``, natively ``python``; empty: it is not known."""
    engine_why: str = field(default="", compare=False)
    """Why it was not the compiled core."""
    bounds: dict[str, float] | None = None
    """Lower bounds on the makespan, in seconds, by name (see :mod:`tasksim.run.bounds`)."""
    transfers: TransferTable | None = None
    """The copies between memories; None: no data were moved, or nobody watched."""
    memory: MemoryTable | None = None
    """How full the memories were."""
    memories: tuple[MemoryInfo, ...] = ()
    """The memories of the platform; none if ``transfers`` and ``memory`` are None."""
    evictions: int = 0
    """How many copies of data were dropped to make room."""
    uncertainty: dict[str, Any] | None = None
    """How sure the makespan is: what ``Prediction.to_json`` says."""
    graph: TaskGraph | None = field(default=None, compare=False)
    """What was run, where it is kept with the run, as no generator makes it again."""
    messages: MessageTable | None = None
    """The messages between nodes; None: there is one."""
    power: PowerInfo | None = None
    """What its machine draws, for :func:`tasksim.run.energy.energy`."""
    counted_j: float | None = field(default=None, compare=False)
    """The energy that the machine itself counted, all programs together."""
    disturbance: Disturbance | None = field(default=None, compare=False)
    """What others took from the workers of a native run."""

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        what = f"{self.kind} {self.graph_label}, {self.scheduler} on {self.platform}"
        return f"<Run {what}: {len(self)} tasks, {duration_text(self.makespan_s)}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: facts, how busy the workers were, the kernels."""
        from tasksim.run.runhtml import run_html

        return run_html(self)

    @property
    def makespan_s(self) -> float:
        """The end of the last task; the clock starts at 0 with the first submission."""
        return float(self.tasks.end_s.max()) if len(self.tasks) else 0.0

    @property
    def graph_label(self) -> str:
        """The graph as one writes it: ``cholesky tiles=20 tile_size=256``."""
        arguments = (f"{name}={value}" for name, value in self.graph_arguments.items())
        return " ".join([self.graph_name, *arguments])

    def label(self, task: int) -> str:
        """Return the name of a task for messages: ``gemm #17``."""
        return f"{self.kernel_names[self.tasks.kernel[task]]} #{self.tasks.task[task]}"

    def to_pandas(self) -> pd.DataFrame:
        """Return the task records as a pandas frame: :meth:`frame`, as other libraries call it."""
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
