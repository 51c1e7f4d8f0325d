"""``tasksim report scaling``: how a program scales to more ranks, from counters on few."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.cli.account import reporting
from tasksim.cli.command import Command
from tasksim.cli.options import SHARE, WholeNumber, force_option, json_option, trust_option
from tasksim.cli.output import note, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.reports.bulk.report import ScalingReport

__all__ = ["reporting"]

EXAMPLES = (
    "tasksim report scaling one two four --counters counted --to 16 --to 64",
    "tasksim report scaling runs/* --counters counted --fitted 4 --network cluster.yaml -o scaling",
    "tasksim report scaling one two four --counters counted --memory mine "
    "--collective pq=allreduce:recursive_doubling --to 256",
)


@reporting.command(
    "scaling", cls=Command, examples=EXAMPLES,
    short_help="Predict a program on more ranks, from counters on few.",
)  # fmt: skip
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--counters",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="The folder that 'tasksim counters APPLICATION' wrote.",
)
@click.option(
    "--to",
    "asked",
    multiple=True,
    metavar="RANKS[:SETTING=VALUE,...]",
    help="Predict so many ranks, of the program of the last run or with other settings of it; may "
    "be repeated.",
)
@click.option(
    "--fitted",
    type=WholeNumber(min=1),
    help="Most ranks of a run to learn from; runs on more only judge. [default: all are"
    " learned from]",
)
@click.option(
    "--network",
    help="Network of the messages, on which the runs are also simulated; without it, a"
    " line through the messages of the runs.",
)
@click.option(
    "--memory",
    metavar="PLATFORM",
    help="Platform whose memory_hierarchy has the latencies. [default: guessed latencies]",
)
@click.option(
    "--collective",
    "collectives",
    multiple=True,
    metavar="DATA=OPERATION:ALGORITHM[+...]",
    help="Collective operation that sends the data of this name; all other data go from"
    " point to point; may be repeated.",
)
@click.option(
    "--bf-comm", type=float, help="Share of the messages' time that shows. [default: fitted]"
)
@click.option(
    "--cores",
    type=WholeNumber(min=1),
    help="Number of cores that all ranks share; more ranks take turns.",
)
@click.option(
    "--by",
    type=click.Choice(["cv", "r2"]),
    default="cv",
    help="Criterion that chooses the functions of counters: the cross-validated error, or R2.",
)
@click.option(
    "--threshold", type=SHARE, default=0.05, show_default="5%",
    help="Share of the time below which kernels are taken together; needs runs on three"
" numbers of ranks.",
)  # fmt: skip
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A new folder: scaling.csv, scaling.png.",
)
@trust_option
@force_option
@json_option
def scaling(
    runs: tuple[Path, ...],
    counters: Path,
    asked: tuple[str, ...],
    fitted: int | None,
    network: str | None,
    memory: str | None,
    collectives: tuple[str, ...],
    bf_comm: float | None,
    cores: int | None,
    by: Any,
    threshold: float,
    output: Path | None,
    trust: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Predict how long a bulk-synchronous program takes on more ranks.

    RUN is a recorded run on some ranks or nodes. Each kernel's counters, of the rank with most, are
    functions of the work per rank, or of the ranks; messages are those of its data. Beside it the
    same with what the program does on so many ranks counted in it, tasksim's simulation where
    --network is given, and the laws a/P + b P^c + d and a size/P + b.
    """
    from tasksim.cli.fit import latencies_of
    from tasksim.cli.report import recorded_of
    from tasksim.formats.platforms import load_network
    from tasksim.reports.bulk.prediction import parsed_collective
    from tasksim.reports.bulk.report import report_scaling

    if not asked and fitted is None:
        raise InputError("nothing is asked: give --to RANKS, or --fitted to judge the other runs")
    report = report_scaling(
        recorded_of(runs, trust),
        counters,
        asked=asked,
        fitted=fitted,
        network=None if network is None else load_network(network),
        collectives=dict(map(parsed_collective, collectives)),
        latencies_s=None if memory is None else latencies_of(memory),
        bf_comm=bf_comm,
        cores=cores,
        by=by,
        threshold=threshold,
    )
    if output is not None:
        report.write(output, force=force)
    if as_json:
        rows = report.table.to_dict("records")
        print_json(
            {
                "kernels": report.kernels,
                "rest": report.rest,
                "bf_comm": report.model.bf_comm,
                "rows": rows,
                "undetermined": report.undetermined,
                "output": output,
            }
        )
        return
    click.echo("\n".join(_text(report)))
    if output is not None:
        note(f"Wrote {output}")


def _text(report: ScalingReport) -> Iterator[str]:
    from tasksim.base.units import duration_text
    from tasksim.reports.bulk.report import METHODS, median_errors
    from tasksim.view.texttables import table

    for name, model in report.model.kernels.items():
        told = f"{model.cpi_core_:.3g} cycles per instruction, {model.bf_mem_:.3g} of memory's time"
        yield f"{name:10} {told}; functions of {report.model.abscissa[name]}"
    if report.rest:
        yield f"{'other':10} {', '.join(report.rest)}"
    yield f"{'messages':10} {report.model.bf_comm:.3g} of their time shows\n"
    differ = bool(report.table["settings"].any())  # a column of nothing is no help
    header = ("ranks", *["settings"] * differ, "measured", *METHODS, "counters: 95 %")
    cells = []
    for row in report.table.to_dict("records"):
        known = row["measured_s"] == row["measured_s"]
        times = [
            _cell(row[f"{name}_s"], row[f"{name}_error_percent"], known=known) for name in METHODS
        ]
        interval = (duration_text(row[f"counters_{end}_s"]) for end in ("low", "high"))
        measured = duration_text(row["measured_s"]) if known else "-"
        settings = [row["settings"] or "as recorded"] * differ
        cells.append((str(row["ranks"]), *settings, measured, *times, " to ".join(interval)))
    yield table(header, cells, left=0)
    yield ""
    errors, undetermined = median_errors(report.table), report.undetermined
    for name, meaning in METHODS.items():
        error = f"; errs by {errors[name]:.1f} % in the median" if name in errors else ""
        why = f"; {undetermined[name]}" if name in undetermined else ""
        yield f"{name:10} {meaning}{error}{why}"


def _cell(seconds: float, error: float, *, known: bool) -> str:
    from tasksim.base.units import duration_text

    if seconds != seconds:
        return "-"
    return duration_text(seconds) + (f" {error:+.1f}%" if known else "")
