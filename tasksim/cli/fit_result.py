"""The result of ``tasksim fit``, with the model, its errors and the skipped data."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError, listed
from tasksim.base.files import refuse_existing
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.diagnosis.leftouterrors import worst_configurations, worst_region
from tasksim.models.files.store import kernel_path
from tasksim.models.fitted import columns, unlike_fixed
from tasksim.models.quantiles import group_means
from tasksim.models.samples import Unused, unused_text, with_clock
from tasksim.models.validation.crossvalidation import predicted_where_possible
from tasksim.models.validation.metrics import METRICS, all_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.optionsweep import Trial
    from tasksim.models.samples import Samples
    from tasksim.models.selection import Selection

__all__ = [
    "date_of",
    "domain_of",
    "fit_result",
    "fit_text",
    "over_rows",
    "over_text",
    "refuse_model",
    "unused_lines",
]

LEARNED_PARTS = ("law", "centres", "trees", "weights")
"""Parts of a learned model in its report."""
MAX_NAMES_IN_LINE = 6
"""Maximum number of parameters or terms in a line of text: more do not fit a terminal."""


def fit_result(found: Selection, file: Path, test: Samples | None) -> dict[str, Any]:
    """Return the result of a fit to the samples in *file*, as ``--json`` prints it."""
    chosen, model, samples = found.chosen, found.model, found.samples
    linear, report = model.linear(), model.report()
    counted = report if model.needs_counters else {}
    notes = [
        f"{name} has categories: {listed(samples.categories[name])}"
        for name in samples.names
        if name in samples.categories
    ]
    outside, worst, region = None, [], None
    if found.outside is not None:
        outside = {
            "share": found.outside.share,
            "left_out": [end.text() for end in found.outside.ends],
            "mlogq": chosen.mlogq_outside,
        }
    if found.out is not None:
        worst = [one.to_json() for one in worst_configurations(found.out, samples)]
        region = worst_region(found.out, samples)
    warnings = list(found.warnings)
    if vanished := [one for one in samples.unused if not one.chosen]:
        warnings.insert(0, f"{file}: not used: {unused_text(vanished)}")
    warnings += [f"{file}: {note}" for note in samples.notes]
    tested = {} if test is None else _tested(found, test, warnings)
    return {
        "kind": model.kind,
        "why": found.why,
        "terms": [] if linear is None else list(linear.term_names),
        "formula": model.formula(),
        **_regression(model),
        "tensor": _tensor(model),
        "learned": {k: report[k] for k in LEARNED_PARTS}
        if set(LEARNED_PARTS) <= report.keys()
        else None,
        "notes": [*notes, *counted.get("notes", [])],
        "counters": counted.get("families", {}),
        "alternatives": report.get("alternatives", []),
        "mlogq_cv": chosen.mlogq_cv,
        **tested,
        "size_bytes": chosen.size_bytes,
        "fit_seconds": chosen.fit_seconds,
        "samples": len(samples),
        "configurations": len(samples.configurations()[0]),
        "domain": domain_of(model),
        "unused": _unused(samples, model),
        "candidates": [row.row() for row in found.table],
        "outside": outside,
        "worst": worst,
        "worst_region": None if region is None else {"why": region.text(), **region.to_json()},
        "warnings": warnings,
    }


def refuse_model(path: Path, *, force: bool) -> None:
    """Raise :exc:`InputError` unless the model of a kernel may be written to *path*."""
    if path.suffix != ".json":
        raise InputError(f"{path}: kernel models are in .json files; got '{path.suffix}'")
    kernel_path(path.parent, path.stem)
    refuse_existing(path, force=force)


def date_of(file: Path) -> str:
    """Return the date of a *file*: that of its measurements is unknown, but no later."""
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()


def domain_of(model: KernelModel) -> dict[str, list[Any]]:
    """Return parameter -> its range or categories, of the samples that *model* was fitted to."""
    return {name: list(model.categories_.get(name, box)) for name, box in model.domain_.items()}


def _tensor(model: KernelModel) -> dict[str, Any] | None:
    """Return grid, rank and method of a tensor; None for other models."""
    report = model.report()
    keys = ("rank", "cells", "density", "method", "ridge", "law")
    if not {"rank", "cells", "density"} <= report.keys():
        return None
    found = {key: report[key] for key in keys if key in report}
    return {("regularization" if key == "ridge" else key): v for key, v in found.items()}


def _learned_text(learned: dict[str, Any]) -> str:
    shares = ", ".join(
        f"{name} {weight:.2f}" for name, weight in learned["weights"].items() if weight
    )
    return (
        f"on a law ({learned['law']}), {learned['centres']} centres, {learned['trees']} trees; "
        f"weights: {shares}"
    )


def _tensor_text(tensor: dict[str, Any]) -> str:
    cells = " ".join(f"{name}={count}" for name, count in tensor["cells"].items())
    law = f"on a law ({tensor['law']}), " if "law" in tensor else ""
    if tensor["rank"] == 0:
        return f"none, the law alone ({tensor.get('law', 'power')})"
    return (
        f"{law}rank {tensor['rank']}, cells {cells}, {100 * tensor['density']:.3g} % of them "
        f"measured, {tensor['method']}, regularization {tensor['regularization']:g}"
    )


def _regression(model: KernelModel) -> dict[str, Any]:
    """Return the statistics of a linear model, which is a regression; others have none."""
    linear = model.linear()
    if linear is None:
        return {"coefficients": [], "rsquared": None, "rsquared_adj": None}
    return {
        "coefficients": model.report().get("terms", []),
        **{
            name: value if math.isfinite(value := getattr(linear, name)) else None
            for name in ("rsquared", "rsquared_adj")
        },
    }


def unused_lines(result: dict[str, Any]) -> list[str]:
    """Return a line on the columns that the user left out or the model does not use."""
    left_out = [Unused(one["name"], one["why"]) for one in result["unused"] if one["chosen"]]
    return [f"not used: {unused_text(left_out)}"] if left_out else []


def _unused(samples: Samples, model: KernelModel) -> list[dict[str, Any]]:
    """Return the columns of the file that the model does not use."""
    found = list(samples.unused)
    for name, value in (samples.constants or {}).items():
        said = samples.text_of(name, value)
        found.append(Unused(name, f"{said} in all {len(samples)} samples"))
    if not model.needs_counters:
        why = "counters, which models of kind counters take"
        found += [Unused(name, why, chosen=True) for name in samples.counters or {}]
    return [one.to_json() for one in found]


def _tested(found: Selection, test: Samples, warnings: list[str]) -> dict[str, Any]:
    """Return the errors of the model on *test*; each configuration counts once."""
    model = found.model
    if CLOCK_PARAMETER in model.names_:
        test = with_clock(test, always=True)
    rows, group = test.configurations()
    table = columns(model, test.names, rows, categories=test.categories, keep_unseen=True)
    predicted = predicted_where_possible(model, table)
    for name in unlike_fixed(model, test.names, rows, test.categories):
        warnings.append(f"the test has values of {name} that the samples do not have")
    known = np.isfinite(predicted)
    if not known.all():
        warnings.append(
            f"{model.kind} cannot predict {int((~known).sum())} of {len(rows)} configurations of"
            " the test, which do not count"
        )
    if not known.any():
        nothing = dict.fromkeys(METRICS)
        return {"mlogq_test": None, "bias_test": None, "errors_test": nothing, "coverage": None}
    found_errors = all_metrics(predicted[known], group_means(test.durations_s, group)[known])
    coverage = None
    if model.uncertainty_ is not None:
        # The share of the samples, not of the configurations, that are in their 90 % intervals.
        samples = test.select(known[group])
        table = columns(model, samples.names, samples.parameters, categories=samples.categories)
        low, high = model.interval(table, 0.9)
        coverage = float(((low <= samples.durations_s) & (samples.durations_s <= high)).mean())
    return {
        "mlogq_test": found_errors["mlogq"],
        "bias_test": found_errors["bias"],
        "errors_test": found_errors,
        "coverage": coverage,
    }


def fit_text(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a result as text, without its warnings."""
    yield f"chosen    {result['why']}"
    if result["formula"]:
        yield f"formula   {result['formula']}"
    if result["rsquared_adj"] is not None:
        yield f"fit       R2 adj. {result['rsquared_adj']:.4f}"
    if result["learned"] is not None:
        yield f"learned   {_learned_text(result['learned'])}"
    if result["tensor"] is not None:
        yield f"tensor    {_tensor_text(result['tensor'])}"
    for name, family in result["counters"].items():
        yield f"counter   {name}: {family}"
    for said in [*result["notes"], *unused_lines(result)]:
        yield f"note      {said}"
    for alternative in result["alternatives"]:
        yield f"or        {_alternative_text(alternative)}"
    yield f"samples   {result['samples']} of {result['configurations']} configurations"
    if result.get("mlogq_test") is not None:
        yield f"test      {_tested_text(result)}"
    if result["worst_region"] is not None:
        yield f"worst     {result['worst_region']['why']}"
    if result["outside"] is not None:
        ends = ", ".join(result["outside"]["left_out"])
        yield f"outside   {100 * result['outside']['share']:.3g} % of the domain; judged by {ends}"
    yield f"size      {result['size_bytes']} bytes"
    outside = result["outside"] is not None
    yield f"\nkind     mlogq      ± {'outside ' if outside else ''}   bytes"
    for row in result["candidates"]:
        error, spread, beyond = (
            "-" if row[key] is None else f"{row[key]:.4f}"
            for key in ("mlogq_cv", "mlogq_se", "mlogq_outside")
        )
        size = "-" if row["size_bytes"] is None else row["size_bytes"]
        further = f" {beyond:>7}" if outside else ""
        yield f"{row['kind']:8} {error:>6} {spread:>6}{further} {size:>8}  {row['reason']}"


