"""Reports on the kernels of recorded runs, with measured durations and judged models.

::

    runs = recorded_runs([(path, load(path))])
    reports = report_kernels(runs, ModelLibrary(folder))

:mod:`tasksim.reports.kernelpages` makes pages of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.base.errors import InputError, option, unknown
from tasksim.models.diagnosis.diagnose import Diagnosis, diagnose
from tasksim.models.diagnosis.findings import Finding, sorted_findings
from tasksim.models.diagnosis.noisefindings import shifted_runs
from tasksim.models.fitted import columns
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.rows import SIZE_PARAMETER, describe_row
from tasksim.models.terms.candidates import AUTO
from tasksim.models.terms.formulas import parse_terms
from tasksim.models.validation.crossvalidation import predicted_where_possible
from tasksim.run.samples import (
    RecordedKernel,
    RecordedRun,
    Repeated,
    recorded_kernels,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.progress import CountProgress
    from tasksim.models import Weights
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["Fitting", "KernelReport", "report_kernels"]

Origin = Literal["given", "fitted"]

MIN_SEARCH_CONFIGURATIONS: Final = 4
"""Minimum number of configurations for a search for terms, as in :class:`LinearModel`."""
REFITTED_CODES: Final = ("overfit",)
"""Codes of findings that compare with the model's own fit; left out, because its samples were
others."""
NO_PREDICTION: Final = "the given model can predict none of its tasks"
SIMULATED_WITH_MODEL: Final = (
    "the runs were simulated with this model: its predictions are their durations, but for "
    "rounding, and no measurement can judge it"
)
SIMULATED_CLOCK_TICK_S: Final = 1e-9
"""Tick of a simulated clock with devices, in seconds: durations are rounded to it."""
ROUNDING_TOLERANCE: Final = 1e-9
"""Relative error of a duration that is a difference of end and start in double precision, in runs
up to a million times as long as the task."""
SIMULATED_FINDING: Final = Finding(
    "simulated",
    "warning",
    "the tasks were simulated: their durations come from the models of that simulation, not from a "
    "machine",
    advice="judge models by native runs",
)


@dataclass(frozen=True)
class Fitting:
    """Settings of the fit of linear models to the tasks of runs.

    Attributes
    ----------
    terms
        Kernel -> the terms of its model; those of other kernels are searched for.
    weights
        Weights of errors, as in :class:`~tasksim.models.kinds.linear.LinearModel`.
    """

    terms: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    weights: Weights = "relative"

    def terms_of(self, kernel: str) -> str:
        """Return the terms of *kernel*, or ``"auto"``."""
        return self.terms.get(kernel, AUTO)


@dataclass(frozen=True, eq=False)
class KernelReport:
    """A kernel of the runs, with a model of it and its diagnosis.

    Attributes
    ----------
    model, origin, diagnosis
        None if there is no model, and none can be fitted. The diagnosis is also None if no sample
        can judge the model.
    findings
        Findings in words, warnings first; without a model, those about the runs.
    reason
        The reason why there is no model, or no judgement; else empty.
    """

    recorded: RecordedKernel
    model: KernelModel | None
    origin: Origin | None
    diagnosis: Diagnosis | None
    findings: tuple[Finding, ...]
    reason: str = ""

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that doubt the predictions."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    def row(self, page: str | None) -> dict[str, Any]:
        """Return the row of the index, as plain JSON data; *page* is the file of its page."""
        recorded, model = self.recorded, self.model
        linear = None if model is None else model.linear()
        fit = None if self.diagnosis is None else self.diagnosis.training
        return {
            "kernel": recorded.name,
            "architecture": recorded.architecture,
            "tasks": len(recorded.samples),
            "configurations": len(recorded.samples.configurations()[0]),
            "total_s": recorded.total_s,
            "kind": None if model is None else model.kind,
            "origin": self.origin,
            "formula": None if linear is None else linear.formula(4),
            "rsquared_adj": None if linear is None else _finite(linear.rsquared_adj),
            "mlogq": None if fit is None else _finite(fit.mlogq),
            "bias": None if fit is None else _finite(fit.bias),
            "warnings": len(self.warnings),
            "first_warning": self.warnings[0].message if self.warnings else None,
            "reason": self.reason or None,
            "report": page,
        }


def report_kernels(
    runs: Sequence[RecordedRun],
    library: ModelLibrary | None = None,
    *,
    only: Sequence[str] = (),
    fitting: Fitting = Fitting(),
    repeated: Repeated = "each",
    progress: CountProgress | None = None,
) -> list[KernelReport]:
    """Return a report on every kernel of *runs*, in descending order of total time.

    Parameters
    ----------
    runs
        Native or simulated runs. Samples keep their place in this list, so shifts between runs
        show.
    library
        Models to be judged. Kernels without one get a fitted linear model.
    only
        Names of the kernels to report on; by default all.
    fitting
        Settings of the fitted linear models.
    repeated
        Treatment of runs that repeat each other, as in
        :func:`~tasksim.run.samples.recorded_kernels`.
    progress
        Called after each kernel with the number of finished kernels and of all.

    Raises
    ------
    InputError
        If kernels of one name have different parameters, the library's model of a kernel needs
        others, or there is no model of any kernel and none can be fitted; if terms are given for
        missing kernels, for kernels with models in the library, or for unknown parameters; if
        *only* names a missing kernel.
    """
    kernels = _chosen(recorded_kernels(runs, repeated), only)
    _check_terms(fitting.terms, kernels, library)
    reports = []
    simulated = np.array([recorded.run.kind == "simulated" for recorded in runs])
    for kernel in kernels:
        report = _reported(kernel, library, fitting)
        if simulated[kernel.samples.runs].all():
            report = _of_simulated(report)
        reports.append(report)
        if progress is not None:
            progress(len(reports), len(kernels))
    if all(report.model is None for report in reports):
        reasons = "; ".join(f"{report.recorded.name}: {report.reason}" for report in reports)
        raise InputError(
            f"there is no kernel to report on ({reasons or 'the runs have no tasks'}): give "
            f"{option('models')} with models of them, or runs of several sizes"
        )
    return reports


def _chosen(kernels: Sequence[RecordedKernel], only: Sequence[str]) -> list[RecordedKernel]:
    """Return the *kernels* that *only* names, or all if it names none."""
    names = list(dict.fromkeys(kernel.name for kernel in kernels))
    for name in only:
        if name not in names:
            raise unknown("kernel", name, names, "these runs")
    return [kernel for kernel in kernels if not only or kernel.name in only]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


# Models


def _check_terms(
    terms: Mapping[str, str], kernels: Sequence[RecordedKernel], library: ModelLibrary | None
) -> None:
    """Raise :exc:`InputError` for terms that no kernel of the runs can have."""
    recorded = {kernel.name: kernel for kernel in kernels}
    for name, text in terms.items():
        if name not in recorded:
            raise unknown("kernel", name, sorted(recorded), "terms")
        if library is not None and any(_known_model(k, library) for k in kernels if k.name == name):
            raise InputError(
                f"terms of {name}: {library.file_of(name)} has a model of it, which is judged as "
                "it is; give either its terms or its model"
            )
        if text != AUTO:
            try:
                parse_terms(text, recorded[name].samples.names)
            except InputError as error:
                raise InputError(f"terms of {name}: {error}") from error


def _reported(
    recorded: RecordedKernel, library: ModelLibrary | None, fitting: Fitting
) -> KernelReport:
    model = _known_model(recorded, library)
    if model is not None:
        return _judged(recorded, model)
    terms = fitting.terms_of(recorded.name)
    reason = _unfit(recorded.samples) if terms == AUTO else ""
    if not reason:
        fitted = LinearModel(terms, weights=fitting.weights)
        try:
            fitted.fit(recorded.samples)
            fitted.label = recorded.title
            diagnosis = diagnose(fitted, recorded.samples)
            return KernelReport(recorded, fitted, "fitted", diagnosis, diagnosis.findings)
        except InputError as error:
            reason = f"no linear model can be fitted: {error}"
    findings = tuple(shifted_runs(recorded.samples))
    return KernelReport(recorded, None, None, None, findings, reason)


def _known_model(recorded: RecordedKernel, library: ModelLibrary | None) -> KernelModel | None:
    """Return the library's model of the kernel on its architecture, or None."""
    if library is None or recorded.name not in library.kernels():
        return None
    entry = library.file(recorded.name).architectures.get(recorded.architecture)
    return None if entry is None else entry.model


