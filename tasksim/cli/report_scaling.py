"""The ``tasksim report`` commands that explain and predict durations by counters."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing
from tasksim.cli.command import command
from tasksim.cli.options import (
    PATH,
    SHARE,
    WholeNumber,
    force_option,
    json_option,
    output_option,
    trust_option,
)
from tasksim.cli.output import note, note_written, print_result
from tasksim.cli.report import read_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.reports.bulk.closed_loop import Round
    from tasksim.reports.bulk.report import ScalingReport
    from tasksim.run.samples import RecordedRun

__all__ = ["refinement", "scaling"]

_memory_option = click.option(
    "--memory",
    metavar="PLATFORM",
    help="Platform whose memory_hierarchy has the latencies. [default: guessed latencies]",
)


@command(
    "refinement",
    examples=["tasksim report refinement gemm-two-loads.csv --memory mine -o refined"],
)
@click.argument("samples", type=PATH, metavar="SAMPLES")
@_memory_option
@output_option("New folder for points.csv, lines.csv and refinement.png.")
@force_option
@json_option
def refinement(
    samples: Path, memory: str | None, output: Path | None, force: bool, as_json: bool
) -> None:
    """Separate computing from memory, by two clocks or loads of the memory.

    SAMPLES are counts that 'tasksim counters --load' wrote, or counts at two clocks. Cycles per
    instruction, drawn over those of memory, lie on a line. It starts at the cycles without waiting,
    and its slope is the part of memory's time that computing does not hide.
    """
    from tasksim.cli.fit import latencies_of
    from tasksim.formats.samples import read_samples
    from tasksim.models.kinds.counted import guessed_latencies
    from tasksim.reports.refinement import refinement as refined

    found = read_samples(samples)
    known = guessed_latencies(found) if memory is None else latencies_of(memory)
    told = refined(found, known)
    if output is not None:
        told.write(output, force=force)
    from tasksim.view.texttables import table

    rows = told.lines.to_dict("records")
    result = {
        "points": told.points.to_dict("records"),
        "lines": rows,
        "latencies_s": dict(known),
        "output": output,
    }
    cells = [
        (*(f"{row[name]:g}" for name in told.names), f"{row['cpi_core']:.3g}",
         f"{row['bf_mem']:.3g}", row["note"])
        for row in rows
    ]  # fmt: skip
    lines = [table((*told.names, "CPI_core", "BF_mem", "note"), cells, left=0)]
    if memory is None:
        lines.append(
            "note: latencies are guessed: 'tasksim calibrate memory' measures this machine's"
        )
    print_result(result, lines, as_json=as_json)
    note_written(output)


SCALING_EXAMPLES = (
    "tasksim report scaling one two four --counters counted --to 16 --to 64",
    "tasksim report scaling runs/* --counters counted --fitted 4 --network cluster.yaml -o scaling",
    "tasksim report scaling one two four --counters counted --memory mine "
    "--collective pq=allreduce:recursive_doubling --to 256",
    "tasksim report scaling one two four --counters counted --to 64 --accuracy 10% --more 8 "
    "--measure 'mpiexec -n {ranks} tasksim run jacobi block_rows=8 block_columns=8 --workers 1 "
    "--grid {rows}x{columns} -o {output}' -o closed",
)


@command("scaling", examples=SCALING_EXAMPLES)
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN...")
@click.option(
    "--counters",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Folder that 'tasksim counters APPLICATION' wrote.",
)
@click.option(
    "--to",
    "asked",
    multiple=True,
    metavar="RANKS[:SETTING=VALUE,...]",
    help="Number of ranks to predict, for the program of the last run, perhaps with other"
    " settings; may be repeated.",
)
@click.option(
    "--fitted",
    type=WholeNumber(min=1),
    help="Largest number of ranks to fit to; runs on more ranks only judge the model. [default:"
    " fitted to all runs]",
)
@click.option(
    "--network",
    help="Network of the messages, on which the runs are also simulated; without it, messages are"
    " modelled by a line through those of the runs.",
)
@_memory_option
@click.option(
    "--collective",
    "collectives",
    multiple=True,
    metavar="DATA=OPERATION:ALGORITHM[+...]",
    help="Collective operation that sends the data of this name; other data go from point to"
    " point; may be repeated.",
)
@click.option(
    "--bf-comm",
    type=float,
    help="Share of the messages' time that computing does not hide. [default: fitted]",
)
@click.option(
    "--cores",
    type=WholeNumber(min=1),
    help="Number of cores for all ranks; more ranks than cores take turns.",
)
@click.option(
    "--by",
    type=click.Choice(["cv", "r2"]),
    default="cv",
    help="Criterion that chooses the functions of counters: the cross-validated error, or R2.",
)
@click.option(
    "--threshold", type=SHARE, default=0.05, show_default="5%",
    help="Share of the time below which kernels are merged into one; needs runs on three numbers"
" of ranks.",
)  # fmt: skip
@click.option(
    "--size",
    metavar="TERMS",
    help="Size of the problem, on which work per rank and the laws depend: products of powers of"
    " the program's settings. [default: instructions]",
)
@click.option(
    "--accuracy",
    type=SHARE,
    help="Error to reach: runs on more and more ranks judge the model, and then join its fit,"
    " until the error is at most this. The runs are those beyond --fitted, then those of --more.",
)
@click.option(
    "--more",
    type=WholeNumber(min=2),
    multiple=True,
    metavar="RANKS",
    help="Number of ranks to run on if --accuracy is not reached; may be repeated.",
)
@click.option(
    "--measure",
    metavar="COMMAND",
    help="Command that runs the program for --more: {ranks}, {rows}, {columns} and {output}"
    " stand for values.",
)
@output_option("New folder for scaling.csv, kernels.csv, counters.csv, messages.csv and figures.")
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
    accuracy: float | None,
    more: tuple[int, ...],
    measure: str | None,
    output: Path | None,
    trust: bool,
    force: bool,
    as_json: bool,
    **fit: Any,
) -> None:
    """Predict the duration of a bulk-synchronous program on more ranks.

    RUN is a recorded run on some ranks or nodes. Each kernel's counters, of the rank with most, are
    fitted as functions of the work per rank, or of the ranks; messages are those of its data. The
    prediction stands beside one by counts of the program on that number of ranks, by tasksim's
    simulation if --network is given, and by the laws a/P + b P^c + d and a size/P + b.
    """
    from tasksim.cli.fit import latencies_of
    from tasksim.formats.platforms import load_network
    from tasksim.reports.bulk.prediction import parsed_collective
    from tasksim.reports.bulk.report import report_scaling

    if not asked and fitted is None and accuracy is None:
        raise InputError("nothing to predict; give --to RANKS, or --fitted to judge the other runs")
    if accuracy is None and (more or measure):
        raise InputError("--more and --measure need --accuracy")
    if bool(more) != bool(measure):
        raise InputError("give both --more, the ranks to run on, and --measure, the command")
    if more and output is None:
        raise InputError("--measure: give --output, the folder of its runs")
    if accuracy is not None and not asked:
        raise InputError("--accuracy: give --to RANKS, the ranks to predict")
    if accuracy is not None and fitted is None and not more:
        raise InputError(
            "--accuracy: no run is left to judge the model; give --fitted, or --more and --measure"
        )
    given: Callable[..., ScalingReport] = partial(
        report_scaling,
        counters=counters,
        network=None if network is None else load_network(network),
        collectives=dict(map(parsed_collective, collectives)),
        latencies_s=None if memory is None else latencies_of(memory),
        **fit,
    )
    recorded = read_recorded(runs, trust)
    rounds: list[Round] = []
    if accuracy is not None:
        from tasksim.reports.bulk.closed_loop import closed_loop
        from tasksim.reports.bulk.profile import ranks_of

        few = [run for run in recorded if fitted is None or ranks_of(run) <= fitted]
        judging = sorted((run for run in recorded if run not in few), key=ranks_of)
        further = chain(judging, _measured(measure, more, output, trust, force=force))
        recorded, judges, rounds = closed_loop(
            few, further, accuracy,
            lambda some, most: given(some, fitted=most, simulated=False),
        )  # fmt: skip
        fitted = max(map(ranks_of, recorded))
        recorded += judges
        recorded += [run for run in judging if run not in recorded]
    report = given(recorded, asked=asked, fitted=fitted)
    if output is not None:
        report.write(output, force=force)
    result = {
        "kernels": report.kernels,
        "rest": report.rest,
        "bf_comm": report.model.bf_comm,
        "costs": _costs(report),
        "rounds": [vars(found) for found in rounds],
        "rows": report.table.to_dict("records"),
        "undetermined": report.undetermined,
        "output": output,
    }
    lines = [str(found) for found in rounds]
    if rounds:
        if not rounds[-1].within:
            lines.append(f"the error is still above {accuracy:.3g}: more runs are needed")
        lines.append("")
    print_result(result, chain(lines, _scaling_text(report)), as_json=as_json)
    if not as_json:
        note_written(output)


def _measured(
    command: str | None, more: Sequence[int], output: Path | None, trust: bool, *, force: bool
) -> Iterator[RecordedRun]:
    """Yield runs on more and more ranks, each made when it is needed."""
    from tasksim.reports.bulk.closed_loop import measured_run

    if command is None or output is None:
        return
    for ranks in sorted(more):
        folder = output / f"run-{ranks}"
        refuse_existing(folder, force=force)
        output.mkdir(parents=True, exist_ok=True)
        note(f"Running on {ranks} ranks")
        yield from read_recorded([measured_run(command, ranks, folder)], trust)


def _costs(report: ScalingReport) -> list[dict[str, Any]]:
    """Return the costs of each critical kernel: cycles per instruction, and BF_mem."""
    variance = report.tables()["kernels"].groupby("kernel")["cpi_variance"].first()
    return [
        {
            "kernel": name,
            "cpi_core": model.cpi_core_,
            "cpi_variance": float(variance[name]),
            "bf_mem": model.bf_mem_,
            "abscissa": report.model.abscissa[name],
        }
        for name, model in report.model.kernels.items()
    ]


def _scaling_text(report: ScalingReport) -> Iterator[str]:
    from math import sqrt

    from tasksim.base.units import duration_text
    from tasksim.reports.bulk.prediction import TIME_PARTS
    from tasksim.reports.bulk.tables import SCALING_METHODS, median_errors
    from tasksim.view.texttables import table

    for costs in _costs(report):
        spread = f" ± {sqrt(costs['cpi_variance']):.2g}" if costs["cpi_variance"] >= 0 else ""
        told = f"{costs['cpi_core']:.3g}{spread} cycles per instruction, {costs['bf_mem']:.3g}"
        yield f"{costs['kernel']:10} {told} of memory's time; functions of {costs['abscissa']}"
    if report.rest:
        yield f"{'other':10} {', '.join(report.rest)}"
    yield f"{'messages':10} {report.model.bf_comm:.3g} of their time is not hidden\n"
    rows = report.table.to_dict("records")
    differ = any(row["settings"] for row in rows)  # leave out empty columns
    heads = ("ranks", *["settings"] * differ)
    cells, part_cells = [], []
    for row in rows:
        case = (str(row["ranks"]), *[row["settings"] or "as recorded"] * differ)
        known = row["measured_s"] == row["measured_s"]
        times = [
            _cell(row[f"{name}_s"], row[f"{name}_error_percent"], known=known)
            for name in SCALING_METHODS
        ]
        interval = (duration_text(row[f"counters_{end}_s"]) for end in ("low", "high"))
        measured = duration_text(row["measured_s"]) if known else "-"
        cells.append((*case, measured, *times, " to ".join(interval)))
        parts = [row[f"counters_{name}_s"] for name in TIME_PARTS]
        texts = [f"{duration_text(s)} {100 * s / (row['counters_s'] or 1.0):.0f} %" for s in parts]
        part_cells.append((*case, *texts))
    yield table((*heads, "measured", *SCALING_METHODS, "counters: 95 %"), cells, left=0)
    yield f"\nof counters:\n{table((*heads, *TIME_PARTS), part_cells, left=0)}\n"
    errors, undetermined = median_errors(report.table), report.undetermined
    for name, meaning in SCALING_METHODS.items():
        error = f"; errs by {errors[name]:.1f} % in the median" if name in errors else ""
        why = f"; {undetermined[name]}" if name in undetermined else ""
        yield f"{name:10} {meaning}{error}{why}"


def _cell(seconds: float, error: float, *, known: bool) -> str:
    from tasksim.base.units import duration_text

    if seconds != seconds:
        return "-"
    return duration_text(seconds) + (f" {error:+.1f} %" if known else "")
