"""StarPU's records of tasks in tasks.rec, and the files beside it.

``data.rec`` has the homes and names of data, ``sched_tasks.rec`` the times at which the scheduler
got each task and a worker took it, ``comms.rec`` the messages between ranks, ``activity.data`` and
``trace.rec`` the workers, ``paje.trace`` the copies between memories. Files by tasksim have all
this in comments, which StarPU's tools ignore.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.progress import FORMATTED_SHARE, watched
from tasksim.formats.graphs import graph_if_any, predecessors
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import LARGEST_SIZE, REASON_OF_NAME, CopyRecords, Records
from tasksim.formats.traces.recutils import (
    LONGEST_NODE,
    add_record,
    job_id,
    ms_text,
    nanoseconds,
    node_memory,
    rank_of,
    records,
    whole_ns,
)
from tasksim.formats.traces.textlines import head_text, lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "TASKS_REC",
    "OwnNotes",
    "add_messages",
    "add_scheduling",
    "own_lines",
    "own_notes",
    "read_tasks_rec",
    "write_tasks_rec",
]

MAX_RANKS: Final = 10_000
"""Upper bound of the ranks: each is a memory of the run, and a table of copies numbers at most
32767.
"""


def add_messages(found: Records, path: Path) -> None:
    """Add the messages of ``comms.rec`` at *path* to *found*.

    Each is a copy from the memory of one node to that of another. Its datum is separate, as sender
    and receiver know the datum by different names. If both ids are known, tasks after the receipt
    depend on tasks before the sending.
    """
    copies = CopyRecords()
    bound = backwards = 0
    for line, fields in records(path):
        try:
            source, target, size = (int(fields.get(name, "")) for name in ("Src", "Dst", "Size"))
            sent, received = (float(fields.get(name, "")) for name in ("SendTime", "RecvTime"))
        except ValueError:
            what = "Src, Dst, Size, SendTime or RecvTime is not a number"
            found.bad(f"{what}; legal: ranks, bytes, milliseconds", line, path)
            continue
        if wrong := _wrong_message(source, target, size, (sent, received)):
            found.bad(wrong, line, path)
            continue
        sent_s, received_s = nanoseconds(sent), nanoseconds(received)
        # Clocks of nodes differ, and StarPU writes these times with 32 bits.
        late = received_s < sent_s
        backwards += late
        copies.add(
            f"message {source}_{fields.get('SendHandle', '0')} {size}",
            (node_memory(source), node_memory(target)),
            size,
            (sent_s, sent_s, max(sent_s, received_s)),
        )
        before, after = (job_id(fields.get(name, "")) for name in ("SendJobId", "RecvJobId"))
        if not late and before in found.number and after in found.number:
            task = found.number[after]
            found.before[task] = f"{found.before[task]} {before}".strip()
            found.has_edges = True
            bound += 1
    if not len(copies):
        return
    text = (
        f"{path.name}: {len(copies)} messages between nodes are copies of the run, and {bound} of"
        " them also dependencies; a replay moves none of these data"
    )
    if backwards:
        text += (
            f"; {backwards} arrived before they were sent, by their clocks: they get no duration"
        )
    found.note(text)
    found.copies = copies


def _wrong_message(source: int, target: int, size: int, times: tuple[float, float]) -> str:
    """Return a problem of a message, if there is one."""
    if not (0 <= source < MAX_RANKS and 0 <= target < MAX_RANKS and source != target):
        return f"a message from rank {source} to rank {target}"
    if not 0 <= size < LARGEST_SIZE:
        return f"Size: got {size}; legal: bytes"
    if not all(math.isfinite(time) and time >= 0 for time in times):
        return "SendTime or RecvTime is not a time; legal: milliseconds from 0"
    return ""


ACTIONS: Final = ("push", "pop")


def add_scheduling(found: Records, path: Path) -> None:
    """Add the times and priorities in ``sched_tasks.rec`` at *path* to the tasks of *found*.

    The first push of a task counts as its ready time, the last pop as the time when its worker took
    it, and the priority of the push as its own.
    """
    pushed, other = set[int](), list[str]()
    unknown = again = 0
    for line, fields in records(path):
        read = _action(found, fields, line, path)
        if read is None:
            continue
        action, task, time_s, priority = read
        at = found.number.get(task)
        if at is None:
            unknown += 1
        elif action == "pop":
            found.popped_s[at] = time_s
        elif at in pushed:
            again += 1
        else:
            pushed.add(at)
            found.ready_s[at] = time_s
            if found.priority[at] != priority:
                other.append(f"{found.kernel[at]} {task}, {found.priority[at]} -> {priority}")
                found.priority[at] = priority
    if not (pushed or unknown):  # traces without a scheduler have an empty file
        return
    text = f"{path.name}: the times of push and pop of {len(pushed)} tasks"
    if other:
        text += f"; {len(other)} have another priority there (such as {other[0]}), which counts"
    if again:
        text += f"; {again} repeated pushes are left out"
    if unknown:
        text += f"; {unknown} actions are about tasks that are not in {found.path.name}"
    found.note(text)


def _action(
    found: Records, fields: dict[str, str], line: int, path: Path
) -> tuple[str, str, float, int] | None:
    """Return action, task, time and priority; None if malformed."""
    action, task = fields.get("Type", ""), fields.get("JobId", "")
    if action not in ACTIONS:
        found.bad(f"Type: got '{action[:40]}'; legal: push, pop", line, path)
    elif not task:
        found.bad(f"a {action} without JobId", line, path)
    else:
        try:
            time_ms, priority = float(fields.get("Time", "")), int(fields.get("Priority") or 0)
        except ValueError:
            found.bad(
                "Time or Priority is not a number; legal: milliseconds, a whole number", line, path
            )
            return None
        if math.isfinite(time_ms) and time_ms >= 0:
            return action, job_id(task), nanoseconds(time_ms), found.within(priority)
        found.bad(f"Time: got '{fields['Time'][:40]}'; legal: milliseconds from 0", line, path)
    return None


FILE_NAME: Final = "tasks.rec"
TASK_FIELDS: Final = frozenset(
    (
        "Name", "Model", "JobId", "SubmitOrder", "Priority", "DependsOn", "EndDependencies",
        "WorkerId", "MemoryNode", "SubmitTime", "ReadyTime", "PopTime", "StartTime", "EndTime",
        "Footprint", "GFlop", "Iteration", "Handles", "Modes", "Sizes", "MPIRank",
    )
)  # fmt: skip
"""Supported fields of a task; a note names others."""
NOT_READ: Final = ("dag.dot", "distrib.data", "trace.html", "number_events.data")
"""Further files of ``starpu_fxt_tool``: the tasks of tasks.rec again, for drawings."""
LONGEST_SIZE: Final = 18
"""Largest number of digits of a size in bytes: no memory has an exabyte."""
NO_HOMES: Final = "no data.rec: the first memory is assumed to be the home of all data"


def read_tasks_rec(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a ``tasks.rec`` and the files beside it.

    These are ``data.rec``, ``sched_tasks.rec``, ``comms.rec``, ``activity.data``, ``trace.rec`` and
    ``paje.trace``, if they exist.

    Parameters
    ----------
    path : Path
        The file, or a folder with one.
    skip_bad : bool, default False
        Whether malformed records are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    hints = 0
    path = path / FILE_NAME if path.is_dir() else path
    found = Records(path, skip_bad=skip_bad)
    found.name = path.resolve().parent.name if path.name == FILE_NAME else found.name
    own = own_notes(path)
    sizes = _add_data(found, path) if not own.workers else None
    left_out = dict[str, None]()
    for line, fields in records(path):
        if "Control" not in fields:
            add_record(found, fields, line, sizes=sizes)
            left_out.update(dict.fromkeys(fields.keys() - TASK_FIELDS))
        else:
            hints += 1
    if own.workers:
        own.add_to(found)
    else:
        if sizes is None:
            found.note(NO_HOMES)
        _add_beside(found)
    if left_out:
        found.note(f"left out fields: {', '.join(sorted(left_out))}")
    if hints:
        found.note(f"left out: {hints} hints that data will not be used any more")
    return assembled(found)


def _beside(path: Path, name: str) -> Path | None:
    """Return the file *name* beside the ``tasks.rec`` at *path*; None if there is none."""
    if "tasks" not in path.name:  # then no name shows which files belong to it
        return None
    stem, dot, suffix = name.rpartition(".")
    other = path.with_name(path.name.replace("tasks", stem, 1).replace(".rec", dot + suffix, 1))
    return other if other.is_file() else None


def _add_data(found: Records, path: Path) -> dict[str, int] | None:
    """Add the homes and names of data in ``data.rec``; return their sizes, None without a file."""
    beside = _beside(path, "data.rec")
    if beside is None:
        return None
    sizes: dict[str, int] = {}
    for line, fields in records(beside):
        rank, home, size = rank_of(fields), fields.get("HomeNode", ""), fields.get("Size", "")
        handle = fields.get("Handle", "")
        key = f"{rank}_{handle}" if rank else handle
        if home.isdecimal() and len(home) > LONGEST_NODE:
            found.bad(f"HomeNode: got '{home[:40]}'; legal: a memory node", line, beside)
        elif rank:  # a buffer of received data has no home: it is on its own node
            found.home_memory[key] = node_memory(int(rank))
        elif home.isdecimal():
            found.home[key] = int(home)
        if size.isdecimal() and len(size) <= LONGEST_SIZE:
            sizes[key] = int(size)
        elif size:
            found.bad(f"Size: got '{size[:40]}'; legal: bytes", line, beside)
        if name := fields.get("Name", ""):
            found.handle_name[key] = " ".join([name, *fields.get("Coordinates", "").split()])
    return sizes


def _add_beside(found: Records) -> None:
    """Add the contents of further files: scheduler, messages, workers; note those not read."""
    path = found.path
    if scheduling := _beside(path, "sched_tasks.rec"):
        add_scheduling(found, scheduling)
    if messages := _beside(path, "comms.rec"):
        add_messages(found, messages)
    activity, states = _beside(path, "activity.data"), _beside(path, "trace.rec")
    if any("/" in worker for worker in {*found.worker}):
        _name_workers(found, {})
        unused = [file.name for file in (activity, states) if file is not None]
        if unused:
            found.note(
                f"{' and '.join(unused)}: not used, as they do not have the ranks of workers"
            )
    else:
        names = _add_workers(found, activity, states)
        if (paje := _beside(path, "paje.trace")) and found.copies is None:
            _add_copies(found, paje, names)
    others = [name for name in NOT_READ if _beside(path, name)]
    if others:
        found.note(f"not read, as tasks.rec has the same contents: {', '.join(others)}")
    if counters := _beside(path, "papi.rec"):
        found.note(f"{counters.name}: counters of tasks are not read")


def _add_copies(found: Records, path: Path, names: Mapping[str, str]) -> None:
    """Add the memories and copies of ``paje.trace``; *names* are the workers', by number."""
    from tasksim.formats.traces.starpu_copies import memory_name, read_copies

    read = read_copies(found, path)
    if not len(read.copies):
        return
    found.copies = read.copies
    found.memories = tuple(map(memory_name, sorted(read.memories)))
    found.numbered_memories = True
    found.memory_of = {
        worker: memory_name(int(memory)) if memory.isdecimal() else memory
        for worker, memory in found.memory_of.items()
    }
    for number, memory in read.memory_of.items():
        if number in names:
            found.memory_of.setdefault(names[number], memory_name(memory))
    found.home_memory.update(
        {handle: memory_name(home) for handle, home in found.home.items() if home in read.memories}
    )
    text = f"{path.name}: {len(read.copies)} copies between {len(found.memories)} memories"
    if read.unfinished:
        text += f"; {read.unfinished} without an end are left out"
    if read.unknown:
        text += f"; {read.unknown} do not name their data"
    found.note(f"{text}; the trace does not say which tasks needed them")


