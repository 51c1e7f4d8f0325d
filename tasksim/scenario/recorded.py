"""Recorded runs, with their scenarios and graphs."""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from tasksim.base.arguments import one_of, path_of, short
from tasksim.base.documents.json_document import FormatError
from tasksim.base.errors import InputError
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

__all__ = ["Blamed", "blame_of", "recorded_runs", "recorded_samples", "scenario_of"]


def scenario_of(run: Run, where: Path, *, trust: bool = False) -> Scenario:
    """Return the scenario that a simulated *run*, read from *where*, answers.

    Files are looked for where they were, then by the names under which the libraries have them.

    Parameters
    ----------
    run : Run
    where : Path
        Of the run, for messages.
    trust : bool, default False
        Whether a generator or a scheduler that the run names as ``MODULE:NAME`` is imported.

    Raises
    ------
    InputError
        If the run is not simulated, does not say how to make it again, or names code to be
        imported and *trust* is not given.
    """
    if run.kind != "simulated":
        raise InputError(f"{where}: a {run.kind} run cannot be repeated, only a simulated one")
    try:
        found = decode(Scenario, run.config, where, trust=trust)
    except FormatError as error:
        raise InputError(
            f"{where}: it does not say how to repeat the run: {error}; "
            "'tasksim simulate -o' writes runs that do"
        ) from None
    if not trust:
        schedulers.refuse_foreign(run.scheduler, where)
    return found.vary(scheduler=run.scheduler, seed=run.seed or 0)


class Blamed(NamedTuple):
    """The causes of the makespan of a run, and of the best known schedule of its graph."""

    run: Blame
    best: Blame | None


def blame_of(run: Run, where: Path, best: Path | None = None) -> Blamed:
    """Return the causes of the makespan of a *run*, by the models that it used.

    What the tasks of a run that is not simulated cost is the mean of their configuration in it.

    Parameters
    ----------
    run : Run
    where : Path
        Of the run, for messages.
    best : Path, optional
        The folder of a result of :func:`tasksim.optimize`, whose plan is replayed.

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
        raise InputError(f"{where}: blame is for runs on one node; it has messages between ranks")
    resolved = resolve(asked)
    if resolved.nodes > 1:
        raise InputError(f"{where}: blame is for runs on one node; got {resolved.nodes} nodes")
    prices = Prices(resolved.graph, resolved.platform, resolved.known_models())
    classes = np.array(class_of(resolved.platform), np.int64)
    found = blame(run, prices.means, classes)
    if best is None:
        return Blamed(found, None)
    plan = best / "plan.csv"
    if not plan.is_file():
        raise InputError(
            f"{best} has no plan.csv; legal: a folder that 'tasksim optimize -o' wrote"
        )
    replayed = asked.vary(scheduler=f"static:file={plan}").solve()
    return Blamed(found, blame(replayed, prices.means, classes))


def recorded_runs(runs: Sequence[tuple[Path, Run]], *, trust: bool = False) -> list[RecordedRun]:
    """Return *runs*, and where each was read from, with their graphs.

    A graph that several runs have is made once. *trust* is as for
    :func:`~tasksim.formats.recorded.graph_of`, which says
    what is raised.
    """
    from tasksim.formats.recorded import graph_of

    graphs: dict[str, TaskGraph] = {}
    found = []
    for path, run in runs:
        if (
            run.graph is not None
        ):  # kept with the run: another run may have the same name for its own
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
        Several runs of one graph: each execution of a task is a sample, or the mean of its
        executions, which has less noise.
    architecture : str, optional
        Of the workers whose tasks count; needed where a kernel ran on several.
    trust : bool, default False
        Whether a generator that a run names as ``MODULE:NAME`` is imported to get its graph.

    Returns
    -------
    dict of str to Samples
        By kernel, the one with the longest total first. Durations are without the time that other
        programs took, where processor times were recorded.

    Raises
    ------
    InputError
        If a run cannot be read, or lacks its graph; if no task ran on the *architecture*, or a
        kernel ran on several and none is given.

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
        raise InputError(f"runs: got {short(runs)}; legal: folders of runs, in a list")
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
