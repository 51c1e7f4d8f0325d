"""The ``tasksim report`` commands for kernels, makespans and functions of recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing
from tasksim.cli.command import LazyGroup, command
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
from tasksim.models import FIT_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.calibration.profiling.functions import CriticalFunctions, FunctionProfile
    from tasksim.models import Weights
    from tasksim.reports.kernelpages import PageFormat
    from tasksim.run.account import Account
    from tasksim.run.criticalkernels import CriticalKernels
    from tasksim.run.samples import RecordedRun, Repeated

__all__ = ["read_recorded", "reporting"]

EXAMPLES = (
    "tasksim report kernels runs/fmm --models general.json",
    "tasksim report kernels runs/fmm -o report",
    "tasksim report kernels runs/a runs/b --models models/mymachine -o report --format md",
    "tasksim report kernels --critical runs/one runs/two runs/four -o few",
    "tasksim report kernels runs/fmm --terms M2L_in='Level + NbCells' --weights none -o report",
)


REPORT_COMMANDS = {
    "kernels": ("tasksim.cli.report:kernels", "Report on kernels, and on errors of their models."),
    "account": ("tasksim.cli.report:account", "Split a recorded makespan into parts that add up."),
    "parameters": ("tasksim.cli.report:parameters", "Time the counting of indirect parameters."),
    "functions": (
        "tasksim.cli.report:functions",
        "Find the critical functions of a program by its profiles.",
    ),
    "refinement": (
        "tasksim.cli.report_scaling:refinement",
        "Separate computing from memory, by two clocks or loads of the memory.",
    ),
    "scaling": (
        "tasksim.cli.report_scaling:scaling",
        "Predict a program on more ranks, from counters on few ranks.",
    ),
}


@click.group("report", cls=LazyGroup, what="subject", parts=REPORT_COMMANDS, examples=EXAMPLES)
def reporting() -> None:
    """Report on recorded runs: their makespan, their kernels, the errors of models."""


@command("kernels", examples=EXAMPLES)
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
    type=click.Choice(FIT_WEIGHTS),
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
        _report_critical(
            read_recorded(runs, trust), threshold, output, force=force, as_json=as_json
        )
        return
    from tasksim.reports.kernelpages import refuse_reports, write_pages
    from tasksim.reports.kernelreport import Fitting, report_kernels

    fitting = Fitting(terms_by_kernel(terms), weights)
    if output is not None:
        refuse_reports(output, force=force)
        refuse_unwritable(output)
    recorded, known = read_recorded(runs, trust), None
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


def read_recorded(paths: Sequence[Path], trust: bool) -> list[RecordedRun]:
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


@command("account", examples=["tasksim report account tf16"])
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


@command(
    "parameters",
    examples=["tasksim report parameters runs/fmm", "tasksim report parameters runs/fmm --json"],
)
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


@command(
    "functions",
    examples=["tasksim report functions 4=four.csv 9=nine.csv 16=sixteen.csv"],
)
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
