"""Report on the scaling of a program, with its model, a table of all methods and a figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle
from math import isclose, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, OutOfDomainError, unknown
from tasksim.base.extras import needed_for
from tasksim.base.files import refuse_existing, write_text
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import parse, refuse_foreign
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
from tasksim.reports.bulk.tables import counter_table, kernel_table, message_table
from tasksim.reports.scaling_laws import nan_law, worley_law, worley_undetermined
from tasksim.run.criticalkernels import MIN_RUNS, critical_kernels
from tasksim.run.messageline import fitted_hockney
from tasksim.run.samples import recorded_kernels
from tasksim.run.sharedcores import alone_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from tasksim.graph.distribution.owners import Grid
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.counters.families import By
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.network.description import Network
    from tasksim.reports.bulk.prediction import Collective
    from tasksim.reports.bulk.profile import KernelCounts, Profile
    from tasksim.run.messageline import Hockney
    from tasksim.run.samples import RecordedRun

__all__ = [
    "SCALING_METHODS",
    "MeanModels",
    "ScalingReport",
    "median_errors",
    "report_scaling",
    "scaling_table",
    "simulated_s",
    "undetermined",
]


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
    tasks = replace(run.tasks, end_s=run.tasks.start_s + np.maximum(alone_s(run), MIN_DURATION_S))
    return replace(recorded, run=replace(run, tasks=tasks))


def simulated_s(
    graph: TaskGraph,
    grid: Grid,
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
    run = Simulation(graph, cluster, models, scheduler, grid=grid, owner=owner).run()
    return run.makespan_s


SCALING_METHODS: Final = {
    "counters": "counters and messages, functions of work and ranks",
    "counted": "counters and messages, counted in the program",
    "simulated": "tasksim's simulation",
    "worley": "a/P + b P^c + d",
    "nan": "a size/P + b",
}
"""Columns of the table, with their descriptions."""


def scaling_table(
    model: BulkModel,
    fitted: Sequence[Profile],
    asked: Sequence[Profile],
    simulated_s: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return a row per *asked* profile, with the time by each method.

    Parameters
    ----------
    model : BulkModel
        A model of the *fitted* profiles. The two laws are fitted to them as well: Worley's to those
        of the same size, Nan's to all.
    fitted, asked : sequence of Profile
        Profiles to fit to and to predict. Measured times of the latter judge all methods.
    simulated_s : sequence of float, optional
        The simulated time of each asked profile, NaN if it was not simulated.

    Returns
    -------
    pandas.DataFrame
        ``ranks, size, measured_s``, per method its time ``..._s`` and error
        ``..._error_percent``; for the two methods with counters also the interval,
        ``..._low_s, ..._high_s``, and the parts of :data:`~tasksim.reports.bulk.prediction.PARTS`,
        ``..._computing_s`` and so on; ``measured_kernels_s``, the time of the kernels.
    """
    with needed_for("a prediction for more ranks"):
        import pandas as pd

    times = [nan] * len(asked) if simulated_s is None else simulated_s
    pairs = zip(asked, times, strict=True)
    return pd.DataFrame([_row(model, fitted, profile, seconds) for profile, seconds in pairs])


def _row(
    model: BulkModel, fitted: Sequence[Profile], profile: Profile, simulated_s: float
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "ranks": profile.ranks, "size": profile.size, "measured_s": profile.seconds,
        "measured_kernels_s": profile.kernels_s,
    }  # fmt: skip
    for name in ("counters", "counted"):
        found = model.predict(profile, counted=name == "counted")
        row |= {f"{name}_s": found.seconds, f"{name}_low_s": found.low_s}
        row[f"{name}_high_s"] = found.high_s
        row |= {f"{name}_{part}_s": seconds for part, seconds in found.parts_s().items()}
    row["simulated_s"] = simulated_s
    row["worley_s"] = _worley_s(fitted, profile)
    row["nan_s"] = _nan_s(fitted, profile)
    for name in SCALING_METHODS:
        row[f"{name}_error_percent"] = 100.0 * (row[f"{name}_s"] / profile.seconds - 1.0)
    return row


def undetermined(fitted: Sequence[Profile], table: pd.DataFrame) -> dict[str, str]:
    """Return law -> the reason why the *fitted* profiles do not determine some row of *table*."""
    found = {}
    whys = [
        worley_undetermined([p.ranks for p in fitted if isclose(p.size, size)])
        for size in table["size"]
    ]
    if why := next(filter(None, whys), ""):
        found["worley"] = f"{why}, of the size that is asked"
    if table["nan_s"].isna().any():
        found["nan"] = "needs runs with 2 different sizes per rank"
    return found


def _worley_s(fitted: Sequence[Profile], profile: Profile) -> float:
    same = [p for p in fitted if isclose(p.size, profile.size)]
    if worley_undetermined([p.ranks for p in same]):
        return nan
    law = worley_law([p.ranks for p in same], [p.seconds for p in same])
    return float(law.seconds(profile.ranks))


def _nan_s(fitted: Sequence[Profile], profile: Profile) -> float:
    if len({p.ranks for p in fitted}) < 2:
        return nan
    columns = ([getattr(p, name) for p in fitted] for name in ("ranks", "size", "seconds"))
    return float(nan_law(*columns).seconds(profile.ranks, profile.size))


