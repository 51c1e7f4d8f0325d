"""Plan of a study: its cells in order, each with the identity by which a store knows it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.errors import InputError
from tasksim.scenario.fingerprints import fingerprints
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.study.sweep.axes import number_or_text
from tasksim.study.sweep.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tasksim.study.sweep.grid import Row
    from tasksim.study.sweep.study import Study

__all__ = ["Planned", "drawn", "plan", "question_of", "scenario_from", "scenario_text"]

_DEFAULTS: Final = {field.name: field.default for field in fields(Scenario)}
_AFTER_SEED: Final = ("noise",)
_BEFORE_SEED: Final = tuple(name for name in _DEFAULTS if name not in {"seed", *_AFTER_SEED})
DIGITS: Final = 16
"""Of an identity: among a million cells two are alike with a probability of 3e-8."""


class Planned(NamedTuple):
    """A cell of a study that is to be computed."""

    cell: str
    """Its identity."""
    position: int
    """Its place among the cells of the study."""
    row: Row
    """What it shares with cells that differ by their seed alone."""
    seed: int
    """On the axis."""
    draw_seed: int
    """Of its draws."""
    fingerprint: str
    """Of the scenario: it tells what computes the cell whether its files are the same."""
    text: str
    """The scenario, as the store keeps it."""

    @property
    def scenario(self) -> Scenario:
        """What is asked."""
        return drawn(self.row.scenario, self.draw_seed)

    @property
    def labels(self) -> dict[str, Any]:
        """Column -> value: where it is on the axes."""
        return {**self.row.labels, "seed": self.seed}


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
    for row in grid:
        for cell in _cells_of(row, study.metrics, resolver):
            if cell.cell not in found:
                found[cell.cell] = cell._replace(position=len(found))
    if not found:
        raise InputError(
            f"{study.path}: no cells: the conditions under where: leave none of {grid.size}"
        )
    return list(found.values())


def _cells_of(row: Row, metrics: tuple[str, ...], resolver: Resolver) -> Iterator[Planned]:
    """Yield the cells of a row; what they have in common is made once."""
    draws = [draw for _, draw in row.seeds]
    prints = fingerprints(row.scenario, draws, resolver)
    texts = _scenario_texts(row.scenario, draws)
    questions = _questions_of(row.labels, [seed for seed, _ in row.seeds])
    for (seed, draw), asked, text, question in zip(
        row.seeds, prints, texts, questions, strict=True
    ):
        cell = _identity(asked, question, metrics)
        yield Planned(cell, 0, row, seed, draw, asked, text)


def drawn(asked: Scenario, seed: int) -> Scenario:
    """Return a scenario with another seed: all else in it has been checked."""
    found = object.__new__(Scenario)
    vars(found).update(vars(asked), seed=seed)
    return found


def _identity(asked: str, question: str, metrics: tuple[str, ...]) -> str:
    """Return what tells a cell from all others: of what is asked, its files, tasksim's version.

    Two names of one thing are two cells, for both stand in the table.
    """
    whole = "\n".join([asked, question, *metrics])
    return hashlib.sha256(whole.encode()).hexdigest()[:DIGITS]


def question_of(labels: Mapping[str, Any]) -> str:
    """Return what a row of a table is about, whatever its files and the program say.

    >>> question_of({"graph.tiles": 8.0, "seed": 0}) == question_of({"seed": 0, "graph.tiles": "8"})
    True
    """
    return json.dumps({n: _plain(v) for n, v in sorted(labels.items()) if v is not None})


def _questions_of(labels: Mapping[str, Any], seeds: Sequence[int]) -> Iterator[str]:
    """Yield what :func:`question_of` returns for *labels* and each of *seeds*."""
    before, mark, after = question_of({**labels, "seed": 0}).partition('"seed": "0.0"')
    assert mark  # in JSON no text and no other name holds a quote
    return (f'{before}"seed": "{_plain(seed)}"{after}' for seed in seeds)


def _plain(value: Any) -> str:
    """Return a value as a text, the same of whatever type its column is."""
    found = number_or_text(value) if isinstance(value, str) else value
    return str(found) if isinstance(found, str | bool) else str(float(found))


def scenario_text(scenario: Scenario) -> str:
    """Return the parameters of a scenario of names, as the store keeps them."""
    return next(_scenario_texts(scenario, [scenario.seed]))


def _scenario_texts(scenario: Scenario, seeds: Iterable[int]) -> Iterator[str]:
    """Yield the text of a scenario with each of *seeds* instead of its own."""
    before = [_member(name, getattr(scenario, name)) for name in _BEFORE_SEED]
    after = [_member(name, getattr(scenario, name)) for name in _AFTER_SEED]
    for seed in seeds:
        members = filter(None, [*before, _member("seed", seed), *after])
        yield f"{{{', '.join(members)}}}"


def _member(name: str, value: Any) -> str:
    """Return the member of an object in JSON; nothing for a value that is its default."""
    return "" if value == _DEFAULTS[name] else f'"{name}": {json.dumps(value)}'


def scenario_from(text: str) -> Scenario:
    """Return the scenario that :func:`scenario_text` has written."""
    return Scenario(**json.loads(text))
