"""Differences between two versions of a study file, as lines of text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.study.sweep.store import Header
    from tasksim.study.sweep.study import Entry, Study

__all__ = ["differences"]

MAX_SHOWN_VALUES = 20
"""Most values of an axis that a line lists; it counts the others."""


def differences(before: Header, now: Header, study: Study, *, trust: bool = False) -> list[str]:
    """Return the changes, one per line; there is at least one line."""
    from tasksim.study.sweep.study_file import read_study

    found = [] if before.tasksim == now.tasksim else [f"tasksim: {before.tasksim} -> {now.tasksim}"]
    path = Path(before.folder) / study.path.name
    if before.digest != now.digest:
        try:
            found += _of_files(read_study(path, before.file, trust=trust), study)
        except InputError as error:  # the old file may name things that are gone
            found.append(f"its file, whose old version cannot be read any more: {error}")
    return found or ["files that it names (graphs, platforms, models) are not what they were"]


def _of_files(before: Study, now: Study) -> Iterator[str]:
    for what in ("graphs", "platforms", "schedulers"):
        yield from _of_entries(what, getattr(before, what), getattr(now, what))
    yield from _of_axes("settings", dict(before.settings), dict(now.settings))
    yield from _of_values("seeds", before.seeds, now.seeds)
    yield from _of_values("where", before.where, now.where)
    yield from _of_values("metrics", before.metrics, now.metrics)
    for name in sorted({*before.base, *now.base}):
        old, new = before.base.get(name), now.base.get(name)
        if old != new:
            yield f"{name}: {old} -> {new}"


def _of_entries(what: str, before: Sequence[Entry], now: Sequence[Entry]) -> Iterator[str]:
    old, new = _by_name(before), _by_name(now)
    yield from _of_values(what, tuple(old), tuple(new))
    for name in old.keys() & new.keys():
        yield from _of_axes(f"{what}, {name}", old[name], new[name])


def _by_name(entries: Sequence[Entry]) -> dict[str, dict[str, Any]]:
    """Return the axes of entries, by name; the last one counts if several share a name."""
    return {entry.name or "workers": dict(entry.axes) for entry in entries}


def _of_axes(what: str, before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    for path in {**before, **now}:
        yield from _of_values(f"{what}, {path}", before.get(path, ()), now.get(path, ()))


def _of_values(what: str, before: Sequence[Any], now: Sequence[Any]) -> Iterator[str]:
    for sign, values, others in (("+", now, before), ("-", before, now)):
        known = others if isinstance(others, range) else set(others)
        news = [value for value in values if value not in known]
        if news:
            more = (
                f" and {len(news) - MAX_SHOWN_VALUES} more" if len(news) > MAX_SHOWN_VALUES else ""
            )
            yield f"{what}: {sign} {', '.join(map(str, news[:MAX_SHOWN_VALUES]))}{more}"
