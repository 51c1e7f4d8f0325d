"""Chrome's JSON traces, which Perfetto opens, with slices, flows and threads."""

from __future__ import annotations

import gzip
import heapq
import json
import math
import zlib
from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import reading, refuse_existing, write_bytes
from tasksim.base.progress import FORMATTED_SHARE, follow, reached
from tasksim.formats.graphs import graph_if_any, predecessors
from tasksim.formats.registry import Format
from tasksim.formats.traces.chromework import is_of_pytorch, outermost, work_slices
from tasksim.formats.traces.records import Records, transfer_table
from tasksim.formats.traces.recutils import counted, nanoseconds, thinned, whole_ns
from tasksim.formats.traces.textlines import GZIP_MAGIC, head_text
from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.run.record import Run

__all__ = ["ARROW_CHOICES", "CHROME", "Arrows", "read_chrome", "write_chrome"]

MAX_JSON_BYTES: Final = 2**30
"""Largest text in bytes: a million tasks take 250 MB."""
LARGEST_US: Final = 1e18
"""Upper bound of times in us, thirty thousand years: later ones are mistakes, and overflow in ns.
"""
SLICE_PHASES: Final = ("X", "B", "E")
"""Phases of slices: complete ones, beginnings, ends."""
FLOW_PHASES: Final = ("s", "t", "f")
"""Phases of a flow, in order: its start, steps and end."""
PHASES_READ: Final = (*SLICE_PHASES, "M", *FLOW_PHASES)
"""Phases that the reader uses: slices, names of workers, arrows."""
REPEATED_CATEGORY: Final = "critical path component"
"""Category of the slices that Bazel writes once more, on a thread of their own."""
OVERLAP_SLACK_S: Final = 1.5e-6
"""Overlap of two slices of a thread, in seconds, that may be rounding: two starts and a duration
are rounded to microseconds."""
TASK, COPY = "task", "copy"
"""Categories of the slices that tasksim writes."""

Event = dict[str, Any]
Place = tuple[Any, Any]


