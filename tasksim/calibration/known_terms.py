"""Known terms: what the durations of kernels follow, as those know who wrote them.

Samples of one input or two often leave open whether a duration goes with the particles or with
their square: both fit, and differ by half where there are twice as many. What is known decides
there, and gives way where samples speak against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.terms.candidates import AUTO

if TYPE_CHECKING:
    from tasksim.models.samples import Samples

__all__ = ["KNOWN_TERMS", "fit_searched"]

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
"""Of the fast multipole method, what its kernels loop over: :mod:`tasksim.graph.apps.fmm` has the
parameters, ScalFMM's final models (E. Agullo et al., Inria research report 9036, 2017) nearly the
same terms."""
REFUTED: Final = 2.0
"""Standard errors, by which known terms may err more than those that were found: so far chance gets
in one of twenty cases."""


def fit_searched(kernel: str, samples: Samples) -> LinearModel:
    """Return the linear model of *kernel* whose terms are found, among known ones if they do.

    Raises
    ------
    InputError
        If the samples do not suffice for a search.
    """
    found = LinearModel(AUTO).fit(samples)
    terms = KNOWN_TERMS.get(kernel)
    if terms is None or not set(terms.split(" + ")) <= set(samples.names):
        return found
    try:
        known = LinearModel(AUTO, candidates=terms).fit(samples)
    except InputError:  # none of their parameters varies
        return found
    (error, spread), (best, _) = map(_error, (known, found))
    return known if error <= best + REFUTED * spread else found


def _error(model: LinearModel) -> tuple[float, float]:
    """Return the cross-validated MLogQ of *model*, and its standard error."""
    told = model.report()
    return told["cv_mlogq"], told["cv_standard_error"]
