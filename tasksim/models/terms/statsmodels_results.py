"""Results of statsmodels for the coefficients of a linear model, in seconds per unit of the term.

The fit is to columns of length 1, which keeps the normal equations well conditioned. These results
are the same regression with the columns as they are. Their condition number is still that of the
columns of length 1 (D. A. Belsley, E. Kuh and R. E. Welsch, Regression Diagnostics, 1980, section
3.2): otherwise every formula with a product of three sizes would count as collinear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import WLS, RegressionResults, RegressionResultsWrapper
from statsmodels.robust.robust_linear_model import RLM, RLMResults, RLMResultsWrapper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats
    from tasksim.models.terms.leastsquares import TermRegression

__all__ = ["results_of"]


class _Results(RegressionResults):  # type: ignore[misc]
    """Results with the eigenvalues of the columns of length 1."""

    unit_eigenvalues: Floats

    @property
    def eigenvals(self) -> Floats:
        """Return the eigenvalues of the inner products of the columns, the largest first."""
        return self.unit_eigenvalues


def results_of(regression: TermRegression, terms: Sequence[str], *, constant: bool) -> Any:
    """Return the results for the columns *terms*; *constant* says whether one is the constant."""
    design = pd.DataFrame(regression.design, columns=list(terms))
    response = pd.Series(regression.response, name="duration_s")
    of_units, scale = regression.results, regression.scale
    coef = np.asarray(of_units.params) / scale
    covariance = np.asarray(of_units.normalized_cov_params) / np.outer(scale, scale)
    if isinstance(of_units.model, RLM):
        robust = RLM(response, design, M=of_units.model.M)
        robust.weights = of_units.weights
        robust.df_model, robust.df_resid = of_units.df_model, of_units.df_resid
        found = RLMResults(robust, coef, covariance, of_units.scale)
        found.fit_options, found.fit_history = of_units.fit_options, of_units.fit_history
        return RLMResultsWrapper(found)
    model = WLS(response, design, weights=of_units.model.weights, hasconst=constant)
    # Its own count would take columns of very different lengths as dependent.
    model.rank = len(coef)
    results = _Results(model, coef, covariance, scale=of_units.scale)
    units = np.asarray(of_units.model.wexog)
    results.unit_eigenvalues = np.linalg.eigvalsh(units.T @ units)[::-1]
    return RegressionResultsWrapper(results)
