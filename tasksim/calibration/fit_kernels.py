"""Fit of one model per kernel, a history or a linear model of given, known or found terms.

A history knows a configuration from its repetitions, and no other configuration. That suits the
kernels of factorisations, which work on tiles of one size. The tasks of irregular applications
are nearly all different: another input has other configurations, which are not in the history,
and each configuration is measured only once per run.

Samples of one input or two often leave open whether a duration grows with the number of particles
or with its square: both fit, and differ by half for twice as many particles. The known terms, from
the authors of the kernels, decide then, and give way where samples refute them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.base.errors import InputError, option, short, unknown
from tasksim.base.extras import require
from tasksim.formats.graphs import load_graph
from tasksim.graph.apps.registry import name_and_settings
from tasksim.graph.taskgraph import TaskGraph
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.terms.candidates import AUTO
from tasksim.models.terms.formulas import parse_terms
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.validation.crossvalidation import left_out
from tasksim.models.validation.outside import errors_outside, outside_of, sizes_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.arrays import Floats, Indices
    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.kinds.linear import LinearModel
    from tasksim.models.samples import Samples
    from tasksim.models.validation.outside import Outside

__all__ = [
    "KNOWN_TERMS",
    "TERM_SEARCHES",
    "Fits",
    "LinearKernels",
    "TermSearch",
    "check_terms",
    "choose_linear",
    "fit_searched",
    "irregular",
    "made_graphs",
    "predicted_graphs",
]

TermSearch = Literal["irregular", "all", "none"]
TERM_SEARCHES: Final = ("irregular", "all", "none")

MAX_TABLE_CONFIGURATIONS: Final = 40
"""Number of configurations of a kernel above which it may be irregular: a table of fewer is still
readable."""


@dataclass(frozen=True)
class LinearKernels:
    """Kernels with linear models; all others get histories.

    Attributes
    ----------
    terms
        Kernel -> its given terms.
    searched
        Kernels whose terms are searched for; histories if the samples do not suffice.
    irregular
        Searched kernels that were not requested, of irregular graphs.
    unmeasured
        Searched kernels that were not requested, whose predictions will need other sizes.
    missing
        Kernels of graphs that will be predicted which are not measured.
    predicted
        Graphs that will be predicted: those measured, and others.
    """

    terms: Mapping[str, str] = field(default_factory=dict)
    searched: frozenset[str] = frozenset()
    irregular: frozenset[str] = frozenset()
    unmeasured: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    predicted: tuple[TaskGraph, ...] = ()

    @property
    def linear(self) -> frozenset[str]:
        """All kernels that are to have linear models."""
        return self.searched | self.terms.keys()

    def terms_of(self, kernel: str) -> str | None:
        """Return the terms of *kernel*; None if it gets a history."""
        return self.terms.get(kernel) or (AUTO if kernel in self.searched else None)


def predicted_graphs(graphs: object) -> list[TaskGraph]:
    """Return the graphs that will be predicted, generated from their names.

    Raises
    ------
    InputError
        If *graphs* is not a list of names and graphs.
    """
    return made_graphs(graphs, (TaskGraph,), "predicted", "a list of graphs, by name or made")


def made_graphs(items: object, kinds: tuple[type, ...], what: str, legal: str) -> list[Any]:
    """Return *items*, in which graphs that are named are generated.

    Raises
    ------
    InputError
        If *items* is not a list of names and of objects of these *kinds*; it says *what* they are
        and what is *legal*.
    """
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InputError(f"{what}: got {short(items)}; legal: {legal}")
    found = [load_graph(*name_and_settings(i)) if isinstance(i, str) else i for i in items]
    for item in found:
        if not isinstance(item, kinds):
            raise InputError(f"{what}: got {short(item)}; legal: {legal}")
    return found


def check_terms(terms: Mapping[str, str], kernels: Mapping[str, Sequence[str]]) -> None:
    """Raise :exc:`InputError` if *terms* are malformed, or not of *kernels* or their parameters."""
    for kernel, text in terms.items():
        if kernel not in kernels:
            raise unknown("kernel", kernel, kernels, option("terms"))
        if text != AUTO:
            parse_terms(text, kernels[kernel])


def choose_linear(
    items: Sequence[TaskGraph | KernelCall],
    terms: Mapping[str, str],
    search: TermSearch,
    earlier: Mapping[str, Samples] | None = None,
    predicted: Sequence[TaskGraph] = (),
) -> LinearKernels:
    """Return which kernels of *items* get linear models.

    Parameters
    ----------
    terms
        Kernel -> its known terms.
    search
        Other kernels whose terms are searched for: those of :func:`irregular` graphs, all, or
        none.
    earlier
        Kernel -> its samples of earlier calibrations, which also count: a graph is taken as
        irregular if it shares a kernel with an irregular one, even if it has few tasks.
    predicted
        Graphs that will be predicted. Unless *search* is none, terms are also searched for if
        their tasks have sizes that are neither in *items* nor in *earlier*.
    """
    graphs = [item for item in items if isinstance(item, TaskGraph)]
    found: set[str] = set()
    if search == "all":
        found.update(item.name for item in items if not isinstance(item, TaskGraph))
    for graph in graphs:
        if search == "all" or (search == "irregular" and irregular(graph, earlier)):
            found.update(graph.model_names)
    known, asked = _measured(items, earlier or {}), _measured(predicted, {})
    unmeasured = {
        name
        for name, rows in asked.items()
        if search == "irregular" and name in known and not rows <= known[name]
    }
    unmeasured -= found | terms.keys()
    searched = frozenset((found | unmeasured) - terms.keys())
    return LinearKernels(
        dict(terms),
        searched,
        searched - unmeasured if search == "irregular" else frozenset(),
        frozenset(unmeasured),
        frozenset(asked.keys() - known.keys()),
        (*graphs, *predicted),
    )


def _measured(
    items: Sequence[TaskGraph | KernelCall], earlier: Mapping[str, Samples]
) -> dict[str, set[frozenset[tuple[str, float]]]]:
    """Return kernel -> its configurations, each the set of its parameters with their values."""
    found: dict[str, set[frozenset[tuple[str, float]]]] = {}

    def add(kernel: str, names: Sequence[str], table: Floats) -> None:
        rows = np.unique(table, axis=0).tolist()
        found.setdefault(kernel, set()).update(
            frozenset(zip(names, row, strict=True)) for row in rows
        )

    for item in items:
        if isinstance(item, TaskGraph):
            for number, name in enumerate(item.model_names):
                rows = np.unique(item.row[item.kernel == number])
                add(name, item.parameter_names[number], item.parameters[number][rows])
        else:
            add(item.name, list(item.parameters), np.array([list(item.parameters.values())]))
    for kernel, samples in earlier.items():
        add(kernel, samples.names, samples.parameters)
    return found


def irregular(graph: TaskGraph, earlier: Mapping[str, Samples] | None = None) -> bool:
    """Return whether tasks of *graph*, or those of *earlier* samples, hardly repeat each other.

    This is so if some kernel has more than 40 configurations, most of which occur once. It is a
    property of the graph, not of this kernel alone: another input will have other configurations of
    the other kernels, too.
    """
    known = [earlier[name] for name in graph.model_names if name in earlier] if earlier else []
    return any(
        _hardly_repeat(np.bincount(graph.row[graph.kernel == kernel]))
        for kernel in range(len(graph.kernels))
    ) or any(_hardly_repeat(_counts(samples)) for samples in known)


def _counts(samples: Samples) -> Indices:
    """Return how often each configuration usually occurs per run; empty if runs are unknown."""
    if samples.runs is None:
        return np.empty(0, dtype=np.intp)
    group = samples.configurations()[1]
    occurs = np.unique(np.column_stack([group, samples.runs]), axis=0)[:, 0]
    return np.asarray(np.bincount(group) // np.bincount(occurs))


def _hardly_repeat(counts: Indices) -> bool:
    return bool(len(counts) > MAX_TABLE_CONFIGURATIONS and np.median(counts) <= 1)


KNOWN_TERMS: Final = {
    "P2M": "NbParticles",
    "L2P": "NbParticles",
    "M2M": "NbChildParent",
    "L2L": "NbChildParent",
    "M2L_in": "NbInteractions",
    "M2L_out": "OutsideInteractionsSize + NbDiff0",
    "P2P_in": "NbInteractions + NbParticles",
    "P2P_out": "NbInteractions + OutsideInteractionsSize",
}
"""Terms of the fast multipole method's kernels, by the loops that they contain: their parameters
are in :mod:`tasksim.graph.apps.fmm`, and ScalFMM's final models (E. Agullo et al., Inria research
report 9036, 2017) have nearly the same terms."""
MAX_STANDARD_ERRORS: Final = 2.0
"""Number of standard errors by which the error of known terms may exceed that of found ones: chance
does so in one of twenty cases."""


@dataclass
class Fits:
    """Models of the measured kernels, with the problems of some of them.

    Attributes
    ----------
    models
        Kernel -> its model; added by the caller once its file is written.
    refused
        Error of the first kernel whose samples do not suffice for the given terms.
    histories
        Kernel that got a history because its terms could not be searched for -> reason.
    without_interval
        Kernel whose predictions have no interval -> reason.
    far_data
        Sentence about what far data cost; none if that is unknown.
    outside
        Kernel that will be predicted outside its samples -> quality of these predictions.
    """

    models: dict[str, KernelModel] = field(default_factory=dict)
    refused: InputError | None = None
    histories: dict[str, str] = field(default_factory=dict)
    without_interval: dict[str, str] = field(default_factory=dict)
    far_data: list[str] = field(default_factory=list)
    outside: dict[str, str] = field(default_factory=dict)

    def fit(
        self, kernel: str, samples: Samples, choice: LinearKernels, *, called: str | None = None
    ) -> KernelModel:
        """Return the model of *kernel* with its prediction intervals.

        Graphs that will be predicted call it by its name, or *called*.

        Raises
        ------
        InputError
            If *samples* do not suffice for the given terms.
        """
        asked = sizes_in(choice.predicted, called or kernel, samples)
        outside = outside_of(samples, asked)
        model = self._fitted(kernel, samples, choice, outside)
        if outside is not None:
            self.outside[kernel] = _said_outside(model, samples, outside)
        # The terms stay fixed in cross-validation: a search without each fifth of the samples would
        # take five times as long as the search itself.
        try:
            calibrate(model, samples, left_out(model.settled(), samples))
        except InputError as error:
            self.without_interval[kernel] = str(error)
        return model

    def _fitted(
        self, kernel: str, samples: Samples, choice: LinearKernels, outside: Outside | None
    ) -> KernelModel:
        """Return the model with given terms, with found terms, or a history."""
        terms = choice.terms_of(kernel)
        if terms is None:
            return HistoryModel().fit(samples)
        require("statsmodels", "a linear model")  # else histories would take its place
        if kernel in choice.terms:
            from tasksim.models.kinds.linear import LinearModel

            return LinearModel(terms=terms).fit(samples)
        try:
            return fit_searched(kernel, samples, outside)
        except InputError as error:
            self.histories[kernel] = str(error)
            return HistoryModel().fit(samples)


def _said_outside(model: KernelModel, samples: Samples, outside: Outside) -> str:
    """Return how well *model*, fitted to the rest, predicts the *samples* at their ends."""
    where = f"{100 * outside.share:.3g} % of the sizes to be predicted are outside the samples"
    errors = errors_outside(model, samples, outside)
    if model.exact:
        return f"{where}, where {model.kind} predicts nothing"
    if not len(errors) or not np.isfinite(errors).all():
        return f"{where}, and too few sizes differ to judge extrapolation by"
    ends = ", ".join(end.text() for end in outside.ends)
    off = 100 * float(np.expm1(errors.mean()))
    return f"{where}; fitted to the rest, it errs by {off:.3g} % on those with {ends}"


def fit_searched(kernel: str, samples: Samples, outside: Outside | None = None) -> LinearModel:
    """Return the linear model of *kernel* with found terms, or with known ones if they do as well.

    Where predictions *outside* the samples will be asked for, errors at their ends count by the
    share of what is outside.

    Raises
    ------
    InputError
        If the samples do not suffice for a search.
    """
    from tasksim.models.kinds.linear import LinearModel

    found = LinearModel(AUTO).fit(samples)
    terms = KNOWN_TERMS.get(kernel)
    if terms is None or not set(terms.split(" + ")) <= set(samples.names):
        return found
    try:
        known = LinearModel(AUTO, candidates=terms).fit(samples)
    except InputError:  # none of their parameters varies
        return found
    (error, spread), (best, _) = (_error(model, samples, outside) for model in (known, found))
    return known if error <= best + MAX_STANDARD_ERRORS * spread else found


def _error(model: LinearModel, samples: Samples, outside: Outside | None) -> tuple[float, float]:
    """Return the MLogQ of *model* on samples left out, and the standard error of that inside."""
    told = model.report()
    error, spread = told["cv_mlogq"], told["cv_standard_error"]
    beyond = np.empty(0) if outside is None else errors_outside(model, samples, outside)
    if outside is not None and len(beyond) and np.isfinite(beyond).all():
        error = (1 - outside.share) * error + outside.share * float(beyond.mean())
    return error, spread
