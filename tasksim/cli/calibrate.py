"""The ``tasksim calibrate`` command, which measures kernels here and fits their models."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError, unknown
from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.base.numerals import decimal_number
from tasksim.cli.command import command
from tasksim.cli.options import (
    FOLDER,
    PATH,
    SHARE,
    TIME,
    WORKERS,
    completing,
    for_option,
    given_parameters,
    graphs_for,
    json_option,
    terms_by_kernel,
    trust_option,
    until_share,
)
from tasksim.cli.output import note, print_result, refuse_unwritable
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tasksim.calibration.fit_kernels import TermSearch
    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.calibration.recorded_calibration import RecordedCalibration
    from tasksim.calibration.report import CalibrationReport
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["calibrate", "parse_items"]

AUTO = "auto"
HISTORY = "history"
NETWORK = "network"
"""Word in place of graphs and kernels that requests a measurement of messages."""
MEMORY = "memory"
"""Word that requests latencies and bandwidths of this machine."""
OPENMP = "openmp"
"""Word that requests the costs of the OpenMP runtime on this machine."""
POWER = "power"
"""Word before kernels that requests the power of this machine."""


@command(
    "calibrate",
    examples=[
        "tasksim calibrate cholesky tiles=6,10 tile_size=256",
        "tasksim calibrate cholesky tiles=8 lu tiles=8 tile_size=128,256 --library mylibrary",
        "tasksim calibrate gemm m=256 n=256 k=128,256,512 --tolerance 1% --max-time 2min",
        "tasksim calibrate cholesky tiles=14 --until makespan:2%",
        "tasksim calibrate cholesky tiles=8 tile_size=64,128,192 --for 'cholesky tile_size=512'",
        "tasksim calibrate cholesky tiles=8 --contention",
        "tasksim calibrate fmm particles=1e5 height=5,6 group_size=100 distribution=cube,ellipsoid",
        "tasksim calibrate memory --library mylibrary",
        "tasksim calibrate power gemm m=256 n=256 k=256 potrf n=256 --library mylibrary",
        "mpiexec -n 2 tasksim calibrate network --library mylibrary",
        "tasksim calibrate openmp --library mylibrary",
        "tasksim calibrate --from runs/omp --name here",
    ],
)
@click.argument("items", nargs=-1, metavar="[GRAPH|KERNEL [KEY=VALUE[,VALUE...]]]...")
@click.option(
    "--from",
    "runs",
    multiple=True,
    type=PATH,
    metavar="RUN",
    help="Recorded run whose tasks are the samples; nothing is measured. May be repeated, for"
    " several runs on one machine.",
)
@click.option(
    "--library",
    type=FOLDER,
    default=Path(),
    show_default="the current folder",
    help="Library that gets the platform and the models, in platforms/ and models/.",
)
@click.option("--name", metavar="MACHINE", help="Name of this machine. [default: its host name]")
@click.option("--workers", type=WORKERS, help="Number of threads. [default: all usable cores]")
@click.option(
    "--tolerance",
    type=SHARE,
    default=0.02,
    show_default="2%",
    help="Half width of the 95 % confidence interval at which a mean, or the total time of a"
    " kernel, is known well enough.",
)
@click.option(
    "--until",
    metavar="makespan:SHARE",
    help="Measure the kernels that the makespan of the GRAPH depends on, by themselves and in"
    " short bursts, and stop when its mean is known that well: 'makespan:2%'.",
)
@click.option(
    "--max-time",
    type=TIME,
    default=60.0,
    show_default="60s",
    help="Time limit of the measurements.",
)
@click.option(
    "--terms",
    multiple=True,
    metavar="KERNEL=TERMS",
    help="Linear model with these terms, which extrapolates: 'gemm=m*n*k + m*n'. 'gemm=auto'"
    " searches for terms, 'auto' does so for all kernels, 'history' for none. [default: 'auto' for"
    " graphs whose tasks hardly repeat each other, as those of fmm; else 'history']",
)
@click.option(
    "--calm",
    is_flag=True,
    help="On a shared machine, count only runs of a GRAPH in which other programs took at most 2 %"
    " of any worker's time; that may take until --max-time.",
)
@click.option(
    "--contention",
    is_flag=True,
    help="Measure kernels on one core, and how they slow each other down on several, so that"
    " predictions hold for any number of workers. Earlier samples are dropped.",
)
@click.option(
    "--scheduler",
    "schedulers",
    multiple=True,
    metavar="NAME",
    shell_complete=completing("scheduler"),
    help="Scheduler of the runs of a GRAPH; several take turns. Durations depend on what the"
    " caches hold: choose the scheduler that you will simulate. [default: lws, eager]",
)
@for_option
@click.option("--pin/--no-pin", default=True, help="Keep each thread on a core of its own.")
@click.option(
    "--replace", is_flag=True, help="Drop earlier samples and terms instead of adding to them."
)
@click.option(
    "--quick",
    is_flag=True,
    help="Measure fewer sizes, for some seconds; only with 'mpiexec -n 2 tasksim calibrate"
    " network'.",
)
@trust_option
@json_option
@click.pass_context
def calibrate(
    ctx: click.Context,
    items: tuple[str, ...],
    runs: tuple[Path, ...],
    library: Path,
    name: str | None,
    workers: int | None,
    tolerance: float,
    until: str | None,
    max_time: float,
    terms: tuple[str, ...],
    calm: bool,
    contention: bool,
    schedulers: tuple[str, ...],
    predicted: tuple[str, ...],
    pin: bool,
    replace: bool,
    quick: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Measure kernels on this machine, fit models, and write its platform file.

    A GRAPH is measured in native runs, with all workers busy; a KERNEL by itself, on all workers at
    once. Several values of a key make several items: tiles=6,10. Include a GRAPH as large as those
    that you will simulate: only graphs larger than the caches show the cost of data that have left
    them. Ctrl-C keeps the samples so far.

    With --contention, GRAPHs run on one core and on several, in turn, and KERNELs alone and beside
    each other; the platform gets a memory domain.

    With --until, the graph is simulated repeatedly, and the next kernel to measure is the one that
    reduces the uncertainty of the makespan most.

    A kernel is known well enough when the mean duration of each of its configurations is. If it
    gets a linear model and is measured in a graph, the total time of its tasks decides.

    Under mpiexec, 'network' measures messages between ranks instead: by size, both ways and many to
    one. It writes networks/MACHINE.yaml, which --network reads. 'memory' measures latency and
    bandwidth of each level of memory, and adds them to the machine's platform file. 'power',
    followed by KERNELs, adds the power that the machine draws, where its counters can be read.
    'openmp' measures the additional costs of the OpenMP runtime on two threads, for predictions
    from recordings on one thread, and writes platforms/MACHINE-openmp.yaml.

    With --from, the kernels are those of recorded runs: OpenMP programs, Python programs, imported
    traces, native runs. Parameters come from the recording, durations leave out the time that other
    programs took, and the platform is that of the first run.
    """
    if runs:
        if items:
            raise click.UsageError(
                f"--from measures nothing, but got '{items[0]}'; calibrate that by itself, into the"
                " same library"
            )
        _refuse_options(ctx, OPTIONS_WITH_FROM, "{option} is for measurements; leave --from out")
        graphs = graphs_for(predicted)
        refuse_unwritable(library / "models")
        from tasksim.calibration.recorded_calibration import calibrate_from

        with showing("fitting") as progress:
            fitted = calibrate_from(
                runs,
                library,
                machine=name,
                terms=terms_by_kernel(terms, AUTO, HISTORY),
                search=_search(terms),
                predicted=graphs,
                replace=replace,
                trust=trust,
                progress=progress,
            )
        _tell(fitted, as_json=as_json)
        return
    if trust:
        raise click.UsageError("--trust is for recorded runs: give --from RUN")
    if not items:
        raise click.UsageError("Missing argument 'GRAPH|KERNEL' (or --from RUN).")
    if items[0] in OPTIONS_OF_MACHINE:
        _refuse_options(ctx, OPTIONS_OF_MACHINE[items[0]], f"{{option}} is not for '{items[0]}'")
        if items[0] != POWER and len(items) > 1:
            raise click.UsageError(f"'{items[0]}' stands alone, got '{items[1]}', too")
        from tasksim.cli import calibrate_machine as machine

        if items[0] == NETWORK:
            machine.calibrate_network(
                library, name, max_time=max_time, quick=quick, as_json=as_json
            )
        elif items[0] == MEMORY:
            machine.calibrate_memory(library, name, workers=workers, as_json=as_json)
        elif items[0] == OPENMP:
            machine.calibrate_openmp(library, name, as_json=as_json)
        else:
            kernels = parse_items(items[1:])
            machine.calibrate_power(kernels, library, name, workers=workers, as_json=as_json)
        return
    if quick:
        raise InputError("--quick is for: mpiexec -n 2 tasksim calibrate network")
    makespan = until_share(until, "makespan", "2%")
    if contention and makespan is not None:
        raise InputError("--contention measures all kernels; leave --until out")
    wanted, to_predict = parse_items(items), graphs_for(predicted)
    refuse_unwritable(library / "models")
    from tasksim.calibration.calibration_options import CALIBRATION_SCHEDULERS, CalibrationOptions
    from tasksim.native.this_machine import usable_cores

    measure: Callable[..., CalibrationReport]
    if contention:  # on one core, with the slowdown on several; else on all cores at once
        from tasksim.calibration.contention import calibrate_contended

        measure = calibrate_contended
    else:
        from tasksim.calibration.calibrate import calibrate as calibrate_busy

        measure = partial(calibrate_busy, replace=replace)

    with showing("calibrating") as progress:
        report = measure(
            wanted,
            library,
            machine=name,
            workers=workers or len(usable_cores()),
            options=CalibrationOptions(
                tolerance=tolerance,
                max_seconds=max_time,
                schedulers=schedulers or CALIBRATION_SCHEDULERS,
                pin=pin,
                calm=calm,
                makespan=makespan,
            ),
            terms=terms_by_kernel(terms, AUTO, HISTORY),
            search=_search(terms),
            predicted=to_predict,
            progress=progress,
        )
    _tell(report, as_json=as_json, wrote=bool(report.rows))
    if report.interrupted:
        note("Interrupted: the samples so far are kept.")
        ctx.exit(INTERRUPTED_EXIT_CODE)


