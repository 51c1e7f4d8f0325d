"""Errors of models over what the paper varies: cells, rank, samples, size, largest parameter."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from experiments.tensor_completion.datasets import (
    DURATION,
    Dataset,
    encoded,
    metrics,
    mlogq,
    read_dataset,
    samples_of,
)
from experiments.tensor_completion.learners import installed, learners, model_bytes
from tasksim import TasksimError, TensorModel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from experiments.frame import Work

__all__ = ["judge_beyond", "judge_learners", "judge_tensors", "sizes_of"]

BEYOND_RANKS: Final = (1, 2, 4)
"""Ranks that extrapolation tries: positive factors need few."""
BEYOND_CELLS: Final = (8, 16)
"""Cells per parameter that extrapolation tries: a line beyond the end needs points."""

OFF_BY: Final = (2.0, 0.5, 100.0, 0.01)
"""Factors of predictions that metrics are compared for: as much too long as too short."""


def sizes_of(data: Dataset, wanted: tuple[int, ...]) -> list[int]:
    """Return the numbers of samples to learn from: those *wanted* that there are, and the most."""
    there = len(data.train)
    sizes = [n for n in wanted if n <= there]
    # The last step counts if it is worth one: a tenth more samples tell nothing new.
    if there < max(wanted) and (not sizes or there > 1.25 * sizes[-1]):
        sizes.append(there)
    return sizes


def judge_tensors(work: Work) -> dict[str, Any]:
    """Return the error of tensors by application, samples, cells, rank and ridge.

    Of the best one of the first application also all metrics, and those of predictions that are
    all a certain factor off.
    """
    found = _over_applications(work, _tensors)
    found["metrics"] = work.kept("metrics", partial(_metrics, work, found["rows"]))
    return found


def _metrics(work: Work, rows: list[dict[str, Any]]) -> dict[str, Any]:
    name = next(iter(work["datasets"]))
    judged = [row for row in rows if row["application"] == name and row["error"] is not None]
    best = min(judged, key=lambda row: row["error"])
    data = read_dataset(_file(work, "datasets", name), work.settings["tests"])
    samples, measured_s = data.samples(best["samples"]), data.measured_s
    model = TensorModel(rank=best["rank"], cells=best["cells"], ridge=best["ridge"]).fit(samples)
    predicted_s = model.predict(encoded(data.test, samples))
    factors = {f"{factor:g}": metrics(factor * measured_s, measured_s) for factor in OFF_BY}
    return {"application": name, "model": metrics(predicted_s, measured_s), "off by": factors}


def judge_learners(work: Work) -> dict[str, Any]:
    """Return the error of other models by application, samples and setting."""
    found = _over_applications(work, _learners)
    found["installed"] = installed()
    return found


def _over_applications(work: Work, judge: Any) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    known = list(work["datasets"])
    for number, name in enumerate(known):
        data = read_dataset(_file(work, "datasets", name), work.settings["tests"])
        sizes = sizes_of(data, tuple(work.settings["samples"]))
        for place, count in enumerate(sizes):
            work.progress(f"{name}, {count} samples", (number + place / len(sizes)) / len(known))
            made = work.kept(f"{name}-{count}", partial(judge, work.settings, data, count))
            rows += [{"application": name, "samples": count, **row} for row in made]
    return {"rows": rows}


def _file(work: Work, step: str, name: str) -> Path:
    return work.folder.parent / step / f"{name}.csv"


def _tensors(settings: Mapping[str, Any], data: Dataset, count: int) -> list[dict[str, Any]]:
    samples, rows = data.samples(count), []
    table, measured_s = encoded(data.test, samples), data.measured_s
    for cells, rank, ridge in product(
        settings["cells"], settings["ranks"], settings["regularization"]
    ):
        about = {"family": "cp", "cells": cells, "rank": rank, "ridge": ridge}
        try:
            model = TensorModel(rank=rank, cells=cells, ridge=ridge).fit(samples)
            report = model.report()
            about |= {
                "error": mlogq(model.predict(table), measured_s),
                "density": float(report["density"]), "bytes": model_bytes(model),
                "grid": "x".join(str(n) for n in model.cells_.values()),
            }  # fmt: skip
        except TasksimError as error:
            about |= {"error": None, "why": str(error)}
        rows.append(about)
    return rows


def _learners(settings: Mapping[str, Any], data: Dataset, count: int) -> list[dict[str, Any]]:
    samples = data.samples(count)
    families = tuple(family for family in settings["models"] if family != "cp")
    return _judged(families, samples, data.test)


def _judged(families: tuple[str, ...], samples: Any, test: pd.DataFrame) -> list[dict[str, Any]]:
    rows, measured_s = [], test[DURATION].to_numpy(dtype=float)
    for learner in learners(families, samples):
        about: dict[str, Any] = {"family": learner.family, "setting": learner.setting}
        try:
            predict, size = learner.fit(samples)
            about |= {"error": mlogq(predict(test), measured_s), "bytes": size}
        except TasksimError as error:
            about |= {"error": None, "why": str(error)}
        rows.append(about)
    return rows


# --- beyond --------------------------------------------------------------------------------------


def judge_beyond(work: Work) -> dict[str, Any]:
    """Return the errors beyond what was learnt from, by case, largest value and model."""
    rows: list[dict[str, Any]] = []
    todo = [(name, case, top) for name, case in work["beyond"].items() for top in case["tops"]]
    for number, (name, _, top) in enumerate(todo):
        work.progress(f"{name} up to {top:.0f}", number / len(todo))
        made = work.kept(f"{name}-{top:.0f}", partial(_case, work, name, top))
        rows += [{"case": name, "top": top, **row} for row in made]
    return {"rows": rows}


def _case(work: Work, name: str, top: float) -> list[dict[str, Any]]:
    train = pd.read_csv(_file(work, "beyond", f"{name}-{top:.0f}"))
    test = pd.read_csv(_file(work, "beyond", f"{name}-test"))
    samples, measured_s = samples_of(train), test[DURATION].to_numpy(dtype=float)
    table, rows = encoded(test, samples), []
    for cells, rank in product(BEYOND_CELLS, BEYOND_RANKS):
        about: dict[str, Any] = {"family": "cp", "setting": f"{cells} cells, rank {rank}"}
        try:
            model = TensorModel("positive", rank=rank, cells=cells, ridge=1e-4).fit(samples)
            about |= {"error": mlogq(model.predict(table), measured_s), "bytes": model_bytes(model)}
        except TasksimError as error:
            about |= {"error": None, "why": str(error)}
        rows.append(about)
    families = tuple(family for family in work.settings["models"] if family != "cp")
    return rows + _judged(families, samples, test)
