"""The ``tasksim explore`` command, which writes a live page of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tasksim.cli.command import command
from tasksim.cli.options import (
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
@scheduler_option("lws")
@seed_option
@trust_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The page: one .html file.",
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
    """Write a page on which sliders ask what a run would be.

    The page holds the scenario and the compiled core: more workers, a faster link, another
    scheduler; each change is replayed in the browser, offline, and drawn above the run as it is.
    It offers the 'tasksim simulate' line that says the same.

    GRAPH and the options are those of 'tasksim simulate'. GRAPH may be a recorded run, a folder:
    of a simulated one the scenario is explored, and the options may not be given; a native one is
    replayed, where it ran unless --platform or --workers says otherwise.
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
        raise click.UsageError("--trust is about a recorded run: give its folder as GRAPH")
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
    """Raise for options that a simulated run settles."""
    settled = {"platform", "workers", "models", "durations", "model_names", "library", "changes"}
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name in {*settled, "settings", "scheduler", "seed"} and ctx.params.get(name):
            text = parameter.opts[-1] if parameter.param_type_name == "option" else "KEY=VALUE"
            raise click.UsageError(f"a simulated run is explored as it was; {text} cannot be given")
