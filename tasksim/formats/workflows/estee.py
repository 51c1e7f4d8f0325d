"""Task graphs in Estee's JSON, with true and expected durations, outputs, and inputs by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import read_json
from tasksim.formats.registry import Format
from tasksim.formats.workflows.jobs import DURATION_PARAMETER, Jobs

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.registry import GraphInput

__all__ = ["ESTEE", "read_estee"]

BYTES_PER_MIB: Final = 2**20


def read_estee(path: Path) -> GraphInput:
    """Return the task graph in one of Estee's files, with seconds and MiB as units.

    Parameters
    ----------
    path : Path
        A JSON file: a list with an object per task, ``d``, ``e_d``, ``cpus``, ``outputs``,
        ``inputs``.

    Raises
    ------
    InputError
        ``file: [index].key: what is wrong``.
    """
    jobs = Jobs(path)
    whole = read_json(path)
    if not isinstance(whole, list):
        raise jobs.error(f"expected a list of tasks, got {type(whole).__name__}")
    expected = several = 0
    for number, task in enumerate(whole):
        where = f"[{number}]"
        if not isinstance(task, dict):
            raise jobs.error(f"expected an object, got {type(task).__name__}", where)
        seconds = jobs.number(task.get("d"), "d", f"{where}.d")
        expected += task.get("e_d") is not None
        several += task.get("cpus", 1) not in (0, 1)
        jobs.add(str(number), "task", {DURATION_PARAMETER: seconds}, where)
        for index, output in enumerate(_list(jobs, task, "outputs", where)):
            size = output.get("s") if isinstance(output, dict) else None
            name = f"{number}.{index}"
            jobs.file(name, jobs.number(size, "s", f"{where}.outputs[{index}]") * BYTES_PER_MIB)
            jobs.writes(str(number), name)
    for number, task in enumerate(whole):
        for index, source in enumerate(_list(jobs, task, "inputs", f"[{number}]")):
            where = f"[{number}].inputs[{index}]"
            pair = isinstance(source, list) and len(source) == 2
            if not (pair and all(type(each) is int for each in source)):
                legal = "a task and the number of its output"
                raise jobs.error(f"got {source!r:.40}; legal: {legal}", where)
            made_by, output = source
            if not (
                0 <= made_by < len(whole) and 0 <= output < len(whole[made_by].get("outputs", []))
            ):
                raise jobs.error(f"task {made_by} has no output {output}", where)
            jobs.reads(str(number), f"{made_by}.{output}")
    if several:
        jobs.notes.append(f"{several} tasks take several cores: here each takes one worker")
    if expected:
        jobs.notes.append(f"{expected} tasks also have an expected duration: the true one counts")
    return jobs.build()


def _list(jobs: Jobs, task: dict[str, Any], key: str, where: str) -> list[Any]:
    found = task.get(key, [])
    if not isinstance(found, list):
        raise jobs.error(f"expected a list, got {type(found).__name__}", f"{where}.{key}")
    return found


def _is_estee(path: Path, head: bytes) -> bool:  # noqa: ARG001
    start = head.lstrip()
    return start.startswith(b"[") and b'"d"' in start and b'"outputs"' in start


ESTEE = Format(
    summary="A task graph of Estee's data sets: JSON.",
    recognises=_is_estee,
    suffixes=(),
    reads_graph=read_estee,
)
