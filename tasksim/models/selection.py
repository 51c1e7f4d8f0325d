"""Selection of the kind of model with the smallest cross-validated error."""

from __future__ import annotations

import inspect
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, TasksimError, expect
from tasksim.base.extras import require
from tasksim.base.log import Log
from tasksim.models.candidate import Candidate, percent, percent_text
from tasksim.models.registry import KINDS, model_class
from tasksim.models.registry import kinds as installed
from tasksim.models.samples import Samples, drawn_configurations, with_clock
from tasksim.models.terms.leastsquares import aliased
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.validation.crossvalidation import left_out, own_left_out
from tasksim.models.validation.outside import checked_domain, errors_outside, outside_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.base.arrays import Floats
    from tasksim.base.progress import ShareProgress
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.validation.crossvalidation import LeftOut
    from tasksim.models.validation.outside import Outside

__all__ = [
    "AUTOMATIC_KINDS",
    "Selection",
    "automatic_kinds",
    "check_separable",
    "select",
]

_log = Log("models")

AUTOMATIC_KINDS: Final = ("history", "power", "mlr", "cp", "hybrid", "learned")
"""Kinds tried by default, the cheapest first, followed by kinds of other packages."""

STAGE_CONFIGURATIONS: Final = (768, 2048)
"""Numbers of configurations on which kinds are compared before the best is fitted to all. Each kind
is tried on the first; those that may still win also on the second."""
FIRST_PER_SECOND: Final = 64
"""Number of configurations of the first stage per second of budget: with a small one, each kind
still has its chance."""
MIN_FIRST: Final = 64
"""Smallest number of configurations of the first stage."""
MAX_FINALISTS: Final = 2
"""Maximum number of kinds compared on the second stage."""
FINALIST_FACTOR: Final = 1.6
"""Error, relative to the best, up to which a kind is compared again: with three times as many
samples, the errors of tensors and of learned models fall by a third, those of formulas stay."""
SECOND_COST_FACTOR: Final = 1.8
"""Processor time of the second comparison by that of the same kinds in the first: 1.5 to 1.8 for
tensors and learned models of 7 to 12 parameters. Folds are fewer, configurations more."""
MAX_SPENT_FACTOR: Final = 4 / 3
"""Budgets that both comparisons may take. Of samples with 7 to 12 parameters, they take some 25 s
on a machine at rest, less than the default budget. Beside other processes, processor time is up to
twice as long; 40 s then leave 20 of a minute for the fit to all of 16,384 samples."""
MAX_ALL_FOLDS: Final = 1024
"""Number of configurations up to which every fold is left out. Of more, two are: the error is then
known from 400 configurations and more."""
FOLDS_OF_MANY: Final = 2
"""Number of folds left out of many configurations."""

SAME_ERROR_FACTOR: Final = 1.05
"""Factor within which two errors count as equal: over five seeds of the folds, errors of a linear
model of 60 generated configurations differ by 4 to 10 %, those of a tensor by 30 %."""
MANY_CONFIGURATIONS: Final = 256
"""Number of configurations left out from which :data:`SAME_ERROR_FACTOR_OF_MANY` applies: errors
are then known better."""
SAME_ERROR_FACTOR_OF_MANY: Final = 1.01
"""Factor within which two errors over many configurations count as equal. Where noise is most of
the error, two models whose predictions differ by a tenth have errors that differ by a hundredth."""
FORMULA_ERROR_THRESHOLD: Final = 0.15
"""Error (MLogQ) of a formula above which a history may be preferred."""
FORMULA_TO_HISTORY_RATIO: Final = 2.0
"""Ratio of a formula's error to a history's above which the history is preferred. A formula
predicts all sizes, a history only measured ones, so the history must be much better."""
WARNING_ERROR_THRESHOLD: Final = 0.25
"""Error (MLogQ) that triggers a warning: predictions that are typically off by 28 % rarely rank
schedulers correctly."""
MIN_INTERVAL_SAMPLES: Final = 19
"""Sample size below which a 90 % interval is determined by the most extreme samples."""
RESAMPLES: Final = 10
"""Number of fits to resampled configurations. Their variance is known to half of itself; the
quantiles of the intervals compensate for the rest."""
FITS_PER_BUDGET: Final = 18
"""Number of fits among which a search divides the budget (twice as many if other kinds are tried,
too): the fit itself, five folds, ten to resampled configurations, and two for intervals."""
MIN_SEARCH_S: Final = 1e-3
"""Shortest time for a search in seconds, whatever the budget: it then tries its first choice
only."""
MIN_PREDICTED_SHARE: Final = 0.5
"""Share of configurations that a kind must predict to be compared: the error over fewer is the
error on other configurations than those of its competitors."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen model.

    Parameters
    ----------
    model : KernelModel
        Fitted to all samples, with its uncertainty if there were enough samples.
    table : tuple of Candidate
        One per kind, in the order tried.
    why : str
        The reason for the choice, as text.
    out : LeftOut or None
        Predictions of models of its kind for samples left out.
    samples : Samples
        The samples it was fitted to: parameters with a single value are *constants*.
    warnings : tuple of str, default=()
        Reasons for caution.
    outside : Outside or None, default=None
        The part of the domain asked for that is outside the samples, by which kinds were judged,
        too; None if there is none.

    See Also
    --------
    tasksim.select : Make a selection.

    Examples
    --------
    >>> samples = Samples(("n",), [[1], [1], [2], [2], [4]], [1.0, 1.1, 2.0, 2.1, 4.0])
    >>> found = select(samples, ["history"])
    >>> found.chosen.kind, found.warnings[0].partition(":")[0]
    ('history', 'no intervals')
    """

    model: KernelModel
    table: tuple[Candidate, ...]
    why: str
    out: LeftOut | None
    samples: Samples
    warnings: tuple[str, ...] = ()
    outside: Outside | None = None

    @property
    def chosen(self) -> Candidate:
        """The chosen candidate."""
        return next(row for row in self.table if row.model is self.model)


