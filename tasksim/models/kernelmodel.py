"""Base class of all kinds of kernel models, built-in or from other packages."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tasksim.base.errors import (
    InputError,
    ModelError,
    NotFittedError,
    OutOfDomainError,
    listed,
    unknown,
)
from tasksim.models.fitted import (
    columns,
    in_box,
    pooled_interval,
    pooled_mean,
    row_text,
    unlike_fixed,
)
from tasksim.models.quantiles import FENCE_WIDTH, checked_generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.forms import LinearForm, MeansForm, PowerForm
    from tasksim.models.quantiles import Draw
    from tasksim.models.samples import Samples
    from tasksim.models.uncertainty.doubt import Doubt
    from tasksim.models.uncertainty.intervals import Uncertainty

__all__ = ["KernelModel", "domain_of", "fit_report", "nothing_reported"]

# Simulations with given durations need only this class and the prediction of a constant. Fitting,
# drawing, reading and writing are imported where they are used, which keeps start-up short.


class KernelModel(ABC):
    """The duration of a kernel on one architecture, as a function of its parameters.

    The interface follows scikit-learn: ``__init__`` only stores its keyword arguments under
    their own names; :meth:`fit` learns attributes whose names end in ``_``; a second fit forgets
    the first. Subclasses set :attr:`kind` and implement :meth:`_fit`, :meth:`_predict`,
    :meth:`_sample` (or :meth:`_sampler`), :meth:`_to_json` and :meth:`_from_json`, which receive
    checked tables. :mod:`tasksim.models.conformance` tests subclasses.

    Attributes
    ----------
    names_ : tuple of str
        The names of the parameters, in the order of the samples it was fitted to.
    domain_ : dict
        Per parameter, the lowest and highest value in the samples.
    fixed_ : mapping
        Parameter with a single value in all samples, which the model leaves out -> that value.
    categories_ : mapping
        Parameter whose values are names -> the names of its categories. Tables hold the numbers
        of categories, from 0, or, if they have texts, their names
        (:mod:`tasksim.models.categories`).

    See Also
    --------
    tasksim.HistoryModel, tasksim.LinearModel, tasksim.PowerLaw, tasksim.HybridModel : Kinds.
    tasksim.select : Choose the kind with the smallest error.

    Examples
    --------
    A user's own kind, the mean of all samples:

    >>> from tasksim.models.samples import Samples
    >>> class Mean(KernelModel):
    ...     kind = "mean"
    ...
    ...     def _fit(self, samples):
    ...         self.mean_s_ = float(samples.durations_s.mean())
    ...         return np.ones(len(samples), dtype=bool)
    ...
    ...     def _predict(self, table):
    ...         return np.full(len(table), self.mean_s_)
    ...
    ...     def _sample(self, table, rng):
    ...         return self._predict(table)
    ...
    ...     def _to_json(self):
    ...         return {"mean_s": self.mean_s_}
    ...
    ...     def _from_json(self, node):
    ...         self.mean_s_ = node["mean_s"].positive()
    >>> model = Mean().fit(Samples(("n",), [[1], [2]], [1.0, 3.0]))
    >>> model.predict([[7]]).tolist(), model.inside([[7]]).tolist()
    ([2.0], [False])
    """

    kind: ClassVar[str] = ""
    """The name of this kind of model, in coefficient files and on the command line."""
    needs_fit: ClassVar[bool] = True
    """Whether the model is fitted to samples: False for given durations."""
    parameter_count: ClassVar[int | None] = None
    """The number of parameters that samples must have; None: any number."""
    takes_categories: ClassVar[bool | None] = None
    """Whether parameters may have categories; if not, fits to such samples are refused. None: yes
    for kinds of tasksim, no for those of other packages, which may take numbers of categories for
    quantities."""
    exact: ClassVar[bool] = False
    """Whether each configuration is known from its own samples only, and so needs repetitions."""
    extrapolates: ClassVar[bool] = True
    """Whether the model extrapolates; if not, rows that were not measured are out of its domain."""
    needs_counters: ClassVar[bool] = False
    """Whether the model is fitted to counters in addition to parameters."""
    automatic: ClassVar[bool] = True
    """Whether :func:`~tasksim.models.selection.select` tries this kind by default."""
    doubt_kind: ClassVar[type[Doubt] | str | None] = None
    """Method to estimate the uncertainty of predictions. None takes
    :class:`~tasksim.models.uncertainty.doubt.Anchors`, models fitted to resampled configurations.
    Kinds with coefficients take :class:`~tasksim.models.uncertainty.doubt.Covariance` and implement
    :meth:`_elasticities`; means of samples take :class:`~tasksim.models.uncertainty.doubt.Counts`
    and implement :meth:`_repetitions`. The names used in files, ``"covariance"`` and ``"counts"``,
    are accepted, too."""
    languages: ClassVar[tuple[str, ...]] = ()
    """The programming languages that :meth:`source` can generate."""
    fence: float | None = FENCE_WIDTH
    """The fence (:func:`~tasksim.models.quantiles.inliers`) outside of which samples are outliers,
    for a fit and for its evaluation; None: no sample is an outlier."""

    updatable: bool = False
    """Whether the file of the model keeps what :meth:`partial_fit` needs, where that is more than
    the model itself: sums per cell (cp), or the triangle of the normal equations (mlr). Models that
    were read from such a file have it set."""

    _held_out: Floats | None = None
    """Predictions of models that the fit made to cross-validate itself: seconds per configuration
    of the samples that it kept, NaN where no such model left one out; None if it made none."""

    label: str = ""
    """The name of the model in messages: ``"gemm on cpu"``. A library of models sets it."""

    names_: tuple[str, ...]
    domain_: dict[str, tuple[float, float]]
    fixed_: Mapping[str, float] = MappingProxyType({})
    categories_: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    unmeasured_: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Names of categories without samples, by parameter: a part of some samples may lack some."""
    uncertainty_: Uncertainty | None = None
    """The calibrated distribution of errors, if there is one; a fit discards it."""
    _report: dict[str, Any]

    def fit(self, samples: Samples) -> Self:
        """Fit the model to *samples*; forget earlier fits.

        Parameters
        ----------
        samples : Samples
            The measured durations.

        Returns
        -------
        KernelModel
            The model itself.

        Raises
        ------
        InputError
            If the samples are too few, or do not determine the model.
        """
        from tasksim.models.samples import unfit_duration

        forgotten = ("_report", "_held_out")
        for name in [name for name in vars(self) if name.endswith("_") or name in forgotten]:
            delattr(self, name)
        if len(samples) == 0:
            raise self._refusal("no samples to fit: measure the kernel first")
        if self.parameter_count not in (None, len(samples.names)):
            raise self._refusal(
                f"{self.kind} models need samples with {self.parameter_count} parameter(s), "
                f"got {len(samples.names)} ({', '.join(samples.names)})"
            )
        named = [name for name in samples.names if name in samples.categories]
        takes_categories = self.takes_categories
        if takes_categories is None:
            takes_categories = type(self).__module__.partition(".")[0] == "tasksim"
        if named and not takes_categories:
            raise self._refusal(
                f"{self.kind} models need numbers: '{named[0]}' has categories "
                f"({listed(samples.categories[named[0]])}); leave it out, or take another kind "
                "(mlr, hybrid, history)"
            )
        if not self.exact and (wrong := unfit_duration(samples)):
            raise self._refusal(wrong)
        if samples.categories:
            self.categories_ = dict(samples.categories)
            self.unmeasured_ = _unmeasured(samples)
        kept = self._fit(samples)
        self.domain_ = domain_of(samples)
        self.names_ = samples.names
        self.fixed_ = dict(samples.constants or {})
        self._report = fit_report(self, samples, kept)
        return self

    def partial_fit(self, samples: Samples) -> Self:
        """Update the model by further *samples*, without those that it was fitted to.

        Kind, options, terms, grid and outliers so far stay as they are. The report keeps the errors
        of the fit, and counts ``updated`` samples; a calibrated uncertainty is kept, too.

        Parameters
        ----------
        samples : Samples
            New measurements, one or more. A model that is not fitted is fitted to them.

        Returns
        -------
        KernelModel
            The model itself.

        Raises
        ------
        InputError
            If this kind of model cannot be updated, the samples lack a parameter, one is beyond the
            grid of a tensor, or the file that the model was read from lacks what an update needs
            (:attr:`updatable`).

        Examples
        --------
        >>> import tasksim
        >>> model = tasksim.HistoryModel().fit(tasksim.Samples(("n",), [[64]], [1.0]))
        >>> model.partial_fit(tasksim.Samples(("n",), [[64], [96]], [3.0, 5.0]))
        HistoryModel()
        >>> model.predict([[64], [96]]).tolist()
        [2.0, 5.0]
        """
        if not hasattr(self, "names_"):
            return self.fit(samples)
        from tasksim.base.documents.json_document import to_data
        from tasksim.models.samples import unfit_duration

        if not self.updates():
            raise self._refusal(
                f"{self.kind} models cannot be updated: fit one to all samples, or take a kind that"
                " can (history, mlr, cp)"
            )
        if len(samples) == 0:
            raise self._refusal("no samples to learn: measure the kernel first")
        if not self.exact and (wrong := unfit_duration(samples)):
            raise self._refusal(wrong)
        used = self._in_columns(samples)
        kept = self._update(used)
        for name, column in zip(self.names_, used.parameters[kept].T, strict=True):
            low, high = self.domain_[name]
            values = (low, high, *column.tolist())
            self.domain_[name] = (min(values), max(values))
        self._held_out = None
        report = self._report
        counts = {
            "samples": report["samples"] + len(used),
            "dropped": report["dropped"] + len(used) - int(kept.sum()),
            "updated": report.get("updated", 0) + len(used),
        }
        self._report = to_data({**report, **counts, **self._updated_report()})
        return self

    @classmethod
    def updates(cls) -> bool:
        """Return whether models of this kind can learn further samples by themselves."""
        return cls._update is not KernelModel._update

    def _in_columns(self, samples: Samples) -> Samples:
        """Return *samples* with the parameters of the model, in its order."""
        from tasksim.models.samples import Samples

        constants = dict(samples.constants or {})
        names = (*samples.names, *constants)
        values = [np.full(len(samples), value) for value in constants.values()]
        table = np.column_stack([samples.parameters, *values])
        for name, other in unlike_fixed(self, names, table, samples.categories).items():
            raise self._refusal(
                f"{name} is {other[0]:.15g} in the new samples, and {self.fixed_[name]:.15g} in all"
                " that the model was fitted to: fit one to all samples"
            )
        chosen = columns(self, names, table, categories=samples.categories)
        return Samples(self.names_, self._table(chosen), samples.durations_s, samples.runs)

    def predict(self, parameters: ArrayLike, *, unseen: str = "refuse") -> Floats:
        """Return the expected duration of each row of *parameters*, in seconds.

        Parameters
        ----------
        parameters : array_like, shape (n, p)
            One row per task, the columns in the order of ``names_`` (see
            :func:`~tasksim.models.fitted.columns`). Categories are given by name in rows with
            texts, such as ``["row", 64]``, and by number in tables of numbers.
        unseen : {"refuse", "pooled"}, default="refuse"
            The prediction for a category that was not measured: an error, or the mean, in
            logarithms, of the predictions for all measured ones.

        Raises
        ------
        NotFittedError
            Before :meth:`fit`.
        InputError
            If the table has other columns, or values that are negative or not finite.
        OutOfDomainError
            If the model cannot extrapolate to a row (see :meth:`inside`), or a category was not
            measured.
        """
        self._check_fitted("predict")
        if self._pools(unseen):
            return pooled_mean(self, self._table(parameters, keep_unseen=True))
        table = self._table(parameters)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._predict(table)
        beyond = np.flatnonzero(~np.isfinite(found))
        if len(beyond):
            got = f"{found[beyond[0]]} s for {row_text(self, table[beyond[0]])}"
            raise OutOfDomainError(f"{self.kind}: the prediction is not a duration: {got}")
        return found

    def sample(self, parameters: ArrayLike, rng: np.random.Generator) -> Floats:
        """Return a random duration for each row, in seconds, whose mean is the prediction."""
        return self.sampler(parameters)(checked_generator(rng))

    def sampler(self, parameters: ArrayLike) -> Draw:
        """Return :meth:`sample` for these *parameters*, with all that is certain precomputed.

        A kind defines ``_sample`` or, if preparations are costly, ``_sampler``: the most derived
        definition of the two wins.
        """
        self._check_fitted("sample")
        table = self._table(parameters)
        if self.uncertainty_ is not None:
            return self.uncertainty_.sampler(self, table)
        for kind in type(self).__mro__:
            if "_sampler" in vars(kind):
                return self._sampler(table)
            if "_sample" in vars(kind):
                break
        return partial(self._sample, table)

    def draw(self, parameters: ArrayLike, rng: Any, size: int = 1) -> Floats:
        """Return predictions of models of other, equally plausible samples: shape (size, rows)."""
        from tasksim.models.uncertainty.drawn import draws

        return draws(self, self.uncertainty_, parameters, rng, size)

    def interval(
        self, parameters: ArrayLike, level: float = 0.9, *, unseen: str = "refuse"
    ) -> tuple[Floats, Floats]:
        """Return prediction intervals: a measurement of a row lies inside with probability *level*.

        Parameters
        ----------
        parameters : array_like, shape (n, p)
            As in :meth:`predict`. Outside the domain, intervals widen with the distance.
        level : float, default=0.9
            The share of measurements inside the interval.
        unseen : {"refuse", "pooled"}, default="refuse"
            As in :meth:`predict`. Pooled bounds are the lowest and the highest of those for all
            measured categories.

        Returns
        -------
        low, high : ndarray, shape (n,)
            In seconds.

        Raises
        ------
        ModelError
            If no uncertainty was calibrated
            (:func:`tasksim.models.uncertainty.conformal.calibrate`). Errors of :meth:`predict` are
            raised, too.
        """
        self._check_fitted("interval")
        if self.uncertainty_ is None:
            message = "the model has no calibrated uncertainty, hence no intervals: fit it again"
            raise ModelError(f"{self.label}: {message}" if self.label else message)
        if self._pools(unseen):
            return pooled_interval(self, self._table(parameters, keep_unseen=True), level)
        return self.uncertainty_.interval(self, self._table(parameters), level)

    def inside(self, parameters: ArrayLike) -> Bools:
        """Return whether each row lies within the fitted range, so that it is not extrapolated."""
        self._check_fitted("inside")
        if not self.categories_:
            return self._inside(self._table(parameters))
        table = self._table(parameters, keep_unseen=True)
        inside = self.knows(table)
        inside[inside] = self._inside(table[inside])
        return inside

    def knows(self, table: Floats) -> Bools:
        """Return whether the categories of each row of numbers were measured."""
        known = np.ones(len(table), dtype=bool)
        for place, name in enumerate(self.names_):
            if name in self.categories_:
                lacking = self.unmeasured_.get(name, ())
                fine = [category not in lacking for category in self.categories_[name]]
                codes = table[:, place].astype(np.intp)
                known &= (codes >= 0) & np.array(fine)[codes]
        return known

    def measured(self) -> str:
        """Return the fitted range as text: ``m 64 to 512, n 64 to 512``."""
        self._check_fitted("measured")
        found = []
        for name, (low, high) in self.domain_.items():
            if name in self.categories_:
                lacking = self.unmeasured_.get(name, ())
                known = listed([c for c in self.categories_[name] if c not in lacking])
                found.append(f"{name} {known}")
            else:
                found.append(f"{name} {low:.15g} to {high:.15g}")
        return ", ".join(found)

    @property
    def absolute_errors(self) -> bool:
        """Whether the fit minimised absolute errors; relative ones otherwise."""
        return False

    def clone(self) -> Self:
        """Return an unfitted model with the same options."""
        return type(self)(**self.get_params())

    def settled(self) -> Self:
        """Return the fitted model with searched options made explicit: a fit need not search."""
        return self

    def refitted(self, samples: Samples) -> Self:
        """Return a model fitted to a part of the samples; it may reuse the result of a search."""
        return self.clone().fit(samples)

    @classmethod
    def trials(cls, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the options of the models worth trying, given some *options*."""
        yield dict(options)

    def used_parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters that predictions depend on."""
        return self.names_

    def coefficient_count(self, rows: Floats) -> int:
        """Return the number of coefficients learnt from configurations *rows* (tests of fit)."""
        return len(np.unique(rows, axis=0)) if self.exact else 1

    def formula(self, digits: int = 6) -> str | None:  # noqa: ARG002
        """Return the fitted formula, in seconds, as text; None if there is none."""
        return None

    def description(self) -> str:
        """Return the model as text: its formula, or its class and options."""
        formula = self.formula()
        return repr(self) if formula is None else f"{formula} (seconds)"

    def linear(self) -> LinearForm | None:
        """Return the model as a sum of terms; None if it is not one."""
        return None

    def power(self) -> PowerForm | None:
        """Return the model as a power law of its parameter; None if it is not one."""
        return None

    def means(self) -> MeansForm | None:
        """Return the model as means of measured configurations; None if it is more than that."""
        return None

    def source(self, language: str, name: str = "duration_s") -> str:  # noqa: ARG002
        """Return the source of a function *name* that makes the model's predictions.

        The *language* is one of :attr:`languages`. Raises :exc:`InputError` for others, and for
        names that are not valid in it.
        """
        raise self._refusal(
            f"models of kind {self.kind} cannot be written as source code in {language}"
        )

    def report(self) -> dict[str, Any]:
        """Return the accuracy of the fit, as plain data.

        Keys of every kind: ``kind``; the counts ``samples``, ``dropped`` (outliers) and
        ``configurations``; ``mlogq``, ``bias``, ``mape`` (:mod:`tasksim.models.validation.metrics`)
        over configurations, each with the mean of the samples that were kept; ``worst``, the
        configuration with the largest error.
        """
        self._check_fitted("report")
        return dict(self._report)

    def to_json(self) -> dict[str, Any]:
        """Return the model as plain data, which :meth:`from_json` reads."""
        from tasksim.base.documents.json_document import to_data
        from tasksim.models.rows import plain_number

        self._check_fitted("to_json")
        data = {
            "kind": self.kind,
            "options": self.get_params(),
            "parameters": self.names_,
            "domain": {n: tuple(map(plain_number, box)) for n, box in self.domain_.items()},
            **({"fixed": dict(self.fixed_)} if self.fixed_ else {}),
            **({"categories": dict(self.categories_)} if self.categories_ else {}),
            **({"unmeasured": dict(self.unmeasured_)} if self.unmeasured_ else {}),
            **self._to_json(),
            **({"update": kept} if self.updatable and (kept := self._kept_sums()) else {}),
            "report": self._report,
        }
        if self.uncertainty_ is not None:
            data["uncertainty"] = self.uncertainty_.to_json()
        plain: dict[str, Any] = to_data(data)
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | JsonNode) -> Self:
        """Return the model that :meth:`to_json` wrote: its predictions are equal to the last bit.

        Raises
        ------
        FormatError
            An :exc:`InputError` with the path to the missing or wrong value.
        """
        from tasksim.base.documents.json_document import JsonNode

        node = data
        if not isinstance(node, JsonNode):
            node = JsonNode(dict(data) if isinstance(data, Mapping) else data)
        if node["kind"].text() != cls.kind:
            raise node["kind"].expected(f"'{cls.kind}'")
        options = node["options"].mapping()
        known = cls.option_names()
        for name in options:
            if name not in known:
                said = unknown(f"option of {cls.kind} models", name, known)
                raise node["options"].error(str(said))
        for name, parameter in inspect.signature(cls).parameters.items():
            if parameter.default is parameter.empty and name not in options:
                raise node["options"].error(f"'{name}' is missing")
        model = cls(**options)
        if "categories" in node.mapping():
            from tasksim.models.categories import read_categories

            named = node["parameters"].texts()
            fixed = node["fixed"].mapping() if "fixed" in node.mapping() else ()
            model.categories_ = read_categories(node["categories"], (*named, *fixed))
            if "unmeasured" in node.mapping():
                model.unmeasured_ = read_categories(node["unmeasured"], named)
        model._from_json(node)
        if not cls.needs_fit:
            return model
        model.names_ = node["parameters"].texts()
        model.domain_ = {}
        for name in model.names_:
            low, high = node["domain"][name].vector(2).tolist()
            model.domain_[name] = (low, high)
        if "fixed" in node.mapping():
            model.fixed_ = {name: value.number() for name, value in node["fixed"].items()}
        model._report = node["report"].mapping()
        if "update" in node.mapping():
            model._read_sums(node["update"])
            model.updatable = True
        if "uncertainty" in node.mapping():
            from tasksim.models.uncertainty.intervals import Uncertainty

            model.uncertainty_ = Uncertainty.from_json(node["uncertainty"], model)
        return model

    def get_params(self) -> dict[str, Any]:
        """Return the options that the model was created with."""
        return {name: getattr(self, name) for name in self.option_names()}

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the names of the options of this kind."""
        return list(inspect.signature(cls).parameters)

    def __repr__(self) -> str:
        options = inspect.signature(type(self)).parameters
        given = [f"{n}={v!r}" for n, v in self.get_params().items() if v != options[n].default]
        return f"{type(self).__name__}({', '.join(given)})"

    def _repr_html_(self) -> str:
        from tasksim.base.notebook import html_summary

        facts = [("kind", self.kind), ("made with", repr(self))]
        if not hasattr(self, "names_"):
            facts.append(("fitted", "not yet"))
        else:
            facts.append(("parameters", ", ".join(self.names_) or "none"))
            if self.domain_:
                facts.append(("fitted to", self.measured()))
            if formula := self.formula():
                facts.append(("seconds", formula))
        return html_summary(f"Kernel model {self.label}".strip(), facts)

    @abstractmethod
    def _fit(self, samples: Samples) -> Bools:
        """Learn what :meth:`_predict` needs from at least one sample; return the samples used."""

    @abstractmethod
    def _predict(self, table: Floats) -> Floats:
        """Return the expected durations."""

    def _sample(self, table: Floats, rng: np.random.Generator) -> Floats:
        """Return random durations."""
        return self._sampler(table)(rng)

    def _sampler(self, table: Floats) -> Draw:
        """Return a function that draws random durations."""
        raise NotImplementedError(f"{type(self).__name__} defines neither _sample nor _sampler")

    @abstractmethod
    def _to_json(self) -> dict[str, Any]:
        """Return what :meth:`_fit` learnt; NumPy arrays and numbers are allowed."""

    @abstractmethod
    def _from_json(self, node: JsonNode) -> None:
        """Restore what :meth:`_to_json` returned; ``names_`` is not set yet."""

    def _update(self, samples: Samples) -> Bools:
        """Learn further samples in the columns of the model; return those that were used."""
        raise NotImplementedError

    def _updated_report(self) -> dict[str, Any]:
        """Return the entries of the report that an update changed."""
        return {}

    def _kept_sums(self) -> dict[str, Any]:
        """Return what an update needs besides the model, for files; {} if nothing."""
        return {}

    def _read_sums(self, node: JsonNode) -> None:
        """Restore what :meth:`_kept_sums` returned; all else is set."""
        raise node.error(f"{self.kind} models keep nothing for updates")

    def _elasticities(self, table: Floats) -> Floats:
        """Return d ln duration / d ln coefficient, shape (rows, coefficients)."""
        raise NotImplementedError

    def _repetitions(self, table: Floats) -> tuple[Ints, Floats]:
        """Return the number of samples of each row's configuration, and their relative spread."""
        raise NotImplementedError

    def _unknown_share(self, table: Floats, *, left_out: bool = False) -> Floats | None:  # noqa: ARG002
        """Return the thinness of the samples around each row, from 0 to 1; None if unknown.

        With *left_out*, a row that was fitted to counts as if it had been left out.
        """
        return None

    def _measured_quantiles(self, table: Floats) -> Floats | None:  # noqa: ARG002
        """Return the quantiles of each row's durations where they were measured, else None.

        Shape (rows, levels), at the levels of :data:`tasksim.models.quantiles.QUANTILE_LEVELS`.
        """
        return None

    def _inside(self, table: Floats) -> Bools:
        """Return which rows lie in the box of the domain."""
        return in_box(self, table)

    def _details(self) -> dict[str, Any]:
        """Return the entries of the report that are specific to this kind."""
        return {}

    def _table(self, parameters: ArrayLike, *, keep_unseen: bool = False) -> Floats:
        """Return *parameters* as a checked table, with the numbers of categories.

        Categories that were not measured are refused, or kept as they are.
        """
        from tasksim.models.rows import checked_table

        try:
            if not self.categories_:
                return checked_table(parameters, self.names_)
            from tasksim.models.categories import category_table

            table = category_table(
                parameters, self.names_, self.categories_, keep_unseen=keep_unseen
            )
        except InputError as error:
            raise self._refusal(str(error), type(error)) from None
        if not keep_unseen and self.unmeasured_ and not (known := self.knows(table)).all():
            from tasksim.models.categories import unseen_message

            row = int(np.argmin(known))
            for place, name in enumerate(self.names_):
                lacking = self.unmeasured_.get(name, ())
                if lacking and (got := self.categories_[name][int(table[row, place])]) in lacking:
                    measured = [c for c in self.categories_[name] if c not in lacking]
                    said = f"row {row}: {unseen_message(name, got, measured)}"
                    raise self._refusal(said, OutOfDomainError)
        return table

    def _pools(self, unseen: str) -> bool:
        """Return whether predictions for unknown categories are pooled; refuse other choices."""
        if unseen == "refuse":
            return False
        from tasksim.base.arguments import one_of
        from tasksim.models.categories import UNSEEN_CHOICES

        return one_of(unseen, UNSEEN_CHOICES, "unseen") == "pooled"

    def _check_fitted(self, asked: str) -> None:
        if not hasattr(self, "names_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. "
                f"Call 'fit' with samples before using '{asked}'."
            )

    def _refusal(self, message: str, kind: type[InputError] = InputError) -> InputError:
        """Return an error with *message*, after the model's label if it has one."""
        return kind(f"{self.label}: {message}" if self.label else message)


