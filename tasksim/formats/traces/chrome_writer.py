"""Writer of Chrome's JSON for Perfetto: a process per run, a thread per worker, arrows."""

from __future__ import annotations

import gzip
import heapq
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.base.files import refuse_existing, write_bytes
from tasksim.formats.traces.written import predecessors
from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.run.record import Run

__all__ = ["ARROWS", "Arrows", "write_chrome"]

Arrows = Literal["none", "critical", "all"]
ARROWS: Final = ("none", "critical", "all")
"""Between which tasks arrows are drawn: of all dependencies they are several times the tasks."""

MOST_POINTS: Final = 4000
"""Maximum number of points of a counter: twice the columns of a wide screen, and little beside
100,000 tasks."""
FIRST_LANE: Final = 100_001
"""The number of the first thread of copies: behind all workers that have threads."""


def write_chrome(
    runs: Sequence[Run], path: Path, *, arrows: Arrows = "none", force: bool = False
) -> None:
    """Write *runs* to one file, which Perfetto and chrome://tracing open, each run a process.

    All begin at 0, so that they lie above each other on one time axis. A name that ends in ``.gz``
    is compressed.

    Parameters
    ----------
    runs : sequence of Run
    path : Path
        ``run.json.gz`` or ``run.json``.
    arrows : {"none", "critical", "all"}, default "none"
        Arrows along the practical critical path, or for all dependencies; with ``all`` a reader
        finds the graph in the file.
    force : bool, default False
        Whether to replace an existing file.
    """
    refuse_existing(path, force=force)
    one_of(arrows, ARROWS, "arrows")
    events = [event for pid, run in enumerate(runs, 1) for event in _events(run, pid, arrows)]
    about = json.dumps(_about(runs[0]), ensure_ascii=False) if len(runs) == 1 else "{}"
    text = f'{{"otherData":{{"tasksim":{about}}},"traceEvents":[\n' + ",\n".join(events) + "\n]}\n"
    data = text.encode()
    write_bytes(
        path, gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data, force=force
    )


def _about(run: Run) -> dict[str, Any]:
    """Return what slices do not say: workers as they are called, memories."""
    return {
        "workers": [[worker.name, worker.architecture] for worker in run.workers],
        "memories": [memory.name for memory in run.memories],
        "memory_of": [worker.memory for worker in run.workers],
    }


def _events(run: Run, pid: int, arrows: Arrows) -> Iterator[str]:
    yield _named("process_name", pid, None, f"{run.kind}: {run.graph_label}, {run.scheduler}")
    digits = len(str(len(run.workers) - 1))
    for number, worker in enumerate(run.workers):
        # Perfetto sorted threads by activity before it knew of sort indices, then by name.
        name = worker.name.rstrip("0123456789")
        padded = (
            name + worker.name.removeprefix(name).zfill(digits) if name != worker.name else name
        )
        yield _named("thread_name", pid, number + 1, padded)
        yield (
            f'{{"ph":"M","name":"thread_sort_index","pid":{pid},"tid":{number + 1},'
            f'"args":{{"sort_index":{number}}}}}'
        )
    yield from _tasks(run, pid, arrows)
    yield from _copies(run, pid)
    yield from _ready(run, pid)
    if arrows != "none":
        yield from _arrows(run, pid, arrows)


def _named(what: str, pid: int, tid: int | None, name: str) -> str:
    thread = "" if tid is None else f',"tid":{tid}'
    return f'{{"ph":"M","name":"{what}","pid":{pid}{thread},"args":{{"name":{_text(name)}}}}}'


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _ns(times_s: Any) -> list[int]:
    """Return whole nanoseconds: what does not overlap in them does not in what is written."""
    found: list[int] = np.round(np.asarray(times_s) * 1e9).astype(np.int64).tolist()
    return found


def _us(ns: int) -> str:
    """Return microseconds as text, exactly."""
    whole, part = divmod(ns, 1000)
    return f"{whole}.{part:03d}".rstrip("0") if part else str(whole)