def select(
    samples: Samples,
    kinds: Sequence[str] | None = None,
    *,
    budget_s: float = 30.0,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    domain: Mapping[str, tuple[float, float]] | None = None,
    progress: ShareProgress | None = None,
) -> Selection:
    """Return the model of one of *kinds* that best predicts *samples* it was not fitted to.

    Parameters
    ----------
    samples : Samples
        The measured durations.
    kinds : sequence of str, default=None
        The kinds to try, in this order. A single one is fitted to all samples, however long it
        takes. None: those of :func:`automatic_kinds`.
    budget_s : float, default=30.0
        Processor time in seconds. It determines the number of configurations that each kind is
        tried on at first, and the extent of searches. Kinds are compared on more only if that will
        end, by the time of the first comparison, within four thirds of it. Otherwise the best
        so far is fitted to all samples, and only then does the result depend on the speed of the
        machine.
    seed : int, default=0
        The seed of folds, of resampling, and of models that take one.
    options : mapping, default=None
        Kind -> options of its models.
    domain : mapping, default=None
        Parameter -> the lowest and the highest value that predictions will be asked for. Where it
        exceeds that of the samples, kinds are judged by their extrapolation, too.
    progress : callable, default=None
        Called with the current step and the approximate share of the work done.

    Returns
    -------
    Selection
        The model, fitted to all samples, and why it was chosen.

    Raises
    ------
    InputError
        If no kind can be fitted, with the reason of each; if parameters depend on each other, or
        all are constant; if the budget is not a positive number; if the domain has other
        parameters, or a value that is no range.

    See Also
    --------
    tasksim.diagnose : Find problems of the chosen model.
    KernelModel.fit : Fit one kind, without a comparison.

    Notes
    -----
    Kinds are compared on 768 configurations, those that may still win on 2048, and the best is
    fitted to all (successive halving: K. Jamieson and A. Talwalkar, "Non-stochastic best arm
    identification and hyperparameter optimization", AISTATS 2016).

    The error is the MLogQ of 5-fold cross-validation over configurations (repetitions of one stay
    together). Among the kinds that predict unmeasured configurations, the smallest model is taken
    whose error equals the best one: within 5 % (1 % if 256 configurations or more were left out),
    or within a standard error of the difference (the
    rule of Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, section
    3.4.3, with paired differences). A history is preferred to it only if that error is larger than
    0.15, and larger than twice the history's own error on further samples of measured
    configurations.

    If a *domain* exceeds the samples, the error of a kind is that of a prediction drawn from it,
    with sizes evenly distributed in logarithms: inside the samples, the cross-validated one, and
    outside, that on the quarter of the configurations with the largest (smallest) values of each
    parameter concerned, by a model fitted to the others. A history predicts nothing there, and is
    not preferred.

    Examples
    --------
    >>> import numpy as np
    >>> n = np.repeat(np.arange(100.0, 500.0, 20.0), 5)
    >>> noise = np.random.default_rng(0).lognormal(0.0, 0.02, len(n))
    >>> samples = Samples(("n",), n[:, None], 1e-9 * n**2 * noise)
    >>> found = select(samples, ["history", "power"])
    >>> found.model.kind, found.model.formula(1)
    ('power', '1e-09*n^2')
    """
    expect(samples, Samples, "samples")
    if isinstance(budget_s, bool) or not isinstance(budget_s, int | float) or not budget_s >= 0:
        raise InputError(f"budget_s must be a number of seconds, not negative, got {budget_s!r}")
    tried = list(automatic_kinds() if kinds is None else kinds)
    if len(tried) > 1:  # without linear models, another kind would win
        require("statsmodels", "a comparison of kinds of kernel models")
    samples = with_clock(samples).with_used_categories()
    if not all(kind in installed() and model_class(kind).exact for kind in tried):
        # Parameters of given terms must stay, even if they are the same in all samples.
        given = " ".join(str(of.get("terms", "")) for of in (options or {}).values())
        samples = samples.with_constants_apart(re.findall(r"\w+", given))
        check_separable(samples)
    outside = outside_of(samples, checked_domain(samples, domain or {}))
    contest = _Contest(samples, tried, budget_s, seed, options or {}, progress, outside)
    fitted = contest.run()
    if not fitted:
        table = list(contest.table.values())
        if len(table) == 1:
            raise InputError(table[0].reason)
        reasons = "".join(f"\n  {row.kind}: {row.reason}" for row in table)
        raise InputError(f"no kind of model fits these samples:{reasons}")
    chosen, why = _choose(fitted, alone=len(tried) == 1)
    chosen, why = contest.with_all_samples(chosen, why)
    assert chosen.model is not None
    for row in contest.table.values():
        _log.debug("kind %s: error %s in cross-validation %s", row.kind, row.mlogq_cv, row.reason)
    _log.info("kind %s chosen among %s: %s", chosen.kind, ", ".join(tried), why)
    contest.say(f"intervals of {chosen.kind}")
    warnings = (
        *_left_out_constants(samples), *_calibrated(chosen, samples, seed),
        *_extrapolated(chosen, outside),
    )  # fmt: skip
    return Selection(
        chosen.model, tuple(contest.table.values()), why, chosen.out, samples, warnings, outside
    )


