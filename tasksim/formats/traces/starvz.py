"""StarVZ's folders of CSV files from its first phase, compressed or not, or of Parquet tables.

The module reads both, and writes application, dag, link and others as Parquet.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import new_folder, refuse_existing
from tasksim.base.parquetfile import read_parquet_table
from tasksim.base.progress import watched
from tasksim.formats.graphs import graph_if_any
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.recutils import (
    FOOTPRINT_PARAMETER,
    ITERATION_PARAMETER,
    LONGEST_NODE,
    add_record,
    counted,
    job_id,
    nanoseconds,
    node_memory,
    rank_of,
)
from tasksim.formats.traces.starvz_ranks import (
    MESSAGE_PREFIX,
    add_message_copies,
    bind_messages,
    name_nodes,
)
from tasksim.formats.traces.textlines import READ_SHARE, csv_table
from tasksim.graph.csr import owner_of_each
from tasksim.graph.taskgraph import task_parameter
from tasksim.platform.description import MAX_MEMORIES
from tasksim.run.recordtables import TransferTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["STARVZ", "add_tables", "read_starvz", "write_starvz"]

TASKS_CSV: Final = "rec.tasks.csv"
STATES_CSV: Final = "paje.worker_state.csv"
HANDLES_FILE: Final = "rec.data_handles.csv"
DAG_CSV: Final = "dag.csv"
LINK_CSV: Final = "paje.link.csv"
MISSING_TEXTS: Final = ("", "NA", "nan")
"""Missing values, as R and Python write them."""


def read_starvz(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a folder of StarVZ.

    Parameters
    ----------
    path : Path
        With ``rec.tasks.csv``, ``paje.worker_state.csv`` or both, perhaps ``dag.csv`` and
        ``rec.data_handles.csv``; or with ``application.parquet``.
    skip_bad : bool, default False
        Whether malformed rows are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    states = _find(path, STATES_CSV)
    tasks = _find(path, TASKS_CSV)
    found = Records(path if tasks is None else tasks, skip_bad=skip_bad)
    found.name = path.resolve().name
    named = {} if states is None else _workers(states)
    if tasks is not None:
        hints = 0
        for line, row in _rows(tasks, ("JobId", "WorkerId", "StartTime", "EndTime")):
            if "Control" in row:
                hints += 1
                continue
            worker = ""
            if "WorkerId" in row:
                rank = rank_of(row)
                unnamed = f"cpu{row['WorkerId']}"
                unnamed = f"{rank}_{unnamed}" if rank else unnamed
                worker = named.get(row.get("JobId", ""), unnamed)
            add_record(found, row, line, worker)
        if not named:
            found.note("the trace has no names of workers: they are called cpu0, cpu1, ...")
        if hints:
            found.note(f"left out: {hints} hints that data will not be used any more")
    elif states is not None:
        from tasksim.formats.traces.paje import add_states

        found.path = states
        add_states(found, states)
    else:
        add_tables(found, path)
    has_nodes = name_nodes(found)
    if (dag := _find(path, DAG_CSV)) is not None:
        _add_dag(found, dag)
    if has_nodes and found.transfers is None:
        _add_messages(found, path)
    handles = _find(path, HANDLES_FILE)
    if handles is None and found.has_data:
        found.note(
            "no rec.data_handles.csv: the first memory is assumed to be the home of all data"
        )
    elif handles is not None:
        for line, row in _rows(handles):
            rank, handle, home = rank_of(row), row.get("Handle", ""), row.get("HomeNode", "")
            if home.isdecimal() and len(home) > LONGEST_NODE:
                found.bad(f"HomeNode: got '{home[:40]}'; legal: a memory node", line, handles)
            elif rank and has_nodes:  # a buffer of received data has no home
                found.home_memory[f"{rank}_{handle}"] = node_memory(int(rank))
            elif home.isdecimal():
                found.home[f"{rank}_{handle}" if rank else handle] = int(home)
    return assembled(found)


def _find(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _rows(path: Path, needed: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table by the names of their columns, without missing values."""
    header, rows = csv_table(path)
    for name in needed:
        if name not in header:
            raise InputError(f"{path}:1: no column '{name}'; there are {', '.join(header)}")
    for line, fields in rows:
        if len(fields) > len(header):
            raise InputError(
                f"{path}:{line}: got {counted(len(fields), 'field')}; legal: {len(header)}"
            )
        yield line, {n: v for n, v in zip(header, fields, strict=False) if v not in MISSING_TEXTS}


def _workers(path: Path) -> dict[str, str]:
    """Return per task the name of its worker."""
    return {
        row["JobId"]: row["ResourceId"]
        for _, row in _rows(path, ("ResourceId",))
        if "JobId" in row and "ResourceId" in row
    }


