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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.taskgraph import TaskGraph
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.terms.candidates import AUTO
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.validation.crossvalidation import left_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.kinds.linear import LinearModel
    from tasksim.models.samples import Samples

__all__ = [
    "KNOWN_TERMS",
    "SEARCHES",
    "Fits",
    "LinearKernels",
    "Search",
    "choose_linear",
    "fit_searched",
    "irregular",
]

Search = Literal["irregular", "all", "none"]
SEARCHES: Final = ("irregular", "all", "none")

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
        Searched kernels that were not requested.
    """

    terms: Mapping[str, str] = field(default_factory=dict)
    searched: frozenset[str] = frozenset()
    irregular: frozenset[str] = frozenset()

    @property
    def linear(self) -> frozenset[str]:
        """All kernels that are to have linear models."""
        return self.searched | self.terms.keys()

    def terms_of(self, kernel: str) -> str | None:
        """Return the terms of *kernel*; None if it gets a history."""
        return self.terms.get(kernel) or (AUTO if kernel in self.searched else None)


def choose_linear(
    items: Sequence[TaskGraph | KernelCall],
    terms: Mapping[str, str],
    search: Search,
    earlier: Mapping[str, Samples] | None = None,
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

    Raises
    ------
    InputError
        If *search* is unknown.
    """
    if search not in SEARCHES:
        raise InputError(f"search: got '{search}'; legal: {', '.join(SEARCHES)}")
    graphs = [item for item in items if isinstance(item, TaskGraph)]
    found: set[str] = set()
    if search == "all":
        found.update(item.name for item in items if not isinstance(item, TaskGraph))
    for graph in graphs:
        if search == "all" or (search == "irregular" and _irregular(graph, earlier or {})):
            found.update(graph.model_names)
    searched = frozenset(found - terms.keys())
    return LinearKernels(dict(terms), searched, searched if search == "irregular" else frozenset())


def irregular(graph: TaskGraph) -> bool:
    """Return whether tasks of *graph* hardly repeat each other.

    This is so if some kernel has more than 40 configurations, most of which occur once. It is a
    property of the graph, not of this kernel alone: another input will have other configurations of
    the other kernels, too.
    """
    return any(
        _hardly_repeat(np.bincount(graph.row[graph.kernel == kernel]))
        for kernel in range(len(graph.kernels))
    )


def _irregular(graph: TaskGraph, earlier: Mapping[str, Samples]) -> bool:
    """Return whether *graph* or the graph of *earlier* samples is irregular."""
    known = [earlier[name] for name in graph.model_names if name in earlier]
    return irregular(graph) or any(_hardly_repeat(_counts(samples)) for samples in known)


def _counts(samples: Samples) -> NDArray[np.intp]:
    """Return how often each configuration usually occurs per run; empty if runs are unknown."""
    if samples.runs is None:
        return np.empty(0, dtype=np.intp)
    group = samples.configurations()[1]
    occurs = np.unique(np.column_stack([group, samples.runs]), axis=0)[:, 0]
    return np.asarray(np.bincount(group) // np.bincount(occurs))


def _hardly_repeat(counts: NDArray[np.intp]) -> bool:
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
    """

    models: dict[str, KernelModel] = field(default_factory=dict)
    refused: InputError | None = None
    histories: dict[str, str] = field(default_factory=dict)
    without_interval: dict[str, str] = field(default_factory=dict)

    def fit(self, kernel: str, samples: Samples, choice: LinearKernels) -> KernelModel:
        """Return the model of *kernel* with its prediction intervals.

        Raises
        ------
        InputError
            If *samples* do not suffice for the given terms.
        """
        model = self._fitted(kernel, samples, choice)
        # The terms stay fixed in cross-validation: a search without each fifth of the samples would
        # take five times as long as the search itself.
        try:
            calibrate(model, samples, left_out(model.settled(), samples))
        except InputError as error:
            self.without_interval[kernel] = str(error)
        return model

    def _fitted(self, kernel: str, samples: Samples, choice: LinearKernels) -> KernelModel:
        """Return the model with given terms, with found terms, or a history."""
        terms = choice.terms_of(kernel)
        if terms is None:
            return HistoryModel().fit(samples)
        if kernel in choice.terms:
            from tasksim.models.kinds.linear import LinearModel

            return LinearModel(terms=terms).fit(samples)
        try:
            return fit_searched(kernel, samples)
        except InputError as error:
            self.histories[kernel] = str(error)
            return HistoryModel().fit(samples)


def fit_searched(kernel: str, samples: Samples) -> LinearModel:
    """Return the linear model of *kernel* with found terms, or with known ones if they do as well.

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
    (error, spread), (best, _) = map(_error, (known, found))
    return known if error <= best + MAX_STANDARD_ERRORS * spread else found


def _error(model: LinearModel) -> tuple[float, float]:
    """Return the cross-validated MLogQ of *model* and its standard error."""
    told = model.report()
    return told["cv_mlogq"], told["cv_standard_error"]