def _tell(
    found: CalibrationReport | RecordedCalibration, *, as_json: bool, wrote: bool = True
) -> None:
    print_result(found.to_json(), found.table(), as_json=as_json)
    if wrote and not as_json:
        written = [str(path) for path in (found.platform_path, found.models_folder) if path]
        note(f"Wrote {' and '.join(written)}")
    for text in found.notes:
        note(f"Note: {text}")


OPTIONS_WITH_FROM = {"runs", "library", "name", "terms", "predicted", "replace", "trust", "as_json"}
"""Options that are allowed together with ``--from``."""

OPTIONS_OF_MACHINE = {
    NETWORK: {"library", "name", "max_time", "quick", "as_json"},
    MEMORY: {"library", "name", "workers", "as_json"},
    OPENMP: {"library", "name", "as_json"},
    POWER: {"library", "name", "workers", "as_json"},
}
"""Options that are allowed together with each word that measures the machine itself."""


def _refuse_options(ctx: click.Context, allowed: Collection[str], message: str) -> None:
    """Raise *message* for an option that was given but is not among those *allowed*."""
    options = [one for one in ctx.command.params if isinstance(one, click.Option)]
    legal = ", ".join(one.opts[0] for one in options if one.name in allowed)
    for option in given_parameters(ctx):
        if isinstance(option, click.Option) and option.name not in allowed:
            text = message.format(option=option.opts[0])
            raise click.UsageError(f"{text}; legal: {legal}")


