"""Event logs of Apache Spark, with its jobs, stages and tasks."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import is_folder
from tasksim.base.units import counted
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.textlines import head_text, lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["SPARK", "read_spark"]

LINE_BEGINNING: Final = '{"Event":"SparkListener'
"""Beginning of each line of an event log that is about the application, without spaces."""
ROLLED_FOLDER: Final = "eventlog_v2_"
"""Beginning of the name of a folder with the parts of a log."""
ROLLED_FILE: Final = re.compile(r"events_(\d+)_[^.]*")
"""Name of a part of a log that is not compressed."""
LONGEST_EVENT: Final = 2**26
"""Longest line of a log in bytes: the plan of a query may have several MiB."""
TIMES_ON_CORE: Final = (
    "Executor Deserialize Time", "Executor Run Time", "Result Serialization Time",
)  # fmt: skip
"""Times of a task on its core, in ms."""
LARGEST_MS: Final = 1e15
"""Upper bound of times in ms, thirty thousand years."""
CLOCK_SLACK_S: Final = 0.0015
"""Overlap of two tasks of a core, in seconds, that may be rounding: times are milliseconds."""
PATH_IN_NAME: Final = re.compile(r"\S*[/\\](?=\S)")
"""Folders before the file that the name of a stage has: ``count at /home/me/job.py:6``."""


class _Stage:
    """One attempt of a stage, with its tasks."""

    def __init__(self, name: str, parents: list[int], submitted_s: float) -> None:
        self.name = name
        self.parents = parents
        self.submitted_s = submitted_s
        self.tasks: list[tuple[str, float]] = []
        """Ids and ends of its tasks."""


class _Job:
    """One job: when it was submitted and ended, and its stages."""

    def __init__(self, submitted_s: float, stages: list[int]) -> None:
        self.submitted_s = submitted_s
        self.end_s = math.inf
        self.stages = stages


def read_spark(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in an event log of Spark, with times in milliseconds.

    The kernel of a task is the name of its stage; its end is that of its time on a core. Tasks
    wait for the stages that theirs depends on; a job waits for the jobs that had ended when it was
    submitted.

    Parameters
    ----------
    path : Path
        A log, compressed by gzip or not; or the folder of a rolled one (``eventlog_v2_...``).
    skip_bad : bool, default False
        Whether malformed events are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    reader = _Reader(found)
    for part in _parts(path):
        for line, event in _events(found, part):
            reader.read(event, part, line)
    reader.add_dependencies()
    found.spread_over_workers(CLOCK_SLACK_S)
    return assembled(found)


class _Reader:
    """Events of a log, as they become records of *found*."""

    def __init__(self, found: Records) -> None:
        self._found = found
        self._stages: dict[tuple[int, int], _Stage] = {}
        self._jobs: dict[int, _Job] = {}
        self._job_of: dict[int, _Job] = {}
        self._failed = 0

    def read(self, event: dict[str, Any], part: Path, line: int) -> None:
        """Read one event; report it to the records if it is malformed."""
        kind = str(event["Event"]).removeprefix("SparkListener")
        try:
            if kind == "ApplicationStart":
                self._found.name = str(event["App Name"]) or self._found.name
            elif kind == "JobStart":
                stages = [int(each["Stage ID"]) for each in event["Stage Infos"]]
                job = _Job(_seconds(event["Submission Time"]), stages)
                self._jobs[int(event["Job ID"])] = job
                self._job_of.update(dict.fromkeys(stages, job))
            elif kind == "JobEnd" and (ended := self._jobs.get(int(event["Job ID"]))):
                ended.end_s = _seconds(event["Completion Time"])
            elif kind == "StageSubmitted":
                info = event["Stage Info"]
                stage = int(info["Stage ID"])
                self._stages[stage, int(info["Stage Attempt ID"])] = _Stage(
                    PATH_IN_NAME.sub("", str(info["Stage Name"])) or "stage",
                    [int(parent) for parent in info.get("Parent IDs", ())],
                    _seconds(info["Submission Time"]) if "Submission Time" in info else math.inf,
                )
            elif kind == "TaskEnd":
                self._add(event, part, line)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            wrong = f"no {error}" if isinstance(error, KeyError) else str(error)
            self._found.bad(f"{kind}: {wrong}; legal: an event of Spark", line, part)

    def _add(self, event: dict[str, Any], part: Path, line: int) -> None:
        found, info = self._found, event["Task Info"]
        number, attempt = int(event["Stage ID"]), int(event["Stage Attempt ID"])
        stage = self._stages.get((number, attempt))
        if stage is None:
            found.bad(f"TaskEnd: stage {number} was not submitted (attempt {attempt})", line, part)
            return
        start, end = _seconds(info["Launch Time"]), _seconds(info["Finish Time"])
        # A core is free for the next task before the driver notes the end of the last one.
        metrics = event.get("Task Metrics") or {}
        if spent := sum(int(metrics.get(part, 0)) for part in TIMES_ON_CORE):
            end = max(start, min(end, start + spent / 1e3))
        executor, task = str(info["Executor ID"]), str(int(info["Task ID"]))
        job = self._job_of.get(number)
        if found.add(
            task, stage.name, "cpu" if executor == "driver" else f"executor{executor}/cpu",
            start, end, line=line, before=_stage_start(number, attempt),
            submitted_s=math.nan if job is None else min(job.submitted_s, start),
        ):  # fmt: skip
            stage.tasks.append((task, end))
            self._failed += bool(info.get("Failed")) or bool(info.get("Killed"))

    def add_dependencies(self) -> None:
        """Add the starts of stages and of jobs: tasks that ran nowhere, with dependencies."""
        ends: dict[int, list[tuple[str, float]]] = {}
        for (number, _), stage in self._stages.items():
            ends.setdefault(number, []).extend(stage.tasks)
        for (number, attempt), stage in self._stages.items():
            # Tasks of a parent that is run again, as its results were lost, may end later.
            before = [
                task
                for parent in stage.parents
                for task, end in ends.get(parent, ())
                if end <= stage.submitted_s
            ]
            job = self._job_of.get(number)
            before += [] if job is None else [_job_start(job)]
            self._add_nowhere(_stage_start(number, attempt), before)
        jobs = list(self._jobs.values())
        for job in jobs:
            earlier = [each for each in jobs if each.end_s <= job.submitted_s]
            # An earlier job that another one of them waited for need not be named.
            since = max((each.submitted_s for each in earlier), default=-math.inf)
            self._add_nowhere(
                _job_start(job),
                [
                    task
                    for each in earlier
                    if each.end_s > since
                    for stage in each.stages
                    for task, end in ends.get(stage, ())
                    if end <= job.submitted_s
                ],
            )
        if len(jobs) > 1:
            self._found.note(
                f"{len(jobs)} jobs: each waits for those that had ended when it was submitted"
            )
        if self._failed:
            self._found.note(f"{counted(self._failed, 'task')} failed or killed: tasks like others")

    def _add_nowhere(self, name: str, before: list[str]) -> None:
        if name not in self._found.number:
            self._found.add(name, "start", "", math.nan, math.nan, line=0, before=" ".join(before))


def _stage_start(number: int, attempt: int) -> str:
    return f"stage{number}.{attempt}"


def _job_start(job: _Job) -> str:
    return f"job{id(job)}"


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < LARGEST_MS:
        raise ValueError(f"got the time {value!r:.30}, not in milliseconds")
    return value / 1e3


def _parts(path: Path) -> list[Path]:
    """Return the files of a log, in order."""
    if not is_folder(path):
        return [path]
    numbered = [
        (int(match[1]), each)
        for each in path.iterdir()
        if (match := ROLLED_FILE.fullmatch(each.name)) is not None
    ]
    if not numbered:
        raise InputError(
            f"{path}: no events_1_... that is not compressed; legal: parts that Spark wrote with "
            "spark.eventLog.compress=false, or unpacked ones ('zstd -d')"
        )
    return [each for _, each in sorted(numbered)]


def _events(found: Records, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in lines(path, LONGEST_EVENT):
        if not text.startswith(LINE_BEGINNING):
            continue  # events of SQL and others
        try:
            event = parse_json(text)
        except json.JSONDecodeError as error:
            found.bad(f"not JSON: {error.msg} (column {error.colno})", line, path)
            continue
        yield line, event


def _is_spark(path: Path, head: bytes) -> bool:
    if not head and is_folder(path):
        return path.resolve().name.startswith(ROLLED_FOLDER)
    return head_text(head).startswith(LINE_BEGINNING)


SPARK: Final = Format(
    summary="The event log of an application of Apache Spark.",
    recognises=_is_spark,
    reads_trace=read_spark,
)
