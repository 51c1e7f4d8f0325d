"""``tasksim report``: pages on what recorded runs tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.cli.command import Command, Group
from tasksim.cli.options import (
    SHARE,
    force_option,
    json_option,
    library_option,
    terms_by_kernel,
    trust_option,
)
from tasksim.cli.output import note, print_json, refuse_unwritable
from tasksim.cli.progress import counting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.terms.leastsquares import Weights
    from tasksim.reports.kernelpages import Format
    from tasksim.run.samples import RecordedRun, Repeated

__all__ = ["recorded_of", "reporting"]

EXAMPLES = (
    "tasksim report kernels runs/fmm --models general.json",
    "tasksim report kernels runs/fmm -o report",
    "tasksim report kernels runs/a runs/b --models models/mymachine -o report --format md",
    "tasksim report kernels --critical runs/one runs/two runs/four -o few",
    "tasksim report kernels runs/fmm --terms M2L_in='Level + NbCells' --weights none -o report",
)
WEIGHTS = ("relative", "none", "huber")


@click.group("report", cls=Group, what="subject", examples=EXAMPLES)
def reporting() -> None:
    """Say what recorded runs tell: how their makespan comes about, how good models are."""


@reporting.command("kernels", cls=Command, examples=EXAMPLES)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--kernel", "only", multiple=True, help="Report on this kernel only; may be repeated."
)
@click.option("--models", help="The models to judge: a folder, by name or path, or a file.")
@library_option
@click.option(
    "--terms",
    multiple=True,
    metavar="KERNEL=TERMS",
    help="Fit the model of a kernel with these terms instead of searching for some: "
    "'M2L_in=Level + NbCells'; may be repeated.",
)
@click.option(
    "--weights",
    type=click.Choice(WEIGHTS),
    default="relative",
    help="Errors that fits minimise: relative ones, those in seconds (none), or relative"
    " ones with less weight on outliers (huber).",
)
@click.option(
    "--repeated",
    type=click.Choice(["each", "mean"]),
    default="each",
    help="Samples of runs of one graph: each execution of a task, or the mean of its"
    " executions, which has less noise.",
)
@click.option(
    "--critical",
    is_flag=True,
    help="Say which kernels matter: of three runs at least, on different numbers of workers, those "
    "with a large share of the time, or whose time does not fall.",
)
@click.option(
    "--threshold",
    type=SHARE,
    default=0.05,
    show_default="5%",
    help="Share of the time that makes a kernel critical.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A new folder for the pages; of --critical, for a graph with the rest as one kernel, and "
    "models. [default: no pages, only what is printed]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md"]),
    default="html",
    help="Format of the pages: HTML files that need nothing else, or Markdown with the"
    " figures beside it.",
)
@trust_option
@force_option
@json_option
def kernels(
    runs: tuple[Path, ...],
    only: tuple[str, ...],
    models: str | None,
    library: Path | None,
    terms: tuple[str, ...],
    weights: Weights,
    repeated: Repeated,
    critical: bool,
    threshold: float,
    output: Path | None,
    form: Format,
    trust: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Report on the kernels of recorded runs, and on how good models of them are.

    RUN is a folder that 'tasksim run -o' or 'tasksim simulate -o' wrote. Each kernel gets a page:
    of the model that --models has, else of a linear model with terms searched for, fitted to
    the run's own tasks. The index leads to the pages.
    """
    if critical:
        from tasksim.cli.report_critical import report_critical

        report_critical(recorded_of(runs, trust), threshold, output, force=force, as_json=as_json)
        return
    from tasksim.reports.kernelpages import refuse_reports, write_pages
    from tasksim.reports.kernelreport import Fitting, report_kernels

    fitting = Fitting(terms_by_kernel(terms), weights)
    if output is not None:
        refuse_reports(output, force=force)
        refuse_unwritable(output)
    recorded, known = recorded_of(runs, trust), _models(models, library)
    with counting("kernels") as progress:
        reports = report_kernels(
            recorded, known, only=only, fitting=fitting, repeated=repeated, progress=progress
        )
    if output is None:
        rows = [report.row(None) for report in reports]
    else:
        rows = write_pages(reports, recorded, output, repeated=repeated, form=form, force=force)
    if as_json:
        print_json({"runs": runs, "kernels": rows, "output": output})
        return
    click.echo("\n".join(_text(rows)))
    if output is not None:
        note(f"Wrote {output}")


def recorded_of(paths: Sequence[Path], trust: bool) -> list[RecordedRun]:
    """Return the runs with their graphs."""
    from tasksim.formats.runs import load_run
    from tasksim.run.runchecks import check_records
    from tasksim.scenario.recorded import recorded_runs

    whose: dict[Path, Path] = {}
    for path in paths:
        if (first := whose.setdefault(path.resolve(), path)) is not path:
            raise InputError(f"{path} is given twice (as {first}): its tasks would count twice")
    runs = [(path, load_run(path)) for path in paths]
    for path, run in runs:
        check_records(run, path)
    return recorded_runs(runs, trust=trust)


def _models(name: str | None, library: Path | None) -> ModelLibrary | None:
    """Return the models, by name or path; None if none are named."""
    if name is None:
        return None
    from tasksim.base import library as libraries
    from tasksim.models.files.store import ModelLibrary

    return ModelLibrary(libraries.find("models", name, library=library))


def _text(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    from tasksim.base.units import duration_text
    from tasksim.view.texttables import table

    header = ("kernel", "model", "tasks", "time", "R2 adj.", "MLogQ", "bias", "warnings")
    cells = [
        (
            f"{row['kernel']} on {row['architecture']}",
            "-" if row["kind"] is None else row["kind"],
            f"{row['tasks']}",
            duration_text(row["total_s"]),
            *(_number(row[name]) for name in ("rsquared_adj", "mlogq", "bias")),
            f"{row['warnings']}",
        )
        for row in rows
    ]
    yield table(header, cells, left=2)
    for row in rows:
        if row["formula"]:
            yield f"\n{row['kernel']}: {row['formula']}"
        for said in filter(None, (row["reason"], row["first_warning"])):
            yield f"\n{row['kernel']}: {said}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:.4f}"
