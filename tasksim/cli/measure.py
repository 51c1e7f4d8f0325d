"""The ``tasksim measure`` command, which measures a kernel over a domain of its parameters."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.base.registry import is_own
from tasksim.cli.command import command
from tasksim.cli.options import (
    SHARE,
    TIME,
    WholeNumber,
    design_option,
    dtype_option,
    force_option,
    json_option,
    samples_output_option,
    until_share,
)
from tasksim.cli.output import note, note_written, print_result, refuse_unwritable, warn
from tasksim.cli.over_ranks import ending_together
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.calibration.application_campaign import ApplicationSummary
    from tasksim.calibration.domain_campaign import DomainSummary, MeasureOptions

__all__ = ["measure"]


@command(
    "measure",
    examples=[
        "tasksim measure gemm m=32..2048:log n=32..2048:log k=32..2048:log --budget 10min -o g.csv",
        "tasksim measure potrf n=64,128,256,512 --tolerance 1% -o potrf.csv",
        "tasksim measure gemm m=32..2048:log n=m k=m --repetitions 2 --rounds 9 -o square.csv",
        "tasksim measure trsm m=32..2048:log n=64..2048 --until error:5% --budget 5min -o t.csv",
        "tasksim measure geqrt m=64..1024:log n=64..512:log ib=32 --samples 1000 -o geqrt.csv",
        "tasksim measure gemm m=32..512 n=32..512 k=32..512 --where 'm*n*k <= 1e7' -o g.csv",
        "tasksim measure fmm particles=1000..9000 distribution=cube,ellipsoid --samples 20 -o s",
        "mpiexec -n 4 tasksim measure collective operation=bcast ranks=2,4 "
        "size_bytes=65536..16777216:log --samples 50 -o bcast.csv",
        "tasksim measure stencil.py n=64..4096:log steps=2 --samples 50 --budget 5min -o samples",
    ],
)
@click.argument("kernel", metavar="KERNEL")
@click.argument("settings", nargs=-1, metavar="PARAMETER=SIZES...")
@samples_output_option
@click.option(
    "--samples",
    type=WholeNumber(min=1),
    default=4096,
    help="Number of configurations to draw; fewer if the domain has no more.",
)
@click.option(
    "--budget",
    "budget_s",
    type=TIME,
    help="Time limit of the measurements, such as '10min'. [default: none]",
)
@click.option(
    "--tolerance",
    type=SHARE,
    default=0.05,
    show_default="5%",
    help="Half width of the 95 % confidence interval at which a mean is known well enough.",
)
@click.option(
    "--repetitions",
    type=WholeNumber(min=1),
    default=20,
    help="Largest number of repetitions at one visit of a configuration.",
)
@click.option(
    "--rounds",
    type=WholeNumber(min=1),
    default=1,
    help="Number of visits to each configuration, each time in another order: on a shared machine"
    " several short visits are more precise than a long one.",
)
@design_option
@click.option(
    "--where",
    metavar="CONDITION",
    multiple=True,
    help="Condition on configurations, such as '64 <= m*n <= 128'; may be repeated.",
)
@click.option(
    "--until",
    metavar="error:SHARE",
    help="Fit a model during the measurements, measure where it gains most, and stop when its"
    " error over the domain is at most this: 'error:5%'.",
)
@click.option(
    "--kind",
    default="auto",
    help="Kind of model for --until: power, mlr, cp, hybrid, learned, or auto, the best of all"
    " these but cp.",
)
@click.option(
    "--seed",
    type=WholeNumber(min=0),
    default=0,
    help="Seed of the design; the same seed gives the same configurations in the same order.",
)
@dtype_option
@click.option("--resume", is_flag=True, help="Continue with the samples in the output.")
@force_option
@json_option
@click.pass_context
def measure(
    ctx: click.Context,
    /,
    kernel: str,
    settings: tuple[str, ...],
    output: Path,
    where: tuple[str, ...],
    until: str | None,
    resume: bool,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure a kernel by itself at configurations drawn from a domain of its parameters.

    KERNEL may also be an application (FILE.py, MODULE:NAME or a generator that executes) with its
    settings: it runs on one core with drawn settings, and each task is a sample of its kernel.

    SIZES is a size; a list, 64,128,256; a range, 32..2048, or 32..2048:log with a uniform
    logarithm; or another parameter, n=m. For a text setting of an application it is a list,
    layout=row,col. 'tasksim fit' fits models to the samples. Ctrl-C keeps the samples so far, and
    --resume goes on.

    Under mpiexec, KERNEL may be 'collective': operations of the MPI library between ranks.

    With --until, a model is fitted repeatedly, and the next configuration is the one that improves
    it most per second; --samples is then the number of configurations to choose from.
    """
    from tasksim.calibration.domain_campaign import MeasureOptions
    from tasksim.graph.apps.registry import GENERATORS

    options = MeasureOptions(until=until_share(until, "error", "5%"), **asked)
    own = is_own(kernel) or kernel in GENERATORS
    if (own or kernel == "collective") and (
        resume or options.dtype is not None or until is not None
    ):
        raise click.UsageError(
            "--resume, --dtype and --until are for kernels that come with tasksim"
        )
    if kernel == "collective":
        _measure_collective(settings, where, output, options, force=force, as_json=as_json)
        return
    if own:
        from tasksim.calibration.application_campaign import (
            measure_application,
            parse_settings_domain,
        )
    else:
        from tasksim.calibration.domain import parse_domain

        domain = parse_domain(kernel, settings).where(*where)
    refuse_unwritable(output)
    summary: DomainSummary | ApplicationSummary
    with showing("measuring") as progress:
        if own:
            drawn = parse_settings_domain(kernel, settings, where)
            summary = measure_application(drawn, output, options, force=force, progress=progress)
        else:
            from tasksim.calibration.domain_campaign import measure as measured

            summary = measured(
                domain, output, options, resume=resume, force=force, progress=progress
            )
            for text in summary.warnings:
                warn(text)
    print_result(summary.to_json(), str(summary), as_json=as_json)
    note_written(output)
    if summary.interrupted:
        note(f"Interrupted: the samples so far are kept{'' if own else '; --resume goes on'}.")
        ctx.exit(INTERRUPTED_EXIT_CODE)


def _measure_collective(
    settings: Sequence[str],
    where: Sequence[str],
    output: Path,
    options: MeasureOptions,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Measure collectives between all ranks; rank 0 writes the samples and the summary."""
    from tasksim.calibration.collective_campaign import configurations, measure_collectives
    from tasksim.native.cluster.ranks import world

    ranks = world("measure collective")
    # A single rank is refused first, so that the error names the cause.
    wanted = ranks.together(lambda: configurations(settings, where, max(ranks.size, 2), options))
    ranks.together(lambda: None if ranks.rank else refuse_unwritable(output))
    with ending_together(ranks):
        with nullcontext() if ranks.rank else showing("measuring") as progress:
            summary = measure_collectives(
                ranks, wanted, output, options, force=force, progress=progress
            )
        if summary is not None:
            print_result(summary.to_json(), str(summary), as_json=as_json)
            note_written(output)
