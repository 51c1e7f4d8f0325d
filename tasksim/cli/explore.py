"""The ``tasksim explore`` command, which writes a live page of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tasksim.cli.command import command
from tasksim.cli.options import (
    cluster_options,
    force_option,
    graph_argument,
    json_option,
    scenario_options,
    scheduler_option,
    seed_option,
    trust_option,
)
from tasksim.cli.output import note, open_page, print_json, refuse_unwritable, warn

if TYPE_CHECKING:
    from tasksim.scenario.scenario import Scenario

__all__ = ["explore_command"]


@command(
    "explore",
    examples=[
        "tasksim explore cholesky tiles=20 --platform xeon-2c --scheduler dm -o live.html",
        "tasksim explore lu tiles=12 --workers 8 --durations getrf=2,trsm=3,gemm=6 -o live.html",
        "tasksim explore runs/dm -o live.html --open",
    ],
)
@graph_argument()
@scenario_options
@cluster_options
@scheduler_option("lws")
@seed_option
@trust_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The page to write, a single .html file.",
)
@click.option("--open", "in_browser", is_flag=True, help="Show the page in a browser.")
@force_option
@json_option
@click.pass_context
def explore_command(
    ctx: click.Context,
    /,
    scenario: Scenario,
    scheduler: str,
    seed: int,
    trust: bool,
    output: Path,
    in_browser: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a page with sliders that predicts the run with other settings.

    Sliders change, for example, the number of workers, the bandwidth of a link or the scheduler.
    After each change, the browser simulates the run again, offline, and draws it above the original
    run. The page shows the 'tasksim simulate' command line for the same settings.

    GRAPH and the options are those of 'tasksim simulate'. GRAPH may also be the folder of a
    recorded run. A simulated run is explored with its own scenario, which no option can change. A
    native run is replayed on the platform where it ran, unless --platform or --workers is given.
    """
    from tasksim.view.live.page import explore, refuse_live_page, scenario_of_run

    refuse_live_page(output, force=force)
    refuse_unwritable(output)
    if scenario.names_run:
        from tasksim.formats.runs import load_run

        where = Path(str(scenario.graph))
        recorded = load_run(where)
        of_run = scenario_of_run(recorded, where, trust=trust)
        if recorded.kind == "simulated":
            _refuse_others(ctx)
            scenario = of_run
        else:
            asked_for = ctx.get_parameter_source("scheduler") is ParameterSource.COMMANDLINE
            chosen = scheduler if asked_for else of_run.scheduler
            scenario = scenario.vary(scheduler=chosen, seed=seed)
    elif trust:
        raise click.UsageError("--trust is for recorded runs: give the folder of a run as GRAPH")
    else:
        scenario = scenario.vary(scheduler=scheduler, seed=seed)
    from tasksim.run.metrics import summary
    from tasksim.view.texttables import run_summary

    page = explore(scenario)
    page.save(output, force)
    if as_json:
        size = len(page.html.encode())
        told = {"page": output, "page_bytes": size, "refused": page.refused or None}
        print_json({**summary(page.run), **told})
    else:
        click.echo(run_summary(page.run))
    if page.refused:
        warn(f"{output} shows the recording only: {page.refused}")
    note(f"Wrote {output}")
    if in_browser:
        open_page(output)


def _refuse_others(ctx: click.Context) -> None:
    """Raise if an option is given that a simulated run already determines."""
    settled = {
        "platform", "workers", "models", "durations", "model_names", "library", "changes",
        "network", "nodes", "grid", "owner",
    }  # fmt: skip
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name in {*settled, "settings", "scheduler", "seed"} and ctx.params.get(name):
            text = parameter.opts[-1] if parameter.param_type_name == "option" else "KEY=VALUE"
            raise click.UsageError(
                f"a simulated run is explored with its own settings; {text} cannot be given"
            )