def _add_dag(found: Records, path: Path) -> None:
    """Add the dependencies in ``dag.csv``; only those by messages if the tasks have their own."""
    pairs = [
        (job_id(row.get("JobId", "")), job_id(row.get("Dependent", "")))
        for _, row in _rows(path, ("JobId", "Dependent"))
    ]
    if not found.has_edges:
        plain = [pair for pair in pairs if not any(one.startswith(MESSAGE_PREFIX) for one in pair)]
        other = _set_dependencies(found, plain)
        if other:
            found.note(
                f"{other} rows of {path.name} are about tags or missing tasks, and are not used"
            )
    if messages := bind_messages(found, pairs):
        found.note(
            f"{path.name}: tasks that receive {messages} messages depend on those that sent them"
        )


def _add_messages(found: Records, folder: Path) -> None:
    """Add the messages between nodes in ``paje.link.csv``."""
    path = _find(folder, LINK_CSV)
    if path is not None and (count := add_message_copies(found, path, _rows(path))):
        found.note(
            f"{path.name}: {count} messages between nodes are copies of the run; a replay moves"
            " none of these data"
        )


def _set_dependencies(found: Records, pairs: Iterable[tuple[str, str]]) -> int:
    """Set the dependencies: *pairs* of a task and one before; return the number of unknown ones."""
    before: dict[str, list[str]] = {}
    unknown = 0
    for task, one in pairs:
        if one in found.number and task in found.number:
            before.setdefault(task, []).append(one)
        else:
            unknown += 1
    for task, ones in before.items():
        found.before[found.number[task]] = " ".join(ones)
    found.has_edges = bool(before)
    return unknown


APPLICATION_FILE: Final = "application.parquet"
DAG_PARQUET: Final = "dag.parquet"
LINK_FILE: Final = "link.parquet"
ENTITIES_FILE: Final = "entities.parquet"
MEMORY_NODE_TYPE: Final = "Memory Node"
COPY_COLUMNS: Final = {
    "Handle": "handle", "Size": "size_bytes", "Requested": "requested_s", "Start": "start_s",
    "End": "end_s", "Reason": "reason", "Task": "task",
}  # fmt: skip
"""Column of a link -> column of the table of copies; some are tasksim's own."""
TIME_COLUMNS: Final = ("SubmitTime", "ReadyTime", "PopTime")
"""Further times of a task; the last two are tasksim's own."""
MAX_ROWS: Final = 20_000_000
"""Largest number of rows: each takes a kilobyte as Python objects, and real traces have fewer."""


def add_tables(found: Records, folder: Path) -> None:
    """Add the tasks of ``application.parquet``, and their dependencies in ``dag.parquet``."""
    path = folder / APPLICATION_FILE
    found.path, found.place = path, "{path}: row {line}"
    table = _table(path)
    need = ("Value", "ResourceId", "Start", "End")
    for name in need:
        if name not in table:
            raise InputError(f"{path}: no column '{name}'; there are {', '.join(table)}")
    count = len(table["Value"])
    kinds = table.get("ResourceType")
    jobs = table.get("JobId") or [str(row) for row in range(count)]
    columns = {
        name: table.get(name, [None] * count)
        for name in (*TIME_COLUMNS, "SubmitOrder", "Priority", "GFlop", "Footprint", "Iteration")
    }
    for row in watched(range(count), "tasks", until=READ_SHARE):
        extra = {name: column[row] for name, column in columns.items()}
        worker = str(table["ResourceId"][row])
        found.add(
            str(jobs[row]), str(table["Value"][row]), worker,
            _seconds(table["Start"][row]), _seconds(table["End"][row]), line=row + 1,
            submitted_s=_seconds(extra["SubmitTime"]), ready_s=_seconds(extra["ReadyTime"]),
            popped_s=_seconds(extra["PopTime"]), order=_number(extra["SubmitOrder"]),
            priority=_whole(extra["Priority"]), parameters=_parameters(extra),
        )  # fmt: skip
        if kinds and kinds[row]:
            found.architectures.setdefault(worker, str(kinds[row]).lower())
    dag_path = folder / DAG_PARQUET
    if dag_path.is_file():
        dag = _table(dag_path)
        if not {"JobId", "Dependent"} <= set(dag):
            names = ", ".join(dag)
            raise InputError(f"{dag_path}: no columns JobId and Dependent; there are {names}")
        pairs = zip(map(str, dag["JobId"]), map(str, dag["Dependent"]), strict=True)
        _set_dependencies(found, pairs)
    _add_links(found, folder)


