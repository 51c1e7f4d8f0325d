"""Profiles that Taskflow writes in JSON (``TF_ENABLE_PROFILER``): the tasks of each worker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.textlines import head_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["TFPROF", "read_tfprof"]

MICROSECOND_S: Final = 1e-6
LARGEST_US: Final = 1e18
"""Upper bound of times in us, thirty thousand years."""
PROFILE_KEYS: Final = ("executor", "worker", "level")
"""Keys at the beginning of a profile, in their order."""


def read_tfprof(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a profile of Taskflow, with times in microseconds.

    The kernel of a task is its name, or its type if Taskflow has made up the name of a task without
    one. Tasks that ran inside of others, as these waited for them, are not tasks of the run.

    Parameters
    ----------
    path : Path
        JSON; TFProf's binary files (``.tfp``) are not read.
    skip_bad : bool, default False
        Whether malformed tasks are skipped and counted.

    Raises
    ------
    InputError
        ``file: [executor].data[worker].data[task]: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    try:
        executors = parse_json(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    found = Records(path, skip_bad=skip_bad)
    nested = 0
    for number, (where, executor) in enumerate(_objects(path, executors, "")):
        several = f"{number}/" if number else ""
        for place, worker in _objects(path, executor.get("data"), f"{where}.data"):
            name = worker.get("worker")
            if worker.get("level"):
                nested += sum(1 for _ in _objects(path, worker.get("data"), f"{place}.data"))
                continue
            for at, task in _objects(path, worker.get("data"), f"{place}.data"):
                _add(found, task, (at, several, name))
    if nested:
        found.note(f"{nested} tasks ran inside of others (level 1 and more), and are part of them")
    return assembled(found)


def _add(found: Records, task: dict[str, Any], at: tuple[str, str, object]) -> None:
    where, several, worker = at
    found.place = f"{{path}}: {where}"
    span, name, kind = task.get("span"), task.get("name"), task.get("type")
    is_pair = isinstance(span, list) and len(span) == 2
    if not is_pair or not all(isinstance(t, int) and 0 <= t <= LARGEST_US for t in span or ()):
        found.bad(f"span: got {span!r:.40}; legal: [BEGIN, END], microseconds from 0", 0)
        return
    assert isinstance(span, list)
    # Taskflow names a task without a name by its worker and its number: 6_0.
    own = isinstance(name, str) and name and not name.startswith(f"{worker}_")
    kernel = name if own else kind if isinstance(kind, str) and kind else "task"
    number = str(len(found))
    found.add(
        number,
        str(kernel),
        f"{several}cpu{worker}",
        span[0] * MICROSECOND_S,
        span[1] * MICROSECOND_S,
        line=0,
    )


def _objects(path: Path, found: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list, with their places."""
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(
            f"{path}: {where or 'profile'}: got {found!r:.40}; legal: a list of objects"
        )
    for number, each in enumerate(found):
        yield f"{where}[{number}]", each


def _is_tfprof(path: Path, head: bytes) -> bool:  # noqa: ARG001
    text = head_text(head).lstrip() if head else ""
    places = [text.find(f'"{key}"') for key in PROFILE_KEYS]
    return text.startswith("[") and -1 < places[0] < places[1] < places[2]


TFPROF = Format(
    summary="A profile of Taskflow, in JSON (TF_ENABLE_PROFILER).",
    recognises=_is_tfprof,
    reads_trace=read_tfprof,
)
