"""Report on the scaling of a program, with its model, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, OutOfDomainError, unknown
from tasksim.base.files import refuse_existing, write_text
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import GENERATORS, parse
from tasksim.models.kinds.history import HistoryModel
from tasksim.network.cluster import Cluster
from tasksim.platform.description import Platform
from tasksim.reports.bulk.prediction import BulkModel, MessageCosts
from tasksim.reports.bulk.profile import (
    counts_in,
    grid_like,
    owner_of,
    profile_of_graph,
    profile_of_run,
    ranks_of,
    size_of,
)
from tasksim.reports.bulk.tables import (
    counter_table,
    kernel_table,
    message_table,
    scaling_table,
    undetermined,
)
from tasksim.run.criticalkernels import MIN_RUNS, critical_kernels
from tasksim.run.messageline import fitted_hockney
from tasksim.run.samples import recorded_kernels
from tasksim.run.sharedcores import own_core_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.counters.families import Criterion
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.network.description import Network
    from tasksim.reports.bulk.prediction import Collective
    from tasksim.reports.bulk.profile import KernelCounts, Profile
    from tasksim.run.messageline import Hockney
    from tasksim.run.samples import RecordedRun

__all__ = ["MeanModels", "ScalingReport", "report_scaling", "simulated_s"]


MIN_DURATION_S: Final = 1e-9
"""Least duration of a sample, one tick of a clock, in seconds: samples must be positive."""


class MeanModels:
    """Kernel models of recorded runs, with the mean duration of each configuration.

    Architecture and far data do not matter: runs of bulk-synchronous programs have one
    architecture.
    If ranks shared cores, tasks count with the duration that they would have had alone.
    """

    def __init__(self, runs: Sequence[RecordedRun]) -> None:
        self._models = {
            kernel.name: HistoryModel(fence=None).fit(kernel.samples)
            for kernel in reversed(recorded_kernels([_alone(run) for run in runs]))
        }

    def model(self, kernel: str, architecture: str) -> KernelModel:  # noqa: ARG002
        """Return the model of *kernel*."""
        if kernel not in self._models:
            raise unknown("kernel", kernel, self._models)
        return self._models[kernel]

    def locality(self, kernel: str, architecture: str) -> Locality | None:  # noqa: ARG002
        """Return None: these models know no far data."""
        return None


def _alone(recorded: RecordedRun) -> RecordedRun:
    """Return the run with the ends that its tasks would have had on cores of their own."""
    run = recorded.run
    durations_s = np.maximum(own_core_s(run), MIN_DURATION_S)
    tasks = replace(run.tasks, end_s=run.tasks.start_s + durations_s)
    return replace(recorded, run=replace(run, tasks=tasks))


def simulated_s(
    graph: TaskGraph,
    grid: NodeGrid,
    owner: str,
    network: Network,
    models: MeanModels,
    *,
    scheduler: str = "lws",
    platform: Platform | None = None,
    cores: int | None = None,
) -> float:
    """Return the simulated time of *graph* on *grid*, each rank a *platform*, or one core.

    Raises
    ------
    InputError
        If a kernel has a configuration that was not measured.
    """
    cluster = Cluster.alike(platform or Platform.identical(1), grid.nodes, network, cores)
    return Simulation(graph, cluster, models, scheduler, grid=grid, owner=owner).run().makespan_s


TABLE_NAMES: Final = ("scaling", "kernels", "counters", "messages")
"""Tables of a report, each in a file of this name."""
FIGURE_NAMES: Final = ("scaling", "parts", "counters", "messages")
"""Figures of a report, each in a file of this name."""


@dataclass(frozen=True, eq=False)
class ScalingReport:
    """Prediction of a program on many ranks from runs on few.

    Attributes
    ----------
    model : BulkModel
    fitted : tuple of Profile
        The profiles that the model was fitted to.
    table : pandas.DataFrame
        Table of :func:`~tasksim.reports.bulk.tables.scaling_table`, with ``settings``: those in
        which the row's program differs from the run on most ranks, ``block_rows=16``.
    rest : tuple of str
        The kernels that count as one.
    asked : tuple of Profile
        The profiles of the rows of the table.
    """

    model: BulkModel
    fitted: tuple[Profile, ...]
    table: pd.DataFrame
    rest: tuple[str, ...]
    asked: tuple[Profile, ...] = ()

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels that have models of their own."""
        return tuple(self.model.kernels)

    @property
    def undetermined(self) -> dict[str, str]:
        """Law -> the reason why the runs do not determine it for some row."""
        return undetermined(self.fitted, self.table)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by the names in :data:`TABLE_NAMES`."""
        return {
            "scaling": self.table,
            "kernels": kernel_table(self.model, self.asked),
            "counters": counter_table(self.model, self.asked),
            "messages": message_table(self.model, self.asked),
        }

    def write(self, folder: Path, *, force: bool = False) -> tuple[str, ...]:
        """Write tables and figures to *folder*; return the names of the files.

        Without messages there is no figure of them.
        """
        from tasksim.reports.bulk import figures

        tables = self.tables()
        draw: dict[str, Callable[[pd.DataFrame], Figure]] = {
            "scaling": partial(figures.scaling_figure, self.fitted),
            "parts": figures.parts_figure,
            "counters": figures.counters_figure,
            "messages": figures.messages_figure,
        }
        drawn = {name: table for name in FIGURE_NAMES if len(table := tables.get(name, self.table))}
        files = (*(f"{name}.csv" for name in TABLE_NAMES), *(f"{name}.png" for name in drawn))
        for name in files:
            refuse_existing(folder / name, force=force)
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            write_text(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
        for name, table in drawn.items():
            draw[name](table).savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
        return files


def report_scaling(
    runs: Sequence[RecordedRun],
    counters: Path,
    *,
    asked: Sequence[str] = (),
    fitted: int | None = None,
    network: Network | None = None,
    collectives: Mapping[str, Collective] | None = None,
    latencies_s: Mapping[str, float] | None = None,
    bf_comm: float | None = None,
    cores: int | None = None,
    by: Criterion = "cv",
    threshold: float = 0.05,
    size: str | None = None,
    simulated: bool = True,
) -> ScalingReport:
    """Predict a program on more ranks from *runs* on few, and *counters* of their kernels.

    Parameters
    ----------
    runs : sequence of RecordedRun
        Runs of one program, on different numbers of ranks or of different sizes.
    counters : Path
        A folder that ``tasksim counters APPLICATION`` wrote.
    asked : sequence of str
        ``64`` ranks, or ``64:block_rows=8,block_columns=8`` with other settings of the program.
    fitted : int, optional
        Most ranks of a run that the model is fitted to; larger runs only judge it.
    network : Network, optional
        Network for messages and the simulation. Without it, a line through the runs' messages gives
        their costs, and nothing is simulated.
    collectives, latencies_s, bf_comm, cores, by
        As in :class:`~tasksim.reports.bulk.prediction.BulkModel` and its costs.
    threshold : float, default 0.05
        Share of the time below which kernels count as one, in runs on three numbers of ranks.
    size : str, optional
        Size of the problem: a sum of products of powers of the program's settings, as
        ``"block_rows*block_columns*block_size^2"``; by default the computed instructions, which
        differ between runs whose blocks do.
    simulated : bool, default True
        Whether the cases are also simulated on the network.

    Raises
    ------
    InputError
        If the runs are of several programs, or too few.
    """
    if len({run.graph.name for run in runs}) > 1:
        raise InputError(
            f"runs of several programs: {', '.join(sorted({run.graph.name for run in runs}))}"
        )
    counts = counts_in(counters)
    few = [run for run in runs if fitted is None or ranks_of(run) <= fitted]
    known = [_sized(profile_of_run(run, counts), run.graph, size) for run in few]
    # With too few runs to tell, all kernels are critical.
    enough = len({len(run.run.workers) for run in few}) >= MIN_RUNS
    critical = critical_kernels(few, threshold).critical if enough else None
    costs = MessageCosts(network or _line_of(few), collectives or {})
    model = BulkModel(
        known, costs, latencies_s=latencies_s, critical=critical, bf_comm=bf_comm, cores=cores,
        by=by,
    )  # fmt: skip
    rest = [name for run in few for name in run.graph.model_names if name not in model.kernels]
    cases = [_Case(run.graph, profile_of_run(run, counts), run) for run in runs if run not in few]
    like = max(few, key=ranks_of)
    cases += [_case(text, like, counts) for text in asked]
    wanted = [_sized(case.profile, case.graph, size) for case in cases]
    times = _simulated(cases, few, network if simulated else None, cores)
    table = scaling_table(model, known, wanted, times)
    table.insert(1, "settings", [_settings(case.graph, like.graph) for case in cases])
    return ScalingReport(model, tuple(known), table, tuple(dict.fromkeys(rest)), tuple(wanted))


def _sized(profile: Profile, graph: TaskGraph, size: str | None) -> Profile:
    return profile if size is None else replace(profile, size=size_of(graph, size))


@dataclass(frozen=True, eq=False)
class _Case:
    """A case to predict, with a graph on ranks that is distributed as a run."""

    graph: TaskGraph
    profile: Profile
    like: RecordedRun


def _case(text: str, like: RecordedRun, counts: Mapping[str, KernelCounts]) -> _Case:
    """Return the case ``64:block_rows=8``: a run's program with other settings."""
    number, _, settings = text.partition(":")
    if not number.isdecimal() or int(number) < 1:
        raise InputError(f"--to {text}: legal: RANKS, or RANKS:SETTING=VALUE,...")
    graph = like.graph
    if settings:
        GENERATORS.refuse_foreign(graph.name, like.path)
        changed = dict(word.partition("=")[::2] for word in settings.split(","))
        kept = {name: str(value) for name, value in graph.arguments.items()} | changed
        graph = parse(graph.name, [f"{name}={value}" for name, value in kept.items()])
    grid = grid_like(like, int(number))
    workers = -(-len(like.run.workers) // ranks_of(like))
    return _Case(graph, profile_of_graph(graph, grid, owner_of(like), counts, workers), like)


def _settings(graph: TaskGraph, usual: TaskGraph) -> str:
    """Return the settings in which *graph* differs from the *usual* one."""
    return " ".join(
        f"{name}={value}"
        for name, value in graph.arguments.items()
        if usual.arguments.get(name) != value
    )


def _line_of(runs: Sequence[RecordedRun]) -> Hockney:
    tables = [run.run.messages for run in runs if run.run.messages is not None]
    if not tables:
        raise InputError("no run has messages: runs on two ranks and more do, or give the network")
    columns = [(np.asarray(t.size_bytes, float), t.end_s - t.start_s) for t in tables]
    sizes, taken = (np.concatenate(column) for column in zip(*columns, strict=True))
    return fitted_hockney(sizes, taken)


def _simulated(
    cases: Sequence[_Case], runs: Sequence[RecordedRun], network: Network | None, cores: int | None
) -> list[float]:
    """Return simulated times; NaN without a network, and for cases with sizes that did not run."""
    if network is None:
        return [nan] * len(cases)
    models = MeanModels(runs)
    found = []
    for case in cases:
        grid, owner = grid_like(case.like, case.profile.ranks), owner_of(case.like)
        scheduler = case.like.run.scheduler
        try:
            seconds = simulated_s(
                case.graph, grid, owner, network, models, scheduler=scheduler, cores=cores
            )
        except OutOfDomainError:
            seconds = nan
        found.append(seconds)
    return found