def fit_report(model: KernelModel, samples: Samples, kept: Bools) -> dict[str, Any]:
    """Return the report of *model*, just fitted to the samples that it *kept*."""
    from tasksim.base.documents.json_document import to_data
    from tasksim.models.validation.metrics import fit_errors

    used = samples.select(kept)
    rows, inverse = used.configurations()
    report = {
        "kind": model.kind,
        "samples": len(samples),
        "dropped": len(samples) - len(used),
        **fit_errors(used, rows, inverse, model._predict(rows)),
        **model._details(),
    }
    plain: dict[str, Any] = to_data(report)
    return plain


def domain_of(samples: Samples) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest value of each parameter of *samples*."""
    low, high = samples.parameters.min(axis=0), samples.parameters.max(axis=0)
    bounds = zip(low.tolist(), high.tolist(), strict=True)
    return dict(zip(samples.names, bounds, strict=True))


def _unmeasured(samples: Samples) -> dict[str, tuple[str, ...]]:
    """Return the categories without samples, by parameter."""
    found = {}
    for name, categories in samples.categories.items():
        if name not in samples.names:
            continue
        used = np.zeros(len(categories), dtype=bool)
        used[samples.parameters[:, samples.names.index(name)].astype(np.intp)] = True
        if not used.all():
            found[name] = tuple(c for c, some in zip(categories, used, strict=True) if not some)
    return found


def nothing_reported(kind: str, samples: int = 0) -> dict[str, Any]:
    """Return the report of a model whose accuracy is unknown."""
    counts = {"samples": samples, "dropped": 0, "configurations": 0}
    return {"kind": kind, **counts, **dict.fromkeys(("mlogq", "bias", "mape", "worst"))}
