"""The ``tasksim reproduce`` command, which checks that a recorded run is still the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.base.errors import CheckFailed
from tasksim.cli.command import command
from tasksim.cli.options import PATH, json_option, trust_option
from tasksim.cli.output import print_result
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.engine.choice import Engine
    from tasksim.scenario.reproduction import Reproduction

__all__ = ["reproduce"]


@command("reproduce", examples=["tasksim reproduce runs/dm", "tasksim reproduce runs/dm --json"])
@click.argument("run", type=PATH)
@click.option(
    "--engine",
    type=click.Choice(["auto", "simpy", "compiled"]),
    default="auto",
    help="Engine of the replay, with the same results.",
)
@trust_option
@json_option
def reproduce(run: Path, engine: Engine, trust: bool, as_json: bool) -> None:
    """Simulate a recorded run again, and check that the result is the same, bit by bit.

    RUN is the folder of a simulated run, perhaps of an earlier version of tasksim. All records
    are compared: each time of each task, copy and message. If one differs, the output names the
    first event that does, and what has changed since: versions, files, the graph, the platform;
    and the exit code is 3.
    """
    from tasksim.formats.runs import load_run
    from tasksim.run.runchecks import check_records
    from tasksim.scenario.reproduction import reproduce as reproduced

    with stages("reproduce", [1, 3]) as begin:
        begin("reading the run")
        recorded = load_run(run)
        check_records(recorded, run)
        begin("simulating it again")
        found = reproduced(recorded, run, trust=trust, engine=engine)
    print_result({"run": run, **found.to_json()}, _text(found), as_json=as_json)
    if not found.same:
        raise CheckFailed(f"{run}: this version simulates another run")


def _text(found: Reproduction) -> Iterator[str]:
    recorded, run = found.recorded, found.run
    yield f"{recorded.graph_label}, {recorded.scheduler} on {recorded.platform}"
    if found.same:
        yield f"the same: {len(run)} tasks, makespan {run.makespan_s:.9g} s"
    else:
        yield f"makespan        {recorded.makespan_s:.9g} s, now {run.makespan_s:.9g} s"
        yield f"recorded        {found.first_difference or 'another platform'}"
        yield from (f"differ          {rows} of {name}" for name, rows in found.columns.items())
    yield from (f"changed since   {change}" for change in found.changes)
    if found.not_recorded:
        yield f"not recorded    {', '.join(found.not_recorded)}"
    if recorded.uncertainty is not None:
        yield "not compared    the intervals of the uncertainty"
