"""Checks of every value of every axis of a study, with its place in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tasksim.base.documents import FileProblem
from tasksim.base.errors import InputError
from tasksim.graph.apps import registry
from tasksim.graph.apps.registry import names_generator
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.schedulers import registry as schedulers
from tasksim.study.sweep.conditions import CellCondition
from tasksim.study.sweep.grid import LABEL_COLUMNS, Grid, with_options
from tasksim.study.sweep.study import StudyEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tasksim.base.documents import Location
    from tasksim.study.sweep.study import Study

__all__ = ["problems"]

MAX_TRIED_VALUES = 1000
"""Maximum number of values of an axis that are all tried: a trial takes up to a millisecond. Of
more, the first and the last are."""


def problems(study: Study, *, trust: bool = False) -> list[FileProblem]:
    """Return the problems of the entries, axes and conditions of a *study*."""
    checks = _Checks(study, trust)
    found: list[FileProblem] = []
    for check, entries in (
        (checks.graph, study.graphs),
        (checks.platform, study.platforms),
        (checks.scheduler, study.schedulers),
    ):
        for entry in entries:
            found += _tried(entry, check)
    where = f"{study.path}: "  # the caller puts it before every problem
    found += _tried(StudyEntry(None, study.settings, ("settings",)), checks.setting)
    columns = [*LABEL_COLUMNS, *Grid(study).columns]
    for index, text in enumerate(study.where):
        try:
            CellCondition(text, columns)
        except InputError as error:
            found.append(FileProblem(("where", index), str(error)))
    return [problem._replace(what=problem.what.removeprefix(where)) for problem in found]


def _tried(
    entry: StudyEntry, check: Callable[[StudyEntry, dict[str, Any]], None]
) -> Iterator[FileProblem]:
    """Yield the problems that *check* finds: with all first values, then with one other value."""
    first = {path: values[0] for path, values in entry.axes.items()}
    problem = _problem(check, entry, first)
    if problem is not None:
        yield FileProblem(_place(entry, first, check), problem)
        return
    for path, values in entry.axes.items():
        few = range(1, len(values)) if len(values) <= MAX_TRIED_VALUES else [len(values) - 1]
        for index in few:
            problem = _problem(check, entry, {**first, path: values[index]})
            if problem is not None:
                yield FileProblem((*_axis(entry, path), index), problem)


def _place(entry: StudyEntry, first: dict[str, Any], check: Callable[..., None]) -> Location:
    """Return the place of a problem: the axis whose removal solves it, or else the entry."""
    for path in first:
        others = {name: value for name, value in first.items() if name != path}
        if _problem(check, entry, others) is None:
            return _axis(entry, path)
    return _axis(entry, next(iter(first))) if len(first) == 1 else entry.location


def _axis(entry: StudyEntry, path: str) -> Location:
    """Return the place of an axis in the file."""
    if path == "workers" and entry.name is None:
        return (*entry.location, path)
    if entry.location == ("settings",):
        return ("settings", path)
    return (*entry.location, "set", path.partition(".")[2])


def _problem(
    check: Callable[[StudyEntry, dict[str, Any]], None], entry: StudyEntry, values: dict[str, Any]
) -> str | None:
    try:
        check(entry, values)
    except InputError as error:
        return str(error).replace("\n", "; ")
    return None


class _Checks:
    """Checks of one graph, platform or scheduler; each raises :exc:`InputError` for a problem."""

    def __init__(self, study: Study, trust: bool) -> None:
        self._study, self._trust = study, trust
        self._resolver = Resolver()

    def graph(self, entry: StudyEntry, values: dict[str, Any]) -> None:
        """Check a graph and its settings, without generating it."""
        name = entry.found
        first = name.split()[0] if name.split() else name
        if names_generator(first) and not self._trust:
            registry.GENERATORS.refuse_foreign(first, self._study.path)
        asked = Scenario(name, **self._study.base).vary(values)
        if names_generator(str(asked.graph)):
            registry.parse_settings(str(asked.graph), asked.settings)
        else:
            from tasksim.formats.registry import refuse_missing

            refuse_missing(str(asked.graph))

    def platform(self, entry: StudyEntry, values: dict[str, Any]) -> None:
        """Check a platform and its settings."""
        asked = Scenario("chain", **self._study.base)
        if entry.name is not None:
            asked = replace(asked, platform=entry.found)
        self._resolver.platform(asked.vary(values))

    def scheduler(self, entry: StudyEntry, values: dict[str, Any]) -> None:
        """Check a scheduler and its options."""
        text = with_options(str(entry.name), values)
        if not self._trust:
            schedulers.refuse_foreign(text, self._study.path)
        schedulers.create(text)

    def setting(self, entry: StudyEntry, values: dict[str, Any]) -> None:  # noqa: ARG002
        """Check the settings of all scenarios."""
        Scenario("chain", **self._study.base).vary(values)
