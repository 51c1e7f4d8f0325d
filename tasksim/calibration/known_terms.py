"""Known terms: the laws that durations of kernels follow, from the authors of the kernels.

Samples of one input or two often leave open whether a duration grows with the number of particles
or with its square: both fit, and differ by half for twice as many particles. The known terms
decide then, and give way where samples refute them.
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
"""Terms of the fast multipole method's kernels, by the loops that they contain: their parameters
are in :mod:`tasksim.graph.apps.fmm`, and ScalFMM's final models (E. Agullo et al., Inria research
report 9036, 2017) have nearly the same terms."""
MAX_STANDARD_ERRORS: Final = 2.0
"""Number of standard errors by which the error of known terms may exceed that of found ones: chance
does so in one of twenty cases."""


def fit_searched(kernel: str, samples: Samples) -> LinearModel:
    """Return the linear model of *kernel* with found terms, or with known ones if they do as well.

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
    return known if error <= best + MAX_STANDARD_ERRORS * spread else found


def _error(model: LinearModel) -> tuple[float, float]:
    """Return the cross-validated MLogQ of *model* and its standard error."""
    told = model.report()
    return told["cv_mlogq"], told["cv_standard_error"]