def _add_workers(found: Records, activity: Path | None, states: Path | None) -> dict[str, str]:
    """Name the workers, and add their time by state; return the names by number."""
    from tasksim.formats.traces.starpu_workers import read_activity, read_states, states_text

    ran = [at for at, worker in enumerate(found.worker) if worker]
    begins = (
        found.start_s[at] if math.isnan(found.submitted_s[at]) else found.submitted_s[at]
        for at in ran
    )
    begin_s = min(begins, default=0.0)
    end_s = max((found.end_s[at] for at in ran), default=0.0)
    names, seconds, source = dict[str, tuple[str, str]](), dict[str, dict[str, float]](), activity
    if activity is not None:
        told = read_activity(found, activity, begin_s, end_s)
        names, seconds = told.names(), told.states
    if states is not None:
        seconds, source = read_states(found, states, begin_s, end_s), states
    own = _name_workers(found, names)
    if not seconds or source is None or end_s <= begin_s:
        return own
    known = {number: names.get(number, (number, ""))[0] for number in seconds}
    found.worker_states = {known[number]: mine for number, mine in seconds.items()}
    found.note(f"{source.name}: {states_text(found.worker_states, end_s - begin_s)}")
    return own


def _name_workers(found: Records, known: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Name workers that are numbers: by *known* names, or by their memory; return the names.

    Known workers that executed nothing belong to the run, too. On several nodes, the name of the
    node comes first, and each node is one memory.
    """
    numbers = {w for w in found.worker if w.rpartition("/")[2].isdecimal()}
    if not numbers:
        return {}
    unknown = numbers - known.keys()
    if unknown:
        which = "its workers" if not known else f"workers {', '.join(sorted(unknown))}"
        found.note(
            f"tasks.rec does not name the kinds of {which}: those of memory node 0 are called cpu,"
            " those of others gpu"
        )
    names = {}
    for worker in {*found.worker} - {""}:
        rank, slash, number = worker.rpartition("/")
        kind = "cpu" if found.memory_of.get(worker, "0") == "0" else "gpu"
        names[worker] = f"{rank}{slash}{kind}{number}"
    taken = {name for name, _ in known.values()}
    for worker in unknown:
        if names[worker] in taken:
            names[worker] = f"other{worker}"
    names.update({worker: name for worker, (name, _) in known.items()})
    found.architectures.update(dict(known.values()))
    found.known_workers = {name for name, _ in known.values()}
    found.worker = [names.get(worker, "") for worker in found.worker]
    found.node_of = {
        name: int(worker.partition("/")[0].removeprefix("node"))
        for worker, name in names.items()
        if "/" in worker
    }
    memories = found.memory_of.items()
    found.memory_of = {names[worker]: node for worker, node in memories if worker in names}
    if found.node_of:
        found.memory_of = {name: node_memory(node) for name, node in found.node_of.items()}
    return names


NANOSECONDS_PER_SECOND = 1e9


@dataclass
class OwnNotes:
    """Facts in tasksim's comments before the first record; empty if StarPU wrote the file.

    Attributes
    ----------
    workers : dict of str -> (str, str, int)
        Number of a worker -> its name, architecture and node.
    memories : list of str
    copies : CopyRecords or None
    homes : dict of str -> int
        Homes of data other than the first memory.
    """

    workers: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    memories: list[str] = field(default_factory=list)
    copies: CopyRecords | None = None
    homes: dict[str, int] = field(default_factory=dict)

    def add_to(self, found: Records) -> None:
        """Add the names, the memories and the copies to *found*."""
        names = {number: name for number, (name, _, _) in self.workers.items()}
        found.worker = [names.get(worker, worker) for worker in found.worker]
        found.architectures = {name: kind for name, kind, _ in self.workers.values()}
        found.node_of = {name: node for name, _, node in self.workers.values()}
        found.memory_of = {
            names.get(worker, worker): memory for worker, memory in found.memory_of.items()
        }
        found.home.update(self.homes)
        if self.copies is not None:
            found.memories, found.copies = tuple(self.memories), self.copies
            known = dict(enumerate(self.memories))
            found.memory_of = {
                worker: known.get(int(memory) if memory.isdecimal() else -1, memory)
                for worker, memory in found.memory_of.items()
            }


def own_notes(path: Path) -> OwnNotes:
    """Return tasksim's comments at the beginning of the ``tasks.rec`` at *path*.

    Raises
    ------
    InputError
        ``file:line`` of a malformed one.
    """
    found = OwnNotes()
    for number, line in lines(path):
        if not line.startswith("# "):
            break
        try:
            _take(found, line[2:])
        except (ValueError, KeyError, IndexError):
            what = "a worker, a memory, a datum's home or a copy, as tasksim writes them"
            raise InputError(f"{path}:{number}: got '{line[:60]}'; legal: {what}") from None
    return found


def _take(found: OwnNotes, text: str) -> None:
    """Apply one comment, if it is tasksim's."""
    what, _, rest = text.partition(" ")
    if what == "worker":
        number, kind, *more = rest.split(maxsplit=2)
        node, _, name = more[0].partition(" ") if more[0][:1] == "@" else ("@0", "", more[0])
        found.workers[number] = (name, kind, int(node[1:]))
    elif what == "memory" and found.workers:
        found.memories.append(rest)
        found.copies = found.copies or CopyRecords()
    elif what == "home" and found.workers:
        handle, home = rest.split()
        found.homes[handle] = int(home)
    elif what == "copy" and found.copies is not None:
        handle, source, target, size, *times, reason, task = rest.split()
        requested, start, end = (int(time) / NANOSECONDS_PER_SECOND for time in times)
        ends = found.memories[int(source)], found.memories[int(target)]
        found.copies.add(
            handle,
            ends,
            int(size),
            (requested, start, end),
            REASON_OF_NAME[reason],
            task.strip("-"),
        )


def own_lines(run: Run, graph: TaskGraph | None) -> Iterator[str]:
    """Yield the comments about *run*, which recutils and StarPU's tools ignore."""
    for number, worker in enumerate(run.workers):
        node = f"@{worker.node} " if worker.node else ""
        yield f"# worker {number} {worker.architecture} {node}{worker.name}\n"
    copies = run.transfers
    if copies is None:
        return
    yield from (f"# memory {memory.name}\n" for memory in run.memories)
    homes = [] if graph is None else graph.handle_home.tolist()
    yield from (f"# home {at + 1:x} {home}\n" for at, home in enumerate(homes) if home)
    words = list(REASON_OF_NAME)
    ns = map(whole_ns, (copies.requested_s, copies.start_s, copies.end_s))
    for handle, source, target, size, requested, start, end, reason, task in zip(
        copies.handle.tolist(), copies.source.tolist(), copies.target.tolist(),
        copies.size_bytes.tolist(), *ns, copies.reason.tolist(), copies.task.tolist(), strict=True,
    ):  # fmt: skip
        made_for = task + 1 if task >= 0 else "-"
        yield (
            f"# copy {handle + 1:x} {source} {target} {size} {requested} {start} {end} "
            f"{words[reason]} {made_for}\n"
        )


MODE_NAMES = {1: "R", 2: "W", 3: "RW", 4: "RWC", 5: "X", 6: "S"}
"""Access modes as StarPU's files have them."""


def write_tasks_rec(run: Run, path: Path, force: bool = False) -> None:
    """Write the tasks of *run* as records, with times in milliseconds and ids from 1.

    Parameters
    ----------
    run : Run
        Dependencies, data and footprints need its graph.
    path : Path
        ``tasks.rec``.
    force : bool, default False
        Whether to replace an existing file.
    """
    refuse_existing(path, force=force)
    write_text(path, "".join(_records(run)), force=force)


def _records(run: Run) -> Iterator[str]:
    graph = graph_if_any(run)
    before = predecessors(graph)
    yield from own_lines(run, graph)
    tasks, kernels = run.tasks, run.kernel_names
    memory = [worker.memory for worker in run.workers]
    known = ~np.isnan(tasks.popped_s)
    popped = _ms(np.where(known, tasks.popped_s, 0.0))
    rows = zip(
        tasks.task.tolist(), tasks.kernel.tolist(), tasks.worker.tolist(), tasks.priority.tolist(),
        *(_ms(times) for times in (tasks.submitted_s, tasks.ready_s, tasks.start_s, tasks.end_s)),
        strict=True,
    )  # fmt: skip
    seen = watched(rows, "tasks", total=len(tasks), until=FORMATTED_SHARE)
    data = None if graph is None else _Data(graph)
    for row, (task, kernel, worker, priority, submitted, ready, start, end) in enumerate(seen):
        name = _line(kernels[kernel])
        lines = [f"Name: {name}", f"Model: {name}", f"JobId: {task + 1}"]
        lines += [f"SubmitOrder: {task + 1}", f"Priority: {priority}"]
        if others := before(task):
            lines.append(f"DependsOn: {' '.join(str(other + 1) for other in others)}")
        lines += ["Tag: 0", f"WorkerId: {worker}", f"MemoryNode: {memory[worker]}"]
        lines += [f"SubmitTime: {submitted}", f"ReadyTime: {ready}"]
        lines += [f"StartTime: {start}", f"EndTime: {end}"]
        if known[row]:
            lines.append(f"PopTime: {popped[row]}")
        if data is not None:
            lines += data.lines(task)
        yield "\n".join([*lines, "MPIRank: -1", "", ""])


class _Data:
    """Parameters and data of a graph's tasks, in StarPU's form."""

    def __init__(self, graph: TaskGraph) -> None:
        self._graph = graph
        self._size = graph.handle_size.tolist()
        self._ptr = graph.access_ptr.tolist()
        self._handle = graph.access_handle.tolist()
        self._mode = graph.access_mode.tolist()

    def lines(self, task: int) -> list[str]:
        """Return the lines about the configuration and the data of *task*."""
        graph = self._graph
        parameters = graph.parameters_of(task)
        footprint = parameters.get("footprint")
        if footprint is None:  # the row of parameters distinguishes configurations, too
            footprint = float(graph.row[task]) + 1
        lines = [f"Footprint: {int(footprint):x}"]
        if "flop" in parameters:
            lines.append(f"GFlop: {parameters['flop'] / 1e9!r}")
        if "iteration" in parameters:
            lines.append(f"Iteration: {int(parameters['iteration'])} -1")
        part = slice(self._ptr[task], self._ptr[task + 1])
        handles = self._handle[part]
        if handles:
            lines.append(f"Handles: {' '.join(f'{handle + 1:x}' for handle in handles)}")
            lines.append(f"Modes: {' '.join(MODE_NAMES[mode] for mode in self._mode[part])}")
            lines.append(f"Sizes: {' '.join(str(self._size[handle]) for handle in handles)}")
        return lines


def _ms(times_s: object) -> list[str]:
    return list(map(ms_text, whole_ns(times_s)))


def _line(name: str) -> str:
    """Return a name without line breaks, which would end the field."""
    return " ".join(name.split()) or "unnamed"


def _is_tasks_rec(path: Path, head: bytes) -> bool:
    if not head:
        return (path / FILE_NAME).is_file()
    text = head_text(head)
    fields = ("Name:", "Model:", "JobId:", "SubmitOrder:", "Control:", "File:")
    return text.lstrip().startswith(fields) and "JobId:" in text


TASKS_REC = Format(
    summary="StarPU's tasks.rec, with the files that starpu_fxt_tool writes beside it.",
    suffixes=(".rec",),
    recognises=_is_tasks_rec,
    reads_trace=read_tasks_rec,
    writes_run=write_tasks_rec,
)
