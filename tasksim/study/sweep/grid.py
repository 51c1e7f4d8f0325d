"""Grid of a study, all combinations of its axes, counted and generated lazily."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError
from tasksim.scenario.scenario import Scenario
from tasksim.study.sweep.axes import Axes, number_or_text
from tasksim.study.sweep.conditions import CellCondition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.study.sweep.study import Study, StudyEntry

__all__ = ["MAX_CELLS", "Grid", "Row", "combinations", "draw_seed", "with_options"]

MAX_CELLS: Final = 1_000_000
"""Maximum number of cells of a grid: a cell takes 2 kB of memory while the study runs, and nobody
looks at more cells, so a larger grid is a mistake."""
LABEL_COLUMNS: Final = ("graph", "platform", "scheduler", "seed")
"""Columns that label the cells of every study."""


class Row(NamedTuple):
    """Cells that differ only in their seed, as a scenario and its place on the axes."""

    scenario: Scenario
    labels: dict[str, Any]
    """Values by column, without the seed; settings that the scenario does not have are missing."""
    seeds: list[tuple[int, int]]
    """Pairs of a seed on the axis and the seed of its draws."""


class Grid:
    """All combinations of a study's graphs, platforms, settings, schedulers and seeds.

    Parameters
    ----------
    study : Study
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def size(self) -> int:
        """The number of cells before conditions prune them."""
        study = self.study
        groups = (study.graphs, study.platforms, study.schedulers)
        entries = prod(sum(_size(entry.axes) for entry in group) for group in groups)
        return entries * _size(study.settings) * len(study.seeds)

    def refuse_too_large(self) -> None:
        """Raise :exc:`InputError` for a grid of too many cells, before any cell is made."""
        if self.size > MAX_CELLS:
            raise InputError(
                f"{self.study.path}: the grid has {self.size} cells; legal: at most {MAX_CELLS}. "
                "Take fewer values of an axis"
            )

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """A few values of each settings' column, by column, in the order of the file."""
        found: dict[str, list[Any]] = {}
        study = self.study
        for entry in study.graphs:
            for key, value in _written(Scenario(entry.found)).items():
                found.setdefault(key, []).append(value)
        for group in (study.graphs, study.platforms):
            for entry in group:
                _gather(found, entry.axes)
        _gather(found, study.settings)
        for entry in study.schedulers:
            _gather(found, entry.axes)
        return found

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, with only those cells that meet all conditions."""
        columns = [*LABEL_COLUMNS, *self.columns]
        conditions = [CellCondition(text, columns) for text in self.study.where]
        for row in self._all():
            if conditions:
                kept = []
                for seed in row.seeds:
                    labels = {**row.labels, "seed": seed[0]}
                    if all(condition.holds(labels) for condition in conditions):
                        kept.append(seed)
                row = row._replace(seeds=kept)
            if row.seeds:
                yield row

    def _all(self) -> Iterator[Row]:
        study = self.study
        for graph, platform in product(_each(study.graphs), _each(study.platforms)):
            where = _placed(study, graph, platform)
            for change in combinations(study.settings):
                changed = where.vary(change)
                before = {**_labels(changed, graph, platform), **change}
                seeds = [(seed, draw_seed(before, seed)) for seed in study.seeds]
                for entry, options in _each(study.schedulers):
                    scheduler = with_options(str(entry.name), options)
                    asked = replace(changed, scheduler=scheduler)
                    labels = {**before, "scheduler": scheduler, **options}
                    yield Row(asked, labels, seeds)


def combinations(axes: Axes) -> Iterator[dict[str, Any]]:
    """Yield every combination of values; the last axis changes fastest."""
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def with_options(scheduler: str, options: Mapping[str, Any]) -> str:
    """Return the text of a scheduler with *options*, which are named like columns.

    >>> with_options("dmda:alpha=2", {"scheduler.beta": 1})
    'dmda:alpha=2,beta=1'
    """
    if not options:
        return scheduler
    texts = (f"{path.removeprefix('scheduler.')}={value}" for path, value in options.items())
    return f"{scheduler}{',' if '=' in scheduler else ':'}{','.join(texts)}"


def draw_seed(labels: Mapping[str, Any], seed: int) -> int:
    """Return the seed of a cell's draws, which differs for each graph and platform.

    Neither the scheduler nor the changes of a platform are part of the key: schedulers, and
    what-ifs of one platform, are compared under the same draws (common random numbers).
    """
    key = f"{labels['graph']}\n{labels['platform']}"
    words = np.frombuffer(hashlib.sha256(key.encode()).digest(), "<u4")[:4]
    sequence = np.random.SeedSequence(seed, spawn_key=[int(word) for word in words])
    return int(sequence.generate_state(1)[0])


def _each(entries: Sequence[StudyEntry]) -> Iterator[tuple[StudyEntry, dict[str, Any]]]:
    for entry in entries:
        for values in combinations(entry.axes):
            yield entry, values


def _placed(
    study: Study,
    graph: tuple[StudyEntry, dict[str, Any]],
    platform: tuple[StudyEntry, dict[str, Any]],
) -> Scenario:
    """Return the scenario of a graph on a platform."""
    asked = Scenario(graph[0].found, **study.base).vary(graph[1])
    if platform[0].name is not None:
        asked = replace(asked, platform=platform[0].found)
    return asked.vary(platform[1])


def _written(scenario: Scenario) -> dict[str, Any]:
    """Return the settings of a graph, by column."""
    pairs = (text.partition("=") for text in scenario.settings)
    return {f"graph.{key}": number_or_text(value) for key, _, value in pairs}


def _labels(
    scenario: Scenario,
    graph: tuple[StudyEntry, dict[str, Any]],
    platform: tuple[StudyEntry, dict[str, Any]],
) -> dict[str, Any]:
    """Return the labels of a graph on a platform; files keep their names in the study file."""
    name = scenario.graph_label.replace(graph[0].found, str(graph[0].name), 1)
    machine, values = platform[0].name, platform[1]
    if machine is None:
        count = values["workers"]
        machine = f"{count} worker{'s' if count != 1 else ''}"
    return {"graph": name, **_written(scenario), "platform": machine, **values, **graph[1]}


def _gather(found: dict[str, list[Any]], axes: Axes) -> None:
    """Add the columns of *axes* to *found*, with the values that determine their types."""
    for path, values in axes.items():
        few = (values[0], values[-1]) if isinstance(values, range) else values
        found.setdefault(path, []).extend(few)


def _size(axes: Axes) -> int:
    return prod(len(values) for values in axes.values())
