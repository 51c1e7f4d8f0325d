"""The ``tasksim compare`` command, for two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from tasksim.base.errors import CheckFailed, InputError
from tasksim.cli.command import command
from tasksim.cli.options import PATH, SHARE, force_option, html_option, json_option, trust_option
from tasksim.cli.output import note_written, print_result, refuse_figure, refuse_html, write_page
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["compare"]

MAX_RUNS_IN_PAGE: Final = 4  # as many as a page shows


@command(
    "compare",
    examples=[
        "tasksim compare runs/native runs/simulated",
        "tasksim compare runs/native runs/simulated --max-error 5% --figure both.pdf",
        "tasksim compare runs/native runs/simulated --html both.html",
    ],
)
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.argument("others", nargs=-1, type=PATH, metavar="[C [D]]")
@click.option(
    "--max-error",
    type=SHARE,
    metavar="SHARE",
    help="Largest relative difference of the makespans, such as '5%'; beyond it, exit with 3.",
)
@click.option(
    "--figure",
    type=PATH,
    help="Figure of A above B and the times of their kernels: a .png, .pdf or .svg file.",
)
@click.option("--any-graph", is_flag=True, help="Compare even runs of different graphs.")
@html_option
@trust_option
@force_option
@json_option
def compare(
    a: Path,
    b: Path,
    others: tuple[Path, ...],
    max_error: float | None,
    figure: Path | None,
    any_graph: bool,
    html: Path | None,
    trust: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Compare run B with the reference run A: makespan, workers, kernels, ends of tasks.

    A and B are folders of runs. Up to two more, C and D, are compared with A, too.
    """
    paths = [a, b, *others]
    if len(paths) > MAX_RUNS_IN_PAGE:
        raise InputError(f"got {len(paths)} runs; legal: 2 to {MAX_RUNS_IN_PAGE}")
    refuse_figure(figure, force=force)
    refuse_html(html, len(paths), force=force)
    from tasksim.formats.runs import compare as compared
    from tasksim.formats.runs import load_checked_run

    with stages("compare", [3, 2]) as begin:
        begin("reading runs")
        runs = [load_checked_run(path) for path in paths]
        begin("comparing")
        comparisons = [compared(runs[0], run, any_graph=any_graph) for run in runs[1:]]
    from tasksim.view.texttables import comparison_table

    found = [comparison.to_json() for comparison in comparisons]
    described = found[0] if len(found) == 1 else {"comparisons": found}
    pairs = zip(paths[1:], comparisons, strict=True)
    print_result(
        {"runs": paths, **described, "figure": figure, "html": html},
        "\n\n".join(f"a: {a}\nb: {path}\n\n{comparison_table(c)}" for path, c in pairs),
        as_json=as_json,
    )
    if figure is not None:
        from tasksim.view.figure import figure as draw
        from tasksim.view.figure import save_figure

        with stages("compare", [3, 1]) as begin:
            begin("drawing")
            drawn = draw(runs, ["gantt", "kernels"])
            begin("writing the figure")
            save_figure(drawn, figure, force=force)
        note_written(figure)
    if html is not None:
        with stages("compare", [1]) as begin:
            begin("writing the page")
            write_page(paths, runs, html, force=force, trust=trust)
        note_written(html)
    for comparison in comparisons:
        if max_error is not None and abs(comparison.error_percent) > 100 * max_error:
            raise CheckFailed(
                f"the makespans differ by {comparison.error_percent:+.2f} %,"
                f" more than {100 * max_error:g} %"
            )
