"""Plan of a study, with its cells in order and their identities in the store."""

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
    from collections.abc import Iterable, Iterator, Mapping

    from tasksim.study.sweep.grid import Row
    from tasksim.study.sweep.study import Study

__all__ = ["PlannedCell", "plan", "question_of", "scenario_from", "scenario_text"]

_DEFAULTS: Final = {field.name: field.default for field in fields(Scenario)}
_AFTER_SEED: Final = ("noise",)
_BEFORE_SEED: Final = tuple(name for name in _DEFAULTS if name not in {"seed", *_AFTER_SEED})
IDENTITY_DIGITS: Final = 16
"""Hexadecimal digits of an identity: two of a million cells collide with a probability of 3e-8."""


class PlannedCell(NamedTuple):
    """A cell of a study, ready to be computed."""

    cell: str
    """Identity of the cell: a digest of its scenario, its files and tasksim's version."""
    position: int
    """Place of the cell among the cells of the study, from 0."""
    row: Row
    """The row of cells that differ only in their seed."""
    seed: int
    """Seed on the axis."""
    draw_seed: int
    """Seed of the draws."""
    fingerprint: str
    """Fingerprint of the scenario; the worker compares it to detect that a file has changed."""
    text: str
    """The scenario, in the form of the store."""

    @property
    def scenario(self) -> Scenario:
        """The scenario of the cell, with the seed of its draws."""
        return self.row.scenario.with_seed(self.draw_seed)

    @property
    def labels(self) -> dict[str, Any]:
        """Place of the cell on the axes: values by column."""
        return {**self.row.labels, "seed": self.seed}


def plan(study: Study) -> list[PlannedCell]:
    """Return the cells of a *study*, each once even if the file describes it twice.

    Raises
    ------
    InputError
        If the grid is too large (found before any cell is made), if no cell meets the conditions,
        or if a named file does not exist.
    """
    grid = Grid(study)
    grid.refuse_too_large()
    resolver = Resolver()
    found: dict[str, PlannedCell] = {}
    for row in grid:
        # The cells of a row share all but the seed: this is computed once for all.
        draws = [draw for _, draw in row.seeds]
        prints = fingerprints(row.scenario, draws, resolver)
        texts = _scenario_texts(row.scenario, draws)
        # The mark is unique, because JSON escapes the quotes inside names and texts.
        before, mark, after = question_of({**row.labels, "seed": 0}).partition('"seed": "0.0"')
        assert mark
        for (seed, draw), asked, text in zip(row.seeds, prints, texts, strict=True):
            question = f'{before}"seed": "{_plain(seed)}"{after}'
            # Two names of one graph or platform make two cells, because both are in the table.
            whole = "\n".join([asked, question, *study.metrics])
            cell = hashlib.sha256(whole.encode()).hexdigest()[:IDENTITY_DIGITS]
            if cell not in found:
                found[cell] = PlannedCell(cell, len(found), row, seed, draw, asked, text)
    if not found:
        raise InputError(
            f"{study.path}: no cells: the conditions under where: leave none of {grid.size}"
        )
    return list(found.values())


def question_of(labels: Mapping[str, Any]) -> str:
    """Return the labels of a cell as a text, independent of its files and of tasksim's version.

    >>> question_of({"graph.tiles": 8.0, "seed": 0}) == question_of({"seed": 0, "graph.tiles": "8"})
    True
    """
    return json.dumps({n: _plain(v) for n, v in sorted(labels.items()) if v is not None})


def _plain(value: Any) -> str:
    """Return a value as a text that does not depend on the type of its column."""
    found = number_or_text(value) if isinstance(value, str) else value
    return str(found) if isinstance(found, str | bool) else str(float(found))


def scenario_text(scenario: Scenario) -> str:
    """Return the parameters of a scenario, whose graph and platform are names, as JSON."""
    return next(_scenario_texts(scenario, [scenario.seed]))


def _scenario_texts(scenario: Scenario, seeds: Iterable[int]) -> Iterator[str]:
    """Yield the text of a scenario with each of *seeds* instead of its own."""
    before = [_member(name, getattr(scenario, name)) for name in _BEFORE_SEED]
    after = [_member(name, getattr(scenario, name)) for name in _AFTER_SEED]
    for seed in seeds:
        members = filter(None, [*before, _member("seed", seed), *after])
        yield f"{{{', '.join(members)}}}"


def _member(name: str, value: Any) -> str:
    """Return the member of a JSON object; ``""`` if *value* is the default."""
    return "" if value == _DEFAULTS[name] else f'"{name}": {json.dumps(value)}'


def scenario_from(text: str) -> Scenario:
    """Return the scenario from the text that :func:`scenario_text` wrote."""
    return Scenario(**json.loads(text))
