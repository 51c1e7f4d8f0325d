"""The ``tasksim report`` commands for kernels, makespan and scaling of recorded runs."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing
from tasksim.cli.command import Command, Group
from tasksim.cli.options import (
    SHARE,
    WholeNumber,
    force_option,
    json_option,
    library_option,
    terms_by_kernel,
    trust_option,
)
from tasksim.cli.output import note, print_json, refuse_unwritable
from tasksim.cli.progress import counting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.terms.leastsquares import Weights
    from tasksim.reports.bulk.closed_loop import Round
    from tasksim.reports.bulk.report import ScalingReport
    from tasksim.reports.kernelpages import Format
    from tasksim.reports.refinement import Refinement
    from tasksim.run.account import Account
    from tasksim.run.criticalkernels import CriticalKernels
    from tasksim.run.numa import NumaUse
    from tasksim.run.samples import RecordedRun, Repeated

__all__ = ["reporting"]

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
        _report_critical(_recorded(runs, trust), threshold, output, force=force, as_json=as_json)
        return
    from tasksim.reports.kernelpages import refuse_reports, write_pages
    from tasksim.reports.kernelreport import Fitting, report_kernels

    fitting = Fitting(terms_by_kernel(terms), weights)
    if output is not None:
        refuse_reports(output, force=force)
        refuse_unwritable(output)
    recorded, known = _recorded(runs, trust), _models(models, library)
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


def _recorded(paths: Sequence[Path], trust: bool) -> list[RecordedRun]:
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


def _report_critical(
    runs: Sequence[RecordedRun],
    threshold: float,
    output: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Print which kernels of *runs* are critical; write a graph and models to *output*."""
    from tasksim.run.criticalkernels import critical_kernels

    found = critical_kernels(runs, threshold)
    if output is not None:
        from tasksim.reports.aggregated import GRAPH, MODELS, write_aggregated

        for name in (GRAPH, MODELS):
            refuse_existing(output / name, force=force)
        write_aggregated(output, found, runs, force=force)
    if as_json:
        kernels = [vars(kernel) for kernel in found.kernels]
        more = {"critical": found.critical, "rest": found.rest, "covered": found.covered}
        print_json({"workers": found.workers, "kernels": kernels, **more, "output": output})
        return
    click.echo("\n".join(_critical_text(found)))
    if output is not None:
        note(f"Wrote {output / GRAPH} and {output / MODELS}")


def _critical_text(found: CriticalKernels) -> Iterator[str]:
    from tasksim.base.units import duration_text
    from tasksim.view.texttables import table

    header = (
        "kernel",
        "share",
        *(f"on {count}" for count in found.workers),
        "exponent",
        "critical",
    )
    cells = [
        (
            kernel.name,
            f"{max(kernel.shares):.1%}",
            *map(duration_text, kernel.times_s),
            f"{kernel.exponent:+.2f}",
            kernel.reason or "no: part of other",
        )
        for kernel in found.kernels
    ]
    yield table(header, cells, left=1)
    count = len(found.critical)
    yield f"\n{count} of {len(found.kernels)} kernels are critical; they take {found.covered:.1%}"


WAITED = {
    "dependency": "for dependencies and submission",
    "transfer": "for data",
    "queue": "for the runtime",
    "end": "after the last task",
}


@reporting.command(
    "account", cls=Command, examples=["tasksim report account tf16"],
    short_help="Say how a recorded makespan comes about.",
)  # fmt: skip
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@json_option
def account(run: Path, as_json: bool) -> None:
    """Say how the makespan of a recorded run comes about; the parts add up to it.

    First as if each task had started, on its worker and in its order, as soon as what it depends
    on had ended; then what submission adds, and what passes between tasks.
    """
    from tasksim.formats.recorded import graph_of
    from tasksim.formats.runs import load_run
    from tasksim.run.account import account as accounted
    from tasksim.run.account import worker_states

    recorded = load_run(run)
    found = accounted(recorded, graph_of(recorded, run))
    states = worker_states(recorded)
    if as_json:
        print_json({**found.to_json(), "states_s": states})
        return
    lines = _account_lines(found, len(recorded.workers))
    if states is not None:
        lines += _state_lines(states, found.recorded_s, len(recorded.workers))
    click.echo("\n".join(lines))


