"""The ``tasksim tune GRAPH`` command, for the best choice for a graph and the cost of others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.files import write_text
from tasksim.cli.command import Command
from tasksim.cli.options import (
    WholeNumber,
    cluster_options,
    force_option,
    graph_argument,
    json_option,
    output_option,
    scenario_options,
    scheduler_option,
)
from tasksim.cli.output import note_written, print_result, refuse_file
from tasksim.cli.progress import counting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.engine.pricing import Noise
    from tasksim.scenario.scenario import Scenario
    from tasksim.tuning.search import SearchMode, Tried, Tuned

__all__ = ["graph"]

MAX_CHOICES_IN_TEXT = 40
"""Maximum number of choices in the text, two screens; JSON has all."""


class OverCommand(Command):
    """A command whose ``--over`` takes all following arguments of the form NAME=VALUES."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*, with ``--over`` before each of its texts."""
        found: list[str] = []
        over = False
        for text in args:
            if over and "=" in text and not text.startswith("-") and found[-1] != "--over":
                found.append("--over")
            elif text == "--over" or text.startswith("-") or "=" not in text:
                over = text == "--over"
            found.append(text)
        return super().parse_args(ctx, found)


@click.command(
    "GRAPH",
    cls=OverCommand,
    examples=[
        "tasksim tune cholesky n=8192 --platform xeon-24c --over tile_size=128..1024:log"
        " scheduler=lws,prio,dmdas",
        "tasksim tune fmm particles=100000 height=6 --platform mine --over group_size=16..256:log",
        "tasksim tune qr tiles=16 --platform xeon-24c --over scheduler=lws,ws --seeds 20"
        " --search halving -o best.json",
        "tasksim tune cholesky n=4096 --platform xeon-24c --nodes 4 --network"
        " switch:bandwidth=12.5GB/s,latency=1us --over grid=1x4,2x2,4x1 tile_size=128,256",
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
    help="Values to compare, of a setting of the graph, scheduler, models, nodes, grid, owner or"
    " platform.PATH: a list with commas, or a range (8..20, 8..20:4, 128..1024:log).",
)
@scheduler_option("lws")
@click.option(
    "--seeds",
    type=WholeNumber(1),
    default=1,
    help="Number of seeds, and so of runs of each choice; all choices get the same seeds.",
)
@click.option(
    "--noise",
    type=click.Choice(["none", "model"]),
    help="Duration of a task: its model's mean (none), or a draw from its model's distribution"
    " (model). [default: none; model with --seeds]",
)
@click.option(
    "--search",
    "how",
    type=click.Choice(["exhaustive", "halving"]),
    default="exhaustive",
    help="Search for the best choice: exhaustive simulates all of them with all seeds; halving"
    " keeps the best third after each round, and triples the number of seeds.",
)
@output_option("JSON file for the result, which --auto reads.")
@force_option
@json_option
def graph(
    scenario: Scenario,
    over: tuple[str, ...],
    scheduler: str,
    seeds: int,
    noise: Noise | None,
    how: SearchMode,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find the best choice for a graph, and the cost of the others.

    GRAPH is a graph as for 'tasksim simulate', with its KEY=VALUE settings. Every combination of
    the values of --over is simulated. For a factorisation n, the rows of the matrix, may replace
    the number of tiles: tile sizes that do not divide it are left out.
    """
    from tasksim.tuning.over import axes_of, candidates
    from tasksim.tuning.search import search

    refuse_file(output, "results of tuning", (".json",), force=force)
    axes = axes_of(over)
    asked = candidates(scenario.vary(scheduler=scheduler), axes)
    chance: Noise = noise or ("model" if seeds > 1 else "none")
    with counting("simulating") as progress:
        found = search(asked, seeds=seeds, noise=chance, how=how, progress=progress)
    result = {
        "format": "tasksim-tuned",
        "version": 1,
        "graph": scenario.graph_label,
        "platform": _where(scenario),
        "search": how,
        "seeds": seeds,
        "noise": chance,
        "simulations": found.simulations,
        "best": dict(found.best.values),
        "makespan_s": found.best.mean_s,
        "expected_loss": found.expected_loss,
        "axes": {
            path: [{"value": v, "loss": loss} for v, loss in found.losses_along(path).items()]
            for path in axes
        },
        "choices": [_row(found, tried) for tried in found.tried],
    }
    if output is not None:
        write_text(output, json.dumps(result, indent=1) + "\n", force=force)
    print_result(result, _text(result, found, list(axes)), as_json=as_json)
    note_written(output)


def _where(scenario: Scenario) -> str:
    where = scenario.platform if scenario.platform is not None else scenario.workers
    if where is None:
        where = "of the run"
    name = f"{where} workers" if isinstance(where, int) else getattr(where, "name", where)
    return " ".join([str(name), *scenario.changes])


def _row(found: Tuned, tried: Tried) -> dict[str, Any]:
    low, high = found.interval(tried) or (None, None)
    return {
        "values": dict(tried.values),
        "makespan_s": tried.mean_s if tried.makespans_s else None,
        "ratio": found.ratio(tried),
        "low": low,
        "high": high,
        "seeds": len(tried.makespans_s),
        "error": tried.error,
    }


def _name(path: str) -> str:
    return path.removeprefix("graph.")


def _text(result: dict[str, Any], found: Tuned, paths: Sequence[str]) -> Iterator[str]:
    from tasksim.base.units import format_time
    from tasksim.view.texttables import table

    seeds = f", {result['seeds']} seeds" if result["seeds"] > 1 else ""
    best = " ".join(f"{_name(path)}={value}" for path, value in found.best.values.items())
    yield f"graph     {result['graph']}"
    yield f"platform  {result['platform']}"
    yield f"choices   {len(found.tried)}, {result['search']}{seeds}, {found.simulations} simulated"
    yield f"best      {best}, {format_time(found.best.mean_s)}"
    yield f"loss      {100 * found.expected_loss:.1f} % of the performance for a random choice"
    for path in paths:
        worst = max(result["axes"][path], key=lambda entry: float(entry["loss"]))
        if len(result["axes"][path]) > 1:
            lost = 100 * worst["loss"]
            yield f"          {lost:.1f} % at most by {_name(path)} alone: {worst['value']}"
    yield ""
    header = [*map(_name, paths), "makespan", "ratio"]
    header += ["interval", "seeds"] if result["seeds"] > 1 else []
    rows = [_cells(row, paths, result["seeds"] > 1) for row in result["choices"]]
    yield table(header, rows[:MAX_CHOICES_IN_TEXT], left=len(paths))
    if len(rows) > MAX_CHOICES_IN_TEXT:
        yield f"... and {len(rows) - MAX_CHOICES_IN_TEXT} more (--json has all)"
    yield from _errors(result, paths)


def _errors(result: dict[str, Any], paths: Sequence[str]) -> Iterator[str]:
    """Yield each error once, with the first choice that has it."""
    found: dict[str, list[str]] = {}
    for row in result["choices"]:
        if row["error"]:
            values = " ".join(f"{_name(path)}={row['values'][path]}" for path in paths)
            found.setdefault(row["error"], []).append(values)
    for error, choices in found.items():
        more = f" and {len(choices) - 1} more" if len(choices) > 1 else ""
        yield f"{choices[0]}{more}: {error}"


def _cells(row: dict[str, Any], paths: Sequence[str], chance: bool) -> list[str]:
    from tasksim.base.units import format_time

    cells = [str(row["values"][path]) for path in paths]
    if row["makespan_s"] is None:
        return [*cells, "failed", "-", *(["-", "0"] if chance else [])]
    cells += [format_time(row["makespan_s"]), f"{row['ratio']:.3f}"]
    if chance:
        low, high = row["low"], row["high"]
        cells += ["-" if low is None else f"{low:.3f} to {high:.3f}", str(row["seeds"])]
    return cells
