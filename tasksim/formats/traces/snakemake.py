"""Metadata of a workflow of Snakemake: rule, times and input files of each output file."""

from __future__ import annotations

import base64
import binascii
import calendar
import json
import re
import time
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

METADATA_FOLDERS: Final = (".snakemake/metadata", "metadata", ".")
"""Folder of the metadata within the working directory, within ``.snakemake``, and itself."""
METADATA_DATABASE: Final = "metadata.db"
"""Database in which Snakemake can keep the metadata instead."""
LONG_NAME: Final = "@"
"""Beginning of the folders into which a name that is too long for a file is split."""
MAX_TIME_S: Final = 1e12
"""Upper bound of times in seconds, thirty thousand years."""
LOG_RESOLUTION_S: Final = 1.0
"""Resolution of the times in Snakemake's log, in seconds."""
ZONE_OFFSET_STEP_S: Final = 900.0
"""Greatest common divisor of the offsets of all time zones, in seconds."""
MAX_ZONE_OFFSET_S: Final = 14 * 3600.0
"""Largest offset of a time zone, in seconds."""
MAX_DELAY_S: Final = 60.0
"""Longest time in seconds until Snakemake notices the end of a job: a later end in the log is of
another run."""

_LOG_LINE: Final = re.compile(
    r"\s*(?:\[(?P<date>\w{3} \w{3} .\d [\d:]{8} \d{4})\]"
    r"|output: (?P<outputs>.*)|jobid: (?P<begun>\d+)|Finished job(?:id:)? (?P<ended>\d+).*)"
)
"""Lines of Snakemake's log that tell when jobs started and ended."""


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
        known = jobs.setdefault(job, record | {"file": file, "outputs": []})
        known["starttime"] = min(known["starttime"], record["starttime"])
        known["endtime"] = max(known["endtime"], record["endtime"])
        known["outputs"].append(_output_of(file, folder))
        maker[known["outputs"][-1]] = job
    _correct_starts(found, folder, list(jobs.values()), {file: jobs[maker[file]] for file in maker})
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
    for place in METADATA_FOLDERS:
        folder = (path / place).resolve()
        if folder.parts[-2:] == (".snakemake", "metadata") and is_folder(folder):
            if not any(folder.iterdir()) and (folder.parent / METADATA_DATABASE).exists():
                raise InputError(
                    f"{folder.parent / METADATA_DATABASE}: metadata in a database; legal: files in "
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
    return isinstance(value, float | int) and type(value) is not bool and 0 <= value < MAX_TIME_S


def _correct_starts(
    found: Records, folder: Path, jobs: list[dict[str, Any]], maker: dict[str, dict[str, Any]]
) -> None:
    """Take the starts of jobs with 'run:' from Snakemake's log.

    The metadata of such a job have no start: another process writes it there when the job has
    ended. *maker* has the job that makes each file.
    """
    backwards = [record for record in jobs if record["starttime"] > record["endtime"]]
    if not backwards:
        return
    logged, unknown = _logged(found, folder), 0
    for record in backwards:
        start = _logged_start(record, logged)
        if start is None:
            unknown += 1
            record["starttime"] = record["endtime"]
            continue
        # The log has whole seconds; a job starts once the last of its input files is there.
        ends = [maker[file]["endtime"] for file in record["input"] if file in maker]
        start = max([start, *(end for end in ends if end < start + LOG_RESOLUTION_S)])
        record["starttime"] = min(start, record["endtime"])
    if unknown < len(backwards):
        found.note(
            "starts of jobs with 'run:', which their metadata lack, are those of Snakemake's "
            f"log, in whole seconds: {len(backwards) - unknown}"
        )
    if unknown:
        found.note(
            "jobs with 'run:' count as 0 s if their start is in no log of Snakemake's, as their "
            f"metadata lack it: {unknown}"
        )


def _logged(found: Records, folder: Path) -> dict[str, tuple[float, float]]:
    """Return the start and end of the jobs in Snakemake's logs, by their output files.

    Times are seconds of the clock where Snakemake ran, in its time zone. The last run counts.
    """
    logged: dict[str, tuple[float, float]] = {}
    for path in sorted((folder.parent / "log").glob("*.log")):
        now, outputs = 0.0, [""]
        begun: dict[str, tuple[float, list[str]]] = {}
        for number, line in enumerate(read_text(path).splitlines(), 1):
            match = _LOG_LINE.fullmatch(line)
            if match is None:
                continue
            if date := match["date"]:
                try:
                    now = float(calendar.timegm(time.strptime(date)))
                except ValueError:
                    found.bad(f"no date: {date}; legal: 'Sun Nov 29 18:32:12 2026'", number, path)
                outputs = []
            elif match["outputs"]:
                outputs = match["outputs"].split(", ")
            elif match["begun"]:
                begun[match["begun"]] = now, outputs
            elif match["ended"] in begun:
                start, made = begun.pop(match["ended"])
                logged.update((file, (start, now)) for file in made)
    return logged


def _logged_start(record: dict[str, Any], logged: dict[str, tuple[float, float]]) -> float | None:
    """Return the start of a job in the log, in seconds since 1970; None if it is not there."""
    found = next((logged[file] for file in record["outputs"] if file in logged), None)
    if found is None:
        return None
    start, end = found
    zone_s = ZONE_OFFSET_STEP_S * round((end - record["endtime"]) / ZONE_OFFSET_STEP_S)
    is_that_run = abs(end - zone_s - record["endtime"]) <= MAX_DELAY_S
    return start - zone_s if is_that_run and abs(zone_s) <= MAX_ZONE_OFFSET_S else None


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
