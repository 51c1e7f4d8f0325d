"""Paje traces with StarPU's containers, states and fields, and the output of pj_dump.

The module writes the traces and reads pj_dump's CSV; ViTE, PajeNG and StarVZ open the traces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.numerals import decimal_number
from tasksim.base.progress import FORMATTED_SHARE, watched
from tasksim.formats.graphs import graph_if_any, predecessors
from tasksim.formats.registry import HEAD_BYTES, Format
from tasksim.formats.traces.records import Records, transfer_table
from tasksim.formats.traces.recutils import (
    FOOTPRINT_PARAMETER,
    add_record,
    counted,
    ms_text,
    nanoseconds,
    thinned,
    whole_ns,
)
from tasksim.formats.traces.starvz_ranks import name_nodes
from tasksim.formats.traces.textlines import csv_rows, head_text
from tasksim.graph.taskgraph import task_parameter
from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "EXTRA_FIELDS",
    "LINK_KEY",
    "PAJE",
    "PJ_DUMP",
    "add_states",
    "read_pj_dump",
    "write_paje",
]

STATE_FIELDS: Final = (
    "Nature", "ResourceId", "Type", "Start", "End", "Duration", "Depth", "Value",
)  # fmt: skip
REQUIRED_FIELDS: Final = ("ResourceId", "Type", "Start", "End", "Value")
EXTRA_FIELDS: Final = (
    "Size", "Params", "Footprint", "Tag", "JobId", "SubmitOrder", "Priority", "GFlop", "X", "Y",
    "Iteration", "Subiteration", "NumaNodes", "SubmitTime", "Scheduling",
)  # fmt: skip
"""Further fields of a task's state, in StarPU's order; the last two are tasksim's. pj_dump accepts
no more fields, so the last one holds several values."""
SCHEDULING_FIELDS: Final = ("ReadyTime", "PopTime", "DependsOn")
"""Values of the last field, separated by semicolons; plus signs separate ids, and -1 means none."""
NO_TASKS: Final = frozenset(
    (
        "Idle", "Overhead", "Scheduling", "Sleeping", "Progressing", "FetchingInput",
        "PushingOutput", "Callback", "Initializing", "Deinitializing", "Submitting task",
        "Fetching input", "Pushing output", "Unpartitioning", "Blocked", "Barrier", "Executing",
    )
)  # fmt: skip
"""States of workers other than tasks, by StarPU's names."""
STATES_OF_STARPU: Final = ("Worker State", "Thread State")
"""Types of StarPU's states that may be tasks."""
NATURES: Final = ("Container", "State", "Variable", "Link", "Event")
LINK_KEY: Final = re.compile(
    r"c\d+_h(\d{1,9})_b(\d{1,18})_t(-?\d{1,9})_q(\d{1,18})_r([0-3])_m(\d{1,4})_m(\d{1,4})"
)
"""Pattern of the key of a copy's arrow, as written by tasksim: its datum, bytes, task, request time
in ns, reason, memories."""
_PAJE_HEAD: Final = re.compile(r"\A(\s*#.*\n)*\s*%\s*EventDef\b")
"""Begin of a Paje trace: comments, then the definition of an event."""
MISSING_TEXTS: Final = ("", "0", "-1", "X", "x", "NA")