def automatic_kinds() -> list[str]:
    """Return the kinds that are tried by default, those of other packages last."""
    others = {kind: found for kind, found in KINDS.items().items() if kind not in KINDS.built_in}
    return [*AUTOMATIC_KINDS, *(kind for kind, found in others.items() if found.automatic)]


@dataclass
class _Contest:
    """The comparison of kinds, in stages of more and more configurations."""

    samples: Samples
    kinds: Sequence[str]
    budget_s: float
    seed: int
    options: Mapping[str, Mapping[str, Any]]
    progress: ShareProgress | None
    outside: Outside | None
    table: dict[str, Candidate] = field(default_factory=dict)
    steps: int = 0

    def __post_init__(self) -> None:
        self._begun = time.process_time()

    def affords(self, first_s: float) -> bool:
        """Return whether the kinds whose first comparison took *first_s* can be compared again."""
        spent_s = time.process_time() - self._begun
        return spent_s + SECOND_COST_FACTOR * first_s <= MAX_SPENT_FACTOR * self.budget_s

    @property
    def single(self) -> bool:
        """Whether only one kind is tried."""
        return len(self.kinds) == 1

    def run(self) -> list[Candidate]:
        """Return the candidates that were fitted in the last stage, and those of exact kinds."""
        exact = [kind for kind in self.kinds if kind in installed() and model_class(kind).exact]
        left = [kind for kind in self.kinds if kind not in exact]
        for kind in exact:
            # Repetitions of few configurations say little about a history.
            self.table[kind] = self._tried(kind, self.samples)
        for count in self._counts():
            some = self._some(count)
            for kind in left:
                self.table[kind] = self._tried(kind, some)
            compared = [*exact, *left]
            # More samples may put kinds near the best ahead. They stay in the order of trials.
            fitted = [self.table[kind] for kind in left if self.table[kind].model is not None]
            best = min((c.judged for c in fitted), default=np.inf)
            near = [c for c in fitted if c.judged <= FINALIST_FACTOR * best]
            finalists = sorted(near, key=lambda c: c.judged)[:MAX_FINALISTS]
            left = [c.kind for c in near if c in finalists]
            if len(left) < 2 or not self.affords(sum(c.spent_s for c in finalists)):
                break
        self.table = {kind: self.table[kind] for kind in self.kinds}
        found = [self.table[kind] for kind in compared]
        return [candidate for candidate in found if candidate.model is not None]

    def with_all_samples(self, chosen: Candidate, why: str) -> tuple[Candidate, str]:
        """Return *chosen* fitted to all samples, if it was not, and the reason for the choice."""
        count = len(self.samples.configurations()[0])
        if chosen.configurations in (None, count):
            return chosen, why
        compared = chosen
        chosen = self._tried(compared.kind, self.samples, alone=True)
        if chosen.model is None:
            raise InputError(chosen.reason)
        chosen = replace(chosen, beyond=compared.beyond, share_outside=compared.share_outside)
        self.table[chosen.kind] = chosen
        return chosen, (
            f"{why}, compared on {compared.configurations} of {count} configurations; fitted to "
            f"all, it errs by {percent(chosen)}"
        )

    def say(self, step: str) -> None:
        """Report the current step."""
        if self.progress is not None:
            self.progress(step, min(self.steps / (2 * len(self.kinds) + 1), 1.0))
        self.steps += 1

    def _counts(self) -> list[int | None]:
        """Return the number of configurations of each stage; None for all."""
        count = len(self.samples.configurations()[0])
        if self.single:
            return [None]
        first, second = STAGE_CONFIGURATIONS
        first = int(np.clip(FIRST_PER_SECOND * self.budget_s, MIN_FIRST, first))
        stages: list[int | None] = [one for one in (first, second) if one < count]
        # Up to the second number, one comparison on all costs less than two.
        return [*stages, None] if count <= second else stages

    def _some(self, count: int | None) -> Samples:
        """Return the samples of *count* configurations drawn at random."""
        if count is None:
            return self.samples
        return drawn_configurations(self.samples, count, self.seed)

    def _tried(self, kind: str, samples: Samples, *, alone: bool = False) -> Candidate:
        """Return the best model of a *kind*, or why there is none.

        If it is *alone*, errors need not be on the same configurations as those of other kinds.
        """
        self.say(f"fitting {kind} to all samples" if alone else f"trying {kind}")
        if kind not in installed():
            if self.single:
                model_class(kind)
            return Candidate(kind, "not installed")
        try:
            models = list(self._models(kind))
        except TypeError as error:
            return Candidate(kind, f"cannot be made: {error}")
        own = alone or self.single
        begun = time.process_time()
        found = [_judged(model, samples, self.seed, own=own) for model in models]
        if self.outside is not None and not alone:
            some = self._some(STAGE_CONFIGURATIONS[0]) if self.single else samples
            for place, one in enumerate(found):
                if one.model is not None and not one.exact:
                    beyond = errors_outside(one.model, some, self.outside)
                    share = self.outside.share if len(beyond) else 0.0
                    found[place] = replace(one, beyond=beyond, share_outside=share)
        best = min(found, key=lambda candidate: (candidate.model is None, candidate.judged))
        return replace(best, spent_s=time.process_time() - begun)

    def _models(self, kind: str) -> Iterator[KernelModel]:
        """Yield the models of a *kind* that are worth trying."""
        known = model_class(kind)
        accepted = inspect.signature(known).parameters
        defaults: dict[str, Any] = {}
        if "seed" in accepted:
            defaults["seed"] = self.seed
        if "budget_s" in accepted:
            share = self.budget_s / (FITS_PER_BUDGET if self.single else 2 * FITS_PER_BUDGET)
            defaults["budget_s"] = max(share, MIN_SEARCH_S)
        for trial in known.trials({**defaults, **self.options.get(kind, {})}):
            yield known(**trial)