def _state_lines(states: Mapping[str, float], total_s: float, workers: int) -> list[str]:
    """Return what the recorded program itself says of its workers."""
    from tasksim.base.units import format_time

    head = ["", f"by the trace, of {workers} workers in the mean:"]
    return head + [
        f"  {state:<56}{format_time(s / workers):>10}{100 * s / workers / (total_s or 1.0):9.2f} %"
        for state, s in sorted(states.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def _account_lines(found: Account, workers: int) -> list[str]:
    from tasksim.base.units import format_time

    total = found.recorded_s or 1.0

    def line(text: str, value: float, sign: str = "") -> str:
        return f"{text:<58}{sign + format_time(abs(value)):>10}{100 * value / total:9.2f} %"

    def more(text: str, value: float) -> str:
        return line(text, value, "-" if value < 0 else "+")

    lines = [
        line("its tasks, as they were assigned and ordered", found.replayed_s),
        *([] if found.others_s is None else [line("  of that, others took", found.others_s)]),
        more("tasks were submitted later than that", found.submission_s),
        more("between tasks of workers that had one to run", found.busy_s),
        more("workers that waited and could have started earlier", found.idle_s),
        line("recorded makespan", found.recorded_s),
        "",
        line("critical path", found.critical_path_s),
        "",
        f"idle, of {workers} workers in the mean:",
    ]
    lines += [line(f"  {WAITED[name]}", s / workers) for name, s in found.waiting_s.items()]
    if found.numa is None:
        return lines
    return [
        *lines,
        "",
        f"accesses to other memory domains, of {workers} workers in the mean:",
        more("  tasks took longer, as their data were far", found.numa.total_extra_s / workers),
        _remote_line(found.numa),
    ]


def _remote_line(use: NumaUse) -> str:
    """Return the bytes that tasks accessed in other domains, and their share of all."""
    from tasksim.base.units import format_size

    text, share = "  bytes accessed there, and their share of all", 100 * use.remote_share
    return f"{text:<58}{format_size(use.remote_bytes):>10}{share:9.2f} %"


@reporting.command(
    "parameters", cls=Command,
    examples=["tasksim report parameters runs/fmm", "tasksim report parameters runs/fmm --json"],
    short_help="Say what it costs to count indirect parameters of tasks.",
)  # fmt: skip
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--repetitions", type=WholeNumber(min=1), default=5, show_default=True,
    help="Times that the graph is made; medians are printed.",
)  # fmt: skip
@trust_option
@json_option
def parameters(run: Path, repetitions: int, trust: bool, as_json: bool) -> None:
    """Say what it costs to count the indirect parameters of a run's tasks.

    Some parameters are known when a task is submitted; others, such as the interactions between
    the cells of a group, have to be counted before. The graph of the run is made again and
    counting is timed, where the application marks it with tasksim.counting; fmm does.
    """
    from tasksim.reports.parametercosts import parameter_costs, text_of

    costs = parameter_costs(run, repetitions, trust=trust)
    if as_json:
        print_json(costs.to_json())
    else:
        click.echo("\n".join(text_of(costs)))


@reporting.command(
    "functions", cls=Command,
    examples=["tasksim report functions 4=four.csv 9=nine.csv 16=sixteen.csv"],
    short_help="Say which functions of a program are critical, by its profiles.",
)  # fmt: skip
@click.argument("profiles", nargs=-1, required=True, metavar="PROCESSES=FILE...")
@click.option(
    "--threshold", type=SHARE, default=0.05, show_default="5%",
    help="Share of the cost, in any run, from which a function is critical.",
)  # fmt: skip
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Profile of the run on fewest processes by another profiler: how far the shares of"
    " functions differ.",
)
@click.option("--of-one", is_flag=True, help="Each FILE is of one of the processes, not of all.")
@json_option
def functions(
    profiles: tuple[str, ...], threshold: float, against: Path | None, of_one: bool, as_json: bool
) -> None:
    """Say which functions of a program are critical, by its profiles.

    FILE is what 'tasksim profile -o' wrote of a run on so many processes; three runs or more.
    Critical are those with more than a share of the cost in one run, and those whose cost per
    process does not fall with the processes. All others count as one.
    """
    from tasksim.cli.profile import print_critical

    print_critical(profiles, threshold, against, of_one=of_one, as_json=as_json)


