"""The ``tasksim demo`` command, which runs the main job on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from tasksim.cli.command import command
from tasksim.cli.options import PATH, WORKERS, force_option, json_option
from tasksim.cli.output import note, note_written, print_result, refuse_unwritable
from tasksim.cli.progress import showing

__all__ = ["demo"]


@command("demo", examples=["tasksim demo", "tasksim demo -o /tmp/demo --workers 2"])
@click.option(
    "-o", "--output", type=PATH, default=Path("demo-output"), help="New folder for all results."
)
@click.option("--workers", type=WORKERS, help="Number of threads. [default: all usable cores]")
@force_option
@json_option
def demo(output: Path, workers: int | None, force: bool, as_json: bool) -> None:
    """Calibrate this machine, predict runs, really run them, compare and draw.

    The models come from runs of a small Cholesky factorisation; the predicted runs have other
    sizes. runs.html shows two runs in a browser; live.html predicts runs with other settings. The
    demo takes half a minute. On a shared machine, predictions are compared with the durations that
    the runs would have had alone.
    """
    from tasksim.base.files import refuse_folder

    refuse_folder(output, force=force, what="what a demo wrote", mark="demo.json")
    refuse_unwritable(output)
    from tasksim.reports.demo import LIVE_PAGE_NAME
    from tasksim.reports.demo import demo as everything

    with showing("demo") as progress:
        result = everything(output, workers=workers, force=force, progress=progress)
    print_result(result.to_json(), result.table(), as_json=as_json)
    if result.live_refused:
        note(f"Note: {output / LIVE_PAGE_NAME} shows the recording only: {result.live_refused}")
    note_written(output)