def _judged(model: KernelModel, samples: Samples, seed: int, *, own: bool) -> Candidate:
    begun = time.process_time()
    try:
        model.fit(samples)
    except TasksimError as error:
        return Candidate(model.kind, f"cannot be fitted: {error}")
    fit_s = time.process_time() - begun
    rows, group = samples.configurations()
    parts = None if len(rows) <= MAX_ALL_FOLDS else FOLDS_OF_MANY
    try:
        out = left_out(
            model, samples, parts=parts, seed=seed, own=own and len(rows) > MAX_ALL_FOLDS
        )
    except TasksimError as error:
        return Candidate(
            model.kind, f"cannot be judged: {error}", model, fit_seconds=fit_s,
            configurations=len(rows),
        )  # fmt: skip
    errors = out.errors(samples)
    if out.tried is not None:
        errors = errors[np.bincount(group[out.tried], minlength=len(rows)) > 0]
    known = float(np.isfinite(errors).mean())
    reason = "cannot be judged: nothing was measured twice"
    if known:
        what = "sizes left out" if out.by == "configuration" else "further samples of what it knows"
        reason = f"judged by {what}" + ("" if known == 1 else f", {100 * known:.2g} % of them")
    return Candidate(model.kind, reason, model, out, errors, fit_s, len(rows))


