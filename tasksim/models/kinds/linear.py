"""Multiple linear regression: a duration as a sum of products of powers of the parameters."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.arguments import all_of, finite_number
from tasksim.base.errors import InputError, expect, unknown
from tasksim.models.columns import columns
from tasksim.models.document import to_data
from tasksim.models.draws import scattered
from tasksim.models.fitreport import fit_report, nothing_reported
from tasksim.models.forms import LinearForm
from tasksim.models.groups import group_means, group_medians
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.kinds.loglog import LEAST_S
from tasksim.models.kinds.termtable import read_interval, read_terms, term_table, undecidable
from tasksim.models.outliers import inliers
from tasksim.models.quantiles import FENCE, LEVELS, group_quantiles, read_quantiles
from tasksim.models.samples import Samples
from tasksim.models.terms.candidates import AUTO, find_candidates
from tasksim.models.terms.formulas import Terms, parse_terms
from tasksim.models.terms.leastsquares import WEIGHTS, Fit, Weights, fit_design
from tasksim.models.terms.search import MOST_TERMS, search_terms
from tasksim.models.terms.sourcecode import LANGUAGES, source
from tasksim.models.terms.termerrors import FLOOR, Measurements, error_of_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.models.document import Node
    from tasksim.models.draws import Draw

__all__ = ["LinearModel"]

ANYWHERE: Final = (0.0, sys.float_info.max)
"""The domain where it is not known."""


class LinearModel(KernelModel):
    """A linear combination of terms such as ``m*n*k``, fitted by least squares.

    Parameters
    ----------
    terms : str
        What explains the duration: ``"m*n*k + m*n"``, ``"m^2*n + n^3*k"``; a constant is added
        unless there is ``- 1``. See :mod:`tasksim.models.terms.formulas`. ``"auto"``: they are
        searched for when the model is fitted (:mod:`tasksim.models.terms.search`).
    weights : {"relative", "none", "huber"}, default="relative"
        ``relative``: relative errors count, each sample has the weight 1/y², with for y the
        fitted duration (see Notes). ``none``: ordinary least squares, absolute errors count,
        which is what StarPU does; long tasks decide, and short ones may be predicted badly.
        ``huber``: as ``relative``, and a sample far from the fit counts no more than one at
        1.345 standard deviations (Huber's M-estimator), for samples full of outliers.
    fence : float or None, default=3.0
        Outliers of a configuration with 8 samples or more are dropped, as in
        :class:`~tasksim.models.kinds.history.HistoryModel`; what is long in most runs is kept.
        None keeps all.
    candidates : str, default="auto"
        What a search chooses from: ``"auto"``, products of powers (see
        :mod:`tasksim.models.terms.candidates`); ``"m*n*k + m*n"``, these terms; ``"auto + m^5"``,
        both.
    categorical : sequence of str, default=()
        Parameters whose values are names and no quantities, for a search.
    positive : bool, default=True
        Whether a search finds terms with positive coefficients only, as costs have.
    most_terms : int, default=6
        The most terms that a search finds besides the constant.

    Attributes
    ----------
    terms_ : tuple of str
        The terms in canonical form, the constant first.
    coef_ : ndarray, shape (terms,)
        The coefficients, in seconds per unit of the term.
    intervals_ : ndarray, shape (terms, 2)
        Their 95 % confidence intervals.
    pvalues_ : ndarray, shape (terms,)
        Of the hypothesis that the coefficient is 0.
    rsquared_, rsquared_adj_ : float
        Of the weighted fit; about the mean, or about 0 without a constant.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over the samples, at
        :data:`~tasksim.models.quantiles.LEVELS`; :meth:`sample` multiplies by draws from it,
        scaled to a mean of 1.
    floor_s_ : float
        The least that is ever predicted: 1/10 of the shortest sample. A fit can be negative
        where it extrapolates; :meth:`floored` says for which rows.

    Notes
    -----
    Weights of 1/y² with the *measured* y favour samples that happen to be short: with a
    relative noise of c, predictions are too short by 2c² (a sixth for c = 0.3). So y starts as
    the mean of the sample's configuration and then is the fitted value, until that no longer
    changes: the quasi-likelihood of a variance that grows with the square of the mean
    (Wedderburn, Biometrika 61, 1974), which has no such bias. It stays within a factor 2 of the
    mean of the configuration, so that a lone sample far too long weighs little.

    Intervals assume that samples are independent; those of one run are not quite.

    A logarithm, or a negative power, of a parameter is not defined at 0. If the samples have no
    0, terms may have them; rows that do are predicted as if it were the least measured value.

    See Also
    --------
    tasksim.HybridModel : Where no sum of products is good enough.
    tasksim.diagnose : Which terms are missing.

    Examples
    --------
    >>> n = np.arange(100.0, 200.0, 10.0)
    >>> samples = Samples(("n",), n[:, None], 1e-6 + 2e-9 * n**2)
    >>> model = LinearModel("n^2").fit(samples)
    >>> model.formula(3)
    '1e-06 + 2e-09*n^2'
    >>> LinearModel("auto").fit(samples).terms_
    ('1', 'n^2')
    """

    kind = "mlr"
    doubt_kind = "covariance"
    languages = LANGUAGES

    terms_: tuple[str, ...]
    coef_: NDArray[np.float64]
    intervals_: NDArray[np.float64]
    pvalues_: NDArray[np.float64]
    rsquared_: float
    rsquared_adj_: float
    residual_quantiles_: NDArray[np.float64]
    floor_s_: float
    _parsed_: Terms
    _floored_: int
    _diagnostics_: dict[str, Any]

    def __init__(
        self,
        terms: str,
        *,
        weights: Weights = "relative",
        fence: float | None = FENCE,
        candidates: str = AUTO,
        categorical: Sequence[str] = (),
        positive: bool = True,
        most_terms: int = MOST_TERMS,
    ) -> None:
        self.terms = terms
        self.weights = weights
        self.fence = fence
        self.candidates = candidates
        self.categorical = categorical
        self.positive = positive
        self.most_terms = most_terms

    @classmethod
    def from_coefficients(
        cls,
        names: Sequence[str],
        coefficients_s: Mapping[str, float],
        samples: Samples | None = None,
    ) -> Self:
        """Return the model whose coefficients are known already.

        Parameters
        ----------
        names
            The names of the parameters.
        coefficients_s
            Term -> its coefficient in seconds; the constant is ``"1"``.
        samples
            What it was fitted to, if that is known: it tells the domain and the spread. Else
            every row counts as inside, and draws are what is predicted.

        Raises
        ------
        InputError
            If terms are no terms, the same, or of other parameters; a coefficient is not finite.

        Examples
        --------
        >>> model = LinearModel.from_coefficients(("m", "n"), {"1": 1e-6, "m^2*n": 1e-9})
        >>> model.predict([[2, 3]]).tolist()
        [1.012e-06]
        """
        expect(coefficients_s, Mapping, "coefficients_s")
        text = " + ".join(["0", *all_of(coefficients_s, str, "coefficients_s")])
        terms = parse_terms(text, all_of(names, str, "names"))
        values = np.array(
            [finite_number(v, f"coefficient of {n}") for n, v in coefficients_s.items()]
        )
        model = cls(text, weights="none", fence=None)
        model._set_terms(terms)
        unknown = np.full((len(values), 2), np.nan)
        model.coef_, model.intervals_, model.pvalues_ = values, unknown, unknown[:, 0]
        model.rsquared_ = model.rsquared_adj_ = np.nan
        model.floor_s_ = LEAST_S
        model._set_samples(tuple(names), samples)
        return model

    def _set_samples(self, names: tuple[str, ...], samples: Samples | None) -> None:
        """Set what samples tell of a model that was not fitted to them here."""
        self.names_ = names
        if samples is None:
            self.domain_ = dict.fromkeys(names, ANYWHERE)
            self.residual_quantiles_ = np.ones(len(LEVELS))
            self._floored_ = 0
            self._report = to_data({**nothing_reported(self.kind), **self._details()})
            return
        table = columns(self, samples.names, samples.parameters)
        used = Samples(names, table, samples.durations_s, samples.runs)
        bounds = zip(table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True)
        self.domain_ = dict(zip(names, bounds, strict=True))
        self._learn_residuals(used)
        self._floored_ = int(self.floored(used.configurations()[0]).sum())
        self._report = fit_report(self, used, np.ones(len(used), dtype=bool))

    @classmethod
    def trials(cls, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the model whose terms are searched for, unless they are given."""
        yield {"terms": AUTO, **options}

    @property
    def absolute_errors(self) -> bool:
        """Whether the fit made absolute errors small: with weights ``"none"``."""
        return self.weights == "none"

    def used_parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters that are in a term."""
        return self.linear().used_parameters

    def coefficient_count(self, rows: NDArray[np.float64]) -> int:  # noqa: ARG002
        """Return the number of terms."""
        return len(self.coef_)

    def formula(self, digits: int = 6) -> str:
        """Return the formula, in seconds, for people: ``1.2e-06 + 3.4e-11*m*n*k - 5e-09*m``."""
        return self.linear().formula(digits)

    def linear(self) -> LinearForm:
        """Return the terms and what is known of their coefficients."""
        self._check_fitted("linear")
        return self._form()

    def _form(self) -> LinearForm:
        return LinearForm(
            terms=self._parsed_,
            coef=self.coef_,
            intervals=self.intervals_,
            pvalues=self.pvalues_,
            floor_s=self.floor_s_,
            domain=getattr(self, "domain_", {}),
            rsquared=self.rsquared_,
            rsquared_adj=self.rsquared_adj_,
        )

    def source(self, language: str, name: str = "duration_s") -> str:
        """Return the source of a function *name*, in C or Python: see the contract."""
        return source(self.linear(), language, name)

    def settled(self) -> Self:
        """Return the fitted model with the terms that were found as those given."""
        self._check_fitted("settled")
        model = copy(self)
        model.terms = str(self._parsed_)
        return model

    def floored(self, parameters: Any) -> NDArray[np.bool_]:
        """Return for which rows the formula gives less than ``floor_s_``, which is then taken."""
        return self.linear().floored(self._table(parameters))

    def _fit(self, samples: Samples) -> NDArray[np.bool_]:
        if self.weights not in WEIGHTS:
            raise unknown("weights", str(self.weights), WEIGHTS)
        kept = inliers(samples, samples.configurations()[1], self.fence)
        used = samples.select(kept)
        rows, group = used.configurations()
        counts = np.bincount(group)
        center = group_medians if self.weights == "huber" else group_means
        measured = Measurements(
            rows, center(used.durations_s, group), counts, relative=self.weights != "none"
        )
        terms = self._settle_terms(samples.names, measured)
        configurations = self._design(terms, rows)
        if wrong := undecidable(terms, configurations, len(used)):
            raise self._refusal(wrong)
        fit = fit_design(configurations, used.durations_s, group, self.weights, terms.constant)
        self._learn(terms, fit, samples)
        self._learn_residuals(used)
        self._floored_ = int((self._raw(rows) < self.floor_s_).sum())
        self._diagnostics_ = {"terms": term_table(terms, fit), **self._judged(terms, measured)}
        return kept

    def _settle_terms(self, names: tuple[str, ...], measured: Measurements) -> Terms:
        """Return the terms that were given, or are found."""
        if self.terms != AUTO:
            return parse_terms(self.terms, names)
        try:
            candidates = find_candidates(
                names, measured.rows, given=self.candidates, categorical=self.categorical
            )
            self._found_ = search_terms(
                measured, candidates, most_terms=self.most_terms, positive=self.positive
            )
        except InputError as error:
            raise self._refusal(str(error)) from None
        return self._found_.terms

    def _judged(self, terms: Terms, measured: Measurements) -> dict[str, Any]:
        """Return how well the terms predict what was left out, and what else they could be."""
        if self.terms == AUTO:
            return self._found_.to_data()
        mlogq, standard_error = error_of_terms(measured, terms)
        return {"cv_mlogq": mlogq, "cv_standard_error": standard_error}

    def _learn(self, terms: Terms, fit: Fit, samples: Samples) -> None:
        self._set_terms(terms)
        self.coef_, self.intervals_, self.pvalues_ = fit.coef, fit.intervals, fit.pvalues
        self.rsquared_, self.rsquared_adj_ = fit.rsquared, fit.rsquared_adj
        self.floor_s_ = FLOOR * float(samples.durations_s.min())

    def _set_terms(self, terms: Terms) -> None:
        self._parsed_ = terms
        self.terms_ = tuple(str(term) for term in terms.terms)

    def _learn_residuals(self, used: Samples) -> None:
        ratio = used.durations_s / np.maximum(self._raw(used.parameters), self.floor_s_)
        one_group = np.zeros(len(ratio), dtype=np.intp)
        self.residual_quantiles_ = group_quantiles(ratio, one_group)[0]

    def _design(self, terms: Terms, table: NDArray[np.float64]) -> NDArray[np.float64]:
        try:
            return terms.design(table)
        except InputError as error:
            raise self._refusal(str(error)) from None

    def _raw(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self._design(self._parsed_, table) @ self.coef_
        return values

    def _predict(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        try:
            return self._form().predict(table)
        except InputError as error:
            raise self._refusal(str(error)) from None

    def _elasticities(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._form().elasticities(table)

    def _sample(self, table: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        return self._sampler(table)(rng)

    def _sampler(self, table: NDArray[np.float64]) -> Draw:
        return scattered(self._predict(table), self.residual_quantiles_)

    def _details(self) -> dict[str, Any]:
        return {
            "formula": self._form().formula(),
            "rsquared": self.rsquared_,
            "rsquared_adj": self.rsquared_adj_,
            "floored": self._floored_,
            **getattr(self, "_diagnostics_", {}),
        }

    def _to_json(self) -> dict[str, Any]:
        entries = zip(
            self.terms_,
            self.coef_.tolist(),
            self.intervals_.tolist(),
            self.pvalues_.tolist(),
            strict=True,
        )
        keys = ("term", "coefficient", "interval", "p_value")
        return {
            "terms": [dict(zip(keys, entry, strict=True)) for entry in entries],
            "rsquared": self.rsquared_,
            "rsquared_adj": self.rsquared_adj_,
            "floor_s": self.floor_s_,
            "quantile_levels": LEVELS,
            "residual_quantiles": self.residual_quantiles_,
        }

    def _from_json(self, node: Node) -> None:
        entries = list(node["terms"])
        self._set_terms(read_terms(node, entries))
        self.coef_ = np.array([entry["coefficient"].number() for entry in entries])
        self.intervals_ = np.array([read_interval(entry["interval"]) for entry in entries])
        self.pvalues_ = np.array([entry["p_value"].optional() for entry in entries])
        self.rsquared_ = node["rsquared"].optional()
        self.rsquared_adj_ = node["rsquared_adj"].optional()
        self.floor_s_ = node["floor_s"].positive()
        node["quantile_levels"].exactly(list(LEVELS))
        self.residual_quantiles_ = read_quantiles(node["residual_quantiles"])
