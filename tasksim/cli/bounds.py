"""The ``tasksim bounds`` command, for lower bounds of a makespan and the losses of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError
from tasksim.cli.command import command
from tasksim.cli.options import (
    PATH,
    TIME,
    cluster_options,
    graph_argument,
    json_option,
    scenario_options,
)
from tasksim.cli.output import describe_graph, note, print_json, print_result
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from tasksim.optimization.boundprogram import BoundShares
    from tasksim.optimization.bounds import TightBound
    from tasksim.run.record import Run
    from tasksim.scenario.recorded import Blamed
    from tasksim.scenario.resolved import Resolved
    from tasksim.scenario.scenario import Scenario

__all__ = ["bounds"]

BLAME_TIME_FACTOR = 6
"""Usual time to split a run's time into causes, in multiples of that of reading it."""
MIN_SHOWN_SHARE = 5e-4
"""Smallest share of a bound that is printed, a tenth of a percent after rounding."""


@command(
    "bounds",
    examples=[
        "tasksim bounds cholesky tiles=20 --workers 8 --durations potrf=1,trsm=3,syrk=3,gemm=6",
        "tasksim bounds lu tiles=16 --platform mymachine",
        "tasksim bounds cholesky tiles=10 --platform mymachine --tight",
        "tasksim bounds runs/dm",
        "tasksim bounds runs/dm --blame",
        "tasksim bounds runs/dm --blame --best best/",
    ],
)
@graph_argument()
@scenario_options
@cluster_options
@click.option(
    "--tight",
    is_flag=True,
    help="Add the mixed bound of areas, paths and windows of time, without and with the copies that"
    " no schedule avoids, with the constraints that bind, and the solver's bound, if it is"
    " installed. For graphs of at most 3000 tasks on one node.",
)
@click.option(
    "--time",
    "solver_s",
    type=TIME,
    default="10s",
    help="Time limit of the solver of --tight, which takes graphs of at most 400 tasks.",
)
@click.option(
    "--blame",
    "with_blame",
    is_flag=True,
    help="Split the time of a run above its area bound into causes that add up: kernels on less"
    " suitable workers, idle time at the start and the end, for dependencies, for copies. One node"
    " only. In a native run, every task costs the mean of its configuration.",
)
@click.option(
    "--best",
    type=PATH,
    help="With --blame: the folder of 'tasksim optimize -o' for the same graph and workers, to"
    " compare with, cause by cause.",
)
@json_option
def bounds(
    scenario: Scenario,
    tight: bool,
    solver_s: float,
    with_blame: bool,
    best: Path | None,
    as_json: bool,
) -> None:
    """Print lower bounds on the makespan: the critical path and the area bound.

    GRAPH is a graph as for 'tasksim simulate', with the same options, or the folder of a run. Of a
    run, the practical critical path is shown, too: from the task that ended last back to the start,
    through whatever each task waited for.
    """
    if best is not None and not with_blame:
        raise InputError("--best is for --blame, which is missing")
    named = str(scenario.graph)
    if _is_run(named):
        if scenario != type(scenario)(named):
            raise InputError(f"{named} is a run, which takes no settings and no options of graphs")
        if tight:
            raise InputError(f"{named} is a run; legal with --tight: a graph")
        _of_run(Path(named), with_blame, best, as_json)
    else:
        if with_blame:
            raise InputError(f"--blame is for a run; got the graph {scenario.graph_label}")
        _of_graph(scenario, solver_s if tight else None, as_json)


def _is_run(named: str) -> bool:
    from tasksim.graph.apps.registry import names

    path = Path(named)
    is_folder = path.is_dir() and named not in names()
    return is_folder or path.name == "run.json" or (path / "run.json").is_file()


def _of_graph(scenario: Scenario, solver_s: float | None, as_json: bool) -> None:
    from tasksim.scenario.resolved import resolve

    with stages("bounds", [2, 1]) as begin:
        begin("the graph")
        resolved = resolve(scenario)
        begin("paths and areas")
        values = {**resolved.bounds(), **resolved.bounds_on_nodes()}
    tight: list[TightBound] = []
    if solver_s is not None:
        tight = _tight(resolved, solver_s)
        values |= {f"{bound.name}_s": bound.value_s for bound in tight}
    from tasksim.view.texttables import bounds_table

    result = {
        "graph": describe_graph(resolved.graph),
        "platform": resolved.platform.name,
        "workers": resolved.nodes * len(resolved.platform.workers),
        "bounds": values,
        "best_s": max(values.values()),
        "makespan_s": None,
        "practical_critical_path": None,
        **({} if solver_s is None else {"tight": [bound.to_json() for bound in tight]}),
    }
    binding = [_binding_table(bound, bound.binding) for bound in tight if bound.binding is not None]
    print_result(result, "\n\n".join([bounds_table(values), *binding]), as_json=as_json)


