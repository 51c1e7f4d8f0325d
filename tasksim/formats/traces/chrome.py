"""Chrome's JSON of traces, which Perfetto reads: slices, flows and threads, read as a run."""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import reading
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.recutils import nanoseconds
from tasksim.formats.traces.textlines import GZIP, head_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.run.record import Run

__all__ = ["CHROME", "read_chrome"]

MOST_JSON: Final = 2**30
"""Bytes of the text: that of a million tasks has 250 MB."""
LARGEST_US: Final = 1e18
"""Thirty thousand years; what is later is a mistake, and its nanoseconds are no numbers."""
SLICES: Final = ("X", "B", "E")
"""Phases of slices: complete ones, beginnings, ends."""
READ: Final = (*SLICES, "M", "s", "t", "f")
"""Phases that are read: slices, names of workers, arrows."""
TASK, COPY = "task", "copy"
"""The categories of the slices that tasksim writes."""

Event = dict[str, Any]
Place = tuple[Any, Any]


def read_chrome(path: Path, *, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a file of Chrome's JSON, compressed or not; times are microseconds.

    Of tasksim's own files all tasks are read, with copies. Of others, each outermost complete slice
    (``X``, or ``B`` and ``E``) of a thread is a task, and flows (``s``, ``f``) are dependencies.

    Parameters
    ----------
    path : Path
        A list of events, or an object with ``traceEvents``.
    skip_bad : bool, default False
        Whether events that are wrong are passed over, and counted.

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
    workers = _worker_names(events, own)
    tasks = [it for it in slices if it[1].get("cat") == TASK] or _outermost(found, slices)
    for at, event in tasks:
        _add(found, at, event, workers)
    _add_flows(found, events, tasks)
    if not own:
        _note_others(found, events)
    if own.get("memories"):
        _add_copies(found, own, [e for _, e in slices if e.get("cat") == COPY])
    return assembled(found)


def _note_others(found: Records, events: list[Any]) -> None:
    """Note the events of another tool's trace that say nothing of tasks."""
    phases = (str(event.get("ph")) for event in events if isinstance(event, dict))
    for phase, count in Counter(phase for phase in phases if phase not in READ).items():
        found.note(f"{count} events of phase {phase[:20]} are not used: tasks are slices (X, B, E)")


def _json(path: Path) -> Any:
    with reading(path, MOST_JSON) as file:
        data = file.read()
    if data.startswith(GZIP):
        try:
            unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
            data = unpack.decompress(data, MOST_JSON)
            if not unpack.eof:
                raise InputError(f"{path}: the compressed file is cut short, or too large")
        except zlib.error as error:
            raise InputError(f"{path}: the compressed file is damaged: {error}") from None
    try:
        return parse_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None


def _slices(found: Records, events: list[Any]) -> Iterator[tuple[int, Event]]:
    """Yield the slices with their places: complete ones, and beginnings with their ends."""
    open_: dict[Place, list[tuple[int, Event]]] = {}
    for at, event in enumerate(events):
        if not isinstance(event, dict):
            _bad(found, at, f"expected an object, got {str(event)[:40]}")
            continue
        phase = event.get("ph")
        if phase not in SLICES:
            continue
        if not _is_time(event.get("ts")):
            _bad(found, at, f"ts: got {event.get('ts')!r:.40}; legal: microseconds from 0")
        elif phase == "X" and not _is_time(event.get("dur")):
            _bad(found, at, f"dur: got {event.get('dur')!r:.40}; legal: microseconds from 0")
        elif phase == "X":
            yield at, event
        elif phase == "B":
            open_.setdefault(_place(event), []).append((at, event))
        elif open_.get(_place(event)):
            begun, first = open_[_place(event)].pop()
            yield begun, {**first, "dur": event["ts"] - first["ts"]}
        else:
            _bad(found, at, "an end (E) without a beginning")


def _outermost(found: Records, slices: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    """Return the slices that are within no other one of their thread."""
    kept, until = [], dict[Place, float]()
    for at, event in sorted(slices, key=lambda it: (it[1]["ts"], -it[1]["dur"])):
        end = event["ts"] + event["dur"]
        if end <= until.get(_place(event), -math.inf):
            continue
        until[_place(event)] = end
        kept.append((at, event))
    if len(kept) < len(slices):
        found.note(f"{len(slices) - len(kept)} slices within others are no tasks")
    return kept


def _worker_names(events: list[Any], own: dict[str, Any]) -> dict[Place, tuple[str, str]]:
    """Return the name and the architecture of each thread's worker; nothing where not known."""
    found: dict[Place, tuple[str, str]] = {}
    for event in events:
        if (
            isinstance(event, dict)
            and event.get("ph") == "M"
            and event.get("name") == "thread_name"
        ):
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


def _add(found: Records, at: int, event: Event, workers: dict[Place, tuple[str, str]]) -> None:
    place = _place(event)
    worker, architecture = workers.get(place, (f"thread {place[1]}", ""))
    if architecture:
        found.architectures[worker] = architecture
    given = event.get("args")
    args: Event = given if isinstance(given, dict) else {}
    after = args.get("after")
    found.add(
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


def _add_flows(found: Records, events: list[Any], tasks: list[tuple[int, Event]]) -> None:
    """Make dependencies of flows, between the tasks that are open where they begin and end."""
    if found.has_edges:
        return
    flows: dict[tuple[Any, ...], list[tuple[float, str, Place]]] = {}
    for event in events:
        if (
            isinstance(event, dict)
            and event.get("ph") in ("s", "t", "f")
            and _is_time(event.get("ts"))
        ):
            identity = tuple(str(event.get(key)) for key in ("id", "cat", "name"))
            flows.setdefault(identity, []).append((event["ts"], event["ph"], _place(event)))
    if not flows:
        return
    names = list(found.number)
    threads: dict[Place, list[tuple[float, float, int]]] = {}
    for number, (_, event) in enumerate(tasks[: len(names)]):
        threads.setdefault(_place(event), []).append(
            (event["ts"], event["ts"] + event["dur"], number)
        )
    starts = {place: np.array([it[0] for it in sorted(rows)]) for place, rows in threads.items()}
    for rows in threads.values():
        rows.sort()
    before: dict[int, set[str]] = {}
    for steps in flows.values():
        bound = [_open_at(threads, starts, place, ts) for ts, _, place in sorted(steps, key=_step)]
        for one, other in pairwise(bound):
            if one is not None and other is not None and one != other:
                before.setdefault(other, set()).add(names[one])
    for task, ones in before.items():
        found.before[task] = " ".join(sorted(ones))
    found.has_edges = bool(before)


def _step(step: tuple[float, str, Place]) -> tuple[float, int]:
    return step[0], "stf".index(step[1])


def _open_at(
    threads: dict[Place, list[tuple[float, float, int]]],
    starts: dict[Place, Any],
    place: Place,
    ts: float,
) -> int | None:
    """Return the task that is open at *ts* on a thread."""
    if place not in threads:
        return None
    at = int(np.searchsorted(starts[place], ts, side="right")) - 1
    if at < 0 or threads[place][at][1] < ts:
        return None
    return threads[place][at][2]


def _add_copies(found: Records, own: dict[str, Any], copies: list[Event]) -> None:
    from tasksim.run.recordtables import TransferTable

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
    handle, source, target, size, requested, reason, task = (
        zip(*rows, strict=True) if rows else ((),) * len(fields)
    )
    found.transfers = TransferTable(
        handle=_column(handle),
        source=_column(source),
        target=_column(target),
        size_bytes=_column(size),
        requested_s=np.array([_seconds(time) for time in requested], dtype=np.float64),
        start_s=np.array([_seconds(copy["ts"]) for copy in copies], dtype=np.float64),
        end_s=np.array([_seconds(copy["ts"] + copy["dur"]) for copy in copies], dtype=np.float64),
        reason=_column(reason),
        task=_column(task),
    )


def _column(values: Any) -> Any:
    """Return numbers as they are: the table says which are none of its own."""
    return np.array(values) if len(values) else np.zeros(0, np.int64)


def _place(event: Event) -> Place:
    """Return process and thread; without a thread, that of the process's number."""
    pid = event.get("pid", 0)
    pair = pid, event.get("tid", pid)
    return pair if all(isinstance(part, int | str) for part in pair) else (str(pair), "")


def _is_time(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST_US
    )


def _seconds(us: float) -> float:
    return nanoseconds(us / 1e3)


def _bad(found: Records, at: int, message: str) -> None:
    found.bad(message, at)


def _is_chrome(path: Path, head: bytes) -> bool:  # noqa: ARG001
    text = head_text(head).lstrip() if head else ""
    return text[:1] in ("{", "[") and ('"traceEvents"' in text or '"ph"' in text)


def _read_run(path: Path) -> Run:
    return read_chrome(path).run


def _read_trace(path: Path, skip_bad: bool) -> RecordedTrace:
    return read_chrome(path, skip_bad=skip_bad)


def _write_run(run: Run, path: Path, force: bool) -> None:
    from tasksim.formats.traces.chrome_writer import write_chrome

    write_chrome([run], path, force=force)


CHROME: Final = Format(
    summary="Chrome's JSON of traces, which Perfetto opens; compressed or not.",
    suffixes=(".gz",),
    recognises=_is_chrome,
    reads_run=_read_run,
    reads_trace=_read_trace,
    writes_run=_write_run,
)
