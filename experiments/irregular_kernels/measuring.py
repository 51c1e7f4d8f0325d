"""Native runs of the inputs, in rounds, so that a slow minute does not fall on one input."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import tasksim
from experiments.irregular_kernels.inputs import graph_settings, inputs_of, is_coarse

if TYPE_CHECKING:
    from experiments.frame import Work
    from experiments.irregular_kernels.inputs import Input

__all__ = ["fitted", "folders", "parameter_costs", "predicted", "unseen"]


def fitted(work: Work) -> list[dict[str, Any]]:
    """Run the inputs that models are fitted to."""
    return _measured(work, "fitted")


def predicted(work: Work) -> list[dict[str, Any]]:
    """Run other inputs of the same distributions."""
    return _measured(work, "predicted")


def unseen(work: Work) -> list[dict[str, Any]]:
    """Run inputs whose distributions no model has seen; they were predicted before."""
    return _measured(work, "unseen")


def folders(measured: dict[str, Any]) -> list[str]:
    """Return the folders of the runs of one input."""
    return [folder for part in measured["rounds"] for folder in part["folders"]]


def parameter_costs(work: Work) -> list[dict[str, Any]]:
    """Measure how long the indirect parameters of each fitted input take to count."""
    found = []
    for number, measured in enumerate(work["fitted"]):
        work.progress(measured["input"], number / len(work["fitted"]))
        said = work.tasksim("report", "parameters", folders(measured)[0], "--json")
        costs = json.loads(said)
        # Other programs may have slowed the first run: the makespan is that of all.
        found.append({"input": measured["input"], "native_s": measured["median_s"], **costs})
    return found


def _measured(work: Work, part: str) -> list[dict[str, Any]]:
    """Run the inputs of a part in rounds; each round of each input is made once."""
    inputs, rounds = inputs_of(work.settings, part), work.settings["rounds"]
    done: dict[str, list[Any]] = {given.name: [] for given in inputs}
    for number in range(rounds):
        for place, given in enumerate(inputs):
            share = (number + place / len(inputs)) / rounds
            work.progress(f"{given.name}, round {number + 1} of {rounds}", share)
            name = f"{given.name}-{number}"
            done[given.name].append(work.kept(name, partial(_round, work, part, given, number)))
    return [_together(given, done[given.name]) for given in inputs]


def _round(work: Work, part: str, given: Input, number: int) -> dict[str, Any]:
    """Run one input a few times, after a run that is verified and does not count."""
    settings = work.settings
    asked = tasksim.Scenario(
        "fmm", graph_settings(given, part, settings["order"]), clock="native",
        scheduler=settings["scheduler"], workers=settings["workers"] or None,
    )  # fmt: skip
    done = tasksim.execute_many([asked], settings["repetitions"], patience_s=settings["patience_s"])
    runs = done.scenarios[0].runs
    paths = [work.folder / given.name / f"{number}-{place}" for place in range(len(runs))]
    for run, path in zip(runs, paths, strict=True):
        path.parent.mkdir(exist_ok=True)
        tasksim.save_run(run, path, force=True)
    names = list(runs[0].kernel_names)
    groups = int((runs[0].tasks.kernel == names.index("P2P_in")).sum())
    return {
        "makespans_s": [run.makespan_s for run in runs],
        "alone_s": done.scenarios[0].alone_s,
        "folders": [str(path.resolve()) for path in paths],
        "tasks": len(runs[0].tasks),
        "workers": len(runs[0].workers),
        "groups": groups,
        "repeated": 0 if done.calm is None else done.calm.repeated,
        "disturbed": None if done.calm is None else done.calm.disturbed,
    }


def _together(given: Input, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    makespans = sorted(s for part in rounds for s in part["makespans_s"])
    middle = len(makespans) // 2
    first = rounds[0]
    alone = sorted(part["alone_s"] for part in rounds if part["alone_s"] is not None)
    return {
        "input": given.name,
        **given._asdict(),
        "tasks": first["tasks"],
        "workers": first["workers"],
        "coarse": is_coarse(first["groups"], first["workers"]),
        "native_s": makespans,
        "median_s": (makespans[middle] + makespans[~middle]) / 2,
        # What the runs would have taken without other programs: the least disturbed half tells.
        "alone_s": alone[(len(alone) - 1) // 2] if alone else None,
        "rounds": rounds,
    }
