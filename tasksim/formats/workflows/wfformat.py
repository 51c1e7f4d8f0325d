"""Workflows in WfFormat 1.5 and 1.6, the JSON of WfCommons, with files and run times."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import JsonNode, read_document
from tasksim.base.errors import InputError
from tasksim.base.files import read_text, refuse_existing, write_text
from tasksim.base.progress import watched
from tasksim.formats.registry import Format, GraphInput
from tasksim.formats.workflows.jobs import DURATION_PARAMETER, Jobs
from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["WFFORMAT", "read_wfformat", "write_wfformat"]

VERSIONS: Final = ("1.5", "1.6")
PROGRAM: Final = re.compile(r"[\w.+-]+")
NUMBERED: Final = re.compile(r"[_.-]?(?:ID)?\d+$")
"""Pattern of the number at the end of a task's name."""


def read_wfformat(path: Path) -> GraphInput:
    """Return the task graph of a workflow, with its measured durations.

    A task's kernel is its program, or its name without the number. Its ``runtimeInSeconds`` counts,
    and not ``avgCPU`` and ``coreCount``; a task without measurements has no duration.

    Parameters
    ----------
    path : Path
        A JSON file.

    Raises
    ------
    InputError
        ``file:line:column: what is wrong``.
    """
    return read_document(read_text(path), str(path), lambda root: _read(Jobs(path), root))


def _read(jobs: Jobs, root: JsonNode) -> GraphInput:
    version = root["schemaVersion"]
    if version.value not in VERSIONS:
        raise version.error(f"version {version.value!r:.20}; legal: {', '.join(VERSIONS)}")
    specification = root["workflow"]["specification"]
    name = root.get("name", jobs.name)
    jobs.name = name.value if isinstance(name.value, str) and name.value else jobs.name
    execution = root["workflow"].get("execution", None)
    runs: dict[str, JsonNode] = {}
    if execution.value is not None:
        runs = {task["id"].text(): task for task in execution["tasks"]}
    if not runs:
        jobs.notes.append("no task was executed: the file has no durations")
    _tasks(jobs, specification, runs)
    for file in specification.get("files", []):
        jobs.file(file["id"].text(), file["sizeInBytes"].integer())
    several = machines = 0
    for run in runs.values():
        cores = run.get("coreCount", None).value
        several += isinstance(cores, int | float) and cores > 1
        machines += len(run.get("machines", []).value) > 1
    if several:
        jobs.notes.append(f"{several} tasks ran on several cores: here each takes one worker")
    if machines:
        jobs.notes.append(f"{machines} tasks ran on several machines: here each takes one worker")
    return jobs.build()


def _tasks(jobs: Jobs, specification: JsonNode, runs: dict[str, JsonNode]) -> None:
    tasks = list(specification["tasks"])
    for task in tasks:
        job = task["id"].text()
        run = runs.get(job)
        values: dict[str, float] = {}
        if run is not None:
            seconds = run["runtimeInSeconds"]
            values[DURATION_PARAMETER] = seconds.number()
            if values[DURATION_PARAMETER] < 0:
                raise seconds.expected("seconds from 0")
        if job in jobs:
            raise task["id"].error(f"task '{job}' occurs twice")
        jobs.add(job, _kernel(task, run), values, None)
        for name in task.get("inputFiles", []):
            jobs.reads(job, name.text())
        for name in task.get("outputFiles", []):
            jobs.writes(job, name.text())
    differing = 0
    for task in tasks:
        job = task["id"].text()
        for parent in task["parents"]:
            _edge(jobs, parent.text(), job, parent)
    for task in tasks:
        for child in task["children"]:
            differing += _edge(jobs, task["id"].text(), child.text(), child)
    if differing:
        jobs.notes.append(f"{differing} children do not name their parents")


def _edge(jobs: Jobs, before: str, after: str, node: JsonNode) -> bool:
    try:
        return jobs.edge(before, after, None)
    except InputError as error:
        raise node.error(str(error).partition(": ")[2]) from None


