"""Reports on every model of the experiment: coefficients, residuals, what is to be noticed.

::

    reports/general/M2L_in.html
    reports/cube/...          reports/ellipsoid/...          fitted to runs of one distribution
    reports/naive-cube/...    reports/naive-ellipsoid/...    lines in one number of the run
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.irregular_kernels.inputs import DISTRIBUTIONS
from experiments.irregular_kernels.modelling import (
    TERMS,
    fitted,
    mean_samples,
    naive_samples,
)
from tasksim.reports.modelreport import write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from experiments.irregular_kernels.modelling import MeasuredInput
    from tasksim.models.samples import Samples

__all__ = ["write_reports"]


def write_reports(
    inputs: Sequence[MeasuredInput],
    folder: Path,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write a page on every model fitted to *inputs* to *folder*; return the pages.

    Existing pages are replaced. *progress* is called with how many are done, and of how many.
    """
    wanted = [(name, kernel, s, terms) for name, kernel, s, terms in _models(inputs)]
    paths = []
    for name, kernel, samples, terms in wanted:
        model = fitted(samples, terms)
        model.label = f"{kernel}, {name}"
        paths.append(folder / name / f"{kernel}.html")
        write_report(model, samples, None, paths[-1], force=True)
        if progress is not None:
            progress(len(paths), len(wanted))
    return paths


def _models(inputs: Sequence[MeasuredInput]) -> list[tuple[str, str, Samples, str]]:
    """Return for each model its set, kernel, samples and terms."""
    found = _with_terms("general", mean_samples(inputs), TERMS)
    for distribution in DISTRIBUTIONS:
        some = [m for m in inputs if m.input.distribution == distribution]
        found += _with_terms(distribution, mean_samples(some), TERMS)
        lines = naive_samples(some)
        names = {kernel: samples.names[0] for kernel, samples in lines.items()}
        found += _with_terms(f"naive-{distribution}", lines, names)
    return found


def _with_terms(
    name: str, samples: Mapping[str, Samples], terms: Mapping[str, str]
) -> list[tuple[str, str, Samples, str]]:
    return [(name, kernel, samples[kernel], terms[kernel]) for kernel in samples]
