"""Reports on the kernels of recorded runs: what their tasks took, and whether a model says so.

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
from tasksim.models.rows import SIZE, describe_row
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
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.models.terms.leastsquares import Weights

__all__ = ["Fitting", "KernelReport", "report_kernels"]

Origin = Literal["given", "fitted"]

FEWEST: Final = 4
"""Configurations that a search for terms needs, as :class:`LinearModel` says too."""
REFITTED_CODES: Final = ("overfit",)
"""Findings that compare with the fit, which was not to these samples."""
UNPREDICTED: Final = "the model that there is can predict none of its tasks"
ITSELF: Final = (
    "the runs were simulated with this model: its predictions are their durations, but for "
    "rounding, and nothing was measured by which it could be judged"
)
CLOCK_S: Final = 1e-9
"""Simulated clocks count whole nanoseconds where there are devices: durations are rounded."""
ROUNDED: Final = 1e-9
"""Sums of times differ from a duration by less than this share of it: differences of ends and
starts in double precision, of runs a million times as long as the task."""
SIMULATED: Final = Finding(
    "simulated",
    "warning",
    "the tasks were simulated: how long they took is what the models of that simulation say, and "
    "not what a machine does",
    advice="judge models by native runs",
)


@dataclass(frozen=True)
class Fitting:
    """How linear models are fitted to the tasks of runs.

    Attributes
    ----------
    terms
        Kernel -> the terms of its model; those of other kernels are searched for.
    weights
        What errors count, as in :class:`~tasksim.models.kinds.linear.LinearModel`.
    """

    terms: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    weights: Weights = "relative"

    def terms_of(self, kernel: str) -> str:
        """Return the terms of *kernel*, or ``"auto"``."""
        return self.terms.get(kernel, AUTO)


@dataclass(frozen=True, eq=False)
class KernelReport:
    """A kernel of the runs, a model of it, and how good that is.

    Attributes
    ----------
    model, origin, diagnosis
        None if there is no model, and none can be fitted; the diagnosis also where there is
        nothing to judge.
    findings
        In words, warnings first; without a model, what is to be said of the runs.
    reason
        Why there is no model, or it is not judged; else nothing.
    """

    recorded: RecordedKernel
    model: KernelModel | None
    origin: Origin | None
    diagnosis: Diagnosis | None
    findings: tuple[Finding, ...]
    reason: str = ""

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that say that predictions may be wrong."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    def row(self, page: str | None) -> dict[str, Any]:
        """Return what the index says of it, as plain JSON data; *page* is its file's name."""
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
    progress: Callable[[int, int], None] | None = None,
) -> list[KernelReport]:
    """Return a report on every kernel of *runs*, those first that take longest in all.

    Parameters
    ----------
    runs
        Native or simulated; samples keep their place in this list, so shifts between runs show.
    library
        Models to be judged. For kernels that it has none of, a linear model is fitted.
    only
        The kernels; by default all.
    fitting
        How that is fitted.
    repeated
        What runs that repeat each other are, as in :func:`~tasksim.run.samples.recorded_kernels`.
    progress
        Called after each kernel with how many are done, and of how many.

    Raises
    ------
    InputError
        If kernels of one name have different parameters, the library's model of a kernel needs
        others, or there is no model of any kernel and none can be fitted; if terms are given of
        kernels that are not there or have models in the library, or of unknown parameters; if
        *only* names a kernel that is not there.
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
    """Return those of *kernels* that *only* names, all if it names none."""
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
        try:
            return _fitted(recorded, LinearModel(terms, weights=fitting.weights))
        except InputError as error:
            reason = f"no linear model can be fitted: {error}"
    findings = tuple(shifted_runs(recorded.samples))
    return KernelReport(recorded, None, None, None, findings, reason)


def _known_model(recorded: RecordedKernel, library: ModelLibrary | None) -> KernelModel | None:
    """Return the library's model; None if it has none of this kernel on this architecture."""
    if library is None or recorded.name not in library.kernels():
        return None
    entry = library.file(recorded.name).architectures.get(recorded.architecture)
    return None if entry is None else entry.model


def _unfit(samples: Samples) -> str:
    """Return why no terms can be searched for; nothing if they can."""
    if not samples.names:
        return "it has no parameters that a model could depend on"
    rows = samples.configurations()[0]
    if len(rows) == 1:
        return f"all its tasks have {describe_row(samples.names, rows[0])}, nothing varies"
    if len(rows) < FEWEST:
        return f"{len(rows)} configurations are too few to search for terms"
    return ""


def _fitted(recorded: RecordedKernel, model: LinearModel) -> KernelReport:
    model.fit(recorded.samples)
    model.label = recorded.title
    diagnosis = diagnose(model, recorded.samples)
    return KernelReport(recorded, model, "fitted", diagnosis, diagnosis.findings)


def _judged(recorded: RecordedKernel, model: KernelModel) -> KernelReport:
    """Return how good a model is that was fitted to other samples.

    What is refitted to these is the model with its terms, whether those were searched for or not.
    """
    model = model.settled()
    whole = recorded.with_sizes() if SIZE in model.names_ else recorded.samples
    try:
        samples, unseen = _predictable(model, whole)
        if not len(samples):
            shifts = tuple(shifted_runs(whole))
            return KernelReport(recorded, None, None, None, (*unseen, *shifts), UNPREDICTED)
        found = diagnose(model, samples)
    except InputError as error:
        raise InputError(f"kernel {recorded.title}: {error}") from error
    kept = [_elsewhere(f) for f in found.findings if f.code not in REFITTED_CODES]
    diagnosis = replace(found, findings=sorted_findings([*unseen, *kept]))
    return KernelReport(recorded, model, "given", diagnosis, diagnosis.findings)


def _of_simulated(report: KernelReport) -> KernelReport:
    """Return the report on tasks that were simulated: it says so, and judges no rounding errors."""
    model, diagnosis = report.model, report.diagnosis
    if model is None or diagnosis is None:
        return report
    measured_s = diagnosis.residuals.samples.durations_s
    error = np.abs(diagnosis.residuals.predicted_s - measured_s)
    if (error <= np.maximum(CLOCK_S, ROUNDED * measured_s)).all():
        return replace(report, diagnosis=None, findings=(), reason=ITSELF)
    found = replace(diagnosis, findings=(SIMULATED, *diagnosis.findings))
    return replace(report, diagnosis=found, findings=found.findings)


def _predictable(model: KernelModel, samples: Samples) -> tuple[Samples, list[Finding]]:
    """Return the samples that *model* can predict, and what is to be said of the others."""
    rows, group = samples.configurations()
    known = np.isfinite(predicted_where_possible(model, columns(model, samples.names, rows)))
    if known.all():
        return samples, []
    kept = samples.select(known[group])
    unknown, tasks = int((~known).sum()), len(samples) - len(kept)
    finding = Finding(
        "unpredictable",
        "warning",
        f"the model cannot predict {unknown} of {len(rows)} configurations, {tasks} of "
        f"{len(samples)} tasks, such as {describe_row(samples.names, rows[~known][0])}",
        {"configurations": unknown, "tasks": tasks},
        "calibrate with these parameters, or fit a model that extrapolates",
    )
    return kept, [finding]


def _elsewhere(finding: Finding) -> Finding:
    """Return a finding in words that hold for samples to which the model was not fitted."""
    said = finding.message.replace("even where it was fitted", "on the tasks of these runs")
    return replace(finding, message=said)