def read_chrome(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a file of Chrome's JSON, compressed or not, with times in microseconds.

    Of tasksim's own files all tasks are read, with copies. Of others, each outermost complete slice
    (``X``, or ``B`` and ``E``) of a thread is a task, and flows (``s``, ``f``) are dependencies.
    Slices of PyTorch's profiler, Ray, Bazel and clang that are no work, such as annotations,
    submissions and sums, are left out. Tasks of PyTorch depend on those before on their thread or
    stream. Tasks that overlap on a thread are on workers of their own.

    Parameters
    ----------
    path : Path
        A list of events, or an object with ``traceEvents``.
    skip_bad : bool, default False
        Whether malformed events are skipped and counted.

    Raises
    ------
    InputError
        ``file: traceEvents[index]: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    whole = _json(path)
    events = whole.get("traceEvents") if isinstance(whole, dict) else whole
    if not isinstance(events, list):
        raise InputError(f"{path}: traceEvents: expected a list of events")
    found = Records(path, skip_bad=skip_bad)
    found.place = "{path}: traceEvents[{line}]"
    known = whole.get("otherData") if isinstance(whole, dict) else None
    own = known.get("tasksim") if isinstance(known, dict) else None
    own = own if isinstance(own, dict) else {}
    slices = list(_slices(found, events))
    if not own:
        slices = work_slices(found, slices)
    events = [event for event in events if isinstance(event, dict)]
    workers = _worker_names(events, own)
    tasks = [it for it in slices if it[1].get("cat") == TASK] or outermost(found, slices, _place)
    _name_equal_threads(workers, slices)
    tasks = [(at, event) for at, event in tasks if _add(found, at, event, workers)]
    _add_flows(found, events, tasks)
    if not own:
        if is_of_pytorch(slices):
            found.chain_by_worker("a thread or stream")
        found.spread_overlaps(OVERLAP_SLACK_S)
        phases = (str(event.get("ph")) for event in events)
        for phase, count in Counter(phase for phase in phases if phase not in PHASES_READ).items():
            found.note(
                f"{count} events of phase {phase[:20]} are not used: tasks are slices (X, B, E)"
            )
    if own.get("memories"):
        _add_copies(found, own, [e for _, e in slices if e.get("cat") == COPY])
    return assembled(found)


def _json(path: Path) -> Any:
    with reading(path, MAX_JSON_BYTES) as file:
        data = file.read()
    if data.startswith(GZIP_MAGIC):
        try:
            unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
            data = unpack.decompress(data, MAX_JSON_BYTES)
            if not unpack.eof:
                raise InputError(f"{path}: the compressed file is cut short, or too large")
        except zlib.error as error:
            raise InputError(f"{path}: the compressed file is damaged: {error}") from None
    try:
        text = data.decode("utf-8-sig")
        if text.lstrip().startswith("[") and not text.rstrip().endswith("]"):
            # Chrome's array may lack its end, so that tools can write it as they go.
            with suppress(json.JSONDecodeError):
                return parse_json(text.rstrip().removesuffix(",") + "]")
        return parse_json(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        begin = error.doc.lstrip().partition("\n")[0][:20]
        if path.suffix == ".gz" and begin[:1] not in ("{", "["):  # only the suffix spoke for it
            raise InputError(
                f"{path}: a compressed file that begins with '{begin}'; legal: Chrome's JSON, or a "
                "file or folder of another format ('tasksim list formats')"
            ) from None
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None


def _slices(found: Records, events: list[Any]) -> Iterator[tuple[int, Event]]:
    """Yield the slices with their places: complete ones, and beginnings with their ends."""
    open_: dict[Place, list[tuple[int, Event]]] = {}
    repeated = 0
    for at, event in enumerate(events):
        if not isinstance(event, dict):
            found.bad(f"expected an object, got {str(event)[:40]}", at)
            continue
        phase = event.get("ph")
        if phase not in SLICE_PHASES:
            continue
        if event.get("cat") == REPEATED_CATEGORY:
            repeated += 1
        elif not _is_moment(event.get("ts")):
            found.bad(f"ts: got {event.get('ts')!r:.40}; legal: microseconds", at)
        elif phase == "X" and not _is_time(event.get("dur")):
            found.bad(f"dur: got {event.get('dur')!r:.40}; legal: microseconds from 0", at)
        elif phase == "X":
            yield at, event
        elif phase == "B":
            open_.setdefault(_place(event), []).append((at, event))
        elif open_.get(_place(event)):
            begun, first = open_[_place(event)].pop()
            yield begun, {**first, "dur": event["ts"] - first["ts"]}
        else:
            found.bad("an end (E) without a beginning", at)
    if repeated:
        found.note(
            f"{repeated} slices of Bazel's critical path are of other threads, too: left out"
        )
    if without_end := sum(map(len, open_.values())):
        found.note(f"slices that begin (B) and never end are not tasks: {without_end}")


def _worker_names(events: list[Event], own: dict[str, Any]) -> dict[Place, tuple[str, str]]:
    """Return the name and the architecture of each thread's worker, as far as known."""
    found: dict[Place, tuple[str, str]] = {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            arguments = event.get("args")
            name = arguments.get("name") if isinstance(arguments, dict) else None
            if isinstance(name, str):
                found[_place(event)] = (name, "")
    names = [name for name, _ in found.values()]
    if len(set(names)) < len(names):  # threads of several processes
        found = {place: (f"{place[0]}/{name}", "") for place, (name, _) in found.items()}
    workers = own.get("workers")
    for number, worker in enumerate(workers if isinstance(workers, list) else ()):
        if (
            isinstance(worker, list)
            and len(worker) == 2
            and all(isinstance(w, str) for w in worker)
        ):
            found[1, number + 1] = (worker[0], worker[1])
    return found


def _name_equal_threads(
    workers: dict[Place, tuple[str, str]], slices: list[tuple[int, Event]]
) -> None:
    """Give threads without a name whose number occurs in several processes names of their own."""
    unnamed = {_place(event) for _, event in slices} - workers.keys()
    count = Counter(thread for _, thread in unnamed)
    for process, thread in unnamed:
        if count[thread] > 1:
            workers[process, thread] = (f"{process}/thread {thread}", "")


def _add(found: Records, at: int, event: Event, workers: dict[Place, tuple[str, str]]) -> bool:
    """Add the task of a slice; return whether it was accepted."""
    place = _place(event)
    thread = place[1] if isinstance(place[1], str) and place[1] else f"thread {place[1]}"
    worker, architecture = workers.get(place, (thread, ""))
    if architecture:
        found.architectures[worker] = architecture
    given = event.get("args")
    args: Event = given if isinstance(given, dict) else {}
    after = args.get("after")
    return found.add(
        str(args.get("task", f"slice{at}")), str(event.get("name", "task")), worker,
        _seconds(event["ts"]), _seconds(event["ts"] + event["dur"]), line=at,
        submitted_s=_time(args, "submitted"),
        ready_s=_time(args, "ready" if "ready" in args else "submitted"),
        popped_s=_time(args, "popped"),
        order=float(args["task"]) if _is_time(args.get("task")) else math.nan,
        priority=args["priority"] if isinstance(args.get("priority"), int) else 0,
        before=" ".join(map(str, after)) if isinstance(after, list) else "",
    )  # fmt: skip


def _time(args: Event, name: str) -> float:
    return _seconds(args[name]) if _is_time(args.get(name)) else math.nan


def _add_flows(found: Records, events: list[Event], tasks: list[tuple[int, Event]]) -> None:
    """Turn flows into dependencies between the tasks that are open at their ends."""
    if found.has_edges:
        return
    flows: dict[tuple[Any, ...], list[tuple[float, str, Place]]] = {}
    for event in events:
        if event.get("ph") in FLOW_PHASES and _is_moment(event.get("ts")):
            identity = tuple(str(event.get(key)) for key in ("id", "cat", "name"))
            flows.setdefault(identity, []).append((event["ts"], event["ph"], _place(event)))
    if not flows:
        return
    names = list(found.number)
    threads = _by_thread(tasks)
    starts = {place: [tasks[task][1]["ts"] for task in those] for place, those in threads.items()}
    before: dict[int, set[str]] = {}
    early = 0
    for steps in flows.values():
        bound: list[tuple[Place, int] | None] = []
        for ts, _, place in sorted(steps, key=lambda step: (step[0], FLOW_PHASES.index(step[1]))):
            at = bisect_right(starts.get(place, []), ts) - 1
            is_open = at >= 0 and _end(tasks[threads[place][at]]) >= ts
            bound.append((place, at) if is_open else None)
        for source, target in pairwise(bound):
            if source is None or target is None or source == target:
                continue
            those, at = threads[source[0]], source[1]
            other = threads[target[0]][target[1]]
            if _end(tasks[those[at]]) > tasks[other][1]["ts"]:
                early += 1
                at -= 1  # which had ended when the flow began
            if at >= 0 and those[at] != other:
                before.setdefault(other, set()).add(names[those[at]])
    if early:
        found.note(
            "flows that leave a task before its end, such as a launch of a kernel, are dependencies"
            f" on the task before it on its thread: {early}"
        )
    for task, ones in before.items():
        found.before[task] = " ".join(sorted(ones))
    found.has_edges = bool(before)


def _by_thread(tasks: list[tuple[int, Event]]) -> dict[Place, list[int]]:
    """Return the numbers of the tasks of each thread, in order of their starts."""
    threads: dict[Place, list[int]] = {}
    for number in sorted(range(len(tasks)), key=lambda number: tasks[number][1]["ts"]):
        threads.setdefault(_place(tasks[number][1]), []).append(number)
    return threads


def _end(task: tuple[int, Event]) -> float:
    return cast("float", task[1]["ts"] + task[1]["dur"])


def _add_copies(found: Records, own: dict[str, Any], copies: list[Event]) -> None:
    memories, of = own["memories"], own.get("memory_of")
    if not (isinstance(memories, list) and isinstance(of, list)):
        raise InputError(f"{found.path}: otherData.tasksim: memories and memory_of are no lists")
    found.memories = tuple(map(str, memories))
    workers = own.get("workers")
    for worker, memory in zip(workers if isinstance(workers, list) else (), of, strict=False):
        if isinstance(worker, list) and memory in range(len(memories)):
            found.memory_of[str(worker[0])] = found.memories[memory]
    fields = ("handle", "source", "target", "bytes", "requested", "reason", "task")
    rows = [[copy.get("args", {}).get(name, -1) for name in fields] for copy in copies]
    if not all(_is_time(value) or value == -1 for row in rows for value in row):
        raise InputError(f"{found.path}: a copy has args that are no numbers from 0")
    spans = [(copy["ts"], copy["ts"] + copy["dur"]) for copy in copies]
    found.transfers = transfer_table(  # which reports illegal numbers
        [
            (*datum, *map(_seconds, (requested, *span)), reason, task)
            for (*datum, requested, reason, task), span in zip(rows, spans, strict=True)
        ]
    )


def _place(event: Event) -> Place:
    """Return process and thread; the default thread has the process's number."""
    pid = event.get("pid", 0)
    pair = pid, event.get("tid", pid)
    return pair if all(isinstance(part, int | str) for part in pair) else (str(pair), "")


def _is_moment(value: object) -> bool:
    """Return whether *value* is a time, which may be before 0: Bazel's client starts its server."""
    return isinstance(value, int | float) and _is_time(abs(value)) and not isinstance(value, bool)


def _is_time(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST_US
    )


def _seconds(us: float) -> float:
    return nanoseconds(us / 1e3)


Arrows = Literal["none", "critical", "all"]
ARROW_CHOICES: Final = ("none", "critical", "all")
"""Choices of arrows between tasks: those of all dependencies outnumber the tasks several times."""

MAX_COUNTER_POINTS: Final = 4000
"""Maximum number of points of a counter: twice the columns of a wide screen, and few beside 100,000
tasks."""
FIRST_LANE: Final = 100_001
"""Number of the first thread of copies, after those of all workers."""


def write_chrome(
    runs: Sequence[Run], path: Path, *, arrows: Arrows = "none", force: bool = False
) -> None:
    """Write *runs* to one file, which Perfetto and chrome://tracing open, each run a process.

    All runs begin at 0, so that they share one time axis. A file whose name ends in ``.gz`` is
    compressed.

    Parameters
    ----------
    runs : sequence of Run
    path : Path
        ``run.json.gz`` or ``run.json``.
    arrows : {"none", "critical", "all"}, default "none"
        Arrows along the practical critical path, or for all dependencies; with ``all`` the file
        holds the graph.
    force : bool, default False
        Whether to replace an existing file.
    """
    refuse_existing(path, force=force)
    one_of(arrows, ARROW_CHOICES, "arrows")
    events: list[str] = []
    follow(events.__len__, sum(len(run.tasks) for run in runs), "events", until=FORMATTED_SHARE)
    for pid, run in enumerate(runs, 1):
        events += _events(run, pid, arrows)
    reached(FORMATTED_SHARE)
    about = {}
    if len(runs) == 1:  # the names of workers and memories, which slices lack
        about = {
            "workers": [[worker.name, worker.architecture] for worker in runs[0].workers],
            "memories": [memory.name for memory in runs[0].memories],
            "memory_of": [worker.memory for worker in runs[0].workers],
        }
    own = json.dumps(about, ensure_ascii=False)
    text = f'{{"otherData":{{"tasksim":{own}}},"traceEvents":[\n' + ",\n".join(events) + "\n]}\n"
    data = text.encode()
    write_bytes(
        path, gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data, force=force
    )


def _events(run: Run, pid: int, arrows: Arrows) -> Iterator[str]:
    yield _named("process_name", pid, None, f"{run.kind}: {run.graph_label}, {run.scheduler}")
    digits = len(str(len(run.workers) - 1))
    for number, worker in enumerate(run.workers):
        # Older versions of Perfetto ignore sort indices, and sort threads by activity or name.
        name = worker.name.rstrip("0123456789")
        padded = (
            name + worker.name.removeprefix(name).zfill(digits) if name != worker.name else name
        )
        yield _named("thread_name", pid, number + 1, padded)
        yield (
            f'{{"ph":"M","name":"thread_sort_index","pid":{pid},"tid":{number + 1},'
            f'"args":{{"sort_index":{number}}}}}'
        )
    before = predecessors(graph_if_any(run) if arrows == "all" else None)
    yield from _tasks(run, pid, before)
    yield from _copies(run, pid)
    yield from _ready(run, pid)
    if arrows != "none":
        yield from _arrows(run, pid, arrows, before)


def _named(what: str, pid: int, tid: int | None, name: str) -> str:
    thread = "" if tid is None else f',"tid":{tid}'
    return f'{{"ph":"M","name":"{what}","pid":{pid}{thread},"args":{{"name":{_text(name)}}}}}'


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _us(ns: int) -> str:
    """Return microseconds as text, exactly."""
    whole, part = divmod(ns, 1000)
    return f"{whole}.{part:03d}".rstrip("0") if part else str(whole)


def _tasks(run: Run, pid: int, before: Callable[[int], list[int]]) -> Iterator[str]:
    tasks = run.tasks
    kernels = [_text(name) for name in run.kernel_names]
    rows = zip(
        tasks.task.tolist(), tasks.kernel.tolist(), tasks.worker.tolist(), tasks.priority.tolist(),
        whole_ns(tasks.submitted_s), whole_ns(tasks.ready_s),
        whole_ns(np.nan_to_num(tasks.popped_s, nan=-1.0)),
        whole_ns(tasks.start_s), whole_ns(tasks.end_s), strict=True,
    )  # fmt: skip
    for task, kernel, worker, priority, submitted, ready, popped, start, end in rows:
        more = f',"priority":{priority}' if priority else ""
        more += f',"submitted":{_us(submitted)}'
        more += f',"ready":{_us(ready)}' if ready != submitted else ""
        more += f',"popped":{_us(popped)}' if popped >= 0 else ""
        if others := before(task):
            more += f',"after":[{",".join(map(str, others))}]'
        yield (
            f'{{"ph":"X","cat":"task","name":{kernels[kernel]},"pid":{pid},"tid":{worker + 1},'
            f'"ts":{_us(start)},"dur":{_us(end - start)},"args":{{"task":{task}{more}}}}}'
        )


def _copies(run: Run, pid: int) -> Iterator[str]:
    """Yield the copies; those between two memories use as many threads as overlap."""
    copies = run.transfers
    if copies is None:
        return
    names = [memory.name for memory in run.memories]
    start, end = whole_ns(copies.start_s), whole_ns(copies.end_s)
    asked = whole_ns(copies.requested_s)
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    used = FIRST_LANE
    for at in np.lexsort((copies.end_s, copies.start_s)).tolist():
        source, target = int(copies.source[at]), int(copies.target[at])
        free = lanes.setdefault((source, target), [])
        if free and free[0][0] <= start[at]:
            _, lane = heapq.heappop(free)
        else:
            lane, used = used, used + 1
            name = f"{names[source]} -> {names[target]} {len(free) + 1}"
            yield _named("thread_name", pid, lane, name)
        heapq.heappush(free, (end[at], lane))
        reason = int(copies.reason[at])
        yield (
            f'{{"ph":"X","cat":"copy","name":"{TransferReason(reason).name.lower()}","pid":{pid},'
            f'"tid":{lane},"ts":{_us(start[at])},"dur":{_us(end[at] - start[at])},"args":'
            f'{{"handle":{copies.handle[at]},"source":{source},"target":{target},'
            f'"bytes":{copies.size_bytes[at]},"requested":{_us(asked[at])},"reason":{reason},'
            f'"task":{copies.task[at]}}}}}'
        )


def _ready(run: Run, pid: int) -> Iterator[str]:
    """Yield the number of ready tasks over time, at MAX_COUNTER_POINTS instants at most."""
    tasks = run.tasks
    at, value = counted(tasks.ready_s, tasks.start_s)
    last = np.append(at[1:] != at[:-1], np.ones(min(1, len(at)), bool))
    at, value = thinned(at[last], value[last], MAX_COUNTER_POINTS)
    for time, count in zip(whole_ns(at), value.tolist(), strict=True):
        yield f'{{"ph":"C","name":"ready","pid":{pid},"ts":{_us(time)},"args":{{"tasks":{count}}}}}'


def _arrows(
    run: Run, pid: int, arrows: Arrows, before: Callable[[int], list[int]]
) -> Iterator[str]:
    """Yield flows from task to task: each begins and ends a nanosecond inside a slice."""
    tasks = run.tasks
    row = {task: at for at, task in enumerate(tasks.task.tolist())}
    start, end, worker = whole_ns(tasks.start_s), whole_ns(tasks.end_s), tasks.worker.tolist()
    edges: Iterable[tuple[int, int]]
    if arrows == "critical":
        from tasksim.run.critical import practical_critical_path

        names = list(row)
        edges = pairwise(names[step.task] for step in practical_critical_path(run).steps)
    else:
        edges = ((one, task) for task in row for one in before(task))
    for number, (one, other) in enumerate(edges, 1):
        a, b = row[one], row[other]
        if end[a] - start[a] < 2 or end[b] == start[b]:
            continue  # tasks of no length have no inside
        flow = f'"cat":"dep","name":"dep","id":"{pid}.{number}","pid":{pid}'
        yield f'{{"ph":"s",{flow},"tid":{worker[a] + 1},"ts":{_us(end[a] - 1)}}}'
        yield f'{{"ph":"f","bp":"e",{flow},"tid":{worker[b] + 1},"ts":{_us(start[b])}}}'


TRACE_KEYS: Final = ("traceEvents", "ph", "deviceProperties", "otherData")
"""Keys at the beginning of a trace. PyTorch's profiler describes the devices before the events, and
Bazel the build, in more bytes than a format is recognised by."""


def _is_chrome(path: Path, head: bytes) -> bool:  # noqa: ARG001
    text = head_text(head).lstrip() if head else ""
    return text[:1] in ("{", "[") and any(f'"{key}"' in text for key in TRACE_KEYS)


CHROME: Final = Format(
    summary="Chrome's JSON of traces, which Perfetto opens; compressed or not.",
    suffixes=(".gz",),
    recognises=_is_chrome,
    reads_trace=read_chrome,
    writes_run=lambda run, path, force: write_chrome([run], path, force=force),
)
