"""The ``tasksim report`` commands for kernels, makespan and scaling of recorded runs."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing
from tasksim.cli.command import Group
from tasksim.cli.options import (
    PATH,
    SHARE,
    WholeNumber,
    completing,
    force_option,
    json_option,
    library_option,
    output_option,
    terms_by_kernel,
    trust_option,
)
from tasksim.cli.output import (
    note,
    note_written,
    print_json,
    print_result,
    refuse_unwritable,
)
from tasksim.cli.progress import counting, stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tasksim.calibration.profiling.functions import CriticalFunctions, FunctionProfile
    from tasksim.models.terms.leastsquares import Weights
    from tasksim.reports.bulk.closed_loop import Round
    from tasksim.reports.bulk.report import ScalingReport
    from tasksim.reports.kernelpages import PageFormat
    from tasksim.run.account import Account
    from tasksim.run.criticalkernels import CriticalKernels
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
    """Report on recorded runs: their makespan, their kernels, the errors of models."""


@reporting.command("kernels", examples=EXAMPLES)
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN...")
@click.option(
    "--kernel", "only", multiple=True, help="Kernel to report on, instead of all; may be repeated."
)
@click.option(
    "--models",
    shell_complete=completing("models"),
    help="Models to judge: a folder, by name or path, or a file.",
)
@library_option
@click.option(
    "--terms",
    multiple=True,
    metavar="KERNEL=TERMS",
    help="Terms of the model of a kernel, instead of a search for them: 'M2L_in=Level + NbCells';"
    " may be repeated.",
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
    help="Find the critical kernels of at least three runs on different numbers of workers: those"
    " with a large share of the time, or whose time does not fall.",
)
@click.option(
    "--threshold",
    type=SHARE,
    default=0.05,
    show_default="5%",
    help="Share of the time at which a kernel is critical.",
)
@output_option(
    "New folder for the pages; with --critical, also for the models and the graph in which all"
    " other kernels are one. [default: no pages]"
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
    form: PageFormat,
    trust: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Report on the kernels of recorded runs, and on errors of their models.

    RUN is a folder that 'tasksim run -o' or 'tasksim simulate -o' wrote. Each kernel gets a page on
    its model in --models, or else on a linear model with searched terms, fitted to the run's own
    tasks. The index links the pages.
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
    recorded, known = _recorded(runs, trust), None
    if models is not None:
        from tasksim.base.library import find
        from tasksim.models.files.store import ModelLibrary

        known = ModelLibrary(find("models", models, library=library))
    with counting("kernels") as progress:
        reports = report_kernels(
            recorded, known, only=only, fitting=fitting, repeated=repeated, progress=progress
        )
    if output is None:
        rows = [report.row(None) for report in reports]
    else:
        rows = write_pages(reports, recorded, output, repeated=repeated, form=form, force=force)
    print_result({"runs": runs, "kernels": rows, "output": output}, _text(rows), as_json=as_json)
    if not as_json:
        note_written(output)


def _recorded(paths: Sequence[Path], trust: bool) -> list[RecordedRun]:
    """Return the runs with their graphs."""
    from tasksim.formats.runs import load_checked_run
    from tasksim.scenario.recorded import recorded_runs

    whose: dict[Path, Path] = {}
    for path in paths:
        if (first := whose.setdefault(path.resolve(), path)) is not path:
            raise InputError(f"{path} is given twice (as {first}): its tasks would count twice")
    with counting("reading runs") as progress:
        runs = []
        for path in paths:
            runs.append((path, load_checked_run(path)))
            progress(len(runs), len(paths))
    return recorded_runs(runs, trust=trust)


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
    """Print the critical kernels of *runs*; write a graph and models to *output*."""
    from tasksim.run.criticalkernels import critical_kernels

    found = critical_kernels(runs, threshold)
    if output is not None:
        from tasksim.reports.aggregated import GRAPH_FILE, MODELS_FILE, write_aggregated

        for name in (GRAPH_FILE, MODELS_FILE):
            refuse_existing(output / name, force=force)
        write_aggregated(output, found, runs, force=force)
    if as_json:
        kernels = [vars(kernel) for kernel in found.kernels]
        more = {"critical": found.critical, "rest": found.rest, "covered": found.covered}
        print_json({"workers": found.workers, "kernels": kernels, **more, "output": output})
        return
    click.echo("\n".join(_critical_text(found)))
    if output is not None:
        note(f"Wrote {output / GRAPH_FILE} and {output / MODELS_FILE}")


def _critical_text(found: CriticalKernels) -> Iterator[str]:
    from tasksim.base.units import duration_text
    from tasksim.view.texttables import table

    counts = (f"on {count}" for count in found.workers)
    header = ("kernel", "share", *counts, "exponent", "critical")
    cells = [
        (
            kernel.name,
            f"{100 * max(kernel.shares):.1f} %",
            *map(duration_text, kernel.times_s),
            f"{kernel.exponent:+.2f}",
            kernel.reason or "no: part of other",
        )
        for kernel in found.kernels
    ]
    yield table(header, cells, left=1)
    count, share = len(found.critical), f"{100 * found.covered:.1f} %"
    yield f"\n{count} of {len(found.kernels)} kernels are critical; they take {share}"


WAIT_TEXTS = {
    "dependency": "for dependencies and submission",
    "transfer": "for data",
    "queue": "for the runtime",
    "end": "after the last task",
}


@reporting.command(
    "account", examples=["tasksim report account tf16"],
    short_help="Split a recorded makespan into parts that add up.",
)  # fmt: skip
@click.argument("run", type=PATH, metavar="RUN")
@json_option
def account(run: Path, as_json: bool) -> None:
    """Split the makespan of a recorded run into parts that add up to it.

    The first part is a replay in which each task starts, on its worker and in its order, as soon as
    its dependencies have ended. The next parts are what submission adds, and the time between
    tasks.
    """
    from tasksim.formats.graphs import graph_of
    from tasksim.formats.runs import load_run
    from tasksim.run.account import account as accounted
    from tasksim.run.account import worker_states

    with stages("account", [1, 1]) as begin:
        begin("reading the run")
        recorded = load_run(run)
        begin("replaying its graph")
        found = accounted(recorded, graph_of(recorded, run))
    states = worker_states(recorded)
    lines = _account_text(found, states, len(recorded.workers))
    print_result({**found.to_json(), "states_s": states}, lines, as_json=as_json)


def _account_text(
    found: Account, states: Mapping[str, float] | None, workers: int
) -> Iterator[str]:
    """Yield the lines of an account, with the *states* of workers that the program traced."""
    from tasksim.base.units import format_size, format_time

    total = found.recorded_s or 1.0

    def line(text: str, value: float, sign: str = "") -> str:
        return f"{text:<58}{sign + format_time(abs(value)):>10}{100 * value / total:9.2f} %"

    def more(text: str, value: float) -> str:
        return line(text, value, "-" if value < 0 else "+")

    yield line("tasks, as they were assigned and ordered", found.replayed_s)
    if found.others_s is not None:
        yield line("  of that, other programs took", found.others_s)
    yield more("late submission of tasks", found.submission_s)
    yield more("between tasks, of workers with a ready task", found.busy_s)
    yield more("idle workers that could have started earlier", found.idle_s)
    yield line("recorded makespan", found.recorded_s)
    yield f"\n{line('critical path', found.critical_path_s)}"
    yield f"\nidle time, mean of {workers} workers:"
    for name, seconds in found.waiting_s.items():
        if seconds is None:
            yield f"{f'  {WAIT_TEXTS[name]}':<58}{'unknown':>10}"
        else:
            yield line(f"  {WAIT_TEXTS[name]}", seconds / workers)
    if (numa := found.numa) is not None:
        yield f"\naccesses to other memory domains, mean of {workers} workers:"
        yield more("  longer tasks, as their data were far", numa.total_extra_s / workers)
        yield (
            f"{'  bytes accessed there, and their share of all':<58}"
            f"{format_size(numa.remote_bytes):>10}{100 * numa.remote_share:9.2f} %"
        )
    if states is not None:
        yield f"\nby the trace, mean of {workers} workers:"
        for state, seconds in sorted(states.items(), key=lambda pair: (-pair[1], pair[0])):
            yield line(f"  {state}", seconds / workers)


@reporting.command(
    "parameters",
    examples=["tasksim report parameters runs/fmm", "tasksim report parameters runs/fmm --json"],
    short_help="Time the counting of indirect parameters.",
)  # fmt: skip
@click.argument("run", type=PATH, metavar="RUN")
@click.option(
    "--repetitions", type=WholeNumber(min=1), default=5, show_default=True,
    help="Number of times that the graph is made; medians are printed.",
)  # fmt: skip
@trust_option
@json_option
def parameters(run: Path, repetitions: int, trust: bool, as_json: bool) -> None:
    """Time the counting of the indirect parameters of a run's tasks.

    Some parameters are known when a task is submitted; indirect ones, such as the interactions
    between the cells of a group, have to be counted first. The command makes the graph of the run
    again, and times the counting where the application marks it with tasksim.counting, as fmm does.
    """
    from tasksim.reports.parametercosts import parameter_costs, text_of

    with counting("making the graph") as progress:
        costs = parameter_costs(run, repetitions, trust=trust, progress=progress)
    print_result(costs.to_json(), text_of(costs), as_json=as_json)


@reporting.command(
    "functions",
    examples=["tasksim report functions 4=four.csv 9=nine.csv 16=sixteen.csv"],
    short_help="Find the critical functions of a program by its profiles.",
)  # fmt: skip
@click.argument("profiles", nargs=-1, required=True, metavar="PROCESSES=FILE...")
@click.option(
    "--threshold", type=SHARE, default=0.05, show_default="5%",
    help="Share of the cost in any run at which a function is critical.",
)  # fmt: skip
@click.option(
    "--against",
    type=PATH,
    metavar="FILE",
    help="Profile of the run on the fewest processes by another profiler, to compare the shares of"
    " functions with.",
)
@click.option("--of-one", is_flag=True, help="Each FILE covers one process, not all of them.")
@json_option
def functions(
    profiles: tuple[str, ...], threshold: float, against: Path | None, of_one: bool, as_json: bool
) -> None:
    """Find the critical functions of a program by its profiles.

    FILE is a profile that 'tasksim profile -o' wrote of a run on that number of PROCESSES; three
    runs are needed. A function is critical if its share of the cost is large in one run, or if its
    cost per process does not fall with the number of processes. All others count as one.
    """
    from tasksim.calibration.profiling.functions import (
        critical_functions,
        read_profile,
        shares_distance,
    )

    known = _profiles(profiles)
    found = critical_functions(known, threshold, of_one=of_one)
    distance = None
    if against is not None:
        distance = shares_distance(known[found.processes[0]], read_profile(against))
    result = {
        "processes": found.processes,
        "functions": [vars(function) for function in found.functions],
        "critical": [function.name for function in found.critical],
        "not_scaling": [function.name for function in found.not_scaling],
        "covered": found.covered,
        "distance": distance,
    }
    lines = [*_functions_text(found)]
    if distance is not None:
        lines.append(f"distance of the shares from {against}: {distance:.2g} (normalized)")
    print_result(result, lines, as_json=as_json)


def _profiles(texts: Sequence[str]) -> dict[int, FunctionProfile]:
    """Return the profiles of ``PROCESSES=FILE`` by the number of processes."""
    from tasksim.calibration.profiling.functions import read_profile

    found: dict[int, FunctionProfile] = {}
    for text in texts:
        number, equals, path = text.partition("=")
        if not equals or not number.isdecimal() or int(number) < 1:
            raise InputError(f"got '{text}'; legal: PROCESSES=FILE, as 4=four.csv")
        if int(number) in found:
            raise InputError(f"{text}: {number} processes are given twice")
        found[int(number)] = read_profile(Path(path))
    return found


def _functions_text(found: CriticalFunctions) -> Iterator[str]:
    """Yield the table of critical functions, and the rest as one."""
    from tasksim.view.texttables import table

    header = ("function", "in", *(f"on {P}" for P in found.processes), "exponent", "critical")
    cells = [
        (f.name, f.place, *(f"{100 * share:.1f} %" for share in f.shares), f"{f.exponent:+.2f}",
         f.reason or "")
        for f in found.critical
    ]  # fmt: skip
    rest = [f for f in found.functions if f.reason is None]
    left = [f"{100 * sum(f.shares[i] for f in rest):.1f} %" for i in range(len(found.processes))]
    cells.append((f"{len(rest)} others", "", *left, "", "no: one kernel"))
    yield table(header, cells, left=2)
    yield (
        f"\n{len(found.critical)} of {len(found.functions)} functions are critical,"
        f" {len(found.not_scaling)} of them because they do not scale; they take"
        f" {100 * found.covered:.1f} %"
    )


_memory_option = click.option(
    "--memory",
    metavar="PLATFORM",
    help="Platform whose memory_hierarchy has the latencies. [default: guessed latencies]",
)


@reporting.command(
    "refinement",
    examples=["tasksim report refinement gemm-two-loads.csv --memory mine -o refined"],
    short_help="Separate computing from memory, by two clocks or loads of the memory.",
)  # fmt: skip
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


@reporting.command(
    "scaling", examples=SCALING_EXAMPLES,
    short_help="Predict a program on more ranks, from counters on few ranks.",
)  # fmt: skip
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
    recorded = _recorded(runs, trust)
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