def _alternative_text(alternative: dict[str, Any]) -> str:
    """Return the terms that the samples cannot tell from one of the model's, in words."""
    found = [entry["term"] for entry in alternative["instead"]]
    instead = listed(found, MAX_NAMES_IN_LINE)
    if alternative["term"] is None:
        return f"with one more term, though the samples do not tell which: {instead}"
    others = [instead] if instead else []
    if alternative["without"] is not None:
        others.append("none")
    return f"instead of {alternative['term']}: {' or '.join(others)} (within one standard error)"


def _tested_text(result: dict[str, Any]) -> str:
    text = (
        f"errs by {100 * math.expm1(result['mlogq_test']):.3g} % "
        f"(mlogq {result['mlogq_test']:.4f}, bias {result['bias_test']:+.4f})"
    )
    if result["coverage"] is None:
        return text
    return f"{text}; {100 * result['coverage']:.0f} % of the samples are in their 90 % intervals"


def over_rows(trials: Sequence[Trial], file: Path, test: Samples | None) -> list[dict[str, Any]]:
    """Return a row for each trial: values, errors, density, bytes."""
    rows = []
    for trial in trials:
        result = fit_result(trial.selection, file, test)
        tensor = result["tensor"] or {}
        rows.append(
            {
                **trial.values,
                "mlogq_cv": result["mlogq_cv"],
                **({} if test is None else {"mlogq_test": result["mlogq_test"]}),
                "density": tensor.get("density"),
                "size_bytes": result["size_bytes"],
            }
        )
    return rows


def over_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table of the trials."""
    from tasksim.view.texttables import table

    cells = [
        [
            "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
            for value in row.values()
        ]
        for row in rows
    ]
    return table(list(rows[0]), cells, left=0)