def read_pj_dump(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in the output of ``pj_dump``.

    Parameters
    ----------
    path : Path
        The CSV file, maybe compressed. StarPU's times are in milliseconds, all others in seconds.
    skip_bad : bool, default False
        Whether malformed rows are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    with path.open("rb") as file:
        if _PAJE_HEAD.search(head_text(file.read(HEAD_BYTES))):
            raise InputError(
                f"{path}: a Paje trace; legal: its states and links as pj_dump prints them: "
                f"pj_dump {path.name} > {path.stem}.csv"
            )
    found = Records(path, skip_bad=skip_bad)
    add_states(found, path)
    if not len(found) and not found.skipped:
        others = sum(fields[0] != "State" for _, fields in csv_rows(path))
        raise InputError(
            f"{path}: no state of a worker that could be a task; got {others} other rows"
        )
    if not name_nodes(found):  # links between nodes are messages of StarPU's, not tasksim's copies
        _add_links(found, path)
    return assembled(found)


def add_states(found: Records, path: Path) -> None:
    """Add the tasks among the states of workers: those with a JobId, or all if none has one.

    Times are in milliseconds if StarPU wrote them, and else in seconds, as Paje's are.
    """
    for line, row in _states(found, path):
        if (
            row.get("JobId", "0") not in MISSING_TEXTS
            or row.get("SubmitOrder", "0") not in MISSING_TEXTS
        ):
            add_record(found, _fields(row), line, row["ResourceId"])
    if len(found):
        found.note("times are assumed to be in milliseconds, as StarPU writes them")
        return
    _add_outermost(found, path)


def _add_outermost(found: Records, path: Path) -> None:
    """Add the states that are not StarPU's own: of nested ones the outermost."""
    rows = [
        (line, row)
        for line, row in _states(found, path)
        if row["Value"] not in NO_TASKS and not row["Type"].startswith("Memory")
    ]
    if not rows:
        return
    found.note("no state has a JobId: every state that is not one of StarPU's own counts as a task")
    of_starpu = any(row["Type"] in STATES_OF_STARPU for _, row in rows)
    unit = "milliseconds, as StarPU writes them" if of_starpu else "seconds, as usual in Paje"
    found.note(f"times are assumed to be in {unit}")
    inner = _inner(rows)
    for line, row in rows:
        if line not in inner:
            fields = {**_fields(row), "JobId": str(len(found))}
            if not of_starpu:
                start_s, end_s = (decimal_number(row[name]) for name in ("Start", "End"))
                if start_s is None or end_s is None or start_s < 0:
                    got = f"{row['Start'][:20]} to {row['End'][:20]}"
                    found.bad(f"a state from {got}; legal: finite seconds from 0", line)
                    continue
                fields |= {"StartTime": repr(1e3 * start_s), "EndTime": repr(1e3 * end_s)}
            add_record(found, fields, line, row["ResourceId"])
    if inner:
        found.note(f"states within others are parts of these, not tasks: {len(inner)}")


def _inner(rows: list[tuple[int, dict[str, str]]]) -> set[int]:
    """Return the lines of the states within another of their container.

    Within another of their type are those that begin in it, deeper; depths of two types do not
    compare, so that those of another type also end in it.
    """
    stacks: dict[tuple[str, str], list[tuple[float, float, float, int]]] = {}
    for line, row in rows:
        try:
            start, end, depth = (float(row.get(name, "0")) for name in ("Start", "End", "Depth"))
        except ValueError:
            continue  # refused when it is added
        stacks.setdefault((row["ResourceId"], row["Type"]), []).append((start, depth, end, line))
    inner = set[int]()
    outer: dict[str, list[tuple[float, float, int, str]]] = {}
    for (container, kind), states in stacks.items():
        outer_depth, outer_end = 0.0, -np.inf
        for start, depth, end, line in sorted(states):
            if depth > outer_depth and start < outer_end:
                inner.add(line)
            else:
                outer_depth, outer_end = depth, end
                outer.setdefault(container, []).append((start, -end, line, kind))
    for all_types in outer.values():
        until, of_type = -np.inf, ""
        for start, minus_end, line, kind in sorted(all_types):
            if kind != of_type and -minus_end <= until and start < until:
                inner.add(line)
            elif -minus_end > until:
                until, of_type = -minus_end, kind
    return inner


def _states(found: Records, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of states, by the names of their columns."""
    names: tuple[str, ...] = (*STATE_FIELDS, *EXTRA_FIELDS)
    for line, fields in csv_rows(path):
        if fields[0] == "Nature":
            names = tuple(fields)
            missing = [name for name in REQUIRED_FIELDS if name not in names]
            if missing:
                raise InputError(f"{path}:{line}: no column '{missing[0]}' among the names")
        elif fields[0] == "State":
            if len(fields) < len(STATE_FIELDS):
                found.bad(
                    f"a state of {len(fields)} fields; legal: {len(STATE_FIELDS)} or more", line
                )
                continue
            row = dict(zip(names, fields, strict=False))
            if all(name in row for name in REQUIRED_FIELDS):
                yield line, row
            else:
                found.bad(
                    f"a state of {len(fields)} fields, without {', '.join(REQUIRED_FIELDS)}", line
                )
        elif fields[0] not in NATURES:
            legal = ", ".join(NATURES)
            found.bad(f"got '{fields[0][:40]}' at the beginning; legal: {legal}", line)


def _fields(row: dict[str, str]) -> dict[str, str]:
    """Return a state as the fields of a record of a task."""
    known = {
        "Name": row["Value"], "JobId": row.get("JobId", ""), "StartTime": row["Start"],
        "EndTime": row["End"],
    }  # fmt: skip
    for name in ("SubmitOrder", "Priority", "SubmitTime"):
        if row.get(name, "") not in ("", "NA"):
            known[name] = row[name]
    for name, value in zip(SCHEDULING_FIELDS, row.get("Scheduling", "").split(";"), strict=False):
        if value not in ("", "-1"):
            known[name] = value.replace("+", " ") if name == "DependsOn" else value
    for name in ("Footprint", "GFlop", "Iteration"):
        if row.get(name, "") not in MISSING_TEXTS:
            known[name] = row[name]
    return known


def _add_links(found: Records, path: Path) -> None:
    """Add the copies between memories, if tasksim wrote the trace."""
    rows: list[tuple[float, ...]] = []
    nodes: list[str] = []
    thread: dict[str, str] = {}
    place: dict[str, int] = {}
    for line, fields in csv_rows(path):
        if fields[0] == "Container" and len(fields) > 3:
            _container(found, fields, nodes, thread)
        key = LINK_KEY.fullmatch(fields[9]) if fields[0] == "Link" and len(fields) > 9 else None
        if key is not None:
            try:
                start, end = nanoseconds(float(fields[3])), nanoseconds(float(fields[4]))
            except ValueError:
                found.bad(f"a link from '{fields[3][:20]}' to '{fields[4][:20]}'", line)
                continue
            handle, size, task, asked_ns, reason, source, target = map(int, key.groups())
            place |= {fields[7]: source, fields[8]: target}
            times = asked_ns / 1e9, start, end
            rows.append((handle, source, target, size, *times, reason, task))
    if len(nodes) < 2:
        found.memory_of.clear()
        return
    found.memories = _in_order(nodes, place)
    found.transfers = transfer_table(rows)


def _container(found: Records, fields: list[str], nodes: list[str], thread: dict[str, str]) -> None:
    """Note a memory node, or the one of a worker's thread."""
    kind, parent, name = fields[2:3], fields[1], fields[-1]
    if kind == ["Memory Node"]:
        nodes.append(name)
    elif kind == ["Thread"]:
        thread[name] = parent
        architecture, of, worker = name.partition(" thread of ")
        if of:
            found.architectures[worker] = architecture
    elif kind == ["Worker"]:
        found.memory_of[name] = thread.get(parent, parent)


def _in_order(nodes: list[str], place: dict[str, int]) -> tuple[str, ...]:
    """Return the memories in the order of their numbers in copies: pj_dump sorts them by name."""
    count = max(len(nodes), 1 + max(place.values(), default=0))
    taken = {number: name for name, number in place.items()}
    others = iter(name for name in nodes if name not in taken.values())
    return tuple(taken.get(at) or next(others, f"memory{at}") for at in range(count))


_CONTAINER_FIELDS: Final = ("Alias string", "Type string", "Name string")
_STATE_EVENT_FIELDS: Final = ("Time date", "Container string", "Type string", "Value string")
_LINK_EVENT_FIELDS: Final = ("Time date", "Container string", "Type string")
DEFINITIONS: Final[tuple[tuple[str, int, tuple[str, ...]], ...]] = (
    ("PajeDefineContainerType", 1, _CONTAINER_FIELDS),
    ("PajeDefineStateType", 3, _CONTAINER_FIELDS),
    ("PajeDefineVariableType", 4, (*_CONTAINER_FIELDS, "Color color")),
    ("PajeDefineLinkType", 5, ("Alias string", "Type string", "StartContainerType string",
                               "EndContainerType string", "Name string")),
    ("PajeDefineEntityValue", 6, ("Alias string", "Type string", "Name string", "Color color")),
    ("PajeCreateContainer", 7, ("Time date", "Alias string", "Type string", "Container string",
                                "Name string")),
    ("PajeDestroyContainer", 8, ("Time date", "Name string", "Type string")),
    ("PajeSetState", 10, _STATE_EVENT_FIELDS),
    ("PajeSetVariable", 13, ("Time date", "Container string", "Type string", "Value double")),
    (
        "PajeStartLink", 18,
        (*_LINK_EVENT_FIELDS, "StartContainer string", "Value string", "Key string"),
    ),
    ("PajeEndLink", 19, (*_LINK_EVENT_FIELDS, "EndContainer string", "Value string", "Key string")),
    ("PajeSetState", 20, (*_STATE_EVENT_FIELDS, *(f"{name} string" for name in EXTRA_FIELDS))),
)  # fmt: skip
TYPE_LINES: Final = (
    '1 MPIP 0 "MPI Program"', '1 P MPIP "Program"', '1 Mn P "Memory Node"', '1 T Mn "Thread"',
    '1 W T "Worker"', '1 Sc P "Scheduler"', '3 S T "Thread State"', '3 WS W "Worker State"',
    '4 nready Sc "Number of Ready Tasks" "0.0 0.0 0.0"',
    '4 nsubmitted Sc "Number of Submitted Uncompleted Tasks" "0.0 0.0 0.0"',
    '4 use Mn "Used (MB)" "0.0 0.0 0.0"',
    '5 F P Mn Mn "Intra-node data Fetch"', '5 PF P Mn Mn "Intra-node data PreFetch"',
    '5 IF P Mn Mn "Intra-node data IdleFetch"', '5 WB P Mn Mn "Intra-node data WriteBack"',
    '6 I WS Idle ".9 .9 .9"',
)  # fmt: skip
LINK_TYPES: Final = {
    TransferReason.FETCH: "F",
    TransferReason.PREFETCH: "PF",
    TransferReason.IDLE: "IF",
    TransferReason.EVICTION: "WB",
}
ENTITY_COLOURS: Final = (
    "0.89 0.10 0.11", "0.22 0.49 0.72", "0.60 0.31 0.64", "0.30 0.69 0.29", "1.00 0.50 0.00",
    "0.65 0.34 0.16", "0.97 0.51 0.75", "1.00 1.00 0.20",
)  # fmt: skip
MAX_POINTS: Final = 20_000
"""Maximum number of points of a variable: more than the columns of a screen."""


def write_paje(run: Run, path: Path, force: bool = False) -> None:
    """Write *run* as a Paje trace, with StarPU's times in milliseconds.

    Parameters
    ----------
    run : Run
    path : Path
        A ``.trace`` file.
    force : bool, default False
        Whether to replace an existing file.
    """
    refuse_existing(path, force=force)
    events = sorted(_events(run), key=lambda event: event[:2])
    body = "\n".join(line for _, _, line in events)
    # pj_dump drops a state of no length at the end of its container.
    end = ms_text(whole_ns([run.makespan_s])[0] + 1)
    last = "\n".join(f"8 {end} w{number} W" for number in range(len(run.workers)))
    text = "\n".join([*_header(), *TYPE_LINES, *_values(run), *_containers(run), body, last])
    write_text(path, text + "\n", force=force)


def _header() -> Iterator[str]:
    for name, number, fields in DEFINITIONS:
        yield f"%EventDef {name} {number}"
        yield from (f"% {field}" for field in fields)
        yield "%EndEventDef"


def _values(run: Run) -> Iterator[str]:
    for number, name in enumerate(run.kernel_names):
        yield f'6 k{number} WS {_quoted(name)} "{ENTITY_COLOURS[number % len(ENTITY_COLOURS)]}"'


def _containers(run: Run) -> Iterator[str]:
    memories = [memory.name for memory in run.memories] or ["ram"]
    yield '7 0.000000 root MPIP 0 "root"'
    yield '7 0.000000 program P root "program"'
    yield '7 0.000000 scheduler Sc program "scheduler"'
    for number, name in enumerate(memories):
        yield f"7 0.000000 mn{number} Mn program {_quoted(name)}"
    for number, worker in enumerate(run.workers):
        memory = worker.memory if run.memories else 0
        thread = _quoted(f"{worker.architecture} thread of {worker.name}")
        yield f"7 0.000000 t{number} T mn{memory} {thread}"
        yield f"7 0.000000 w{number} W t{number} {_quoted(worker.name)}"
        yield f"10 0.000000 w{number} WS I"


Timed = tuple[int, int, str]
"""Time, rank at equal times, and the line."""


def _events(run: Run) -> Iterator[Timed]:
    yield from _state_lines(run)
    yield from _variable("nready", run.tasks.ready_s, run.tasks.start_s)
    yield from _variable("nsubmitted", run.tasks.submitted_s, run.tasks.end_s)
    yield from _copies(run)
    if run.memory is not None:
        table = run.memory
        for at, memory, used in zip(
            whole_ns(table.time_s), table.memory.tolist(), table.used_bytes.tolist(), strict=True
        ):
            yield at, 2, f"13 {ms_text(at)} mn{memory} use {used / 1e6:.6f}"


def _state_lines(run: Run) -> Iterator[Timed]:
    """Yield the tasks of the workers, and idle states after those that nothing follows."""
    tasks = run.tasks
    start, end = whole_ns(tasks.start_s), whole_ns(tasks.end_s)
    submitted, ready = whole_ns(tasks.submitted_s), whole_ns(tasks.ready_s)
    order = np.lexsort((tasks.task, np.array(end), np.array(start), tasks.worker))
    graph = graph_if_any(run)
    before = predecessors(graph)
    footprint = _footprints(run, graph)
    popped = [
        "-1" if np.isnan(time) else ms_text(ns)
        for time, ns in zip(
            tasks.popped_s.tolist(), whole_ns(np.nan_to_num(tasks.popped_s)), strict=True
        )
    ]
    priority, task = tasks.priority.tolist(), tasks.task.tolist()
    kernel, worker = tasks.kernel.tolist(), tasks.worker.tolist()
    order_list = order.tolist()
    for place, row in enumerate(watched(order_list, "tasks", until=FORMATTED_SHARE)):
        on = worker[row]
        extra = (
            f"0 0 {footprint[task[row]]:x} 0 {task[row] + 1} {task[row] + 1} {priority[row]} 0 0 0 "
            f"-1 -1 0 {ms_text(submitted[row])} {ms_text(ready[row])};{popped[row]};"
        )
        extra += "+".join(str(one + 1) for one in before(task[row])) or "-1"
        # States at one time on a worker keep the order of this list.
        yield start[row], place + 10, f"20 {ms_text(start[row])} w{on} WS k{kernel[row]} {extra}"
        follower = order_list[place + 1] if place + 1 < len(order_list) else None
        if follower is None or worker[follower] != on or start[follower] > end[row]:
            yield end[row], place + 11, f"10 {ms_text(end[row])} w{on} WS I"


def _footprints(run: Run, graph: TaskGraph | None) -> list[int]:
    """Return a number of each task's configuration: StarPU's footprint, or one of our own."""
    if graph is None:
        return [0] * (int(run.tasks.task.max(initial=-1)) + 1)
    own, theirs = graph.row + 1, task_parameter(graph, FOOTPRINT_PARAMETER)
    numbers: list[int] = np.where(np.isnan(theirs), own, theirs).astype(np.int64).tolist()
    return numbers


def _variable(name: str, since: Any, until: Any) -> Iterator[Timed]:
    at, value = thinned(*counted(since, until), MAX_POINTS)
    for time, count in zip(whole_ns(at), value.tolist(), strict=True):
        yield time, 3, f"13 {ms_text(time)} scheduler {name} {count}"


def _copies(run: Run) -> Iterator[Timed]:
    copies = run.transfers
    if copies is None:
        return
    start, end, asked = (
        whole_ns(copies.start_s),
        whole_ns(copies.end_s),
        whole_ns(copies.requested_s),
    )
    for at in range(len(copies)):
        handle, reason = int(copies.handle[at]), TransferReason(int(copies.reason[at]))
        kind, source, target = LINK_TYPES[reason], copies.source[at], copies.target[at]
        key = (
            f"c{at}_h{handle}_b{copies.size_bytes[at]}_t{copies.task[at]}_q{asked[at]}_r{reason:d}"
            f"_m{source}_m{target}"
        )
        # The two lines of a copy of no length, in order.
        yield start[at], 0, f"18 {ms_text(start[at])} program {kind} mn{source} d{handle} {key}"
        yield end[at], 1, f"19 {ms_text(end[at])} program {kind} mn{target} d{handle} {key}"


def _quoted(name: str) -> str:
    """Return a name in quotes, not empty and without quotes inside, which Paje cannot have."""
    return '"' + (name.replace('"', "'").replace("\n", " ") or "unnamed") + '"'


def _is_pj_dump(path: Path, head: bytes) -> bool:  # noqa: ARG001
    """Return whether it is such output, or a Paje trace, which is refused with what to do."""
    text = head_text(head) if head else ""
    return text.partition(",")[0].strip() in (*NATURES, "Nature") or bool(_PAJE_HEAD.search(text))


PJ_DUMP = Format(
    summary="Output of pj_dump for a Paje trace: rows of containers, states, variables, links.",
    recognises=_is_pj_dump,
    reads_trace=read_pj_dump,
)


PAJE: Final = Format(
    summary="A Paje trace, for ViTE and PajeNG.", suffixes=(".trace",), writes_run=write_paje
)