def parse_items(tokens: Sequence[str]) -> list[TaskGraph | KernelCall]:
    """Return the graphs and kernels that *tokens* name: ``cholesky tiles=6,10 gemm m=1 ...``.

    A token without ``=`` starts an item; its settings follow. Values with commas make an item
    for each combination.

    Raises
    ------
    InputError
        If a graph or kernel is unknown, or its settings are wrong.
    """
    groups: list[tuple[str, list[str]]] = []
    for token in tokens:
        if "=" not in token:
            groups.append((token, []))
        elif groups:
            groups[-1][1].append(token)
        else:
            raise InputError(f"got '{token}'; legal: a graph or a kernel first, then its KEY=VALUE")
    return [
        _item(name, settings) for name, given in groups for settings in _combinations(name, given)
    ]


def _combinations(name: str, settings: Sequence[str]) -> Iterator[list[str]]:
    values: dict[str, list[str]] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key in values:
            raise InputError(f"{name}: {key} is given twice; several values have commas: {key}=A,B")
        values[key] = value.split(",")
    for chosen in product(*values.values()):
        yield [f"{key}={value}" for key, value in zip(values, chosen, strict=True)]


def _item(name: str, settings: list[str]) -> TaskGraph | KernelCall:
    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.formats.graphs import load_graph
    from tasksim.graph.apps.registry import names, names_generator
    from tasksim.kernels.dense import dense_kernel, kernel_names

    if names_generator(name) or Path(name).is_file() or name.endswith(".npz"):
        return load_graph(name, settings)
    if name not in kernel_names():
        raise unknown("graph or kernel", name, [*names(), *kernel_names()])
    parameters: dict[str, float] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        number = decimal_number(value)
        if number is None:
            raise InputError(f"kernel {name}: {key}: got '{value}'; legal: a number")
        parameters[key] = number
    dense_kernel(name)[0].sizes(parameters)
    return KernelCall(name, parameters)


def _search(texts: Sequence[str]) -> TermSearch:
    """Return the kernels without terms whose terms are searched for."""
    if AUTO in texts and HISTORY in texts:
        raise InputError(f"--terms: got both '{AUTO}' and '{HISTORY}'; legal: one of them")
    if AUTO in texts:
        return "all"
    return "none" if HISTORY in texts else "irregular"
