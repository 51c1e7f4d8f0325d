"""Checks of a study: each value of each axis by itself, told where it stands in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.graph.apps import registry
from tasksim.graph.apps.registry import names_generator
from tasksim.platform.yaml_document import FileProblem
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.schedulers import registry as schedulers
from tasksim.study.sweep.conditions import Condition
from tasksim.study.sweep.grid import FIRST, Grid, with_options
from tasksim.study.sweep.study import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.platform.yaml_document import Location
    from tasksim.study.sweep.study import Study

__all__ = ["problems"]

MOST_VALUES = 1000
"""Of an axis whose values are each tried: to try one takes up to a millisecond."""


def problems(study: Study, *, trust: bool = False) -> list[FileProblem]:
    """Return what is wrong with the entries, axes and conditions of a *study*."""
    checks = _Checks(study, trust)
    found: list[FileProblem] = []
    for check, entries in (
        (checks.graph, study.graphs),
        (checks.platform, study.platforms),
        (checks.scheduler, study.schedulers),
    ):
        for entry in entries:
            found += _tried(entry, check)
    where = f"{study.path}: "  # which stands before every problem anyway
    found += _tried(Entry(None, study.settings, ("settings",)), checks.setting)
    found += _conditions(study)
    return [problem._replace(what=problem.what.removeprefix(where)) for problem in found]


def _conditions(study: Study) -> Iterator[FileProblem]:
    columns = [*FIRST, *Grid(study).columns]
    for index, text in enumerate(study.where):
        try:
            Condition(text, columns)
        except InputError as error:
            yield FileProblem(("where", index), str(error))


def _tried(entry: Entry, check: Callable[[Entry, dict[str, Any]], None]) -> Iterator[FileProblem]:
    """Yield what *check* says of an entry: with the first values, then with each other one."""
    first = {path: values[0] for path, values in entry.axes.items()}
    problem = _problem(check, entry, first)
    if problem is not None:
        yield FileProblem(_place(entry, first, check), problem)
        return
    for path, values in entry.axes.items():
        for index, value in _others(values):
            problem = _problem(check, entry, {**first, path: value})
            if problem is not None:
                yield FileProblem((*_axis(entry, path), index), problem)


def _place(entry: Entry, first: dict[str, Any], check: Callable[..., None]) -> Location:
    """Return where the mistake stands: at the axis without which there is none, or the entry."""
    for path in first:
        others = {name: value for name, value in first.items() if name != path}
        if _problem(check, entry, others) is None:
            return _axis(entry, path)
    return _axis(entry, next(iter(first))) if len(first) == 1 else entry.location


def _others(values: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the values after the first, with their indices; of many, the last."""
    few = range(1, len(values)) if len(values) <= MOST_VALUES else [len(values) - 1]
    for index in few:
        yield index, values[index]


def _axis(entry: Entry, path: str) -> Location:
    """Return where an axis stands."""
    if path == "workers" and entry.name is None:
        return (*entry.location, path)
    if entry.location == ("settings",):
        return ("settings", path)
    return (*entry.location, "set", path.partition(".")[2])


def _problem(
    check: Callable[[Entry, dict[str, Any]], None], entry: Entry, values: dict[str, Any]
) -> str | None:
    try:
        check(entry, values)
    except InputError as error:
        return str(error).replace("\n", "; ")
    return None


class _Checks:
    """What is wrong with one graph, platform or scheduler; each raises :exc:`InputError`."""

    def __init__(self, study: Study, trust: bool) -> None:
        self._study, self._trust = study, trust
        self._resolver = Resolver()

    def graph(self, entry: Entry, values: dict[str, Any]) -> None:
        """Check a graph and its settings, without making it."""
        name = entry.found
        first = name.split()[0] if name.split() else name
        if names_generator(first) and not self._trust:
            registry.refuse_foreign(first, self._study.path)
        asked = Scenario(name, **self._study.base).vary(values)
        if names_generator(str(asked.graph)):
            registry.parse_settings(str(asked.graph), asked.settings)
        else:
            from tasksim.formats.registry import refuse_missing

            refuse_missing(str(asked.graph))

    def platform(self, entry: Entry, values: dict[str, Any]) -> None:
        """Check a platform and what is set of it."""
        asked = Scenario("chain", **self._study.base)
        if entry.name is not None:
            asked = replace(asked, platform=entry.found)
        self._resolver.platform(asked.vary(values))

    def scheduler(self, entry: Entry, values: dict[str, Any]) -> None:
        """Check a scheduler and its options."""
        text = with_options(str(entry.name), values)
        if not self._trust:
            schedulers.refuse_foreign(text, self._study.path)
        schedulers.create(text)

    def setting(self, entry: Entry, values: dict[str, Any]) -> None:  # noqa: ARG002
        """Check settings of all scenarios."""
        Scenario("chain", **self._study.base).vary(values)
