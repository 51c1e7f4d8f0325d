"""The ``tasksim record`` command, which runs a program and records its tasks."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, Final

import click

from tasksim.base.files import is_file
from tasksim.cli.command import command
from tasksim.cli.options import PATH, result_options
from tasksim.cli.output import (
    ResultOptions,
    describe_run,
    note,
    note_written,
    print_json,
    print_run,
    warn,
)
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.recording.openmp.account import TeamAccount
    from tasksim.recording.openmp.openmp_recording import OpenMPRecording, PreparedProgram
    from tasksim.recording.recording import Recording
    from tasksim.run.record import Run

__all__ = ["keep", "record"]

STANDARD_ERROR: Final = 2
"""File descriptor of the standard error stream, as other processes inherit it."""


@command(
    "record",
    examples=[
        "tasksim record -o runs/mine program.py --its-option 3",
        "tasksim record --gantt mine.png program.py",
        "tasksim record --asyncio -o runs/served server.py",
        "tasksim record -o runs/omp ./cholesky 4096 256",
    ],
)
@click.option(
    "--asyncio",
    is_flag=True,
    help="Record the tasks of asyncio's task groups, too; a worker is then a slot for one task.",
)
@result_options
@click.option(
    "--kernels",
    type=PATH,
    metavar="FILE",
    help="YAML file with new names for the kernels of an OpenMP program: 'FUNCTION:LINE: NAME'.",
)
@click.option(
    "--data",
    type=PATH,
    metavar="FILE",
    help="YAML file with the data of an OpenMP program: NAME: {tile: [64, 64], leading: 1024}.",
)
@click.option(
    "--libomp",
    type=PATH,
    metavar="PATH",
    help="OpenMP runtime to record with. [default: the system's, or that of intel-openmp]",
)
@click.argument("script", type=PATH, metavar="PROGRAM")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
def record(
    script: Path,
    arguments: tuple[str, ...],
    asyncio: bool,
    kernels: Path | None,
    data: Path | None,
    libomp: Path | None,
    **where: Any,
) -> None:
    """Run a program, and record its tasks.

    PROGRAM is a Python script, run as 'python PROGRAM ARGUMENT...', or a compiled program that uses
    OpenMP, run as it is. Tasks of a script are its submissions to executors of concurrent.futures
    and pools of multiprocessing, its calls of joblib.Parallel and of Parsl's apps, the processes
    that it starts, and its computations by Dask, on threads or by a Client. The folder of --output
    gets the run with its task graph and its platform, which has the runtime's overheads between
    tasks. Arguments after PROGRAM belong to the program.
    """
    from tasksim.recording.openmp.elf import is_elf

    results = ResultOptions(**where)
    results.refuse_early()
    if is_elf(script):
        if asyncio:
            raise click.UsageError(
                f"--asyncio is for Python programs; {script} is a compiled program"
            )
        from tasksim.recording.openmp.openmp_recording import PreparedProgram

        prepared = PreparedProgram(script, arguments, kernels=kernels, data=data, libomp=libomp)
        _record_openmp(prepared, results)
        return
    for name, value in (("kernels", kernels), ("data", data), ("libomp", libomp)):
        if value is not None and is_file(script):
            raise click.UsageError(
                f"--{name} is for OpenMP programs; {script} is not a compiled program"
            )
    from tasksim.recording.script import record_script

    # The program's own output stays out of the JSON.
    with redirect_stdout(sys.stderr) if results.as_json else nullcontext():
        recording = record_script(script, arguments, asyncio=asyncio)
    keep(recording, results)


# Options after PROGRAM belong to the program.
record.allow_interspersed_args = False


def _record_openmp(prepared: PreparedProgram, results: ResultOptions) -> None:
    """Record an OpenMP program, and exit with its code."""
    from tasksim.base.errors import TasksimError

    note(prepared.summary())
    # The program's own output stays out of the JSON.
    output = STANDARD_ERROR if results.as_json else None
    recording = prepared.record(results.output, output, say=note)
    code = 0 if recording.ended is None else recording.ended.exit_code
    try:
        keep(recording, results)
    except TasksimError as error:
        if not code:
            raise
        warn(str(error))
    if code:  # the program's own code, even if the recording failed
        click.get_current_context().exit(code)


def keep(recording: Recording | OpenMPRecording, results: ResultOptions) -> None:
    """Write, draw and print the recorded run, as the options ask."""
    with stages("record", [1, 1]) as begin:
        begin("reading what was recorded")
        run = recording.run
        begin(f"replaying {len(run)} tasks")
        again = recording.simulate()
    for line in recording.notes:
        warn(line)
    try:
        if results.output is not None:
            with stages("record", [1]) as begin:
                begin("writing")
                recording.save(results.output, force=results.force)
            note_written(results.output)
        results.draw(run)
    finally:  # a full disk does not take the answer away
        _print(recording, run, again, results)
    if not results.as_json:
        click.echo(f"\n{_following(results)}")


def _following(results: ResultOptions) -> str:
    """Return the commands that ask more of the recording, or say that it is not kept."""
    if results.output is None:
        return "The recording is not kept; -o FOLDER, before the program, keeps it."
    folder = shlex.quote(str(results.output))
    return (
        "Next:\n"
        f"  tasksim simulate {folder} --set platform.workers.cpu.count=8   # more workers\n"
        f"  tasksim bounds {folder} --blame                               # what it waits for\n"
        f"  tasksim explore {folder} -o page.html                         # the same in a browser"
    )


def _print(
    recording: Recording | OpenMPRecording, run: Run, again: Run, results: ResultOptions
) -> None:
    overheads = recording.platform().overheads
    account: TeamAccount | None = getattr(recording, "account", None)
    if results.as_json:
        print_json(
            {
                **describe_run(run, recording.graph),
                "submission_s": overheads.submission_s,
                "task_s": overheads.task_s,
                "replayed_s": again.makespan_s,
                "account": None if account is None else account.to_json(),
                "notes": recording.notes,
                "output": results.output,
                "gantt": results.gantt,
            }
        )
        return
    from tasksim.base.units import duration_text

    print_run(run)
    off = 100 * (again.makespan_s / run.makespan_s - 1) if run.makespan_s else 0.0
    if account is None:
        click.echo(
            f"\nbetween tasks: {duration_text(overheads.task_s)} per task, "
            f"{duration_text(overheads.submission_s)} per submission"
        )
    else:
        click.echo(f"\n{account.summary()}")
    click.echo(f"replayed: {duration_text(again.makespan_s)} ({off:+.1f} %)")