def _kernel(task: JsonNode, run: JsonNode | None) -> str:
    command = None if run is None else run.get("command", None)
    program = None if command is None or command.value is None else command.get("program", None)
    if program is not None and isinstance(program.value, str) and PROGRAM.fullmatch(program.value):
        return program.value
    name = task["name"].text()
    return NUMBERED.sub("", name) or name


def write_wfformat(run: Run, path: Path, force: bool = False) -> None:
    """Write the graph of *run* as a workflow of WfFormat 1.5, with its durations.

    Data become files, a new one for each write.

    Parameters
    ----------
    run : Run
        Its graph is made again if it does not have one.
    path : Path
        A ``.json`` file.
    force : bool, default False
        Whether to replace an existing file.
    """
    from tasksim.formats.graphs import graph_of, predecessors

    refuse_existing(path, force=force)
    graph = graph_of(run, Path(run.graph_name))
    before = predecessors(graph)
    ids = [f"{graph.kernel_of(task)}_{task + 1:07d}" for task in range(len(graph))]
    files: dict[str, int] = {}
    last: dict[int, tuple[int, int]] = {}
    tasks = []
    for task in watched(range(len(graph)), "tasks", until=0.6):
        inputs, outputs = _files(graph, task, before(task), last)
        files |= {**inputs, **outputs}
        tasks.append(
            {
                "name": ids[task], "id": ids[task],
                "parents": [ids[other] for other in before(task)],
                "children": [ids[other] for other in graph.successors_of(task)],
                "inputFiles": list(inputs), "outputFiles": list(outputs),
            }
        )  # fmt: skip
    write_text(path, json.dumps(_whole(run, tasks, files, ids), indent=1) + "\n", force=force)


def _files(
    graph: TaskGraph, task: int, before: list[int], last: dict[int, tuple[int, int]]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the files that a task reads and writes, with their sizes.

    *last* is datum -> number of writes, and the last writer. If that is not among those *before*,
    as between commutative accesses, the task does not wait for its file.
    """
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for handle, mode in graph.accesses_of(task):
        if mode == AccessMode.SCRATCH:  # a unique name
            continue
        name, size = f"{graph.handle_name(handle)}#", int(graph.handle_size[handle])
        version, writer = last.get(handle, (0, -1))
        if mode != AccessMode.W and (writer < 0 or writer in before):
            inputs[f"{name}{version}"] = size
        if mode != AccessMode.R:
            last[handle] = (version + 1, task)
            outputs[f"{name}{version + 1}"] = size
    return inputs, outputs


def _whole(
    run: Run, tasks: list[dict[str, Any]], files: dict[str, int], ids: list[str]
) -> dict[str, Any]:
    records, workers = run.tasks, run.workers
    executed = [
        {
            "id": ids[task], "runtimeInSeconds": end - start, "coreCount": 1,
            "machines": [workers[worker].name], "priority": priority,
            "command": {"program": run.kernel_names[kernel], "arguments": []},
        }
        for task, start, end, worker, priority, kernel in zip(
            records.task.tolist(), records.start_s.tolist(), records.end_s.tolist(),
            records.worker.tolist(), records.priority.tolist(), records.kernel.tolist(),
            strict=True,
        )
    ]  # fmt: skip
    return {
        "name": run.graph_name,
        "description": f"{run.kind} run of {run.graph_label}, written by tasksim",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": tasks,
                "files": [{"id": name, "sizeInBytes": size} for name, size in files.items()],
            },
            "execution": {
                "makespanInSeconds": run.makespan_s,
                "executedAt": "1970-01-01T00:00:00+00:00",
                "tasks": executed,
                "machines": [{"nodeName": worker.name} for worker in workers],
            },
        },
    }


def _is_wfformat(path: Path, head: bytes) -> bool:  # noqa: ARG001
    return head.lstrip().startswith(b"{") and b'"schemaVersion"' in head


WFFORMAT = Format(
    summary="A workflow in WfFormat 1.5 or 1.6, the JSON of WfCommons.",
    recognises=_is_wfformat,
    reads_graph=read_wfformat,
    writes_run=write_wfformat,
)