def _tasks(run: Run, pid: int, arrows: Arrows) -> Iterator[str]:
    tasks = run.tasks
    kernels = [_text(name) for name in run.kernel_names]
    before = predecessors(run) if arrows == "all" else None
    rows = zip(
        tasks.task.tolist(), tasks.kernel.tolist(), tasks.worker.tolist(), tasks.priority.tolist(),
        _ns(tasks.submitted_s), _ns(tasks.ready_s), _ns(np.nan_to_num(tasks.popped_s, nan=-1.0)),
        _ns(tasks.start_s), _ns(tasks.end_s), strict=True,
    )  # fmt: skip
    for task, kernel, worker, priority, submitted, ready, popped, start, end in rows:
        more = f',"priority":{priority}' if priority else ""
        more += f',"submitted":{_us(submitted)}'
        more += f',"ready":{_us(ready)}' if ready != submitted else ""
        more += f',"popped":{_us(popped)}' if popped >= 0 else ""
        if before is not None and (others := before(task)):
            more += f',"after":[{",".join(map(str, others))}]'
        yield (
            f'{{"ph":"X","cat":"task","name":{kernels[kernel]},"pid":{pid},"tid":{worker + 1},'
            f'"ts":{_us(start)},"dur":{_us(end - start)},"args":{{"task":{task}{more}}}}}'
        )


def _copies(run: Run, pid: int) -> Iterator[str]:
    """Yield the copies, those between two memories on as many threads as overlap at most."""
    copies = run.transfers
    if copies is None:
        return
    names = [memory.name for memory in run.memories]
    start, end = _ns(copies.start_s), _ns(copies.end_s)
    asked = _ns(copies.requested_s)
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
    """Yield how many tasks were ready, at most at so many instants."""
    tasks = run.tasks
    times = np.concatenate((tasks.ready_s, tasks.start_s))
    change = np.concatenate((np.ones(len(tasks), int), -np.ones(len(tasks), int)))
    order = np.lexsort((-change, times))
    at, value = times[order], np.cumsum(change[order])
    last = np.append(at[1:] != at[:-1], np.ones(min(1, len(at)), bool))
    at, value = at[last], value[last]
    if len(at) > MOST_POINTS:
        chosen = np.linspace(0, len(at) - 1, MOST_POINTS).astype(int)
        at, value = at[chosen], value[chosen]
    for time, count in zip(_ns(at), value.tolist(), strict=True):
        yield f'{{"ph":"C","name":"ready","pid":{pid},"ts":{_us(time)},"args":{{"tasks":{count}}}}}'


def _arrows(run: Run, pid: int, arrows: Arrows) -> Iterator[str]:
    """Yield flows from task to task: each begins and ends a nanosecond inside a slice."""
    tasks = run.tasks
    row = {task: at for at, task in enumerate(tasks.task.tolist())}
    start, end, worker = _ns(tasks.start_s), _ns(tasks.end_s), tasks.worker.tolist()
    for number, (one, other) in enumerate(_edges(run, arrows), 1):
        a, b = row[one], row[other]
        if end[a] - start[a] < 2 or end[b] == start[b]:
            continue  # nothing is inside of them
        flow = f'"cat":"dep","name":"dep","id":"{pid}.{number}","pid":{pid}'
        yield f'{{"ph":"s",{flow},"tid":{worker[a] + 1},"ts":{_us(end[a] - 1)}}}'
        yield f'{{"ph":"f","bp":"e",{flow},"tid":{worker[b] + 1},"ts":{_us(start[b])}}}'


def _edges(run: Run, arrows: Arrows) -> Iterator[tuple[int, int]]:
    if arrows == "critical":
        from tasksim.run.critical import practical_critical_path

        steps = [step.task for step in practical_critical_path(run).steps]
        names = run.tasks.task.tolist()
        yield from ((names[a], names[b]) for a, b in pairwise(steps))
        return
    before = predecessors(run)
    if before is not None:
        yield from ((one, task) for task in run.tasks.task.tolist() for one in before(task))