def _tight(resolved: Resolved, solver_s: float) -> list[TightBound]:
    from tasksim.optimization.bounds import TIGHT_BOUNDS, tight_bounds
    from tasksim.optimization.replayer import Replayer
    from tasksim.optimization.solver import MAX_SOLVER_TASKS, has_solver

    replayer = Replayer(resolved.simulation())
    tasks, why = len(replayer.graph), ""
    if not has_solver():
        why = "CP-SAT of OR-Tools is not installed (pip install 'tasksim[optimize]')"
    elif tasks > MAX_SOLVER_TASKS:
        why = f"the graph has {tasks} tasks; legal: at most {MAX_SOLVER_TASKS}"
    if why:
        note(f"no solver's bound: {why}")
        solver_s = 0.0
    with stages("bounds", [1] * TIGHT_BOUNDS) as begin:
        return tight_bounds(replayer, solver_s, begin)


def _binding_table(bound: TightBound, binding: BoundShares) -> str:
    """Return tables of the mixed bound: its shares by resource, then by kernel."""
    from tasksim.base.units import duration_text
    from tasksim.run.facts import BOUND_NAMES
    from tasksim.view.texttables import table

    parts = [(f"load of {name}", share) for name, share in binding.classes.items()]
    parts += [("dependencies", binding.path)]
    parts += [(f"load of link {name}", share) for name, share in binding.links.items()]
    made = [(f"in {name}", share) for name, share in binding.kernels.items()]
    made += [("copies", binding.copies), ("start and end", binding.idle)]
    causes, kernels = (
        table([head, "share"], [[n, f"{100 * s:.1f} %"] for n, s in rows if s >= MIN_SHOWN_SHARE])
        for head, rows in (("it is this long for", parts), ("of its time", made))
    )
    name = BOUND_NAMES[f"{bound.name}_s"]
    return f"{name}: {duration_text(bound.took_s)} to find it\n{causes}\n\n{kernels}"


def _of_run(path: Path, with_blame: bool, best: Path | None, as_json: bool) -> None:
    from tasksim.formats.runs import load_checked_run
    from tasksim.run.critical import practical_critical_path
    from tasksim.run.network import path_messages

    with stages("bounds", [1, BLAME_TIME_FACTOR, 1] if with_blame else [1, 1]) as begin:
        begin("reading the run")
        run = load_checked_run(path)
        blamed = None
        if with_blame:
            from tasksim.scenario.recorded import blame_of

            begin("blaming")
            blamed = blame_of(run, path, best)
        begin("critical path")
        walked = practical_critical_path(run)
    messages = None if run.messages is None else path_messages(run)
    values = {**(run.bounds or {}), **_over_nodes(run, path)}
    if as_json:
        sent = {} if messages is None else {"messages": messages.to_json()}
        result = {
            "graph": {"name": run.graph_name, "arguments": run.graph_arguments, "tasks": len(run)},
            "platform": run.platform,
            "workers": len(run.workers),
            "bounds": values or None,
            "best_s": max(values.values()) if values else None,
            "makespan_s": run.makespan_s,
            "practical_critical_path": {**walked.to_json(), **sent},
        }
        if blamed is not None:
            result["blame"] = blamed.run._asdict()
            if blamed.best is not None:
                result["blame_of_best"] = blamed.best._asdict()
        print_json(result)
        return
    from tasksim.view.texttables import bounds_table, path_message_line, path_table

    if values:
        click.echo(bounds_table(values, run.makespan_s) + "\n")
    if blamed is not None:
        click.echo(_blame_table(blamed) + "\n")
    click.echo(f"practical critical path\n{path_table(walked)}")
    if messages is not None:
        click.echo(f"\n{path_message_line(messages)}")


def _percent_of(seconds: float, whole_s: float) -> str:
    return f"{100 * seconds / whole_s:.1f} %" if whole_s else "-"


def _blame_table(blamed: Blamed) -> str:
    from tasksim.base.units import format_time
    from tasksim.view.texttables import table

    run, best = blamed
    least_s = MIN_SHOWN_SHARE * run.makespan_s
    if best is None:
        rows = [
            [name, format_time(seconds), _percent_of(seconds, run.makespan_s)]
            for name, seconds in run.rows()
            if abs(seconds) >= least_s
        ]
        return table(["makespan", "time", "share"], rows)
    pairs = [
        (name, seconds, other)
        for (name, seconds), (_, other) in zip(run.rows(), best.rows(), strict=True)
    ]
    pairs.append(("makespan", run.makespan_s, best.makespan_s))
    rows = [
        [name, format_time(s), format_time(other), format_time(s - other)]
        for name, s, other in pairs
        if max(abs(s), abs(other)) >= least_s
    ]
    return table(["makespan", "run", "best known", "lost"], rows)


def _over_nodes(run: Run, path: Path) -> dict[str, float]:
    """Return the bounds of a simulated *run* that know of nodes and messages.

    A run does not keep them, as paths through a million tasks take seconds. They are found from
    the scenario that it answers; if that is gone, a line says so.
    """
    if run.kind != "simulated" or run.messages is None:
        return {}
    from tasksim.scenario.recorded import scenario_of
    from tasksim.scenario.resolved import resolve

    try:
        with stages("bounds", [1]) as begin:
            begin("paths over nodes")
            return resolve(scenario_of(run, path)).bounds_on_nodes()
    except InputError as error:
        note(f"no bounds with messages: {error}")
        return {}
