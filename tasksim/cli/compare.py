"""``tasksim compare``: two runs side by side."""

from __future__ import annotations

from pathlib import Path

import click

from tasksim.base.errors import CheckFailed
from tasksim.cli.command import command
from tasksim.cli.options import SHARE, force_option, json_option
from tasksim.cli.output import note, print_json, refuse_figure

__all__ = ["compare"]

RUN = click.Path(path_type=Path)


@command(
    "compare",
    examples=[
        "tasksim compare runs/native runs/simulated",
        "tasksim compare runs/native runs/simulated --max-error 5% --figure both.pdf",
    ],
)
@click.argument("a", type=RUN)
@click.argument("b", type=RUN)
@click.option(
    "--max-error",
    type=SHARE,
    metavar="SHARE",
    help="Exit with 3 if the makespan of B is further from that of A: '5%'.",
)
@click.option(
    "--figure", type=RUN, help="Draw A above B and the times of the kernels: .png, .pdf or .svg."
)
@click.option("--any-graph", is_flag=True, help="Compare runs of different graphs too.")
@force_option
@json_option
def compare(
    a: Path,
    b: Path,
    max_error: float | None,
    figure: Path | None,
    any_graph: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Compare run B with the reference run A: makespan, workers, kernels, ends of tasks.

    A and B are folders that simulate or run wrote.
    """
    if figure is not None:
        refuse_figure(figure, force=force)
    from tasksim.formats.runs import load_run
    from tasksim.run.compare import compare as compared
    from tasksim.run.runchecks import check_records

    runs = [load_run(a), load_run(b)]
    for run, path in zip(runs, (a, b), strict=True):
        check_records(run, path)
    comparison = compared(*runs, any_graph=any_graph)
    if as_json:
        print_json({"runs": [a, b], **comparison.to_json(), "figure": figure})
    else:
        from tasksim.view.texttables import comparison_table

        click.echo(f"a: {a}\nb: {b}\n\n{comparison_table(comparison)}")
    if figure is not None:
        from tasksim.view.figure import figure as draw
        from tasksim.view.figure import save_figure

        save_figure(draw(runs, ["gantt", "kernels"]), figure, force=force)
        note(f"Wrote {figure}")
    if max_error is not None and abs(comparison.error_percent) > 100 * max_error:
        raise CheckFailed(
            f"the makespans differ by {comparison.error_percent:+.2f} %,"
            f" more than {100 * max_error:g} %"
        )
