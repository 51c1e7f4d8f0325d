"""Metadata of a workflow of Snakemake: rule, times and input files of each output file."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import is_folder, read_text
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["SNAKEMAKE", "read_snakemake"]

METADATA: Final = (".snakemake/metadata", "metadata", ".")
"""Folder of the metadata within the working directory, within ``.snakemake``, and itself."""
DATABASE: Final = "metadata.db"
"""Database in which Snakemake can keep the metadata instead."""
LONG_NAME: Final = "@"
"""Beginning of the folders into which a name that is too long for a file is split."""
LARGEST_S: Final = 1e12
"""Upper bound of times in seconds, thirty thousand years."""


def read_snakemake(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the last runs of all jobs of a workflow of Snakemake, with times in seconds.

    The kernel of a job is its rule; it depends on the jobs that made its input files.

    Parameters
    ----------
    path : Path
        The working directory, its ``.snakemake``, or ``.snakemake/metadata``.
    skip_bad : bool, default False
        Whether malformed files are skipped and counted.

    Raises
    ------
    InputError
        ``file: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    folder = _metadata_of(path)
    if folder is None:  # only if the caller chose this format
        raise InputError(f"{path}: no folder .snakemake/metadata")
    found = Records(path, skip_bad=skip_bad)
    found.name = _working_directory(folder).name or "workflow"
    jobs: dict[tuple[Any, ...], dict[str, Any]] = {}
    maker: dict[str, tuple[Any, ...]] = {}
    incomplete = 0
    for file in sorted(folder.rglob("*")):
        if not file.is_file():
            continue
        record = _record(found, file)
        if record is None:
            continue
        if record.get("incomplete") or None in (record.get("starttime"), record.get("endtime")):
            incomplete += 1
            continue
        # Each output file of a job has times of its own, some microseconds apart.
        job = record["rule"], record["job_hash"], record["shellcmd"], *record["input"]
        known = jobs.setdefault(job, record | {"file": file})
        known["starttime"] = min(known["starttime"], record["starttime"])
        known["endtime"] = max(known["endtime"], record["endtime"])
        maker[_output_of(file, folder)] = job
    unknown = 0
    for record in jobs.values():
        if record["starttime"] > record["endtime"]:  # 'run:' has another process note it, too late
            record["starttime"] = record["endtime"]
            unknown += 1
    if unknown:
        found.note(
            f"jobs without a start, as Snakemake writes none for 'run:', count as 0 s: {unknown}"
        )
    names = {job: f"job{number}" for number, job in enumerate(jobs)}
    for job, record in jobs.items():
        before = dict.fromkeys(
            names[maker[file]]
            for file in record["input"]
            if file in maker and jobs[maker[file]]["endtime"] <= record["starttime"]
        )
        found.place = str(record["file"]).replace("{", "{{").replace("}", "}}")
        found.add(
            names[job], record["rule"], "cpu", record["starttime"], record["endtime"],
            line=0, before=" ".join(before),
        )  # fmt: skip
    if incomplete:
        found.note(f"output files without times, of jobs that did not end: {incomplete}")
    found.note("jobs count as they ran last, which may have been in several runs of Snakemake")
    found.spread_over_workers()
    return assembled(found)


def _metadata_of(path: Path) -> Path | None:
    """Return the folder of the metadata at *path*, if it has one."""
    for place in METADATA:
        folder = (path / place).resolve()
        if folder.parts[-2:] == (".snakemake", "metadata") and is_folder(folder):
            if not any(folder.iterdir()) and (folder.parent / DATABASE).exists():
                raise InputError(
                    f"{folder.parent / DATABASE}: metadata in a database; legal: files in "
                    f"{folder}, as Snakemake writes them by default"
                )
            return folder
    return None


def _working_directory(metadata: Path) -> Path:
    return metadata.parent.parent


def _record(found: Records, file: Path) -> dict[str, Any] | None:
    """Return the content of a metadata file; None if it is malformed, and skipped."""
    try:
        record = parse_json(read_text(file))
    except json.JSONDecodeError as error:
        found.bad(f"not JSON: {error.msg}", error.lineno, file)
        return None
    if not isinstance(record, dict):
        record = {}
    times = [record.get(name) for name in ("starttime", "endtime")]
    inputs = record.get("input")
    is_list = isinstance(inputs, list) and all(isinstance(name, str) for name in inputs)
    if not (isinstance(record.get("rule"), str) and is_list and all(map(_is_time, times))):
        found.bad(
            "rule, input, starttime and endtime: one is missing or wrong; legal: a name, a list of "
            "files, and seconds",
            1,
            file,
        )
        return None
    return record | {key: str(record.get(key)) for key in ("job_hash", "shellcmd")}


def _is_time(value: object) -> bool:
    if value is None:  # of a job that did not end
        return True
    return isinstance(value, float | int) and type(value) is not bool and 0 <= value < LARGEST_S


def _output_of(file: Path, folder: Path) -> str:
    """Return the output file that a metadata file is about: its name in base64."""
    parts = [part.removeprefix(LONG_NAME) for part in file.relative_to(folder).parts]
    try:
        return base64.urlsafe_b64decode("".join(parts)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


SNAKEMAKE: Final = Format(
    summary="The metadata of a workflow of Snakemake, in its folder .snakemake.",
    recognises=lambda path, head: not head and is_folder(path) and _metadata_of(path) is not None,
    reads_trace=read_snakemake,
)