def _choose(fitted: Sequence[Candidate], *, alone: bool) -> tuple[Candidate, str]:
    """Return the best candidate and the reason; *alone* if no other kind was tried."""
    judged = [c for c in fitted if c.out and np.isfinite(c.errors).mean() >= MIN_PREDICTED_SHARE]
    general = [c for c in judged if not c.exact]
    exact = [c for c in judged if c.exact]
    if not general:
        chosen = min(exact or fitted, key=lambda c: c.judged)
        if chosen.mlogq_cv is None:
            return chosen, f"{chosen.kind}: nothing can be compared: no samples to leave out"
        # Others may have had no time or too few samples; their rows of the table say so.
        others = "the only kind tried" if alone else "the only one that could be judged"
        where = "on further samples of what it knows" if chosen.exact else "on sizes left out"
        return chosen, f"{chosen.kind}: {others}; it errs by {percent(chosen)} {where}"
    best = min(general, key=lambda c: c.judged)
    chosen = min((c for c in general if _as_good(c, best)), key=lambda c: c.size_bytes or 0)
    history = min(exact, key=lambda c: c.judged, default=None)
    if (
        history is not None
        and not len(chosen.beyond)
        and chosen.judged > max(FORMULA_ERROR_THRESHOLD, FORMULA_TO_HISTORY_RATIO * history.judged)
    ):
        return history, (
            f"{history.kind}: the best formula, {best.kind}, errs by {percent(best)} on sizes "
            f"left out, and {history.kind} by {percent(history)} on what it knows; it predicts "
            "nothing else"
        )
    return chosen, _why(chosen, best, general, alone=alone)


def _as_good(candidate: Candidate, best: Candidate) -> bool:
    """Return whether the error of *candidate* does not differ significantly from the best."""
    difference = candidate.errors - best.errors
    difference = difference[np.isfinite(difference)]
    many = len(difference) >= MANY_CONFIGURATIONS
    factor = SAME_ERROR_FACTOR_OF_MANY if many else SAME_ERROR_FACTOR
    if candidate is best or candidate.judged <= factor * best.judged:
        return True
    if len(difference) < 2 or not np.isfinite(candidate.judged):
        return False
    parts = [(1 - best.share_outside, difference)]
    if len(best.beyond):
        parts.append((best.share_outside, candidate.beyond - best.beyond))
    mean = float(sum(share * part.mean() for share, part in parts))
    variance = sum(
        share**2 * float(part.var(ddof=1)) / len(part) for share, part in parts if len(part) > 1
    )
    return mean <= float(np.sqrt(variance))


def _why(chosen: Candidate, best: Candidate, general: Sequence[Candidate], *, alone: bool) -> str:
    error = f"errs by {percent(chosen)} on sizes left out"
    least = "the least"
    if len(chosen.beyond):
        error += f" and {percent_text(chosen.mlogq_outside or np.inf)} on those at their ends"
        least = "the least over the domain"
    others = sorted((c for c in general if c is not chosen), key=lambda c: c.judged)
    if not others:
        if alone:
            return f"{chosen.kind}: {error}; it was the only kind tried"
        return f"{chosen.kind}: {error}; no other kind could be judged by these"
    errors = []
    for other in others:
        errors.append(f"{other.kind} by {percent(other)}")
        if len(other.beyond) and other.mlogq_outside is None:
            errors[-1] += ", and it predicts nothing outside"
        elif other.mlogq_outside is not None:
            errors[-1] += f" and {percent_text(other.mlogq_outside)}"
    compared = ", ".join(errors)
    if chosen is best:
        return f"{chosen.kind}: {error}, {least} ({compared})"
    return (
        f"{chosen.kind}: {error}, not significantly more than the best ({compared}), "
        f"and is smaller: {chosen.size_bytes} bytes, {best.kind} {best.size_bytes}"
    )


