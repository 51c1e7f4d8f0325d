"""Jobs of pipelines in JSON, as the interfaces of GitHub, GitLab and Airflow list them."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.textlines import head_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["CI_JOBS", "read_ci_jobs"]

LIST_KEYS: Final = ("jobs", "task_instances")
"""Keys of the list of jobs, of GitHub and of Airflow's interface, unless it is the whole file."""
START_KEYS: Final = ("started_at", "startedAt", "start_date")
"""Keys of the start of a job: of GitHub's and GitLab's interface, ``gh``, Airflow."""
END_KEYS: Final = ("completed_at", "completedAt", "finished_at", "end_date")
"""Keys of the end of a job, as of its start, but GitLab has a word of its own."""
CREATION_KEYS: Final = ("created_at", "createdAt", "queued_when")
"""Keys of the creation of a job."""
NAME_KEYS: Final = ("task_id", "name")
"""Keys of the name of a job."""
STATE_KEYS: Final = ("conclusion", "status", "state")
"""Keys of the result of a job; of GitHub, ``status`` only says that it is complete."""
SUCCESS_STATES: Final = ("success", "completed", "")
"""Results that are no failure."""
UNSET_DATE: Final = "0001-01-01"
"""Beginning of the time that ``gh`` writes for a job that did not start or end."""


def read_ci_jobs(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run of a pipeline whose jobs are listed in JSON.

    The kernel of a job is its name, without the variables of a matrix in parentheses. A job of
    GitLab depends on those of the stage before, if they had ended when it started.

    Parameters
    ----------
    path : Path
        The answer of GitHub to ``gh api repos/OWNER/NAME/actions/runs/ID/jobs`` or ``gh run view ID
        --json jobs``, of GitLab to ``projects/ID/pipelines/ID/jobs``, or of Airflow to ``airflow
        tasks states-for-dag-run DAG RUN -o json``.
    skip_bad : bool, default False
        Whether malformed jobs are skipped and counted.

    Raises
    ------
    InputError
        ``file: [index]: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    try:
        whole = parse_json(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    key = next((key for key in LIST_KEYS if isinstance(whole, dict) and key in whole), "")
    jobs = whole[key] if key else whole
    if not isinstance(jobs, list):
        raise InputError(f"{path}: got no list; legal: a list of jobs, or one under jobs")
    found = Records(path, skip_bad=skip_bad)
    found.place = f"{{path}}: {key}[{{line}}]"
    not_run = 0
    results = Counter[str]()
    stages: dict[str, list[str]] = {}
    for at, job in enumerate(jobs):
        if not isinstance(job, dict):
            found.bad(f"got {job!r:.40}; legal: an object, a job", at)
            continue
        if _text(job, START_KEYS) == "" or _text(job, END_KEYS) == "":
            not_run += 1
            continue
        try:
            created, start, end = (
                _moment(job, keys) for keys in (CREATION_KEYS, START_KEYS, END_KEYS)
            )
        except ValueError as error:
            found.bad(str(error), at)
            continue
        name = _text(job, NAME_KEYS) or "job"
        if found.add(
            f"job{at}", name.partition(" (")[0] or name, "runner", start, end,
            line=at, submitted_s=created,
        ):  # fmt: skip
            results[_text(job, STATE_KEYS).lower()] += 1
            stages.setdefault(_text(job, ("stage",)), []).append(f"job{at}")
    if not_run:
        found.note(f"jobs that did not run, or have not ended: {not_run}")
    if failed := sum(count for result, count in results.items() if result not in SUCCESS_STATES):
        found.note(f"jobs that did not succeed are tasks like others: {failed}")
    if len(stages) > 1:
        _order_stages(found, list(stages.values()))
    found.spread_over_workers()
    return assembled(found)


def _order_stages(found: Records, stages: list[list[str]]) -> None:
    """Let the jobs of each stage depend on those of the stage before that had ended."""
    number, starts = found.number, found.start_s
    stages.sort(key=lambda names: min(starts[number[name]] for name in names))
    for earlier, later in pairwise(stages):
        for name in later:
            job = number[name]
            before = [one for one in earlier if found.end_s[number[one]] <= starts[job]]
            found.before[job] = " ".join(before)
            found.has_edges = found.has_edges or bool(before)
    found.note(
        "jobs depend on those of the stage before that had ended when they started: the list does "
        "not say which of them they need"
    )


def _text(job: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Return the text under the first of *keys* that a job has; empty if it is null or no time."""
    value = next((job[key] for key in keys if job.get(key) is not None), "")
    text = value if isinstance(value, str) else str(value)
    return "" if text.startswith(UNSET_DATE) else text


def _moment(job: dict[str, Any], keys: tuple[str, ...]) -> float:
    """Return the seconds of a date; NaN if there is none."""
    text = _text(job, keys)
    if not text:
        return math.nan
    try:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        key = next(key for key in keys if job.get(key) is not None)
        raise ValueError(
            f"{key}: got '{text[:40]}'; legal: a date such as 2026-01-31T12:00:00Z"
        ) from None


def _is_ci_jobs(path: Path, head: bytes) -> bool:  # noqa: ARG001
    text = head_text(head).lstrip()
    is_list = text.startswith("[")
    if not is_list and not (text.startswith("{") and any(f'"{key}"' in text for key in LIST_KEYS)):
        return False
    return any(f'"{key}"' in text for key in START_KEYS)


CI_JOBS: Final = Format(
    summary="Jobs of a pipeline in JSON, of GitHub Actions, GitLab or Airflow.",
    recognises=_is_ci_jobs,
    reads_trace=read_ci_jobs,
)
