"""Both engines asked the same: what comes out, and what differs between the answers."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields as columns
from dataclasses import is_dataclass, replace

from tasksim.base.errors import TasksimError
from tasksim.engine.choice import replayed
from tasksim.engine.outcome import machine
from tasksim.run.first_difference import first_difference
from tasksim.run.record import Run


def answer(question, engine, seed=0):
    """Return all that came out, by name, each column as its bytes; or the error, in words."""
    found = _ended(question, engine, seed)
    return {"error": repr(found)} if isinstance(found, Exception) else in_bytes(question, found)


def _ended(question, engine, seed):
    """Return a replay that has ended, or the error in which it has."""
    try:
        return replayed(question, seed, engine).replay
    except TasksimError as error:
        return error


def in_bytes(question, replay):
    """Return what came out of a *replay*, by name, each column as its bytes."""
    found = {}
    for table, fields in replay.records().items():
        if not is_dataclass(fields):
            found[table] = fields
            continue
        for column in columns(fields):
            values = getattr(fields, column.name)
            found[f"{table}.{column.name}"] = (values.dtype.str, values.tobytes())
    return found


def disagreement(question, seed=0):
    """Return how the engines' answers to a question differ, in words; None: they are the same.

    Threads are the core's alone: what they would replay is asked with serial pushes.
    """
    if question.needs_threads:
        question = replace(question, simultaneous_pushes="serial")
    again = replace(question, scheduler=deepcopy(question.scheduler))
    ours, theirs = _ended(question, "simpy", seed), _ended(again, "compiled", seed)
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        return None if repr(ours) == repr(theirs) else f"{ours!r}, {theirs!r}"
    return difference(question, ours, theirs)


def difference(question, given, other):
    """Return the columns in which the bytes of two replays differ, and the first event that does.

    None: in none.
    """
    ours, others = (in_bytes(question, replay) for replay in (given, other))
    differ = [name for name in ours | others if ours.get(name) != others.get(name)]
    if not differ:
        return None
    runs = (as_run(question, replay) for replay in (given, other))
    return f"{', '.join(differ)}: {first_difference(*runs)}"


def as_run(question, replay):
    """Return what came out of a *replay* as a run."""
    graph, platform = question.graph, question.platform
    return Run(
        kind="simulated",
        graph_name=graph.name,
        graph_arguments={},
        kernel_names=graph.kernels,
        platform=platform.name,
        scheduler=question.scheduler.name,
        seed=None,
        **machine(platform),
        **replay.records(),
    )