def median_errors(table: pd.DataFrame) -> dict[str, float]:
    """Return method -> median absolute error in percent, for methods with errors."""
    found = {}
    for name in SCALING_METHODS:
        errors = np.abs(table[f"{name}_error_percent"].to_numpy(float))
        if np.isfinite(errors).any():
            found[name] = float(np.nanmedian(errors))
    return found


TABLES: Final = ("scaling", "kernels", "counters", "messages")
"""Tables of a report, each in a file of this name."""
FIGURES: Final = ("scaling", "parts", "counters", "messages")
"""Figures of a report, each in a file of this name."""

SERIES_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"linestyle": "-", "marker": "o", "markersize": 4},
    {"linestyle": "--", "marker": "s", "markersize": 4},
    {"linestyle": ":", "marker": "^", "markersize": 4},
    {"linestyle": "-.", "marker": "D", "markersize": 4},
)
"""Line styles and marks of rows with the same settings; methods have the colours."""


@dataclass(frozen=True, eq=False)
class ScalingReport:
    """Prediction of a program on many ranks from runs on few.

    Attributes
    ----------
    model : BulkModel
    fitted : tuple of Profile
        The profiles that the model was fitted to.
    table : pandas.DataFrame
        Table of :func:`~tasksim.reports.bulk.report.scaling_table`, with ``settings``: those in
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
        """Return the tables by the names in :data:`TABLES`."""
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
        tables = self.tables()
        figures = [name for name in FIGURES if len(tables.get(name, self.table))]
        files = (*(f"{name}.csv" for name in TABLES), *(f"{name}.png" for name in figures))
        for name in files:
            refuse_existing(folder / name, force=force)
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            write_text(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
        for name in figures:
            figure = self._figure(name, tables)
            figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
        return files

    def _figure(self, name: str, tables: Mapping[str, pd.DataFrame]) -> Any:
        from tasksim.reports.bulk import figures

        if name == "scaling":
            return _drawn(self)
        if name == "parts":
            return figures.parts_figure(self.table)
        if name == "counters":
            return figures.counters_figure(tables[name])
        return figures.messages_figure(tables[name])


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
    by: By = "cv",
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
    critical = _critical(few, threshold)
    costs = MessageCosts(network or _line_of(few), collectives or {})
    model = BulkModel(
        known,
        costs,
        latencies_s=latencies_s,
        critical=critical,
        bf_comm=bf_comm,
        cores=cores,
        by=by,
    )
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
        refuse_foreign(graph.name, like.path)
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


def _critical(runs: Sequence[RecordedRun], threshold: float) -> tuple[str, ...] | None:
    """Return the critical kernels; None, all of them, if there are too few runs."""
    if len({len(run.run.workers) for run in runs}) < MIN_RUNS:
        return None
    return critical_kernels(runs, threshold).critical


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
            found.append(
                simulated_s(
                    case.graph, grid, owner, network, models, scheduler=scheduler, cores=cores
                )
            )
        except OutOfDomainError:
            found.append(nan)
    return found


def _drawn(report: ScalingReport) -> Any:
    """Draw the times over ranks, measured and by each method."""
    from tasksim.view.style import PALETTE, new_figure

    figure = new_figure(3.6)
    axes = figure.add_subplot()
    table = report.table.sort_values("ranks")
    known = [p for p in report.fitted if np.isfinite(p.seconds)]
    ranks = [p.ranks for p in known]
    axes.plot(ranks, [p.seconds for p in known], "ko", label="measured, learned from")
    if table["measured_s"].notna().any():
        axes.plot(table["ranks"], table["measured_s"], "kx", label="measured")
    for look, (settings, part) in zip(cycle(SERIES_LOOKS), _series(table), strict=False):
        for colour, name in zip(PALETTE, SCALING_METHODS, strict=False):
            if np.isfinite(part[f"{name}_s"]).any():
                axes.plot(part["ranks"], part[f"{name}_s"], **look, color=colour)
        low, high = part["counters_low_s"], part["counters_high_s"]
        axes.fill_between(part["ranks"], low, high, color=PALETTE[0], alpha=0.15, linewidth=0)
        if settings:
            axes.plot([], [], **look, color="#777777", label=settings)
    for colour, (name, meaning) in zip(PALETTE, SCALING_METHODS.items(), strict=False):
        if np.isfinite(table[f"{name}_s"]).any():
            axes.plot([], [], ".-", color=colour, label=meaning)
    _finish(axes, sorted({*ranks, *table["ranks"].tolist()}))
    figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    return figure


def _series(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows that a line joins, with their settings in words.

    A problem that grows with the ranks has other settings for each, and is one line. If several
    rows have the same ranks, each setting has its line.
    """
    if not table["ranks"].duplicated().any():
        return [("", table)]
    groups = table.groupby("settings", sort=False)
    return [(str(settings) or "as recorded", part) for settings, part in groups]


def _finish(axes: Any, ranks: list[int]) -> None:
    """Make both axes logarithmic, with ticks at the numbers of ranks."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ranks, [f"{each:g}" for each in ranks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("ranks")
    axes.set_ylabel("time (s)")
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
