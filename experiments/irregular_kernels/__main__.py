"""Command ``python -m experiments.irregular_kernels``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from tasksim.base.files import refuse_folder
from tasksim.cli.command import command
from tasksim.cli.main import exit_after
from tasksim.cli.options import TIME, WORKERS, WholeNumber, force_option, json_option
from tasksim.cli.output import note, print_json, refuse_unwritable
from tasksim.cli.progress import showing

__all__ = ["main"]


@command(
    "python -m experiments.irregular_kernels",
    examples=[
        "python -m experiments.irregular_kernels",
        "python -m experiments.irregular_kernels --design quick --output /tmp/quick",
        "python -m experiments.irregular_kernels --again irregular",
    ],
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("irregular"),
    help="Where everything is written: a new folder.",
)
@click.option(
    "--design",
    type=click.Choice(["paper", "quick"]),
    default="paper",
    help="36 inputs, minutes; or 12 small ones, half a minute, to see how it works.",
)
@click.option("--repetitions", type=WholeNumber(min=2), default=5, help="Runs of each input.")
@click.option("--order", type=WholeNumber(2, 9), default=5, help="Of the interpolation.")
@click.option("--workers", type=WORKERS, help="Threads. [default: all usable cores]")
@click.option(
    "--patience",
    type=TIME,
    default=900.0,
    show_default="900s",
    help="How long to wait, at most, for the machine to be calm; twice.",
)
@click.option(
    "--again",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Measure nothing: fit, predict and report from the runs of an earlier experiment.",
)
@force_option
@json_option
def irregular_kernels(
    output: Path,
    design: str,
    repetitions: int,
    order: int,
    workers: int | None,
    patience: float,
    again: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """See whether models of irregular kernels predict real runs of an FMM on this machine.

    Native runs on cubes and ellipsoids of particles give models of the eight kernels: naive
    ones, linear regressions of one distribution, and of both. They predict other inputs, and
    spheres, which they have never seen; then these are run, too. The report, index.html, shows
    makespans, Gantt charts, times per kernel and how well the models fit.
    """
    from experiments.irregular_kernels import experiment
    from experiments.irregular_kernels.measuring import Setting
    from experiments.irregular_kernels.summary import summary_text

    if again is None:
        refuse_folder(output, force=force, what="what this experiment wrote", mark="measured.json")
        refuse_unwritable(output)
    setting = Setting(design, repetitions, order, workers=workers or 0, patience_s=patience)
    with showing("irregular kernels") as progress:
        if again is None:
            results = experiment.experiment(output, setting, force=force, progress=progress)
        else:
            results, output = experiment.again(again, progress), again
    if as_json:
        print_json(results.to_json())
    else:
        click.echo(summary_text(results))
    note(f"Wrote {output}; begin with {output / 'index.html'}")


def main() -> None:
    """Run the experiment from the command line."""
    exit_after(partial(irregular_kernels.main, standalone_mode=False), sys.argv[1:])


if __name__ == "__main__":
    main()
