"""The ``tasksim explore`` command, which writes a live page of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from tasksim.cli.command import command
from tasksim.cli.options import (
    cluster_options,
    force_option,
    given_parameters,
    graph_argument,
    json_option,
    output_option,
    scenario_options,
    scheduler_option,
    seed_option,
    trust_option,
)
from tasksim.cli.output import (
    note,
    note_written,
    open_page,
    print_result,
    refuse_unwritable,
    warn,
)
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.scenario.scenario import Scenario
    from tasksim.view.live.page import LivePage

__all__ = ["explore_command"]

MAX_LEFT_OUT_LINES: Final = 1
"""Maximum number of lines about values that are left out, which often have the same reason; JSON
has all."""


@command(
    "explore",
    examples=[
        "tasksim explore cholesky tiles=20 --platform xeon-2c --scheduler dm -o live.html",
        "tasksim explore cholesky tiles=4..24 tile_size=128,256 --platform xeon-2c -o live.html",
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
@output_option("The page to write, a single .html file.", required=True)
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

    GRAPH and the options are those of 'tasksim simulate'. A parameter of the graph with several
    values, tiles=4..24, tile_size=128,256,512 or n=64..512:log, gets a slider over them. Without
    such parameters, each integer parameter gets a slider around its value, if the graphs are few
    and small.

    GRAPH may also be the folder of a recorded run. A simulated run is explored with its own
    scenario, which no option can change; KEY=VALUES adds sliders. A native run is replayed on the
    platform where it ran, unless --platform or --workers is given.
    """
    from tasksim.scenario.resolved import Source
    from tasksim.view.live.page import explore, scenario_of_run
    from tasksim.view.page.document import refuse_page

    refuse_page(output, force=force)
    refuse_unwritable(output)
    over: dict[str, str] | None = None
    replayed = Source.of(scenario).recorded
    if replayed is not None:
        recorded = replayed.run
        of_run = scenario_of_run(recorded, replayed.where, trust=trust)
        if recorded.kind == "simulated":
            pairs = [setting.partition("=")[::2] for setting in scenario.settings]
            # Settings with several values are sliders.
            over = {name: text for name, text in pairs if "," in text or ".." in text} or None
            _refuse_others(ctx, settings=len(over or ()) < len(scenario.settings))
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

    with stages("explore", [1, 1]) as begin:
        begin("simulating")
        page = explore(scenario, over=over)
        begin("writing the page")
        page.save(output, force)
    size = len(page.html.encode())
    result = {
        **summary(page.run),
        "page": output,
        "page_bytes": size,
        "refused": page.refused or None,
        "graphs": page.graphs,
        "sliders": page.sliders,
        "left_out": page.left_out,
    }
    lines = (run_summary(page.run), f"page           {_page_text(page, size)}")
    print_result(result, lines, as_json=as_json)
    for line in page.left_out[:MAX_LEFT_OUT_LINES]:
        note(line)
    if len(page.left_out) > MAX_LEFT_OUT_LINES:
        note(f"... and {len(page.left_out) - MAX_LEFT_OUT_LINES} more (--json has all)")
    if page.refused:
        warn(f"{output} shows the recording only: {page.refused}")
    note_written(output)
    if in_browser:
        open_page(output)


def _page_text(page: LivePage, size: int) -> str:
    """Return the size of a page, and the sliders of its graph."""
    sliders = [
        f"{name} {values[0]}..{values[-1]} ({len(values)})" for name, values in page.sliders.items()
    ]
    graphs = f"; {page.graphs} graphs: {', '.join(sliders)}" if sliders else ""
    return f"{size / 1e6:.1f} MB{graphs}"


def _refuse_others(ctx: click.Context, *, settings: bool) -> None:
    """Raise if an option, or one of the *settings*, is given that a simulated run determines."""
    settled = {
        "platform", "workers", "models", "durations", "model_names", "library", "changes",
        "network", "nodes", "grid", "owner", "scheduler", "seed",
    }  # fmt: skip
    settled |= {"settings"} if settings else set()
    for parameter in given_parameters(ctx):
        if parameter.name in settled:
            text = parameter.opts[-1] if parameter.param_type_name == "option" else "KEY=VALUE"
            raise click.UsageError(
                f"a simulated run is explored with its own settings; {text} cannot be given"
            )
