"""Plan of a study: its cells in order, each with the identity by which a store knows it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.errors import InputError
from tasksim.scenario.fingerprints import fingerprint
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.study.sweep.axes import number_or_text
from tasksim.study.sweep.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tasksim.study.sweep.study import Study

__all__ = ["Planned", "plan", "question_of", "scenario_from", "scenario_text", "scenario_texts"]

_DEFAULTS: Final = {field.name: field.default for field in fields(Scenario)}
_OWN: Final = ("scheduler", "seed", "noise")
"""What differs between cells that follow each other."""
_COMMON: Final = tuple(name for name in _DEFAULTS if name not in _OWN)
_common: Final = attrgetter(*_COMMON)
_quoted: Final = lru_cache(1024)(json.dumps)
"""Of names, which come again and again."""
DIGITS: Final = 16
"""Of an identity: among a million cells two are alike with a probability of 3e-8."""


class Planned(NamedTuple):
    """A cell of a study that is to be computed."""

    cell: str
    """Its identity."""
    position: int
    """Its place among the cells of the study."""
    scenario: Scenario
    labels: dict[str, Any]
    """Column -> value: where it is on the axes."""
    fingerprint: str
    """Of the scenario: it tells what computes the cell whether its files are the same."""


def plan(study: Study) -> list[Planned]:
    """Return the cells of a *study*; one that is asked for twice once.

    Raises
    ------
    InputError
        If the grid is too large, before anything is made; if conditions leave nothing; if a file
        that is named is not there.
    """
    grid = Grid(study)
    grid.refuse_too_large()
    resolver = Resolver()
    found: dict[str, Planned] = {}
    for scenario, labels in grid:
        asked = fingerprint(scenario, resolver)
        cell = _identity(asked, labels, study.metrics)
        if cell not in found:
            found[cell] = Planned(cell, len(found), scenario, labels, asked)
    if not found:
        raise InputError(
            f"{study.path}: no cells: the conditions under where: leave none of {grid.size}"
        )
    return list(found.values())


def _identity(asked: str, labels: Mapping[str, Any], metrics: tuple[str, ...]) -> str:
    """Return what tells a cell from all others: of what is asked, its files, tasksim's version.

    Two names of one thing are two cells, for both stand in the table.
    """
    whole = "\n".join([asked, question_of(labels), *metrics])
    return hashlib.sha256(whole.encode()).hexdigest()[:DIGITS]


def question_of(labels: Mapping[str, Any]) -> str:
    """Return what a row of a table is about, whatever its files and the program say.

    >>> question_of({"graph.tiles": 8.0, "seed": 0}) == question_of({"seed": 0, "graph.tiles": "8"})
    True
    """
    return json.dumps({n: _plain(v) for n, v in sorted(labels.items()) if v is not None})


def _plain(value: Any) -> str:
    """Return a value as a text, the same of whatever type its column is."""
    found = number_or_text(value) if isinstance(value, str) else value
    return str(found) if isinstance(found, str | bool) else str(float(found))


def scenario_text(scenario: Scenario) -> str:
    """Return the parameters of a scenario of names, as the store keeps them."""
    return next(scenario_texts([scenario]))


def scenario_texts(scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Yield the texts of scenarios; what one has in common with the last one is written once."""
    last, shared = None, ""
    for scenario in scenarios:
        values = _common(scenario)
        if values != last:
            last, shared = values, _members(zip(_COMMON, values, strict=True))
        own = _members((name, getattr(scenario, name)) for name in _OWN)
        yield f"{{{shared}{', ' if shared and own else ''}{own}}}"


def _members(given: Iterable[tuple[str, Any]]) -> str:
    """Return the members of an object in JSON, without those that have their defaults."""
    return ", ".join(
        f'"{name}": {_text_of(value)}' for name, value in given if value != _DEFAULTS[name]
    )


def _text_of(value: Any) -> str:
    if type(value) is int:
        return str(value)
    return _quoted(value) if type(value) is str else json.dumps(value)


def scenario_from(text: str) -> Scenario:
    """Return the scenario that :func:`scenario_text` has written."""
    return Scenario(**json.loads(text))
