"""``tasksim report account``: how the makespan of a recorded run comes about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.cli.command import Command
from tasksim.cli.options import json_option
from tasksim.cli.output import print_json
from tasksim.cli.report import reporting

if TYPE_CHECKING:
    from tasksim.run.account import Account

__all__ = ["account", "reporting"]

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

    recorded = load_run(run)
    found = accounted(recorded, graph_of(recorded, run))
    if as_json:
        print_json(found.to_json())
        return
    click.echo("\n".join(_lines(found, len(recorded.workers))))


def _lines(found: Account, workers: int) -> list[str]:
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
    waited = found.waiting_s.items()
    return [*lines, *(line(f"  {WAITED[name]}", s / workers) for name, s in waited)]
