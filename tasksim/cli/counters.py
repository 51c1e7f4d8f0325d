"""The ``tasksim counters`` command, which counts instructions and accesses of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.cli.command import command
from tasksim.cli.options import (
    WholeNumber,
    design_option,
    dtype_option,
    force_option,
    json_option,
    samples_output_option,
)
from tasksim.cli.output import note_written, print_result, refuse_unwritable
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.calibration.counters.campaign import CounterSummary

__all__ = ["counters"]


@command(
    "counters",
    examples=[
        "tasksim counters gemm m=64..512 --source valgrind -o gemm-counters.csv",
        "tasksim counters lacpy m=64..2048:log --samples 12 --source perf -o lacpy.csv",
        "tasksim counters potrf n=256 --source file:perf.csv --executions 100 -o potrf.csv",
        "tasksim counters gemm m=64..512 --load 1 -o gemm-two-loads.csv",
        "tasksim counters fmm particles=2000..8000 height=4 group_size=50 --samples 4 -o fmm",
    ],
)
@click.argument("kernel", metavar="KERNEL")
@click.argument("settings", nargs=-1, metavar="PARAMETER=SIZES...")
@click.option(
    "--source",
    default="valgrind",
    metavar="valgrind|perf|file:PATH",
    help="Source of the counts: a simulated processor (valgrind), this processor (perf), or a file"
    " that perf, LIKWID or PAPI wrote; '{n}' in PATH is the parameter n.",
)
@samples_output_option
@click.option(
    "--samples",
    type=WholeNumber(min=1),
    default=20,
    help="Number of configurations to draw; fewer if the domain has no more.",
)
@click.option(
    "--runs",
    type=WholeNumber(min=1),
    default=3,
    help="Number of timings of each configuration, at different times; models need three.",
)
@design_option
@click.option(
    "--executions",
    type=WholeNumber(min=1),
    default=1,
    help="Number of executions of the kernel that the counts of a file cover.",
)
@click.option(
    "--load",
    type=WholeNumber(min=0),
    default=0,
    metavar="K",
    help="Number of processes, each on a core of its own, that stream through memory during a"
    " further timing of each configuration.",
)
@click.option(
    "--seed",
    type=WholeNumber(min=0),
    default=0,
    help="Seed of the design; the same seed gives the same configurations.",
)
@dtype_option
@force_option
@json_option
def counters(
    kernel: str,
    settings: tuple[str, ...],
    output: Path,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Count the instructions of a kernel, and the accesses that each level of memory answers.

    SIZES are as for 'tasksim measure'; a parameter that is left out has the sizes of the first one.
    KERNEL may also be an application, all of whose tasks are counted. Each sample is an execution,
    with parameters, counters and duration; 'tasksim fit --kind counters' fits models to them.
    Valgrind's counts are the same in each run; those of its caches leave out the processor's
    prefetching.
    """
    refuse_unwritable(output)
    from tasksim.calibration.counters.campaign import CounterOptions

    options = CounterOptions(**asked)
    from tasksim.base.registry import is_own
    from tasksim.graph.apps.registry import GENERATORS

    with showing("counting") as progress:
        if is_own(kernel) or kernel in GENERATORS:
            if options.load:
                raise InputError("--load is for single kernels, not for applications")
            from tasksim.calibration.application_campaign import parse_settings_domain
            from tasksim.calibration.counters.campaign import measure_application_counters

            drawn = parse_settings_domain(kernel, settings)
            summary = measure_application_counters(
                drawn, output, options, force=force, progress=progress
            )
        else:
            from tasksim.calibration.counters.campaign import measure_counters
            from tasksim.calibration.domain import parse_domain

            domain = parse_domain(kernel, _completed(kernel, settings))
            summary = measure_counters(domain, output, options, force=force, progress=progress)
    print_result({**vars(summary), "output": output}, _text(summary), as_json=as_json)
    note_written(output)


def _completed(kernel: str, settings: Sequence[str]) -> list[str]:
    """Return the *settings*, with the sizes of the first one for parameters that are not given."""
    from tasksim.kernels.dense import dense_kernel

    given = dict(setting.partition("=")[::2] for setting in settings)
    names = dense_kernel(kernel)[0].parameters
    if not given or next(iter(given)) not in names:
        return list(settings)
    first = next(iter(given.values()))
    return [*settings, *(f"{name}={first}" for name in names if name not in given)]


def _text(summary: CounterSummary) -> Iterator[str]:
    from tasksim.base.units import counted, format_time
    from tasksim.models.samples import COUNTERS

    samples = counted(summary.samples, "sample")
    found = f"{samples} of {counted(summary.configurations, 'configuration')}"
    yield f"{summary.kernel}: {found}, {format_time(summary.seconds)}"
    yield from (f"note: {text}" for text in summary.notes)
    width = max(map(len, summary.counters))
    yield from (f"{name:{width}}  {COUNTERS[name]}" for name in summary.counters)