def _add_links(found: Records, folder: Path) -> None:
    """Add the copies between memories, if tasksim wrote the tables."""
    if not ((folder / LINK_FILE).is_file() and (folder / ENTITIES_FILE).is_file()):
        return
    links, entities = _table(folder / LINK_FILE), _table(folder / ENTITIES_FILE)
    if not {*COPY_COLUMNS, "Origin", "Dest"} <= set(links) or not {"Parent", "Name", "Type"} <= set(
        entities
    ):
        return
    rows = list(zip(entities["Type"], entities["Name"], entities["Parent"], strict=True))
    memories = [str(name) for kind, name, _ in rows if kind == MEMORY_NODE_TYPE]
    if len(memories) > MAX_MEMORIES:
        raise InputError(
            f"{folder / ENTITIES_FILE}: {len(memories)} memories; legal: at most {MAX_MEMORIES}"
        )
    found.memory_of.update({str(n): str(parent) for kind, n, parent in rows if kind == "Worker"})
    number = {name: at for at, name in enumerate(memories)}
    found.memories = tuple(memories)
    columns: dict[str, Any] = {
        field: [number.get(str(name), -1) for name in links[column]]
        for column, field in (("Origin", "source"), ("Dest", "target"))
    }
    for column, field in COPY_COLUMNS.items():
        values = [_number(value, -1.0) for value in links[column]]
        columns[field] = list(map(_seconds, values)) if field.endswith("_s") else values
    found.transfers = TransferTable(**columns)


