"""The ``tasksim record`` command, which runs a Python program and records its tasks."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import result_options
from tasksim.cli.output import Results, describe_run, note, print_json, warn

if TYPE_CHECKING:
    from tasksim.recording.recording import Recording
    from tasksim.run.record import Run

__all__ = ["record"]


@command(
    "record",
    examples=[
        "tasksim record -o runs/mine program.py --its-option 3",
        "tasksim record --gantt mine.png program.py",
    ],
)
@result_options
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
def record(script: Path, arguments: tuple[str, ...], **where: Any) -> None:
    """Run a Python program, and record its tasks.

    SCRIPT is run as 'python SCRIPT ARGUMENT...' would run it. Tasks are what it submits to
    executors of concurrent.futures, and what it computes with Dask's threads. The run that is
    kept has its task graph and its platform beside it, with what the program's runtime cost
    between tasks. What comes after SCRIPT is the program's.
    """
    from tasksim.recording.script import record_script

    results = Results(**where)
    results.refuse_early()
    # What the program prints does not get into the JSON.
    with redirect_stdout(sys.stderr) if results.as_json else nullcontext():
        recording = record_script(script, arguments)
    run, again = recording.run, recording.simulate()
    for line in recording.notes:
        warn(line)
    try:
        if results.output is not None:
            recording.save(results.output, force=results.force)
            note(f"Wrote {results.output}")
        results.draw(run)
    finally:  # a full disk does not take the answer away
        _print(recording, run, again, results)


# Options after SCRIPT are the program's.
record.allow_interspersed_args = False


def _print(recording: Recording, run: Run, again: Run, results: Results) -> None:
    overheads = recording.platform().overheads
    if results.as_json:
        print_json(
            {
                **describe_run(run, recording.graph),
                "submission_s": overheads.submission_s,
                "task_s": overheads.task_s,
                "replayed_s": again.makespan_s,
                "notes": recording.notes,
                "output": results.output,
                "gantt": results.gantt,
            }
        )
        return
    from tasksim.base.units import duration_text
    from tasksim.view.texttables import kernel_table, run_summary

    click.echo(f"{run_summary(run)}\n\n{kernel_table(run)}")
    off = 100 * (again.makespan_s / run.makespan_s - 1) if run.makespan_s else 0.0
    click.echo(
        f"\nbetween tasks: {duration_text(overheads.task_s)} per task, "
        f"{duration_text(overheads.submission_s)} per submission"
        f"\nreplayed: {duration_text(again.makespan_s)} ({off:+.1f} %)"
    )
