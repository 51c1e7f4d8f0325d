"""Models that are compared: naive lines, and linear regressions of the tasks' parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tasksim
from experiments.irregular_kernels.measuring import folders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.frame import Work

__all__ = ["DIRECT_TERMS", "KERNELS", "TERMS", "models", "naive_durations_s"]

KERNELS: Final = ("P2M", "M2M", "M2L_in", "M2L_out", "L2L", "L2P", "P2P_in", "P2P_out")
TERMS: Final = {
    "P2M": "NbParticles + NbCells",
    "M2M": "NbDiff + NbChildParent",
    "M2L_in": "Level + NbCells + NbInteractions",
    "M2L_out": "OutsideInteractionsSize + NbDiff0 + NbDiff1",
    "L2L": "NbDiff + NbChildParent",
    "L2P": "NbParticles + NbCells",
    "P2P_in": "NbLeaves + NbParticles + NbInteractions",
    "P2P_out": "OutsideInteractionsSize + NbDiff0 + NbDiff1 + NbInteractions",
}
"""Quantities with which the work of each kernel of tasksim grows, indirect parameters included.

ScalFMM's own terms are those of its kernels: there M2M costs what the parents cost, here what the
children do, one matrix product for each.
"""
_SQUARES = "Level + NbCells + SizeInterval + Level^2 + NbCells^2 + SizeInterval^2"
DIRECT_TERMS: Final = {
    "P2M": "NbCells + SizeInterval + NbParticles",
    "M2M": "Level + NbCells + SizeInterval + iNbCells + iSizeInterval",
    "M2L_in": f"{_SQUARES} + Level*NbCells + Level*SizeInterval + NbCells*SizeInterval"
    " + Level*NbCells*SizeInterval",
    "M2L_out": "Level + NbCells + SizeInterval + iNbCells + iSizeInterval",
    "L2L": "Level + NbCells + SizeInterval + iNbCells + iSizeInterval",
    "L2P": "NbCells + SizeInterval + NbParticles",
    "P2P_in": "NbLeaves + SizeInterval + NbParticles",
    "P2P_out": "NbLeaves + SizeInterval + NbParticles + iNbLeaves + iSizeInterval + iNbParticles",
}
"""Terms of what is known of a group without looking at its interactions.

For M2L_in these are the ten terms of the paper's first model (its figure 5).
"""
BY_GROUP_SIZE: Final = ("M2M", "M2L_in", "M2L_out", "L2L")
"""Kernels whose naive model is a line in the group size; that of the others, in the particles."""
MAX_SHOWN_TASKS: Final = 3000
"""Maximum number of tasks whose measured and predicted durations are kept for figures."""


def models(work: Work) -> dict[str, Any]:
    """Fit all sets of models; write them, a platform with the runtime's costs, and reports."""
    measured = work["fitted"]
    by_distribution: dict[str, list[Any]] = {}
    for one in measured:
        by_distribution.setdefault(one["distribution"], []).append(one)
    sets = {**by_distribution, "general": measured}
    fits = []
    for name, inputs in sets.items():
        samples = _samples(inputs)
        fits += [_fit(name, kernel, samples[kernel], TERMS[kernel]) for kernel in samples]
        fitted = {kernel: {"cpu": _model(samples[kernel], TERMS[kernel])} for kernel in samples}
        how = "in situ, all workers busy; one sample per task, its mean over the runs"
        tasksim.save_models(work.folder / f"{name}.json", fitted, machine="here", how=how)
    name = "general, direct parameters only"
    fits += [_fit(name, kernel, samples[kernel], DIRECT_TERMS[kernel]) for kernel in samples]
    work.progress("reports", 0.3)
    _write_platform_and_reports(work, sets)
    return {
        "fits": fits,
        "m2l": _m2l(samples["M2L_in"]),
        "naive": {name: _naive(work, name, inputs) for name, inputs in by_distribution.items()},
        "platform": str((work.folder / "library" / "platforms" / "here.yaml").resolve()),
        "files": {name: str((work.folder / f"{name}.json").resolve()) for name in sets},
    }


def naive_durations_s(
    lines: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]
) -> dict[str, float]:
    """Return the one duration that the naive models have for all tasks of each kernel."""
    return {
        kernel: max(
            line["least_s"], line["constant_s"] + line["slope_s"] * given[line["parameter"]]
        )
        for kernel, line in lines.items()
    }


def _samples(inputs: Sequence[Mapping[str, Any]]) -> dict[str, tasksim.Samples]:
    """Return a sample per task, its mean duration over the runs of its input, by kernel."""
    paths = [folder for measured in inputs for folder in folders(dict(measured))]
    found = tasksim.recorded_samples(paths, "mean")
    return {kernel: found[kernel] for kernel in KERNELS if kernel in found}


