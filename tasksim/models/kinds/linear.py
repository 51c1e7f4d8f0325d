"""Multiple linear regression on products of powers of the parameters."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.arguments import all_of, finite_number
from tasksim.base.documents.json_document import to_data
from tasksim.base.errors import InputError, ModelError, expect, unknown
from tasksim.base.extras import needed_for
from tasksim.models import FIT_WEIGHTS, Weights
from tasksim.models.fitted import columns
from tasksim.models.forms import LANGUAGES, LinearForm, source
from tasksim.models.kernelmodel import KernelModel, domain_of, fit_report, nothing_reported
from tasksim.models.quantiles import (
    FENCE_WIDTH,
    QUANTILE_LEVELS,
    group_means,
    group_medians,
    inliers,
    merged_quantiles,
    quantiles_of,
    read_residuals,
    residuals_to_json,
    scattered,
)
from tasksim.models.samples import Samples
from tasksim.models.terms.candidates import AUTO, find_candidates
from tasksim.models.terms.formulas import Terms, parse_terms
from tasksim.models.terms.leastsquares import (
    LEAST_S,
    Coefficients,
    Fit,
    NormalEquations,
    aliased,
    fit_design,
)
from tasksim.models.terms.search import (
    FLOOR_SHARE,
    MAX_TERMS,
    Measurements,
    error_of_terms,
    search_terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.quantiles import Draw

__all__ = ["LinearModel", "undecidable"]

UNKNOWN_DOMAIN: Final = (0.0, sys.float_info.max)
"""Domain of a model whose samples are unknown."""


MAX_SEARCHED_AGAIN: Final = 256
"""Number of configurations up to which a fit to a part of them searches for terms again."""


class LinearModel(KernelModel):
    """A linear combination of terms such as ``m*n*k``, fitted by least squares.

    Parameters
    ----------
    terms : str
        The terms of the duration: ``"m*n*k + m*n"``, ``"n^2/p + log2(p)"``; a constant is added
        unless there is ``- 1``. See :mod:`tasksim.models.terms.formulas`. ``"auto"``: the fit
        searches for terms (:mod:`tasksim.models.terms.search`).
    weights : {"relative", "none", "huber"}, default="relative"
        ``relative``: relative errors count; each sample has the weight 1/y², where y is the
        fitted duration (see Notes). ``none``: ordinary least squares, absolute errors count,
        as in StarPU; long tasks dominate, and predictions of short ones may be poor.
        ``huber``: as ``relative``, but the influence of a sample is bounded at
        1.345 standard deviations (Huber's M-estimator), for samples full of outliers.
    fence : float or None, default=3.0
        Outliers of a configuration with 8 samples or more are dropped, as in
        :class:`~tasksim.models.kinds.history.HistoryModel`; long samples that occur in most runs
        are kept. None keeps all samples.
    candidates : str, default="auto"
        Candidate terms of a search: ``"auto"``, products of powers (see
        :mod:`tasksim.models.terms.candidates`); ``"m*n*k + m*n"``, these terms; ``"auto + m^5"``,
        both.
    categorical : sequence of str, default=()
        Parameters whose values are names instead of quantities, for a search.
    positive : bool, default=True
        Whether a search is limited to positive coefficients, which costs have.
    most_terms : int, default=6
        Maximum number of terms in a search, without the constant.

    Attributes
    ----------
    terms_ : tuple of str
        The terms in canonical form, the constant first.
    coef_ : ndarray, shape (terms,)
        The coefficients, in seconds per unit of the term.
    intervals_ : ndarray, shape (terms, 2)
        Their 95 % confidence intervals.
    pvalues_ : ndarray, shape (terms,)
        p-values of the hypothesis that a coefficient is 0.
    rsquared_, rsquared_adj_ : float
        R² and adjusted R² of the weighted fit; about the mean, or about 0 without a constant.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over the samples, at
        :data:`~tasksim.models.quantiles.QUANTILE_LEVELS`; :meth:`sample` multiplies by draws
        from them, scaled to a mean of 1.
    floor_s_ : float
        Lower bound of predictions: 1/10 of the shortest sample. A fit can be negative
        where it extrapolates; :meth:`floored` returns the rows.

    Notes
    -----
    Weights of 1/y² with the *measured* y favour samples that happen to be short: with a
    relative noise of c, predictions are too short by 2c² (a sixth for c = 0.3). So y starts as
    the mean of the sample's configuration and is replaced by the fitted value until that no longer
    changes: the quasi-likelihood of a variance that grows with the square of the mean
    (Wedderburn, Biometrika 61, 1974), which has no such bias. It stays within a factor of 2 of the
    mean of the configuration, so that a single sample that is far too long has little weight.

    Intervals assume that samples are independent, which those of one run are not quite.

    Logarithms and negative powers of a parameter are not defined at 0. If the samples have no
    0, terms may contain them; rows with a 0 are predicted at the smallest measured value.

    See Also
    --------
    tasksim.HybridModel : For kernels that no sum of products describes well.
    tasksim.diagnose : Find missing terms.

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
    coef_: Floats
    intervals_: Floats
    pvalues_: Floats
    rsquared_: float
    rsquared_adj_: float
    residual_quantiles_: Floats
    floor_s_: float
    _parsed_: Terms
    _floored_: int
    _diagnostics_: dict[str, Any]
    _used_: Samples | None = None
    _sums_: NormalEquations | None = None
    """The normal equations of a model that was updated, or read from a file that has them."""
    _solved_: Coefficients

    def __init__(
        self,
        terms: str,
        *,
        weights: Weights = "relative",
        fence: float | None = FENCE_WIDTH,
        candidates: str = AUTO,
        categorical: Sequence[str] = (),
        positive: bool = True,
        most_terms: int = MAX_TERMS,
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
        """Return a model with known coefficients.

        Parameters
        ----------
        names
            The names of the parameters.
        coefficients_s
            Term -> its coefficient in seconds; the constant is ``"1"``.
        samples
            The samples it was fitted to, if known, which provide the domain and the spread. Without
            them, every row counts as inside, and draws equal predictions.

        Raises
        ------
        InputError
            If a term is malformed, repeated, or of other parameters, or a coefficient is not
            finite.

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
        model._set(Coefficients(values, unknown[:, 0], unknown, unknown[:, 0], np.nan, np.nan))
        model.floor_s_ = LEAST_S
        model._set_samples(tuple(names), samples)
        return model

    def _set_samples(self, names: tuple[str, ...], samples: Samples | None) -> None:
        """Set domain and residuals of a model that was fitted elsewhere."""
        self.names_ = names
        if samples is None:
            self.domain_ = dict.fromkeys(names, UNKNOWN_DOMAIN)
            self.residual_quantiles_ = np.ones(len(QUANTILE_LEVELS))
            self._floored_ = 0
            self._report = to_data({**nothing_reported(self.kind), **self._details()})
            return
        self.categories_ = {n: of for n, of in samples.categories.items() if n in names}
        table = columns(self, samples.names, samples.parameters, categories=self.categories_)
        used = Samples(names, table, samples.durations_s, samples.runs)
        self.domain_ = domain_of(used)
        self._learn_residuals(used)
        self._floored_ = int(self.floored(used.configurations()[0]).sum())
        self._report = fit_report(self, used, np.ones(len(used), dtype=bool))

    @classmethod
    def trials(cls, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the model with searched terms, unless they are given."""
        yield {"terms": AUTO, **options}

    @property
    def absolute_errors(self) -> bool:
        """Whether the fit minimised absolute errors: with weights ``"none"``."""
        return self.weights == "none"

    def used_parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters that occur in a term."""
        return self.linear().used_parameters

    def coefficient_count(self, rows: Floats) -> int:  # noqa: ARG002
        """Return the number of terms."""
        return len(self.coef_)

    def formula(self, digits: int = 6) -> str:
        """Return the formula, in seconds, as text: ``1.2e-06 + 3.4e-11*m*n*k - 5e-09*m``.

        The effects of categories have their names: ``is(layout, row)``.
        """
        return self.linear().formula(digits)

    def linear(self) -> LinearForm:
        """Return the terms with the statistics of their coefficients."""
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

    def results(self) -> Any:
        """Return the fit as results of statsmodels: of WLS, or of RLM with weights ``"huber"``.

        They have all that statsmodels computes of a regression: ``summary()``, ``conf_int()``,
        ``cov_params()``, ``f_test()``, ``get_prediction()``. With weights ``"huber"`` they
        are of durations relative to the fitted ones.

        Raises
        ------
        ModelError
            If the model was read from a file or made of known coefficients: it has no samples.
        """
        self._check_fitted("results")
        if self._used_ is None:
            raise ModelError(
                "the results of a regression need its samples, which a model from a file or with "
                "known coefficients does not have: fit it to them"
            )
        with needed_for("the table of a regression"):
            from tasksim.models.terms.statsmodels_results import results_of

        regression = self._fitted_to(self._used_).regression
        return results_of(regression, self.terms_, constant=self._parsed_.constant)

    def summary(self) -> Any:
        """Return the tables of statsmodels about the fit; ``print`` shows them.

        Raises the error of :meth:`results`.

        Examples
        --------
        >>> n = np.arange(100.0, 200.0, 10.0)
        >>> samples = Samples(("n",), n[:, None], 1e-6 + 2e-9 * n**2 + 1e-8 * (n % 20))
        >>> summary = LinearModel("n^2").fit(samples).summary()
        >>> [row[0].strip() for row in summary.tables[1].data[1:]]
        ['1', 'n^2']
        """
        return self.results().summary()

    def source(self, language: str, name: str = "duration_s") -> str:
        """Return the source of a function *name*, in C or Python; see the base class."""
        return source(self.linear(), language, name)

    def settled(self) -> Self:
        """Return the fitted model with the found terms as its option."""
        self._check_fitted("settled")
        model = copy(self)
        model.terms = str(self._parsed_)
        return model

    def refitted(self, samples: Samples) -> Self:
        """Return a model fitted to a part of the samples of this one.

        Terms found for more than 256 configurations are not searched again: a part of so many
        leads to the same ones, except for irrelevant differences.
        """
        report = getattr(self, "_report", None)
        if report is None or report["configurations"] <= MAX_SEARCHED_AGAIN:
            return self.clone().fit(samples)
        return type(self)(**{**self.get_params(), "terms": str(self._parsed_)}).fit(samples)

    def floored(self, parameters: Any) -> Bools:
        """Return which rows are raised to ``floor_s_``, since the formula gives less."""
        return self.linear().floored(self._table(parameters))

    def _fit(self, samples: Samples) -> Bools:
        if self.weights not in FIT_WEIGHTS:
            raise unknown("weights", str(self.weights), FIT_WEIGHTS)
        kept = inliers(samples, samples.configurations()[1], self.fence)
        used = samples.select(kept)
        rows, group = used.configurations()
        center = group_medians if self.weights == "huber" else group_means
        measured = Measurements(
            rows,
            center(used.durations_s, group),
            np.bincount(group),
            relative=self.weights != "none",
        )
        terms = self._settle_terms(samples.names, measured)
        self._set_terms(terms)
        configurations = self._design(rows)
        if wrong := undecidable(terms, configurations, len(used)):
            raise self._refusal(wrong)
        fit = fit_design(configurations, used.durations_s, group, self.weights, terms.constant)
        self._set(fit)
        self._used_ = used
        self.floor_s_ = FLOOR_SHARE * float(samples.durations_s.min())
        self._learn_residuals(used)
        self._floored_ = int((self._raw(rows) < self.floor_s_).sum())
        self._diagnostics_ = {"terms": fit.table(self.terms_), **self._judged(terms, measured)}
        return kept

    def _update(self, samples: Samples) -> Bools:
        sums, rows, durations_s = self._normal_equations(), samples.parameters, samples.durations_s
        weights = np.ones(len(samples))
        if self.weights == "relative":
            # As in a fit, the reference is the fitted duration, within a factor of 2.
            weights = np.clip(self._predict(rows), durations_s / 2, durations_s * 2) ** -2
        sums = sums.with_rows(self._design(rows), durations_s, weights)
        self._solved_ = sums.solved(constant=self._parsed_.constant)
        self._set(self._solved_)
        self._sums_, self._used_ = sums, None
        self.floor_s_ = min(self.floor_s_, FLOOR_SHARE * float(durations_s.min()))
        ratio = durations_s / self._predict(rows)
        known, new = sums.count - len(ratio), len(ratio)
        self.residual_quantiles_ = merged_quantiles(
            self.residual_quantiles_, known, quantiles_of(ratio), new
        )
        return np.ones(len(samples), dtype=bool)

    def _updated_report(self) -> dict[str, Any]:
        return {
            "formula": self._form().formula(),
            "rsquared": self.rsquared_,
            "rsquared_adj": self.rsquared_adj_,
            "terms": self._solved_.table(self.terms_),
        }

    def _normal_equations(self) -> NormalEquations:
        """Return the normal equations of all samples so far."""
        if self.weights == "huber":
            raise self._refusal(
                "models with weights 'huber' cannot be updated, as a weight depends on all samples:"
                " fit one to all samples, or with other weights"
            )
        if self._sums_ is not None:
            return self._sums_
        if self._used_ is None:
            raise self._refusal(
                "the model has no normal equations, which an update needs: they are kept in memory "
                "after a fit, and in files that are written with --updatable"
            )
        return NormalEquations.of(self._fitted_to(self._used_).regression)

    def _fitted_to(self, used: Samples) -> Fit:
        """Return the fit of the model's terms to the samples *used*."""
        rows, group = used.configurations()
        constant = self._parsed_.constant
        return fit_design(self._design(rows), used.durations_s, group, self.weights, constant)

    def _kept_sums(self) -> dict[str, Any]:
        return self._normal_equations().to_json()

    def _read_sums(self, node: JsonNode) -> None:
        self._sums_ = NormalEquations.from_json(node, len(self.coef_))

    def _settle_terms(self, names: tuple[str, ...], measured: Measurements) -> Terms:
        """Return the given terms, or the result of a search."""
        if self.terms != AUTO:
            return parse_terms(self.terms, names, self.categories_)
        categorical = self.categorical
        if self.categories_ and not isinstance(categorical, str):
            others = [name for name in names if name in self.categories_]
            categorical = tuple(dict.fromkeys([*categorical, *others]))
        try:
            candidates = find_candidates(
                names,
                measured.rows,
                durations_s=measured.durations_s,
                given=self.candidates,
                categorical=categorical,
                categories=self.categories_,
            )
            self._found_ = search_terms(
                measured, candidates, most_terms=self.most_terms, positive=self.positive
            )
        except InputError as error:
            raise self._refusal(str(error)) from None
        return self._found_.terms

    def _judged(self, terms: Terms, measured: Measurements) -> dict[str, Any]:
        """Return the cross-validated error of the terms, and alternatives found by a search."""
        if self.terms == AUTO:
            return self._found_.to_data()
        mlogq, standard_error = error_of_terms(measured, terms)
        return {"cv_mlogq": mlogq, "cv_standard_error": standard_error}

    def _set_terms(self, terms: Terms) -> None:
        self._parsed_ = terms
        self.terms_ = tuple(str(term) for term in terms.terms)

    def _set(self, found: Coefficients) -> None:
        self.coef_, self.intervals_, self.pvalues_ = found.coef, found.intervals, found.pvalues
        self.rsquared_, self.rsquared_adj_ = found.rsquared, found.rsquared_adj

    def _learn_residuals(self, used: Samples) -> None:
        predicted_s = np.maximum(self._raw(used.parameters), self.floor_s_)
        self.residual_quantiles_ = quantiles_of(used.durations_s / predicted_s)

    def _design(self, table: Floats) -> Floats:
        try:
            return self._parsed_.design(table)
        except InputError as error:
            raise self._refusal(str(error)) from None

    def _raw(self, table: Floats) -> Floats:
        return np.asarray(self._design(table) @ self.coef_)

    def _predict(self, table: Floats) -> Floats:
        try:
            return self._form().predict(table)
        except InputError as error:
            raise self._refusal(str(error)) from None

    def _elasticities(self, table: Floats) -> Floats:
        return self._form().elasticities(table)

    def _sampler(self, table: Floats) -> Draw:
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
        entries = zip(self.terms_, self.coef_, self.intervals_, self.pvalues_, strict=True)
        keys = ("term", "coefficient", "interval", "p_value")
        return {
            "terms": [dict(zip(keys, entry, strict=True)) for entry in entries],
            "rsquared": self.rsquared_,
            "rsquared_adj": self.rsquared_adj_,
            "floor_s": self.floor_s_,
            **residuals_to_json(self.residual_quantiles_),
        }

    def _from_json(self, node: JsonNode) -> None:
        entries = list(node["terms"])
        written = " + ".join(["0", *(entry["term"].text() for entry in entries)])
        try:
            self._set_terms(parse_terms(written, node["parameters"].texts(), self.categories_))
        except InputError as error:
            raise node["terms"].error(str(error)) from None
        if len(self.terms_) != len(entries):
            raise node["terms"].error(f"'1' is given twice ({written})")
        self.coef_ = np.array([entry["coefficient"].number() for entry in entries])
        bounds = [entry["interval"].list_of(2) for entry in entries]
        self.intervals_ = np.array([[low.optional(), high.optional()] for low, high in bounds])
        self.pvalues_ = np.array([entry["p_value"].optional() for entry in entries])
        self.rsquared_ = node["rsquared"].optional()
        self.rsquared_adj_ = node["rsquared_adj"].optional()
        self.floor_s_ = node["floor_s"].positive()
        self.residual_quantiles_ = read_residuals(node)


def undecidable(terms: Terms, configurations: Floats, count: int) -> str:
    """Return why *count* samples of a design do not determine *terms*; "" if they do."""
    needed = len(terms)
    if len(configurations) < needed:
        return (
            f"{needed} terms ({terms}) need samples of at least {needed} configurations "
            f"(different parameters), got {len(configurations)}: measure more, or use fewer terms"
        )
    if count <= needed:
        return f"{needed} terms ({terms}) need more than {needed} samples, got {count}"
    names = [str(term) for term in terms.terms]
    combined = aliased(configurations)
    if not combined:
        return ""
    said = "; ".join(
        f"{names[index]} is a combination of {', '.join(names[i] for i in of)}"
        for index, of in combined.items()
    )
    return (
        f"the samples cannot tell these terms apart: {said}. Measure configurations in "
        "which the parameters vary independently, or leave terms out"
    )
