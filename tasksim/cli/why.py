"""The ``tasksim why`` command, for the decisions of a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.cli.command import command
from tasksim.cli.options import PATH, TIME, json_option
from tasksim.cli.output import print_json
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.run.decisions import DecisionTable
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
    if at_s is not None:
        _print_queues(found, decisions, at_s, as_json=as_json)
    else:
        _print_task(found, decisions, _row_of(found, task or "", run), as_json=as_json)


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


def _print_task(run: Run, decisions: DecisionTable, task: int, *, as_json: bool) -> None:
    if not as_json:
        from tasksim.view.decisiontables import decision_text

        click.echo(decision_text(run, decisions, task))
        return
    tasks = run.tasks
    print_json(
        {
            "task": task,
            "label": run.label(task),
            "scheduler": run.scheduler,
            "priority": tasks.priority[task],
            "ready_s": tasks.ready_s[task],
            "start_s": tasks.start_s[task],
            "end_s": tasks.end_s[task],
            "worker": run.workers[tasks.worker[task]].name,
            "released_by": tasks.released_by[task],
            "steps": [_described(run, row._asdict()) for row in decisions.of_task(task)],
        }
    )


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


def _print_queues(run: Run, decisions: DecisionTable, time_s: float, *, as_json: bool) -> None:
    if as_json:
        from tasksim.view.decisiontables import queue_name

        queues = decisions.queues_at(time_s)
        print_json(
            {
                "time_s": time_s,
                "queues": {queue_name(run, queue): tasks for queue, tasks in queues.items()},
            }
        )
    else:
        from tasksim.view.decisiontables import queues_text

        click.echo(queues_text(run, decisions, time_s))