def _unfit(samples: Samples) -> str:
    """Return the reason why no terms can be searched for; empty if they can."""
    if not samples.names:
        return "it has no parameters that a model could depend on"
    rows = samples.configurations()[0]
    if len(rows) == 1:
        where = describe_row(samples.names, rows[0], samples.categories)
        return f"all its tasks have {where}, nothing varies"
    if len(rows) < MIN_SEARCH_CONFIGURATIONS:
        return f"{len(rows)} configurations are too few to search for terms"
    return ""


def _judged(recorded: RecordedKernel, model: KernelModel) -> KernelReport:
    """Judge a model that was fitted to other samples.

    The model is refitted to these samples with its terms, whether those were searched for or not.
    """
    model = model.settled()
    whole = recorded.with_sizes() if SIZE_PARAMETER in model.names_ else recorded.samples
    try:
        samples, unseen = _predictable(model, whole)
        if not len(samples):
            shifts = tuple(shifted_runs(whole))
            return KernelReport(recorded, None, None, None, (*unseen, *shifts), NO_PREDICTION)
        found = diagnose(model, samples)
    except InputError as error:
        raise InputError(f"kernel {recorded.title}: {error}") from error
    here = "on the tasks of these runs"  # the model was fitted to other samples
    kept = [
        replace(finding, message=finding.message.replace("even where it was fitted", here))
        for finding in found.findings
        if finding.code not in REFITTED_CODES
    ]
    diagnosis = replace(found, findings=sorted_findings([*unseen, *kept]))
    return KernelReport(recorded, model, "given", diagnosis, diagnosis.findings)


