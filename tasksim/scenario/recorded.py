"""Recorded runs, with their scenarios and graphs."""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from tasksim.base.arguments import one_of, path_of
from tasksim.base.documents.json_document import FormatError
from tasksim.base.errors import InputError, short
from tasksim.run.samples import RecordedRun
from tasksim.scenario.document import decode
from tasksim.scenario.scenario import Scenario
from tasksim.schedulers import registry as schedulers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.samples import Samples
    from tasksim.run.blame import Blame
    from tasksim.run.record import Run
    from tasksim.run.samples import Repeated

__all__ = ["Blamed", "blame_of", "plan_in", "recorded_runs", "recorded_samples", "scenario_of"]


def scenario_of(run: Run, where: Path, *, trust: bool = False) -> Scenario:
    """Return the scenario of a simulated *run* that was read from *where*.

    Files are searched at their recorded paths, then by name in the libraries. A graph that was
    kept with the run is used as it is.

    Parameters
    ----------
    run : Run
    where : Path
        Path of the run, for messages.
    trust : bool, default False
        Import a generator or a scheduler that the run names as ``MODULE:NAME``.

    Raises
    ------
    InputError
        If the run is not simulated, does not have its scenario, or names code to import and *trust*
        is not given.
    """
    if run.kind != "simulated":
        raise InputError(f"{where}: a {run.kind} run cannot be repeated, only a simulated one")
    try:
        config = run.config
        if run.graph is not None and isinstance(config.get("graph"), dict):
            # A scenario needs a name in place of the graph that was kept.
            config = {**config, "graph": {"name": "chain", "path": None, "settings": []}}
        found = decode(Scenario, config, where, trust=trust)
    except FormatError as error:
        raise InputError(
            f"{where}: the run has no scenario to repeat: {error}; "
            "'tasksim simulate -o' writes runs that have one"
        ) from None
    if not trust:
        schedulers.refuse_foreign(run.scheduler, where)
    graph = {} if run.graph is None else {"graph": run.graph, "settings": ()}
    return found.vary(**graph, scheduler=run.scheduler, seed=run.seed or 0)


class Blamed(NamedTuple):
    """The causes of the makespan of a run, and of the best known schedule of its graph."""

    run: Blame
    best: Blame | None


def blame_of(run: Run, where: Path, best: Path | None = None) -> Blamed:
    """Return the causes of the makespan of a *run*, computed with its models.

    In a run that is not simulated, a task costs the mean duration of its configuration.

    Parameters
    ----------
    run : Run
    where : Path
        Path of the run, for messages.
    best : Path, optional
        Folder of a result of :func:`tasksim.optimize`, whose plan is replayed.

    Raises
    ------
    InputError
        If the run had several nodes, its scenario or its graph is gone, or *best* has no plan for
        its graph and its workers.
    """
    import numpy as np

    from tasksim.engine.pricing import Prices
    from tasksim.platform.description import class_of
    from tasksim.run.blame import blame
    from tasksim.scenario.resolved import resolve

    if run.kind == "simulated":
        asked = scenario_of(run, where).vary(noise="none")
    elif run.messages is None:
        asked = Scenario(run, durations="means")
    else:
        raise InputError(f"{where}: blame is for runs on one node, without messages between ranks")
    resolved = resolve(asked)
    if resolved.nodes > 1:
        raise InputError(f"{where}: blame is for runs on one node; got {resolved.nodes} nodes")
    prices = Prices(resolved.graph, resolved.platform, resolved.known_models())
    classes = np.array(class_of(resolved.platform), np.int64)
    found = blame(run, prices.means, classes)
    if best is None:
        return Blamed(found, None)
    replayed = asked.vary(scheduler=f"static:file={plan_in(best)}").solve()
    other = blame(replayed, prices.means, classes)
    if found.transfer_s is None and other.transfer_s is not None:
        # Both have the same parts, to be compared one by one.
        other = other._replace(transfer_s=None, queue_s=other.queue_s + other.transfer_s)
    return Blamed(found, other)


def plan_in(folder: Path) -> Path:
    """Return the plan in the *folder* of a result of :func:`tasksim.optimize`.

    Raises :exc:`InputError` if there is none.
    """
    plan = folder / "plan.csv"
    if not plan.is_file():
        raise InputError(
            f"{folder} has no plan.csv; legal: a folder that 'tasksim optimize -o' wrote"
        )
    return plan


def recorded_runs(runs: Sequence[tuple[Path, Run]], *, trust: bool = False) -> list[RecordedRun]:
    """Return *runs* with their graphs; each run comes with the path it was read from.

    A graph of several runs is made once. *trust* and the errors are as for
    :func:`~tasksim.formats.graphs.graph_of`.
    """
    from tasksim.formats.graphs import graph_of

    graphs: dict[str, TaskGraph] = {}
    found = []
    for path, run in runs:
        # Another run may use the same name for another graph that is stored with it.
        if run.graph is not None:
            found.append(RecordedRun(path, run, graph_of(run, path, trust=trust)))
            continue
        key = json.dumps(
            [run.graph_name, run.graph_arguments, run.config.get("graph")], default=str
        )
        graphs[key] = graph = graph_of(run, path, graphs.get(key), trust=trust)
        found.append(RecordedRun(path, run, graph))
    return found


def recorded_samples(
    runs: str | Path | Sequence[str | Path],
    repeated: Repeated = "each",
    *,
    architecture: str | None = None,
    trust: bool = False,
) -> dict[str, Samples]:
    """Return the samples of each kernel in recorded runs: parameters and durations of its tasks.

    Parameters
    ----------
    runs : str, Path or a sequence of these
        Folders of runs.
    repeated : {"each", "mean"}, default "each"
        Samples from several runs of one graph: each execution of a task, or the mean of its
        executions, which has less noise.
    architecture : str, optional
        Architecture of the workers whose tasks count; required if a kernel ran on several.
    trust : bool, default False
        Import a generator that a run names as ``MODULE:NAME`` to get its graph.

    Returns
    -------
    dict of str to Samples
        Samples by kernel, the kernel with the longest total duration first. If processor times
        were recorded, durations exclude the time of other programs.

    Raises
    ------
    InputError
        If a run cannot be read, or lacks its graph; if no task ran on the *architecture*, or a
        kernel ran on several and *architecture* is missing.

    See Also
    --------
    calibrate_from : Fits models to the same samples, and writes them.
    LinearModel : A model that is fitted to samples.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> tasksim.save_run(run, "four", force=True)
    >>> len(tasksim.recorded_samples("four")["gemm"])
    4
    """
    from tasksim.formats.runs import load_run
    from tasksim.run.samples import recorded_kernels

    given = [runs] if isinstance(runs, str | PathLike) else runs
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"runs: got {short(runs)}; legal: a list of run folders")
    one_of(repeated, ("each", "mean"), "repeated")
    paths = [path_of(run, "runs") for run in given]
    recorded = recorded_runs([(path, load_run(path)) for path in paths], trust=trust)
    found = recorded_kernels(recorded, repeated)
    if architecture is not None:
        one_of(architecture, sorted({kernel.architecture for kernel in found}), "architecture")
        found = [kernel for kernel in found if kernel.architecture == architecture]
    samples: dict[str, Samples] = {}
    for kernel in found:
        if kernel.name in samples:
            raise InputError(f"{kernel.name} ran on several architectures: give architecture")
        samples[kernel.name] = kernel.samples
    return samples
