"""The ``tasksim profile`` command, which runs a program and names its critical functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError
from tasksim.cli.command import command
from tasksim.cli.options import SHARE, force_option, json_option, output_option
from tasksim.cli.output import note_written, print_result, refuse_file, warn
from tasksim.cli.progress import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.calibration.profiling.profilers import Profiled

__all__ = ["profile"]


@command(
    "profile",
    examples=[
        "tasksim profile ./solver 1024",
        "tasksim profile --source callgrind -o four.csv mpiexec -n 4 ./solver 1024",
        "tasksim profile --overhead --json ./solver 1024",
    ],
)
@click.option(
    "--source",
    type=click.Choice(["auto", "callgrind", "perf"]),
    default="auto",
    show_default=True,
    help="Profiler: perf samples with little overhead, callgrind counts instructions exactly on"
    " Valgrind's processor, auto is perf where the system permits it.",
)
@click.option(
    "--threshold", type=SHARE, default=0.05, show_default="5%",
    help="Smallest share of the cost at which a function has a line of its own.",
)  # fmt: skip
@click.option(
    "--overhead", is_flag=True, help="Run the program without the profiler, too, and print the"
    " profiler's overhead."
)  # fmt: skip
@output_option("File for the costs of all functions, .csv, which 'tasksim report functions' reads.")
@force_option
@json_option
@click.argument(
    "program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENT]..."
)
def profile(
    source: str,
    threshold: float,
    overhead: bool,
    output: Path | None,
    force: bool,
    as_json: bool,
    program: tuple[str, ...],
) -> None:
    """Run any program, and find the functions that take its time.

    The functions of all its processes count, including those that mpiexec starts. The program's
    output goes to the standard error. Options stand before the program.
    """
    from tasksim.calibration.profiling.profilers import profile_program

    if not 0 < threshold < 1:
        raise InputError(f"--threshold: got {threshold:g}; legal: between 0% and 100%")
    refuse_file(output, "costs of functions", (".csv",), force=force)
    found = profile_program(program, source, alone=overhead, tell=say)
    if found.exit_code:
        warn(f"the program ended with exit code {found.exit_code}")
    if output is not None:
        found.profile.write(output)
    functions = [
        {"function": name, "object": place, "cost": found.profile.costs[name, place],
         "share": share}
        for (name, place), share in found.profile.shares().items()
    ]  # fmt: skip
    result = {
        "program": found.profile.program, "source": found.source, "unit": found.profile.unit,
        "functions": functions, "seconds": found.seconds, "alone_s": found.alone_s,
        "overhead": found.overhead, "exit_code": found.exit_code, "output": output,
    }  # fmt: skip
    print_result(result, _text(found, threshold), as_json=as_json)
    note_written(output)


# Options after the program belong to the program.
profile.allow_interspersed_args = False


def _text(found: Profiled, threshold: float) -> Iterator[str]:
    from tasksim.base.units import duration_text
    from tasksim.view.texttables import table

    shares = found.profile.shares()
    large = {name: share for name, share in shares.items() if share > threshold}
    cells = [(name, place, f"{100 * share:.1f} %") for (name, place), share in large.items()]
    rest = len(shares) - len(large)
    cells.append((f"{rest} other functions", "", f"{100 * (1 - sum(large.values())):.1f} %"))
    yield table(("function", "in", "share"), cells, left=2)
    yield f"\n{found.profile.total:.4g} {found.profile.unit}, by {found.source}"
    if found.overhead is not None and found.alone_s is not None:
        yield (
            f"{duration_text(found.seconds)} of processor time, {duration_text(found.alone_s)} "
            f"without the profiler ({100 * found.overhead:+.1f} %)"
        )
