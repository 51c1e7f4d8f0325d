"""Reports of Rust builds by ``cargo build --timings``, with the units and what unblocked them."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.textlines import head_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["CARGO", "read_cargo"]

REPORT_TITLE: Final = "<title>Cargo Build Timings"
"""Title of a report; version and packages follow."""
UNITS_BEGINNING: Final = re.compile(r"\bUNIT_DATA\s*=\s*(?=\[)")
LARGEST_S: Final = 1e9
"""Upper bound of times in seconds, thirty years."""
CLOCK_SLACK_S: Final = 0.015
"""Overlap of two units, in seconds, that may be rounding: starts and durations have two digits."""
UNBLOCKED_KEYS: Final = ("unblocked_units", "unlocked_units")
"""Keys of the units that a unit's end unblocks, today's and that of older versions."""
METADATA_UNBLOCKED_KEYS: Final = ("unblocked_rmeta_units", "unlocked_rmeta_units")
"""Keys of the units that the end of a library's frontend unblocks."""

BUILD_MODES: Final = ("run", "check", "test", "doc", "bench")
"""Words after the kind of a target that say what was done with it, if it was not just built."""


def read_cargo(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a report of ``cargo build --timings``, with times in seconds.

    The kernel of a task is the kind of its target (``lib``, ``bin``, ``build-script``), and its
    parameter *crate* is its package. A library whose metadata other units wait for is two tasks:
    its frontend, and ``codegen``, which depends on it.

    Parameters
    ----------
    path : Path
        ``cargo-timing.html``.
    skip_bad : bool, default False
        Whether malformed units are skipped and counted.

    Raises
    ------
    InputError
        ``file: UNIT_DATA[index]: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    text = read_text(path)
    begin = UNITS_BEGINNING.search(text)
    if begin is None:
        raise InputError(f"{path}: no UNIT_DATA = [...]; legal: a report of cargo build --timings")
    try:
        units, _ = json.JSONDecoder().raw_decode(text, begin.end())
    except (ValueError, RecursionError):
        line = text.count("\n", 0, begin.end()) + 1
        raise InputError(f"{path}:{line}: UNIT_DATA is not JSON; is the file cut short?") from None
    if not units:
        raise InputError(f"{path}: no unit was built, as all were fresh; 'cargo clean' comes first")
    found = Records(path, skip_bad=skip_bad)
    found.place = "{path}: UNIT_DATA[{line}]"
    built: dict[int, _Unit] = {}
    for at, values in enumerate(units):
        try:
            unit = _unit_of(values, at)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            wrong = f"no {error}" if isinstance(error, KeyError) else str(error)
            found.bad(f"{wrong}; legal: a unit of cargo, with i, start and duration", at)
            continue
        if unit.number in built:
            found.bad(f"i: got {unit.number} a second time", at)
            continue
        built[unit.number] = unit
    _add(found, built)
    found.note(
        "a unit depends only on the one whose end or metadata unblocked it: cargo does not report "
        "the units that it waited for before"
    )
    found.spread_over_workers(CLOCK_SLACK_S)
    return assembled(found)


class _Unit(NamedTuple):
    """A unit of a build, with times in seconds."""

    at: int
    """Place in the list."""
    number: int
    crate: str
    kernel: str
    start_s: float
    end_s: float
    metadata_s: float
    """When its metadata were complete, if other units were unblocked by them; else its end."""
    unblocked: list[int]
    """Units that its end unblocked."""
    unblocked_by_metadata: list[int]


def _unit_of(values: dict[str, Any], at: int) -> _Unit:
    start = _seconds(values, "start")
    end = metadata = start + _seconds(values, "duration")
    early = _numbers(values, METADATA_UNBLOCKED_KEYS)
    frontend = [section[1] for section in values.get("sections") or () if section[0] == "frontend"]
    if early and frontend:
        metadata = start + _seconds(frontend[0], "end")
    elif early and values.get("rmeta_time") is not None:
        metadata = start + _seconds(values, "rmeta_time")
    # 'serde "bin"', 'build-script (run)', 'lib (check)', or nothing for a library.
    words = re.sub(r'["()]', "", str(values.get("target") or "")).split() or ["lib"]
    is_mode = words[-1] in BUILD_MODES and len(words) > 1
    return _Unit(
        at, _numbers({"i": [values["i"]]}, ("i",))[0], str(values.get("name") or "unknown"),
        f"{words[-2]} ({words[-1]})" if is_mode else words[-1], start, end, min(metadata, end),
        _numbers(values, UNBLOCKED_KEYS), early,
    )  # fmt: skip


def _numbers(values: dict[str, Any], keys: tuple[str, ...]) -> list[int]:
    """Return the list of numbers of units under the first of *keys* that there is."""
    found: object = next((values[key] for key in keys if key in values), [])
    if not isinstance(found, list) or not all(type(each) is int for each in found):
        raise ValueError(f"{keys[0]}: got {found!r:.40}, not numbers of units")
    return found


def _seconds(values: dict[str, Any], key: str) -> float:
    value = values[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < LARGEST_S:
        raise ValueError(f"{key}: got {value!r:.30}, not seconds from 0")
    return float(value)


def _add(found: Records, built: dict[int, _Unit]) -> None:
    """Add the tasks of the units: one, or two if others began before its end."""
    before: dict[int, list[str]] = {}
    ends: dict[int, tuple[float, float]] = {}
    for number, unit in built.items():
        lists = unit.unblocked_by_metadata, unit.unblocked
        for others, task in zip(lists, (f"unit{number}", _last_task(unit)), strict=True):
            for other in others:
                before.setdefault(other, []).append(task)
        # A unit that begins before the end of the one that unblocked it does so by rounding.
        early, late = ([built[o].start_s for o in others if o in built] for others in lists)
        metadata = max(unit.start_s, min(unit.metadata_s, *early, math.inf))
        ends[number] = metadata, max(metadata, min(unit.end_s, *late, math.inf))
    for number, unit in built.items():
        metadata, end = ends[number]
        tasks = [(f"unit{number}", unit.kernel, unit.start_s, metadata, before.get(number, []))]
        if _last_task(unit) != f"unit{number}":
            tasks.append((_last_task(unit), "codegen", metadata, end, [f"unit{number}"]))
        for task, kernel, start_s, end_s, waits in tasks:
            found.add(
                task, kernel, "cpu", start_s, end_s, line=unit.at, before=" ".join(waits),
                parameters={"crate": unit.crate},
            )  # fmt: skip


def _last_task(unit: _Unit) -> str:
    """Return the name of the task at whose end a unit is complete."""
    is_split = unit.unblocked_by_metadata and unit.metadata_s < unit.end_s
    return f"unit{unit.number}/codegen" if is_split else f"unit{unit.number}"


CARGO: Final = Format(
    summary="The report of a build by cargo (cargo build --timings).",
    recognises=lambda path, head: REPORT_TITLE in head_text(head),  # noqa: ARG005
    reads_trace=read_cargo,
)
