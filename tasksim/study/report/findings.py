"""Findings of a study, all results of a report computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.study.report.best import BestChoice, best_choices
from tasksim.study.report.chances import Chance, chances
from tasksim.study.report.drawn_sobol import DrawnIndex, drawn_sobol_indices
from tasksim.study.report.evidence import Evidence
from tasksim.study.report.pairs import PairedMakespans
from tasksim.study.report.ranks import RankTest, rank_test
from tasksim.study.report.sensitivity import (
    Interaction,
    Sensitivity,
    SobolIndex,
    interactions,
    sensitivities,
    sobol_indices,
)
from tasksim.study.report.tournament import Standing, standings
from tasksim.study.report.verdict import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.progress import CountProgress
    from tasksim.study.report.table import StudyTable

__all__ = ["Findings", "examine"]


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of all analyses of a study's table; :func:`examine` makes them."""

    table: StudyTable
    pairs: PairedMakespans
    evidence: Evidence
    standings: list[Standing]
    verdict: Verdict
    chances: list[Chance]
    ranks: RankTest | None
    best: list[BestChoice]
    sensitivities: list[Sensitivity]
    interactions: list[Interaction]
    sobol: list[SobolIndex] | None
    sobol_drawn: list[DrawnIndex] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the findings as plain data."""
        table = self.table
        return {
            "study": table.name,
            "cells": {
                "planned": table.planned,
                "done": len(table.used),
                "failed": len(table.failed),
                "unusable": len(table.unusable),
                "missing": table.missing,
            },
            "axes": {axis.name: list(axis.values) for axis in table.axes},
            "groups": len(self.pairs),
            "incomplete_groups": self.pairs.incomplete,
            "verdict": {
                "kind": self.verdict.kind,
                "winner": self.verdict.winner,
                "alike": self.verdict.alike,
                "text": self.verdict.text,
                "evidence": {"unit": self.evidence.unit, "blocks": len(self.evidence)},
            },
            "schedulers": [
                vars(standing) | {"leads": self.verdict.leading.get(standing.scheduler)}
                for standing in self.standings
            ],
            "differences": [vars(d) | {"sure": d.is_sure} for d in self.verdict.differences],
            "chances": [vars(chance) for chance in self.chances],
            "ranks": None if self.ranks is None else vars(self.ranks),
            "best": [vars(choice) | {"surely": choice.surely} for choice in self.best],
            "sensitivity": [vars(found) for found in self.sensitivities],
            "interactions": [
                {"axes": [i.first.name, i.second.name], "strength": i.strength, "slices": i.slices}
                for i in self.interactions
            ],
            "sobol": None if self.sobol is None else [vars(index) for index in self.sobol],
            "sobol_drawn": None
            if self.sobol_drawn is None
            else [vars(index) for index in self.sobol_drawn],
        }


def examine(
    table: StudyTable,
    *,
    choose: Sequence[str] = (),
    sobol: bool = False,
    sobol_draws: int | None = None,
    progress: CountProgress | None = None,
) -> Findings:
    """Analyse a study's *table*.

    Parameters
    ----------
    table : StudyTable
    choose : sequence of str
        Axes from which best settings are chosen, besides the scheduler.
    sobol : bool, default False
        Whether to compute exact Sobol' indices, which need a full grid.
    sobol_draws : int, optional
        Number of draws for sampled Sobol' indices, which simulate points between the study's
        values; by default there are none.
    progress : callable, optional
        Called with the number of finished simulations of these draws, and that of all.

    Returns
    -------
    Findings

    Raises
    ------
    InputError
        If *choose* contains an unknown axis, or if Sobol' indices cannot be computed.

    See Also
    --------
    tasksim.study.report.folder.write_report : Write the report.

    Examples
    --------
    >>> import pandas as pd
    >>> from tasksim.study.report.table import StudyTable
    >>> rows = [(f"{s}{n}", f"lu tiles={n}", s, n * t) for n in range(2, 9) for s, t in
    ...         (("eager", 1.2), ("prio", 1.0))]
    >>> frame = pd.DataFrame(rows, columns=["cell", "graph", "scheduler", "makespan_s"])
    >>> found = examine(StudyTable.of(frame.assign(platform="p", seed=0, status="done")))
    >>> found.verdict.winner, round(found.verdict.differences[0].relative, 6)
    ('prio', 0.2)
    """
    pairs = PairedMakespans.of(table)
    evidence = Evidence.of(pairs)
    tested = evidence.enough and len(pairs.schedulers) > 1
    return Findings(
        table,
        pairs,
        evidence,
        standings(pairs),
        judge(evidence, pairs.schedulers, pairs.failed.sum(axis=0).tolist()),
        chances(pairs),
        rank_test(evidence.log_s, pairs.schedulers) if tested else None,
        best_choices(table, choose),
        sensitivities(table),
        interactions(table),
        sobol_indices(table) if sobol else None,
        None if sobol_draws is None else drawn_sobol_indices(table, sobol_draws, progress=progress),
    )
