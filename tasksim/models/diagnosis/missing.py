"""Missing terms and parameters, found in the residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.diagnosis.findings import Finding
from tasksim.models.diagnosis.lackoffit import (
    Explained,
    Stripes,
    candidate_basis,
    candidate_terms,
    explained,
    neighbours_share,
    smooth_basis,
    stripes,
)
from tasksim.models.rows import describe_row
from tasksim.models.terms.formulas import parse_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.diagnosis.residuals import Residuals
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["missing"]

TEST_LEVEL: Final = 1e-3
"""Significance level of each test; small, since many are made, and samples are not quite
independent."""
MIN_SD: Final = 0.02
"""Smallest relevant effect, as a standard deviation: smaller ones change makespans by less, and are
below the day-to-day variation of machines."""
MIN_STRIPES_SD: Final = 0.03
"""Smallest relevant stripes, as a standard deviation. It is larger than for a smooth effect, as the
only remedy is to look for the parameter."""
MIN_SHARE: Final = 0.1
"""Smallest relevant share of the remaining errors: a real effect below it is not worth measuring
another parameter. The test excludes chance."""
MIN_NEIGHBOUR_SHARE: Final = 0.3
"""Share of the variance above which neighbours share an error. It is -1/4 for unshared errors (the
mean of four others adds a quarter of the variance) and nearly 1 for shared ones: about the
middle."""
MAX_NAMED_TERMS: Final = 3
"""Maximum number of terms that an advice names: more would not be distinguishable."""


def missing(model: KernelModel, res: Residuals) -> list[Finding]:
    """Return findings about missing parts of *model*, from mean errors of configurations.

    First, errors that are smooth functions of the used parameters (a term is missing); then
    errors that columns ignored by the model explain beyond that (the column is missing); then
    errors beyond noise: a step if neighbours share them, otherwise an unrecorded
    parameter.
    """
    own = [res.samples.names.index(name) for name in model.names_]
    found = stripes(res, model.coefficient_count(res.rows[:, own]))
    used = model.used_parameters()
    known = res.rows[:, [res.samples.names.index(name) for name in used]]
    scale = res.scale_s[np.unique(res.group, return_index=True)[1]]
    basis = smooth_basis(known, scale)
    smooth = explained(found.mean, found.weights, basis) if basis.shape[1] else None
    findings: list[Finding] = []
    left = found.mean - np.average(found.mean, weights=found.weights)
    if smooth is not None and smooth.pvalue < TEST_LEVEL and smooth.sd > MIN_SD:
        findings.append(_missing_term(model, res, found, smooth, scale))
        left = smooth.left
    columns = _candidates(res, used, found, basis, scale)
    if columns:
        return [_missing_columns(model, columns), *findings]
    return [*findings, *_left(res, found, known, left, bool(findings))]


def _missing_term(
    model: KernelModel,
    res: Residuals,
    found: Stripes,
    smooth: Explained,
    scale: NDArray[np.float64],
) -> Finding:
    named = _likely_terms(model, res, found, scale)
    advice = "give the model another form, or use a linear model with terms, or history"
    linear = model.linear()
    if linear is not None:
        advice = f"try the terms {linear.terms} with one more{', such as ' if named else ''}"
        advice += " or ".join(named)
    return Finding(
        "missing-term",
        "warning",
        f"errors follow the known parameters: {smooth.sd:.1%} (standard deviation) of the "
        "duration is a smooth function of them that the model lacks, so a term is missing",
        {"sd": smooth.sd, "share": smooth.share, "p_value": smooth.pvalue},
        advice,
        tuple(named),
    )


def _likely_terms(
    model: KernelModel, res: Residuals, found: Stripes, scale: NDArray[np.float64]
) -> list[str]:
    """Return the terms that explain most of the errors if added one by one."""
    linear = model.linear()
    if linear is None:
        return []
    names = model.used_parameters()
    rows = res.rows[:, [res.samples.names.index(name) for name in model.names_]]
    present = linear.terms.design(rows) / scale[:, None]
    present /= np.abs(present).max(axis=0)
    shares = []
    for text in candidate_terms(names, linear.term_names):
        column = parse_terms(f"0 + {text}", model.names_).design(rows) / scale[:, None]
        gain = explained(found.mean, found.weights, present, column / np.abs(column).max())
        if gain is not None and gain.pvalue < TEST_LEVEL:
            shares.append((gain.share, text))
    shares.sort(key=lambda pair: -pair[0])
    return [text for _, text in shares[:MAX_NAMED_TERMS]]


def _candidates(
    res: Residuals,
    used: tuple[str, ...],
    found: Stripes,
    basis: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> list[tuple[str, Explained]]:
    """Return the ignored columns that explain errors, the best first."""
    ignored = [
        (name, column)
        for name, column in zip(res.samples.names, res.rows.T, strict=True)
        if name not in used and np.ptp(column) > 0
    ]
    hits = []
    for name, column in ignored:
        gain = explained(found.mean, found.weights, basis, candidate_basis(column, scale))
        if gain is None:
            continue
        if gain.pvalue < TEST_LEVEL / len(ignored) and gain.share > MIN_SHARE and gain.sd > MIN_SD:
            hits.append((name, gain))
    return sorted(hits, key=lambda hit: -hit[1].share)


def _missing_columns(model: KernelModel, columns: list[tuple[str, Explained]]) -> Finding:
    name, best = columns[0]
    names = tuple(name for name, _ in columns)
    also = f" ({', '.join(names[1:])} less)" if len(names) > 1 else ""
    advice = f"fit again with {name} among the parameters"
    if model.linear() is not None:
        advice += f", then leave out powers that are no longer needed: terms '{name} + ...'"
    return Finding(
        "missing-parameter",
        "warning",
        f"a parameter is missing: {name}, which the samples have and the model ignores, explains "
        f"{best.share:.0%} of the errors that the known parameters leave{also}",
        {"share": best.share, "sd": best.sd, "p_value": best.pvalue},
        advice,
        names,
    )


def _left(
    res: Residuals,
    found: Stripes,
    known: NDArray[np.float64],
    left: NDArray[np.float64],
    told: bool,
) -> list[Finding]:
    """Return findings about errors that no column explains smoothly."""
    sd = _excess(found, left)
    if not sd > MIN_STRIPES_SD or not (np.isnan(found.pvalue) or found.pvalue < TEST_LEVEL):
        return []
    shared = neighbours_share(known, left)
    evidence = {"sd": sd, "noise": found.noise, "p_value": found.pvalue, "neighbours": shared}
    if shared > MIN_NEIGHBOUR_SHARE:
        return [] if told else [_step(evidence)]
    if np.isnan(found.pvalue):
        return []
    worst = int(np.argmax(np.abs(left)))
    where = describe_row(res.samples.names, res.rows[worst])
    return [
        Finding(
            "missing-parameter",
            "warning",
            f"a parameter is missing: errors are stripes, configurations that were measured "
            f"repeatedly are off by {sd:.1%} (standard deviation) where noise is "
            f"{found.noise:.1%}, and the known parameters do not explain it; furthest: {where}, "
            f"{found.mean[worst]:+.0%}",
            evidence,
            "record what else the duration depends on (numbers of interactions, entries, "
            "iterations: an indirect parameter); higher exponents do not help",
        )
    ]


def _excess(found: Stripes, left: NDArray[np.float64]) -> float:
    """Return the standard deviation of *left* beyond noise; 0 if it is not significant."""
    total = float((left**2).mean())
    if np.isnan(found.noise):
        return float(np.sqrt(total))
    noise = float((found.error**2).mean())
    doubt = 4 * np.sqrt(2 / len(left)) * noise
    return float(np.sqrt(total - noise)) if total - noise > doubt else 0.0


def _step(evidence: dict[str, float]) -> Finding:
    return Finding(
        "step",
        "warning",
        f"errors of neighbouring configurations are similar ({evidence['neighbours']:.0%} of "
        f"their variance, {evidence['sd']:.1%} of the duration): a step or a local effect, such "
        "as a full cache, which the model cannot express",
        evidence,
        "fit the sides of the step apart, or use history for the configurations that matter",
    )