def _model(samples: tasksim.Samples, terms: str) -> tasksim.LinearModel:
    """Return the linear model of *terms* by ordinary least squares, as in the paper.

    Long tasks decide then, as they do in a makespan.
    """
    return tasksim.LinearModel(terms, weights="none", fence=None).fit(samples)


def _fit(models: str, kernel: str, samples: tasksim.Samples, terms: str) -> dict[str, Any]:
    """Return how well *terms* explain the tasks of a kernel."""
    plain = _model(samples, terms)
    relative = tasksim.LinearModel(terms, fence=None).fit(samples)
    ratio = plain.predict(samples.parameters) / samples.durations_s
    return {
        "models": models, "kernel": kernel, "formula": plain.formula(3), "tasks": len(samples),
        "rsquared_adj": plain.rsquared_adj_, "rsquared_adj_relative": relative.rsquared_adj_,
        "mlogq": float(np.abs(np.log(ratio)).mean()),
    }  # fmt: skip


def _m2l(samples: tasksim.Samples) -> dict[str, Any]:
    """Return regressions of M2L_in without its indirect parameter and with it (figures 5, 6)."""
    found: dict[str, Any] = {}
    step = math.ceil(len(samples) / MAX_SHOWN_TASKS)
    for name, terms in (("direct", DIRECT_TERMS["M2L_in"]), ("indirect", TERMS["M2L_in"])):
        model = _model(samples, terms)
        found[name] = {
            "predicted_s": model.predict(samples.parameters)[::step].tolist(),
            "rsquared": model.rsquared_, "rsquared_adj": model.rsquared_adj_,
            "coefficients": [
                {"term": term, "value_s": float(value), "low_s": float(low), "high_s": float(high),
                 "p_value": float(p)}
                for term, value, (low, high), p in zip(
                    model.terms_, model.coef_, model.intervals_, model.pvalues_, strict=True
                )
            ],
        }  # fmt: skip
    return {"tasks": len(samples), "measured_s": samples.durations_s[::step].tolist(), **found}


def _naive(work: Work, name: str, inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return per kernel a line in one number of the whole run, over all tasks (section 5.2)."""
    columns: dict[str, list[tuple[float, float]]] = {}
    for measured in inputs:
        for kernel, samples in _samples([measured]).items():
            number = float(measured[_parameter(kernel)])
            rows = columns.setdefault(kernel, [])
            rows += [(number, duration) for duration in samples.durations_s.tolist()]
    lines = {}
    for kernel, rows in columns.items():
        parameter = _parameter(kernel)
        table = np.array(rows)
        model = _model(tasksim.Samples((parameter,), table[:, :1], table[:, 1]), parameter)
        constant, slope = model.coef_.tolist()
        lines[kernel] = {
            "parameter": parameter, "constant_s": constant, "slope_s": slope,
            "least_s": model.floor_s_,
        }  # fmt: skip
        stem = f"naive-{name}-{kernel}"
        text = "".join(f"{x:g},{y!r}\n" for x, y in rows)
        (work.folder / f"{stem}.csv").write_text(f"{parameter},duration_s\n{text}")
        if work.settings["reports"] == "all":
            work.tasksim(
                "fit", f"{stem}.csv", "--kind", "mlr", "--terms", parameter, "--weights", "none",
                "--report", f"reports/{stem}.html", "-o", f"{stem}.json", "--force",
            )  # fmt: skip
    return lines


def _parameter(kernel: str) -> str:
    return "group_size" if kernel in BY_GROUP_SIZE else "particles"


def _write_platform_and_reports(work: Work, sets: Mapping[str, Sequence[Any]]) -> None:
    """Write this machine with the costs of its runtime; pages on regressions, if asked for."""
    terms = [word for kernel, text in TERMS.items() for word in ("--terms", f"{kernel}={text}")]
    everything = [folder for measured in sets["general"] for folder in folders(measured)]
    recorded = [word for folder in everything for word in ("--from", folder)]
    work.tasksim("calibrate", *recorded, "--library", "library", "--name", "here", *terms,
                 "--replace")  # fmt: skip
    for name, inputs in sets.items() if work.settings["reports"] != "none" else ():
        paths = [folder for measured in inputs for folder in folders(measured)]
        work.tasksim("report", "kernels", *paths, "--repeated", "mean", "--weights", "none",
                     *terms, "-o", f"reports/{name}", "--force")  # fmt: skip