def _of_simulated(report: KernelReport) -> KernelReport:
    """Return the report on simulated tasks: a finding says so, rounding errors are not judged."""
    model, diagnosis = report.model, report.diagnosis
    if model is None or diagnosis is None:
        return report
    measured_s = diagnosis.residuals.samples.durations_s
    error = np.abs(diagnosis.residuals.predicted_s - measured_s)
    if (error <= np.maximum(SIMULATED_CLOCK_TICK_S, ROUNDING_TOLERANCE * measured_s)).all():
        return replace(report, diagnosis=None, findings=(), reason=SIMULATED_WITH_MODEL)
    found = replace(diagnosis, findings=(SIMULATED_FINDING, *diagnosis.findings))
    return replace(report, diagnosis=found, findings=found.findings)


def _predictable(model: KernelModel, samples: Samples) -> tuple[Samples, list[Finding]]:
    """Return the samples that *model* can predict, and findings about the others."""
    rows, group = samples.configurations()
    table = columns(model, samples.names, rows, categories=samples.categories, keep_unseen=True)
    known = np.isfinite(predicted_where_possible(model, table))
    if known.all():
        return samples, []
    kept = samples.select(known[group])
    unknown, tasks = int((~known).sum()), len(samples) - len(kept)
    finding = Finding(
        "unpredictable",
        "warning",
        f"the model cannot predict {unknown} of {len(rows)} configurations, {tasks} of "
        f"{len(samples)} tasks, such as "
        f"{describe_row(samples.names, rows[~known][0], samples.categories)}",
        {"configurations": unknown, "tasks": tasks},
        "calibrate with these parameters, or fit a model that extrapolates",
    )
    return kept, [finding]
