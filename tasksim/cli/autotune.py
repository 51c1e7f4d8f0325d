"""The ``tasksim autotune`` command, which tunes with runs that skip well-known kernels."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.files import write_text
from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.cli.options import (
    SHARE,
    WholeNumber,
    cluster_options,
    force_option,
    graph_argument,
    json_option,
    output_option,
    scenario_options,
    scheduler_option,
)
from tasksim.cli.output import note, note_written, print_result, refuse_file, warn
from tasksim.cli.over_ranks import ending_together, grid_of
from tasksim.cli.progress import counting
from tasksim.cli.tune_graph import OverCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tasksim.scenario.scenario import Scenario
    from tasksim.tuning.autotune import Autotuned, SearchWay
    from tasksim.tuning.one_node import RunSite
    from tasksim.tuning.over import ValueCombination
    from tasksim.tuning.search import SearchMode, Tried
    from tasksim.tuning.selection import SelectiveSettings

__all__ = ["autotuning"]


@click.command(
    "autotune",
    cls=OverCommand,
    examples=[
        "tasksim autotune cholesky n=1536 --over tile_size=96,128,192,256,384 scheduler=lws,eager"
        " --tolerance 4% --policy online",
        "tasksim autotune qr n=1024 --over tile_size=64,128,256 --policy eager --judge 3",
        "tasksim autotune cholesky n=1536 --over tile_size=96,128,192 --by full --repetitions 3"
        " --search halving",
        "tasksim autotune cholesky n=1536 --over tile_size=96,128,192 --by simulation"
        " --platform mymachine --judge 1",
        "tasksim autotune cholesky n=8192 --over tile_size=128,256,512 --by emulation"
        " --platform xeon-24c --policy online --judge 3",
        "mpiexec -n 2 tasksim autotune cholesky n=3072 --over tile_size=192,256,384 --grid 1x2"
        " --tolerance 5% --policy local",
    ],
)
@graph_argument()
@scenario_options
@cluster_options
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="NAME=VALUES...",
    help="Values to compare, of a setting of the graph, the scheduler, or grid and owner of ranks:"
    " a list with commas, or a range (8..20, 8..20:4, 128..1024:log).",
)
@scheduler_option("lws")
@click.option(
    "--by",
    "way",
    type=click.Choice(["selective", "full", "simulation", "emulation"]),
    default="selective",
    help="Way to try configurations: selective executes each kernel until its mean is known, then"
    " charges the mean; full executes all tasks; simulation predicts all durations by models;"
    " emulation is selective, with durations drawn from models.",
)
@click.option(
    "--policy",
    default="online",
    help="Policy that decides when a kernel is known: conditional, local, online, apriori, eager,"
    " shares.",
)
@click.option(
    "--tolerance",
    type=SHARE,
    default="5%",
    help="Half width of the confidence interval at which a kernel's mean is known well enough:"
    " above 0, at most 100%.",
)
@click.option(
    "--intervals",
    type=click.Choice(["student", "normal"]),
    default="student",
    help="Distribution for the confidence intervals of kernels' means: Student's, or the normal"
    " one, as in the paper.",
)
@click.option(
    "--confidence",
    type=SHARE,
    default="95%",
    help="Confidence level of the intervals of kernels' means.",
)
@click.option(
    "--statistics",
    type=click.Choice(["reset", "reuse", "model"]),
    help="Statistics of kernels: reset before each configuration, reused, or reused with"
    " models fitted to other sizes. [default: reset; reuse with eager and shares]",
)
@click.option(
    "--sampling",
    type=click.Choice(["spread", "apart", "first"]),
    default="spread",
    help="Tasks of a kernel that are executed: spread over the run; spread, with a separate"
    " sample of tasks that touch data first (apart); or the first ones, as in the paper.",
)
@click.option(
    "--charge",
    type=click.Choice(["drawn", "mean"]),
    default="drawn",
    help="Duration of a task that is not executed: drawn from the measured ones of its kernel, or"
    " their mean, as in the paper.",
)
@click.option(
    "--scatter",
    type=SHARE,
    default="0%",
    help="With --by emulation: standard deviation of durations, relative to their mean, in addition"
    " to that of the models.",
)
@click.option(
    "--search",
    "how",
    type=click.Choice(["exhaustive", "halving"]),
    default="exhaustive",
    help="Search for the best configuration: exhaustive runs all of them equally often; halving"
    " keeps the best third after each round, and triples the number of runs.",
)
@click.option(
    "--repetitions",
    type=WholeNumber(1),
    default=1,
    help="Largest number of runs of each configuration; halving needs at least 2.",
)
@click.option(
    "--judge",
    type=WholeNumber(0),
    default=0,
    metavar="N",
    help="Number of full runs of each configuration, which give the speed-up, the errors and the"
    " regret.",
)
@click.option(
    "--messages",
    type=click.Choice(["all", "any"]),
    default="all",
    help="Under mpiexec: a message is skipped once both of its ends (all), or one of them (any),"
    " know it well enough.",
)
@click.option(
    "--fall-back/--no-fall-back",
    default=True,
    help="Execute configurations in full where selective runs are of no use: with tasks below 200"
    " us, beside other programs, or when they take longer than full runs.",
)
@output_option("JSON file for the result, which --auto reads.")
@force_option
@json_option
@click.pass_context
def autotuning(
    ctx: click.Context,
    /,
    scenario: Scenario,
    over: tuple[str, ...],
    scheduler: str,
    way: SearchWay,
    statistics: str | None,
    scatter: float,
    how: SearchMode,
    repetitions: int,
    judge: int,
    fall_back: bool,
    output: Path | None,
    force: bool,
    as_json: bool,
    **selected: Any,
) -> None:
    """Find the best configuration, by runs that skip known kernels.

    GRAPH is a graph as for 'tasksim run', with its KEY=VALUE settings; n may replace the number of
    tiles, as for 'tasksim tune'. Every combination of the values of --over runs on this machine; a
    task whose kernel is known well enough is skipped, and charged one of its measured durations.
    Ctrl-C prints the results so far, and writes them to --output.

    Where skipping saves no time, configurations are executed in full, with a note.

    Under mpiexec all ranks run each configuration together, and skip messages that are known well
    enough. Without mpiexec, --by simulation takes --nodes and --network.
    """
    from tasksim.native.cluster.launch import launched_ranks, watch_over_rank

    modelled = way in ("simulation", "emulation")
    if modelled and launched_ranks() > 1:
        raise InputError(
            f"--by {way} executes nothing on ranks; run it without mpiexec, with --nodes and"
            " --network"
        )
    if scatter and way != "emulation":
        raise InputError("--scatter is for --by emulation")
    over_ranks = not modelled and (scenario.grid is not None or launched_ranks() > 1)
    if over_ranks:
        watch_over_rank()
    from tasksim.tuning.autotune import SelectiveSettings, autotune
    from tasksim.tuning.over import axes_of, candidates
    from tasksim.tuning.watch import Watch

    reuse = None if statistics is None else statistics != "reset"
    selection = SelectiveSettings(**selected, reuse=reuse, cells=statistics == "model")
    axes: dict[str, Any] = {}

    def asked() -> Sequence[ValueCombination]:
        refuse_file(output, "results of tuning", (".json",), force=force)
        selection.statistics()
        axes.update(axes_of(over))
        base = scenario.vary(scheduler=scheduler)
        return candidates(base if modelled else natively(base), axes)

    def tuned(some: Sequence[ValueCombination], site: RunSite | None = None) -> Autotuned:
        # Over ranks the others include ranks.
        with counting("tuning") as progress:
            return autotune(
                some,
                by=way,
                selection=selection,
                repetitions=repetitions,
                how=how,
                judge=judge,
                progress=progress,
                site=site,
                watch=Watch(fall_back=fall_back, tell=warn),
            )

    def tell(found: Autotuned) -> None:
        result = _result(scenario.graph_label, selection, way, how, found)
        if output is not None:
            write_text(output, json.dumps(result, indent=1) + "\n", force=force)
        print_result(result, _text(result, list(axes)), as_json=as_json)
        if found.interrupted:
            note("interrupted: these are the results so far")
        note_written(output)

    if over_ranks:
        _over_ranks(asked, selection, scenario.grid, scenario.owner, tuned, tell)
        return
    some = asked()
    if way == "emulation":
        from tasksim.tuning.emulated import Emulated

        found = tuned(some, Emulated(some, selection, scatter))
    else:
        found = tuned(some)
    tell(found)
    if found.interrupted:
        ctx.exit(INTERRUPTED_EXIT_CODE)


def natively(base: Scenario) -> Scenario:
    """Return *base* as one of this machine; nodes are the ranks that there are."""
    if base.network is not None or base.nodes is not None:
        raise InputError(
            "--nodes and --network are for --by simulation; real runs on several ranks need"
            " mpiexec -n N"
        )
    return base.vary(grid=None, owner="row", clock="native")


def _result(
    graph: str, selection: SelectiveSettings, way: SearchWay, how: SearchMode, found: Autotuned
) -> dict[str, Any]:
    names = (
        "policy", "tolerance", "intervals", "confidence", "sampling", "charge", "messages",
    )  # fmt: skip
    options = {name: getattr(selection, name) for name in names}
    options["statistics"] = "model" if selection.cells else "reuse" if selection.reuses else "reset"
    return {
        "format": "tasksim-autotuned",
        "version": 1,
        "graph": graph,
        "by": way,
        **(options if way in ("selective", "emulation") else dict.fromkeys(options)),
        "search": how,
        "runs": found.tuned.simulations,
        "tuning_s": found.wall_s,
        "preparation_s": found.prepared_s,
        "speedup": found.speedup,
        "mean_error": found.mean_error,
        "regret": found.regret,
        "best": dict(found.tuned.best.values),
        "makespan_s": found.tuned.best.mean_s,
        "interrupted": found.interrupted,
        "notes": found.notes,
        "choices": [_row(found, tried) for tried in found.tuned.tried],
    }


def _row(found: Autotuned, tried: Tried) -> dict[str, Any]:
    runs = found.of(tried)
    return {
        "values": dict(tried.values),
        "makespan_s": tried.mean_s if tried.makespans_s else None,
        "runs": len(tried.makespans_s),
        "executed": sum(ran.executed for ran in runs),
        "tasks": sum(ran.tasks for ran in runs),
        "sent": sum(ran.sent for ran in runs),
        "messages": sum(ran.messages for ran in runs),
        "selective": any(ran.selective for ran in runs),
        "wall_s": sum(ran.wall_s for ran in runs),
        "full_s": found.full_s(tried),
        "full_wall_s": found.full_median(tried, "wall_s"),
        "prediction_error": found.error(tried),
        "full_alone_s": found.full_median(tried, "alone_s"),
        "alone_error": found.alone_error(tried),
        "busiest_s": sum(ran.busiest_s or 0.0 for ran in runs),
        "full_busiest_s": found.full_median(tried, "busiest_s"),
        "path_error": found.path_error(tried),
        "error": tried.error,
    }


def _text(result: dict[str, Any], paths: list[str]) -> Iterator[str]:
    from tasksim.base.units import format_time
    from tasksim.view.texttables import table

    names = [path.removeprefix("graph.") for path in paths]
    best = zip(names, result["best"].values(), strict=True)
    judged = result["mean_error"] is not None
    yield f"graph     {result['graph']}"
    yield f"tuning    {_way(result)}"
    prepared = format_time(result["preparation_s"])
    took = format_time(result["tuning_s"])
    yield f"took      {took}, and {prepared} to prepare data and to warm up"
    if result["speedup"] is not None and result["by"] != "full":
        against = "full runs" if judged else "the predicted time of full runs"
        yield f"speed-up  {result['speedup']:.1f} against {against}"
    if judged:
        yield f"error     {100 * result['mean_error']:.1f} % in the mean"
        yield f"regret    {100 * result['regret']:.1f} %"
    chosen = " ".join(f"{name}={value}" for name, value in best)
    yield f"best      {chosen}, {format_time(result['makespan_s'])}"
    for text in result["notes"]:
        yield f"note      {text}"
    yield ""
    header = [*names, "makespan", "executed", *(["full", "error"] if judged else [])]
    yield table(header, [_cells(row, judged) for row in result["choices"]], left=len(names))
    for error in dict.fromkeys(row["error"] for row in result["choices"] if row["error"]):
        yield str(error)


def _way(result: dict[str, Any]) -> str:
    runs = f"{result['search']}, {result['runs']} runs"
    if result["by"] not in ("selective", "emulation"):
        return f"by {result['by']}, {runs}"
    tolerance = f"tolerance {100 * result['tolerance']:.3g} %"
    return (
        f"{result['by'].replace('emulation', 'emulated')}, {result['policy']}, {tolerance}, {runs}"
    )


def _cells(row: dict[str, Any], judged: bool) -> list[str]:
    from tasksim.base.units import format_time

    cells = [str(value) for value in row["values"].values()]
    if row["makespan_s"] is None:
        return [*cells, "failed", "-", *(["-", "-"] if judged else [])]
    cells += [format_time(row["makespan_s"]), f"{row['executed']} of {row['tasks']}"]
    if not judged:
        return cells
    if row["full_s"] is None:
        return [*cells, "-", "-"]
    return [*cells, format_time(row["full_s"]), f"{100 * row['prediction_error']:+.1f} %"]


def _over_ranks(
    asked: Callable[[], Sequence[ValueCombination]],
    selection: SelectiveSettings,
    grid: str | None,
    owner: str,
    tuned: Callable[[Sequence[ValueCombination], RunSite], Autotuned],
    tell: Callable[[Autotuned], None],
) -> None:
    """Let all ranks try the candidates that are *asked* for; rank 0 prints the result."""
    from tasksim.native.cluster.launch import ABORT_PATIENCE_S, stop_all
    from tasksim.native.cluster.ranks import world
    from tasksim.tuning.over_ranks import OverRanks

    ranks = world("a tuning over ranks")
    some = ranks.together(asked)
    arranged = ranks.together(lambda: grid_of(grid, ranks.size))
    site = OverRanks(some, selection, ranks, arranged, owner)
    with ending_together(ranks):
        try:
            if ranks.rank:
                site.follow()
            else:
                found = tuned(some, site)
                tell(found)
                if found.interrupted:
                    stop_all(INTERRUPTED_EXIT_CODE)  # others may wait for this one, in MPI
                site.end()
        except TasksimError:
            if not ranks.rank:
                site.end()
            raise
        except KeyboardInterrupt:
            if not ranks.rank:
                note("interrupted before any configuration was done")
                stop_all(INTERRUPTED_EXIT_CODE)
            time.sleep(ABORT_PATIENCE_S)  # while rank 0 prints the results so far
            os._exit(INTERRUPTED_EXIT_CODE)