@reporting.command(
    "refinement", cls=Command,
    examples=[
        "tasksim report refinement gemm-two-loads.csv --memory mine -o refined",
    ],
    short_help="Tell computing from memory, by two clocks or loads of the memory.",
)  # fmt: skip
@click.argument("samples", type=click.Path(path_type=Path), metavar="SAMPLES")
@click.option(
    "--memory",
    metavar="PLATFORM",
    help="Platform whose memory_hierarchy has the latencies. [default: guessed latencies]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A new folder: points.csv, lines.csv, refinement.png.",
)
@force_option
@json_option
def refinement(
    samples: Path, memory: str | None, output: Path | None, force: bool, as_json: bool
) -> None:
    """Tell computing from memory, by two clocks or loads of the memory.

    SAMPLES are what 'tasksim counters' wrote with --load, or what was counted at two clocks. Cycles
    per instruction lie on a line over those of memory: it begins at the cycles without waiting, and
    its slope is the part of memory's time that computing does not hide.
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
    if as_json:
        print_json({
            "points": told.points.to_dict("records"),
            "lines": told.lines.to_dict("records"),
            "latencies_s": dict(known),
            "output": output,
        })  # fmt: skip
    else:
        click.echo("\n".join(_refinement_text(told, guessed=memory is None)))
    if output is not None:
        note(f"Wrote {output}")


def _refinement_text(told: Refinement, *, guessed: bool) -> Iterator[str]:
    from tasksim.view.texttables import table

    cells = [
        (*(f"{row[name]:g}" for name in told.names), f"{row['cpi_core']:.3g}",
         f"{row['bf_mem']:.3g}", row["note"])
        for row in told.lines.to_dict("records")
    ]  # fmt: skip
    yield table((*told.names, "CPI_core", "BF_mem", "note"), cells, left=0)
    if guessed:
        yield "note: latencies are guessed: 'tasksim calibrate memory' measures this machine's"


SCALING_EXAMPLES = (
    "tasksim report scaling one two four --counters counted --to 16 --to 64",
    "tasksim report scaling runs/* --counters counted --fitted 4 --network cluster.yaml -o scaling",
    "tasksim report scaling one two four --counters counted --memory mine "
    "--collective pq=allreduce:recursive_doubling --to 256",
    "tasksim report scaling one two four --counters counted --to 64 --accuracy 10% --more 8 "
    "--measure 'mpiexec -n {ranks} tasksim run jacobi block_rows=8 block_columns=8 --workers 1 "
    "--grid {rows}x{columns} -o {output}' -o closed",
)


@reporting.command(
    "scaling", cls=Command, examples=SCALING_EXAMPLES,
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
    "--size",
    metavar="TERMS",
    help="Size of the problem, after which work per rank and the laws go: products of"
    " powers of the program's settings. [default: instructions]",
)
@click.option(
    "--accuracy",
    type=SHARE,
    help="Wanted error: runs on more and more ranks judge the model, and are learned from"
    " until it is reached. They are those beyond --fitted, then those of --more.",
)
@click.option(
    "--more",
    type=WholeNumber(min=2),
    multiple=True,
    metavar="RANKS",
    help="Ranks to run on if --accuracy is not reached; may be repeated.",
)
@click.option(
    "--measure",
    metavar="COMMAND",
    help="Command that runs the program for --more: {ranks}, {rows}, {columns} and {output}"
    " stand for values.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A new folder: scaling.csv, kernels.csv, counters.csv, messages.csv, and figures.",
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
    size: str | None,
    accuracy: float | None,
    more: tuple[int, ...],
    measure: str | None,
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
    from tasksim.formats.platforms import load_network
    from tasksim.reports.bulk.prediction import parsed_collective
    from tasksim.reports.bulk.report import report_scaling

    if not asked and fitted is None and accuracy is None:
        raise InputError("nothing is asked: give --to RANKS, or --fitted to judge the other runs")
    _check_loop(asked, fitted, accuracy, more, measure, output)
    given = partial(
        report_scaling,
        counters=counters,
        network=None if network is None else load_network(network),
        collectives=dict(map(parsed_collective, collectives)),
        latencies_s=None if memory is None else latencies_of(memory),
        bf_comm=bf_comm,
        cores=cores,
        by=by,
        threshold=threshold,
        size=size,
    )
    recorded = _recorded(runs, trust)
    rounds: list[Round] = []
    if accuracy is not None:
        from tasksim.reports.bulk.closed_loop import closed_loop

        few = [run for run in recorded if fitted is None or _ranks(run) <= fitted]
        judging = sorted((run for run in recorded if run not in few), key=_ranks)
        further = chain(judging, _measured(measure, more, output, trust, force=force))
        recorded, judges, rounds = closed_loop(
            few, further, accuracy,
            lambda some, most: given(some, fitted=most, simulated=False),
        )  # fmt: skip
        fitted = max(map(_ranks, recorded))
        recorded += judges
        recorded += [run for run in judging if run not in recorded]
    report = given(recorded, asked=asked, fitted=fitted)
    if output is not None:
        report.write(output, force=force)
    if as_json:
        rows = report.table.to_dict("records")
        print_json(
            {
                "kernels": report.kernels,
                "rest": report.rest,
                "bf_comm": report.model.bf_comm,
                "costs": _costs(report),
                "rounds": [vars(found) for found in rounds],
                "rows": rows,
                "undetermined": report.undetermined,
                "output": output,
            }
        )
        return
    for found in rounds:
        click.echo(str(found))
    if rounds:
        if not rounds[-1].within:
            click.echo(f"an error of {accuracy:.3g} is not reached: more runs are needed")
        click.echo()
    click.echo("\n".join(_scaling_text(report)))
    if output is not None:
        note(f"Wrote {output}")


def _check_loop(
    asked: Sequence[str],
    fitted: int | None,
    accuracy: float | None,
    more: Sequence[int],
    measure: str | None,
    output: Path | None,
) -> None:
    """Raise :exc:`InputError` unless the options of the closed loop go together."""
    if accuracy is None and (more or measure):
        raise InputError("--more and --measure are for --accuracy")
    if bool(more) != bool(measure):
        raise InputError("--more and --measure: give both, on which ranks to run, and how")
    if more and output is None:
        raise InputError("--measure: give --output, where its runs are kept")
    if accuracy is not None and not asked:
        raise InputError("--accuracy: give --to RANKS, which are to be predicted so accurately")
    if accuracy is not None and fitted is None and not more:
        raise InputError("--accuracy: no run judges; give --fitted, or --more and --measure")


def _ranks(run: RecordedRun) -> int:
    return 1 + max(worker.node for worker in run.run.workers)


def _measured(
    command: str | None, more: Sequence[int], output: Path | None, trust: bool, *, force: bool
) -> Iterator[RecordedRun]:
    """Yield runs on more and more ranks, each made when it is asked for."""
    from tasksim.reports.bulk.closed_loop import measured_run

    if command is None or output is None:
        return
    for ranks in sorted(more):
        folder = output / f"run-{ranks}"
        refuse_existing(folder, force=force)
        output.mkdir(parents=True, exist_ok=True)
        note(f"Running on {ranks} ranks")
        yield from _recorded([measured_run(command, ranks, folder)], trust)


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
    from tasksim.reports.bulk.report import SCALING_METHODS, median_errors
    from tasksim.view.texttables import table

    for costs in _costs(report):
        spread = f" ± {sqrt(costs['cpi_variance']):.2g}" if costs["cpi_variance"] >= 0 else ""
        told = f"{costs['cpi_core']:.3g}{spread} cycles per instruction, {costs['bf_mem']:.3g}"
        yield f"{costs['kernel']:10} {told} of memory's time; functions of {costs['abscissa']}"
    if report.rest:
        yield f"{'other':10} {', '.join(report.rest)}"
    yield f"{'messages':10} {report.model.bf_comm:.3g} of their time shows\n"
    differ = bool(report.table["settings"].any())  # a column of nothing is no help
    header = ("ranks", *["settings"] * differ, "measured", *SCALING_METHODS, "counters: 95 %")
    cells = []
    for row in report.table.to_dict("records"):
        known = row["measured_s"] == row["measured_s"]
        times = [
            _cell(row[f"{name}_s"], row[f"{name}_error_percent"], known=known)
            for name in SCALING_METHODS
        ]
        interval = (duration_text(row[f"counters_{end}_s"]) for end in ("low", "high"))
        measured = duration_text(row["measured_s"]) if known else "-"
        settings = [row["settings"] or "as recorded"] * differ
        cells.append((str(row["ranks"]), *settings, measured, *times, " to ".join(interval)))
    yield table(header, cells, left=0)
    yield ""
    yield from _parts_text(report)
    yield ""
    errors, undetermined = median_errors(report.table), report.undetermined
    for name, meaning in SCALING_METHODS.items():
        error = f"; errs by {errors[name]:.1f} % in the median" if name in errors else ""
        why = f"; {undetermined[name]}" if name in undetermined else ""
        yield f"{name:10} {meaning}{error}{why}"


def _parts_text(report: ScalingReport) -> Iterator[str]:
    """Yield the table of what the predictions by counters consist of."""
    from tasksim.base.units import duration_text
    from tasksim.reports.bulk.prediction import PARTS
    from tasksim.view.texttables import table

    differ = bool(report.table["settings"].any())
    cells = []
    for row in report.table.to_dict("records"):
        settings = [row["settings"] or "as recorded"] * differ
        parts = [row[f"counters_{name}_s"] for name in PARTS]
        texts = [f"{duration_text(s)} {s / (row['counters_s'] or 1.0):.0%}" for s in parts]
        cells.append((str(row["ranks"]), *settings, *texts))
    yield "of counters:"
    yield table(("ranks", *["settings"] * differ, *PARTS), cells, left=0)


def _cell(seconds: float, error: float, *, known: bool) -> str:
    from tasksim.base.units import duration_text

    if seconds != seconds:
        return "-"
    return duration_text(seconds) + (f" {error:+.1f}%" if known else "")
