"""tasks.rec: what StarPU's trace tool writes of each task, with what it writes beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.recutils import add_record, node_memory, rank_of, records
from tasksim.formats.traces.textlines import head_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.run.record import Run

__all__ = ["TASKS_REC", "read_tasks_rec"]

FILE: Final = "tasks.rec"
NO_HOMES: Final = "no data.rec: that all data are at home in the first memory is assumed"


def read_tasks_rec(path: Path, *, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a ``tasks.rec``, with what the files beside it say.

    These are ``data.rec``, ``sched_tasks.rec`` and ``comms.rec``, as far as they are there.

    Parameters
    ----------
    path : Path
        The file, or a folder that has one.
    skip_bad : bool, default False
        Whether records that are wrong are passed over, and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.ownnotes import own_notes
    from tasksim.formats.traces.recorded_trace import assembled

    hints = 0
    path = path / FILE if path.is_dir() else path
    found = Records(path, skip_bad=skip_bad)
    found.name = path.resolve().parent.name if path.name == FILE else found.name
    own = own_notes(path)
    for line, fields in records(path):
        if "Control" not in fields:
            add_record(found, fields, line)
        else:
            hints += 1
    if own.workers:
        own.add_to(found)
    else:
        _add_beside(found)
        _name_workers(found)
    if hints:
        found.note(f"{hints} hints that data will not be used any more are left out")
    return assembled(found)


def _add_beside(found: Records) -> None:
    """Add what the files beside the trace say: ``data.rec``, ``sched_tasks.rec``, ``comms.rec``."""
    if "tasks" not in found.path.name:  # then no name tells which files belong to it
        found.note(NO_HOMES)
        return
    data, scheduling, messages = (
        found.path.with_name(found.path.name.replace("tasks", what))
        for what in ("data", "sched_tasks", "comms")
    )
    if data.is_file():
        _add_homes(found, data)
    else:
        found.note(NO_HOMES)
    if scheduling.is_file():
        from tasksim.formats.traces.sched_rec import add_scheduling

        add_scheduling(found, scheduling)
    if messages.is_file():
        from tasksim.formats.traces.comms_rec import add_messages

        add_messages(found, messages)


def _add_homes(found: Records, path: Path) -> None:
    """Read where data are at home from ``data.rec``."""
    for _, fields in records(path):
        rank, home = rank_of(fields), fields.get("HomeNode", "")
        if home.isdecimal():
            handle = fields.get("Handle", "")
            if rank:
                found.home_memory[f"{rank}_{handle}"] = node_memory(int(rank))
            else:
                found.home[handle] = int(home)


def _name_workers(found: Records) -> None:
    """Give names to workers that are numbers: by the memory that they work on.

    Those of a node have that before them, as on platforms of several; its memory is one.
    """
    if not any(worker.rpartition("/")[2].isdecimal() for worker in {*found.worker}):
        return
    found.note(
        "tasks.rec does not say what its workers are: those of memory node 0 are called cpu, those "
        "of others gpu"
    )
    names = {}
    for worker in {*found.worker} - {""}:
        rank, slash, number = worker.rpartition("/")
        kind = "cpu" if found.memory_of.get(worker, "0") == "0" else "gpu"
        names[worker] = f"{rank}{slash}{kind}{number}"
    found.worker = [names.get(worker, "") for worker in found.worker]
    found.node_of = {
        name: int(worker.partition("/")[0].removeprefix("node"))
        for worker, name in names.items()
        if "/" in worker
    }
    known = found.memory_of.items()
    found.memory_of = {names[worker]: node for worker, node in known if worker in names}
    if found.node_of:
        found.memory_of = {name: node_memory(node) for name, node in found.node_of.items()}


def _is_tasks_rec(path: Path, head: bytes) -> bool:
    if not head:
        return (path / FILE).is_file()
    text = head_text(head)
    fields = ("Name:", "Model:", "JobId:", "SubmitOrder:", "Control:", "File:")
    return text.lstrip().startswith(fields) and "JobId:" in text


def _read_run(path: Path) -> Run:
    return read_tasks_rec(path).run


def _read_trace(path: Path, skip_bad: bool) -> RecordedTrace:
    return read_tasks_rec(path, skip_bad=skip_bad)


def _write_run(run: Run, path: Path, force: bool) -> None:
    from tasksim.formats.traces.tasks_rec_writer import write_tasks_rec

    write_tasks_rec(run, path, force)


TASKS_REC = Format(
    summary="StarPU's tasks.rec, with data.rec, sched_tasks.rec and comms.rec beside it.",
    suffixes=(".rec",),
    recognises=_is_tasks_rec,
    reads_run=_read_run,
    reads_trace=_read_trace,
    writes_run=_write_run,
)
