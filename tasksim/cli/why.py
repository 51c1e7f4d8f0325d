"""The ``tasksim why`` command, for the decisions of a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.cli.command import command
from tasksim.cli.options import PATH, TIME, json_option
from tasksim.cli.output import print_result
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.run.record import Run

__all__ = ["why"]


@command(
    "why",
    examples=[
        "tasksim why dm 17",
        "tasksim why dm --at 40ms",
    ],
)
@click.argument("run", type=PATH)
@click.argument("task", required=False)
@click.option("--at", "at_s", type=TIME, help="Print the workers and all queues at this time.")
@json_option
def why(run: Path, task: str | None, at_s: float | None, as_json: bool) -> None:
    """Print why the scheduler of RUN placed TASK as it did.

    RUN is the folder of a run that 'tasksim simulate --decisions -o RUN' wrote. TASK is the number
    of a task, also after the name of its kernel, as in 'gemm #17'. The answer has the estimates for
    all workers that were considered, the chosen one marked, and each move of the task in the
    queues, where positions count from 1, the front.
    """
    if (task is None) == (at_s is None):
        raise click.UsageError(
            "give either TASK or --at TIME; why a run takes that long is the question of "
            f"'tasksim report account {run}' and 'tasksim bounds {run} --blame'"
        )
    from tasksim.formats.runs import load_run
    from tasksim.run.runchecks import check_records

    with stages("why", [1]) as begin:
        begin("reading the run")
        found = load_run(run)
        check_records(found, run)
    decisions = found.decisions
    if decisions is None:
        raise InputError(
            f"{run} has no record of decisions; simulate it with --decisions, or repeat it with "
            f"'tasksim simulate --from {run} --decisions -o NEW'"
        )
    from tasksim.view.decisiontables import decision_text, queue_name, queues_text

    if at_s is not None:
        queues = decisions.queues_at(at_s).items()
        result = {"time_s": at_s, "queues": {queue_name(found, q): tasks for q, tasks in queues}}
        print_result(result, queues_text(found, decisions, at_s), as_json=as_json)
        return
    row, tasks = _row_of(found, task or "", run), found.tasks
    result = {
        "task": row,
        "label": found.label(row),
        "scheduler": found.scheduler,
        "priority": tasks.priority[row],
        "ready_s": tasks.ready_s[row],
        "start_s": tasks.start_s[row],
        "end_s": tasks.end_s[row],
        "worker": found.workers[tasks.worker[row]].name,
        "released_by": tasks.released_by[row],
        "steps": [_described(found, step._asdict()) for step in decisions.of_task(row)],
    }
    print_result(result, decision_text(found, decisions, row), as_json=as_json)


def _row_of(run: Run, text: str, where: Path) -> int:
    """Return the task that *text* names."""
    kernel, _, number = text.rpartition("#") if "#" in text else ("", "", text)
    try:
        task = int(number)
    except ValueError:
        raise InputError(f"task '{text}': legal: a number, as in '17' or 'gemm #17'") from None
    if not 0 <= task < len(run):
        raise InputError(f"{where} has no task {task}; legal: 0 to {len(run) - 1}")
    own = run.label(task)
    if kernel.strip() and kernel.strip() != own.partition(" #")[0]:
        raise InputError(f"{where} has no task '{text}', did you mean '{own}'?")
    return task


def _described(run: Run, step: dict[str, Any]) -> dict[str, Any]:
    """Return a step with names; terms that the policy does not have are null."""
    from tasksim.run.decisions import NO_QUEUE
    from tasksim.view.decisiontables import queue_name

    worker, queue = step["worker"], step["queue"]
    names = {
        "step": step["step"].name.lower(),
        "worker": None if worker < 0 else run.workers[worker].name,
        "queue": None if queue == NO_QUEUE else queue_name(run, queue),
        "position": None if queue == NO_QUEUE else step["position"],
    }
    return {name: value for name, value in (step | names).items() if name != "task"}
