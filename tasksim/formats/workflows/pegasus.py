"""Workflows of Pegasus 5 in YAML, with jobs, their files and dependencies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.files import read_text
from tasksim.base.units import counted
from tasksim.formats.registry import Format
from tasksim.formats.workflows.dax import FILE_USES
from tasksim.formats.workflows.jobs import DURATION_PARAMETER, Jobs

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.registry import GraphInput

__all__ = ["PEGASUS", "read_pegasus"]

MAX_WORKFLOW_BYTES: Final = 2**22
"""Maximum size in bytes: some five thousand jobs; PyYAML reads a MiB in ten seconds at worst."""
SUBWORKFLOW_KERNELS: Final = {"pegasusWorkflow": "pegasus", "condorWorkflow": "condor"}
"""Types of jobs that are workflows of their own -> their kernels."""
_BEGIN: Final = re.compile(rb"^pegasus:[ \t]*[\"']?5", re.MULTILINE)


def read_pegasus(path: Path) -> GraphInput:
    """Return the task graph of an abstract workflow of Pegasus 5.

    The kernel of a job is its ``name``, the runtime that its profile of Pegasus names is its
    duration in seconds, and the size among a file's metadata is in bytes.

    Parameters
    ----------
    path : Path
        A YAML file; nothing that it refers to is read.

    Raises
    ------
    InputError
        ``file: key: what is wrong``.
    """
    from tasksim.base.documents.yaml_document import YamlDocument

    jobs = Jobs(path)
    text = read_text(path, MAX_WORKFLOW_BYTES)
    whole = YamlDocument.parse(text, path, "a workflow: a mapping with jobs").data
    if "jobs" not in whole:
        raise jobs.error(f"got {', '.join(whole) or 'nothing'}; legal: a workflow, which has jobs")
    jobs.name = str(whole.get("name") or jobs.name)
    silent = subworkflows = 0
    sizes: dict[str, float] = {}
    for number, job in enumerate(_mappings(jobs, whole, "jobs", "")):
        where = f"jobs[{number}]"
        name = _word(jobs, job, "id", where)
        kind = str(job.get("type", "job"))
        kernel = SUBWORKFLOW_KERNELS.get(kind) or _word(jobs, job, "name", where)
        subworkflows += kind in SUBWORKFLOW_KERNELS
        runtime = _inner(_inner(job, "profiles"), "pegasus").get("runtime")
        values = {}
        if runtime is not None:
            values[DURATION_PARAMETER] = jobs.number(
                runtime, "runtime", f"{where}.profiles.pegasus"
            )
        silent += runtime is None
        jobs.add(name, kernel, values, where)
        for index, use in enumerate(_mappings(jobs, job, "uses", f"{where}.")):
            _use(jobs, name, use, f"{where}.uses[{index}]", sizes)
    for number, parent in enumerate(_mappings(jobs, whole, "jobDependencies", "")):
        where = f"jobDependencies[{number}]"
        before = _word(jobs, parent, "id", where)
        children = parent.get("children") or []
        if not isinstance(children, list):
            raise jobs.error(f"children: got {children!r:.40}; legal: a list of ids", where)
        for after in children:
            jobs.edge(before, str(after), where)
    for file, size in sizes.items():
        jobs.file(file, size)
    if silent:
        jobs.notes.append(f"{counted(silent, 'job')} without a runtime, and so without a duration")
    if subworkflows:
        jobs.notes.append(f"{counted(subworkflows, 'workflow')} inside, each a single task here")
    return jobs.build()


def _use(jobs: Jobs, job: str, use: dict[str, Any], where: str, sizes: dict[str, float]) -> None:
    """Note that a job uses a file; keep the file's size in *sizes*."""
    file, link = _word(jobs, use, "lfn", where), use.get("type")
    if link not in FILE_USES:
        raise jobs.error(f"type: got {link!r:.40}; legal: {', '.join(FILE_USES)}", where)
    if link in ("input", "inout"):
        jobs.reads(job, file)
    if link in ("output", "inout"):
        jobs.writes(job, file)
    size = _inner(use, "metadata").get("size", use.get("size"))
    if size is not None:
        sizes[file] = jobs.number(size, "size", where)


def _mappings(jobs: Jobs, within: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """Return the list of mappings at *key*; it may be missing."""
    found = within.get(key) or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise jobs.error(f"got {found!r:.40}; legal: a list of mappings", f"{where}{key}")
    return found


def _inner(within: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the mapping at *key*, or an empty one."""
    found = within.get(key)
    return found if isinstance(found, dict) else {}


def _word(jobs: Jobs, within: dict[str, Any], key: str, where: str) -> str:
    """Return the text at *key*, which is needed."""
    found = within.get(key)
    if not isinstance(found, str | int) or found == "":
        raise jobs.error(f"{key}: got {found!r:.40}; legal: a name", where)
    return str(found)


PEGASUS = Format(
    summary="A workflow of Pegasus 5, in YAML.",
    recognises=lambda path, head: _BEGIN.search(head) is not None,  # noqa: ARG005
    reads_graph=read_pegasus,
)