def _extrapolated(chosen: Candidate, outside: Outside | None) -> Iterator[str]:
    """Yield a warning if predictions outside the samples will be asked for, and how good they are.

    There is none if they are about as good as inside.
    """
    if outside is None:
        return
    ends = ", ".join(end.text() for end in outside.ends)
    where = f"{100 * outside.share:.3g} % of the domain is outside the samples"
    if chosen.exact:
        yield f"{where}, where {chosen.kind} predicts nothing"
    elif not len(chosen.beyond):
        yield f"{where}, and too few sizes differ to judge extrapolation by ({ends})"
    elif chosen.mlogq_outside is None and chosen.model and chosen.model.extrapolates:
        yield f"{where}, and without {ends} too few are left to judge {chosen.kind} by"
    elif chosen.mlogq_outside is None:
        yield f"{where}, where {chosen.kind} predicts nothing"
    elif chosen.mlogq_outside > WARNING_ERROR_THRESHOLD:
        yield (
            f"{where}: fitted to the rest, {chosen.kind} errs by "
            f"{percent_text(chosen.mlogq_outside)} on samples with {ends}: measure there"
        )


def _left_out_constants(samples: Samples) -> Iterator[str]:
    """Yield a warning about parameters with a single value in all samples."""
    if samples.constants:
        said = ", ".join(
            f"{name} is {samples.text_of(name, value)}" for name, value in samples.constants.items()
        )
        yield (
            f"{said} in all {len(samples)} samples: left out, since its effect is unknown; "
            "predictions for other values are extrapolated"
        )


def _calibrated(chosen: Candidate, samples: Samples, seed: int) -> Iterator[str]:
    """Calibrate the uncertainty of the model; yield warnings."""
    assert chosen.model is not None
    if chosen.out is None:
        yield "no intervals: no samples could be left out of the fit"
        return
    if not chosen.exact and (chosen.mlogq_cv or 0.0) > WARNING_ERROR_THRESHOLD:
        yield (
            f"{chosen.kind} errs by {percent(chosen)} on sizes left out: measure more sizes, "
            "or look for a parameter that is missing"
        )
    # Of many configurations, a comparison leaves out two folds; the fit itself may have left out
    # all, and the more there are, the nearer intervals come to what they say.
    out, own = chosen.out, own_left_out(chosen.model, samples)
    if own is not None and own.known.sum() > out.known.sum():
        out = own
    try:
        found = calibrate(chosen.model, samples, out, seed=seed, resamples=RESAMPLES)
    except InputError as error:
        yield f"no intervals: {error}"
        return
    if found.count < MIN_INTERVAL_SAMPLES:
        yield f"only {found.count} samples could be left out: intervals are no wider than theirs"


def check_separable(samples: Samples) -> None:
    """Raise :exc:`InputError` if a parameter is constant, or depends on others.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> table = [[m, 2 * m] for m in (1, 2, 3, 4)]
    >>> check_separable(
    ...     Samples(("m", "n"), table, [1.0, 2.0, 3.0, 4.0])
    ... )  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tasksim.base.errors.InputError: parameter n is a linear combination of m in all samples, ...
    """
    if len(samples) < 2:
        raise InputError(
            f"{len(samples)} sample: it says nothing about other durations; measure the kernel "
            "more often, with other parameters"
        )
    rows, _ = samples.configurations()
    for index, name in enumerate(samples.names):
        if len(rows) == 1 or np.ptp(rows[:, index]) == 0:
            value = samples.text_of(name, float(rows[0, index]))
            raise InputError(
                f"parameter {name} is {value} in all {len(samples)} samples, so that they cannot "
                f"tell what it does: measure others, leave it out{_others(samples, name)}, or "
                "take what was measured as it is (--kind history)"
            )
    numeric = samples.without([name for name in samples.names if name in samples.categories])
    rows, _ = numeric.configurations()
    if len(rows) > len(numeric.names) + 1:
        _check_independent(numeric, rows, "a linear combination")
        if (rows > 0).all():
            _check_independent(numeric, np.log(rows), "a product of powers")


def _check_independent(samples: Samples, columns: Floats, what: str) -> None:
    spread = np.ptp(columns, axis=0)
    centered = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    for column, others in aliased(centered).items():
        name = samples.names[column]
        of = " and ".join(samples.names[other] for other in others)
        raise InputError(
            f"parameter {name} is {what} of {of} in all samples, so that they cannot tell which "
            f"of them the duration grows with: measure {name} independently, leave it out"
            f"{_others(samples, name)}, or take what was measured as it is (--kind history)"
        )


def _others(samples: Samples, name: str) -> str:
    names = ",".join(other for other in samples.names if other != name)
    return f" (--parameters {names})" if names else ""