def _parameters(extra: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    footprint = extra["Footprint"]
    if isinstance(footprint, str) and footprint:
        with suppress(ValueError, OverflowError):
            found[FOOTPRINT_PARAMETER] = float(abs(int(footprint, 16)))
    flop, iteration = _number(extra["GFlop"], 0.0), _number(extra["Iteration"], -1.0)
    if 0 < flop < math.inf:
        found["flop"] = flop * 1e9
    if 0 <= iteration < math.inf:
        found[ITERATION_PARAMETER] = iteration
    return found


def _table(path: Path) -> dict[str, list[Any]]:
    """Return the columns of a Parquet file."""
    whole = read_parquet_table(path, _refuse_many)
    return {name: whole.column(name).to_pylist() for name in whole.column_names}


def _refuse_many(rows: int, columns: int) -> None:  # noqa: ARG001
    """Refuse a table with more rows than fit into memory: few bytes can claim many rows."""
    if rows > MAX_ROWS:
        raise InputError(f"a table of {rows} rows; legal: at most {MAX_ROWS}")


def _number(value: Any, missing: float = math.nan) -> float:
    try:
        return missing if value is None or value == "" else float(value)
    except (TypeError, ValueError):
        return missing


def _whole(value: Any) -> int:
    """Return a whole number; 0 for anything else."""
    number = _number(value, 0.0)
    return int(number) if math.isfinite(number) else 0


def _seconds(value: Any) -> float:
    number = _number(value)
    return nanoseconds(number) if math.isfinite(number) else math.nan


def write_starvz(run: Run, folder: Path, force: bool = False) -> None:
    """Write *run* as Parquet tables of StarVZ, with times in milliseconds.

    ``application`` has the tasks, ``dag`` the dependencies, ``link`` the copies, ``variable`` the
    numbers of ready and submitted tasks.

    Parameters
    ----------
    run : Run
    folder : Path
        A new folder.
    force : bool, default False
        Whether to replace an existing one.
    """
    import pyarrow.parquet

    refuse_existing(folder, force=force)
    with new_folder(folder, force=force) as temporary:
        for name, columns in _tables(run).items():
            table = pyarrow.table(columns)
            with (temporary / f"{name}.parquet").open("wb") as file:
                pyarrow.parquet.write_table(table, file, compression="gzip")


def _tables(run: Run) -> dict[str, dict[str, Any]]:
    graph = graph_if_any(run)
    tables = {
        "application": _application(run, graph),
        "variable": _variables(run),
        "entities": _entities(run),
        "zero": {"Zero": np.zeros(1)},
        "version": {"Version": ["tasksim"]},
    }
    if graph is not None:
        owner = owner_of_each(graph.successor_ptr)
        tables["dag"] = {
            "JobId": list(map(str, graph.successors.tolist())),
            "Dependent": list(map(str, owner.tolist())),
        }
    if run.transfers is not None:
        tables["link"] = _links(run)
    return tables


def _application(run: Run, graph: TaskGraph | None) -> dict[str, Any]:
    tasks, workers = run.tasks, run.workers
    start, end = _ms(tasks.start_s), _ms(tasks.end_s)
    names = [worker.name for worker in workers]
    nodes = [str(worker.node) for worker in workers]
    kinds = [worker.architecture.upper() for worker in workers]
    by = tasks.worker.tolist()
    kernels = run.kernel_names
    return {
        "ResourceId": [names[worker] for worker in by],
        "Start": start,
        "End": end,
        "Duration": end - start,
        "Value": [kernels[kernel] for kernel in tasks.kernel.tolist()],
        "Node": [nodes[worker] for worker in by],
        "Resource": [names[worker].rpartition("/")[2] for worker in by],
        "ResourceType": [kinds[worker] for worker in by],
        "JobId": list(map(str, tasks.task.tolist())),
        "SubmitOrder": tasks.task.astype(np.float64),
        "Priority": tasks.priority.astype(np.float64),
        "SubmitTime": _ms(tasks.submitted_s),
        "ReadyTime": _ms(tasks.ready_s),
        "PopTime": _ms(tasks.popped_s),
        "Position": tasks.worker.astype(np.float64),
        "Height": np.ones(len(tasks)),
        **_of_graph(run, graph),
    }


def _of_graph(run: Run, graph: TaskGraph | None) -> dict[str, Any]:
    """Return the columns from parameters of tasks: the iteration and the flop."""
    columns: dict[str, Any] = {}
    if graph is None:
        return columns
    for column, parameter, scale in (
        ("Iteration", ITERATION_PARAMETER, 1.0),
        ("GFlop", "flop", 1e-9),
    ):
        if not all(parameter in names for names in graph.parameter_names):
            continue
        columns[column] = task_parameter(graph, parameter)[run.tasks.task] * scale
    return columns


def _variables(run: Run) -> dict[str, Any]:
    """Return the numbers of ready and submitted tasks, a row per constant span."""
    tasks = run.tasks
    rows: dict[str, list[Any]] = {"ResourceId": [], "Type": [], "Start": [], "End": [], "Value": []}
    for name, since, until in (
        ("Ready", tasks.ready_s, tasks.start_s),
        ("Submitted", tasks.submitted_s, tasks.end_s),
    ):
        times, value = counted(since, until)
        at, value = _ms(times), value.astype(np.float64)
        rows["ResourceId"] += ["scheduler"] * max(0, len(at) - 1)
        rows["Type"] += [name] * max(0, len(at) - 1)
        rows["Start"] += at[:-1].tolist()
        rows["End"] += at[1:].tolist()
        rows["Value"] += value[:-1].tolist()
    rows["Duration"] = [e - s for s, e in zip(rows["Start"], rows["End"], strict=True)]
    count = len(rows["Type"])
    rows |= {"Node": ["0"] * count, "Resource": ["scheduler"] * count}
    return rows | {"ResourceType": ["scheduler"] * count}


def _entities(run: Run) -> dict[str, Any]:
    """Return the entities: memory nodes, in order, and the workers on each."""
    memories = [memory.name for memory in run.memories] or ["ram"]
    names = [worker.name for worker in run.workers]
    kinds = [MEMORY_NODE_TYPE] * len(memories) + ["Worker"] * len(names)
    parents = [memories[worker.memory] for worker in run.workers]
    return {
        "Parent": ["program"] * len(memories) + parents, "Name": memories + names, "Type": kinds,
        "Nature": ["Container"] * len(kinds),
    }  # fmt: skip


def _links(run: Run) -> dict[str, Any]:
    copies = run.transfers
    assert copies is not None  # callers check that there are copies
    names = [memory.name for memory in run.memories]
    start, end = _ms(copies.start_s), _ms(copies.end_s)
    return {
        "Container": ["program"] * len(copies),
        "Type": ["Intra-node data Fetch"] * len(copies),
        "Start": start,
        "End": end,
        "Duration": end - start,
        "Size": copies.size_bytes.astype(np.float64),
        "Origin": [names[source] for source in copies.source.tolist()],
        "Dest": [names[target] for target in copies.target.tolist()],
        "Key": [f"h{handle}" for handle in copies.handle.tolist()],
        "Requested": _ms(copies.requested_s),
        "Reason": copies.reason,
        "Task": copies.task,
        "Handle": copies.handle,
    }


def _ms(times_s: Any) -> Any:
    """Return milliseconds, to the nanosecond."""
    return np.round(np.asarray(times_s) * 1e9) / 1e6


def _is_starvz(path: Path, head: bytes) -> bool:
    if head or (path / "run.json").exists():
        return False
    return _find(path, TASKS_CSV) is not None or any(
        (path / name).is_file() for name in ("application.parquet", STATES_CSV, f"{STATES_CSV}.gz")
    )


STARVZ = Format(
    summary="A folder of StarVZ: the CSV files of its first phase, or its Parquet tables.",
    recognises=_is_starvz,
    reads_trace=read_starvz,
    writes_run=write_starvz,
)
