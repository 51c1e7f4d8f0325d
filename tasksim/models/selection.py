"""Selection of the kind of model that suits some samples: tried, cross-validated, explained."""

from __future__ import annotations

import inspect
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, TasksimError, expect
from tasksim.models.candidate import Candidate, percent, size_bytes
from tasksim.models.counters.clocks import with_clock
from tasksim.models.registry import KINDS, model_class
from tasksim.models.registry import kinds as installed
from tasksim.models.samples import Samples
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.validation.crossvalidation import FOLDS, LeftOut, left_out
from tasksim.models.validation.separable import check_separable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tasksim.models.kernelmodel import KernelModel

__all__ = ["AUTO", "Candidate", "Selection", "automatic_kinds", "select", "size_bytes"]

AUTO: Final = ("history", "power", "mlr", "cp", "hybrid")
"""What is tried unless kinds are asked for, the cheapest first; then kinds of other packages."""

ALIKE: Final = 1.05
"""Errors within this factor are the same: of five seeds of the folds, those of a linear model on
60 generated configurations differ by 4 to 10 %, those of a tensor by 30 %."""
FAR: Final = 0.15
"""An error (MLogQ) beyond which what was measured is preferred to a formula, ..."""
WORSE: Final = 2.0
"""... if it is also this many times that of what was measured: a formula answers for all sizes,
and a history for none but those, so it must be much better."""
POOR: Final = 0.25
"""An error to warn of: predictions off by 28 %, typically, rank few schedulers right."""
FEW: Final = 19
"""With fewer samples than these, a 90 % interval is what the most extreme ones say."""
FEWEST_FOLDS: Final = 2
"""Half of the configurations predict the other half: the least that judges a kind at all."""
RESAMPLES: Final = 10
"""A variance of ten is known to half of itself; the quantiles of intervals make up for the
rest."""
AT_ONCE_S: Final = 1e-9
"""A fit that takes less, by a coarse clock, counts as this: there is time for all."""
FITS: Final = 8
"""Those that search get this part of the time for a fit, or half of it among other kinds: five
folds, the fit itself, and some resampled ones."""
LEAST_SEARCH_S: Final = 1e-3
"""A search has more time than none, whatever the budget: it then tries its first choice alone."""
ENOUGH: Final = 0.5
"""The share of configurations that a kind must be able to predict: of fewer, the error is that of
others than those it would be compared on."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The model that was chosen.

    Parameters
    ----------
    model : KernelModel
        Fitted to all samples, with its uncertainty, if there were enough samples for one.
    table : tuple of Candidate
        One per kind, in the order tried.
    why : str
        The choice, in words.
    out : LeftOut or None
        What models of its kind predicted for samples left out.
    samples : Samples
        What it was fitted to: parameters that are the same in all samples are *constants*.
    warnings : tuple of str, default=()
        What to know before trusting it.

    See Also
    --------
    tasksim.select : Makes it.

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

    @property
    def chosen(self) -> Candidate:
        """The candidate that was chosen."""
        return next(row for row in self.table if row.model is self.model)


def select(
    samples: Samples,
    kinds: Sequence[str] | None = None,
    *,
    budget_s: float = 30.0,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Selection:
    """Return the model of one of *kinds* that predicts *samples* best without having seen them.

    Parameters
    ----------
    samples : Samples
        What was measured.
    kinds : sequence of str, default=None
        What to try, in this order. Each is fitted and judged, however long it takes. None: those
        of :func:`automatic_kinds`, while the budget lasts.
    budget_s : float, default=30.0
        When to stop trying kinds that nobody asked for, and refining, in seconds: past it there
        are fewer folds, and fewer fits to resampled configurations. What began before is
        finished. Only then the result depends on how fast the machine is.
    seed : int, default=0
        Of folds, resampling, and of the models that take one.
    options : mapping, default=None
        Kind -> options of its models.
    progress : callable, default=None
        Called with what is done now, and about which share of the whole is done.

    Returns
    -------
    Selection
        The model, fitted to all samples, and why it was chosen.

    Raises
    ------
    InputError
        If no kind can be fitted, with the reason of each; if parameters depend on each other, or
        all are constant; if the budget is no positive number.

    See Also
    --------
    tasksim.diagnose : What is wrong with the model that was chosen.
    KernelModel.fit : Of one kind, without a comparison.

    Notes
    -----
    The error is the MLogQ of 5-fold cross-validation over configurations (repetitions of one stay
    together). Among kinds that predict what was not measured, the smallest is taken whose error
    is that of the best: within 5 %, or within a standard error of the difference (the rule of
    Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, section 3.4.3,
    with paired differences). A history is preferred to it only if that error is larger than 0.15,
    and than twice the history's own on further samples of what was measured.

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
    asked = kinds is not None
    tried = list(automatic_kinds() if kinds is None else kinds)
    samples = with_clock(samples)
    if not all(kind in installed() and model_class(kind).exact for kind in tried):
        samples = samples.with_constants_apart(_in_terms(samples.names, options or {}))
        check_separable(samples)
    clock = _Clock(budget_s, seed, single=len(tried) == 1, asked=asked)
    table: list[Candidate] = []
    for kind in tried:
        if progress is not None:
            progress(f"trying {kind}", len(table) / (len(tried) + 1))
        last_chance = not any(candidate.model is not None for candidate in table)
        table.append(
            _tried(kind, samples, clock, (options or {}).get(kind, {}), needed=asked or last_chance)
        )
    fitted = [candidate for candidate in table if candidate.model is not None]
    if not fitted:
        raise InputError(_none_fits(table))
    chosen, why = _choose(fitted, alone=len(tried) == 1)
    assert chosen.model is not None
    if progress is not None:
        progress(f"intervals of {chosen.kind}", len(tried) / (len(tried) + 1))
    warnings = (*_left_out_constants(samples), *_calibrated(chosen, samples, clock))
    return Selection(chosen.model, tuple(table), why, chosen.out, samples, warnings)


def automatic_kinds() -> list[str]:
    """Return the kinds that are tried if none are named, those of other packages last."""
    others = {kind: found for kind, found in KINDS.items().items() if kind not in KINDS.built_in}
    return [*AUTO, *(kind for kind, found in others.items() if found.automatic)]


@dataclass
class _Clock:
    """How much time is left, and what all fits share."""

    budget_s: float
    seed: int
    single: bool
    asked: bool

    def __post_init__(self) -> None:
        self._begun = time.monotonic()

    @property
    def left_s(self) -> float:
        return self.budget_s - (time.monotonic() - self._begun)

    def folds(self, fit_s: float) -> int:
        """Return how many folds there is time for; 0 for none."""
        for folds in (FOLDS, FEWEST_FOLDS):
            if folds * fit_s <= self.left_s:
                return folds
        return 0

    def resamples(self, fit_s: float) -> int:
        """Return how many fits to resampled configurations there is time for."""
        return int(np.clip(self.left_s / max(fit_s, AT_ONCE_S), 0, RESAMPLES))


def _tried(
    kind: str, samples: Samples, clock: _Clock, options: Mapping[str, Any], *, needed: bool
) -> Candidate:
    """Return the best model of a *kind*, or why there is none; *needed* whatever the budget."""
    if kind not in installed():
        if clock.single:
            model_class(kind)
        return Candidate(kind, "not installed")
    if clock.left_s <= 0 and not needed:
        return Candidate(kind, f"not tried: the budget of {clock.budget_s:g} s was used up")
    try:
        models = list(_models(kind, options, clock))
    except TypeError as error:
        return Candidate(kind, f"cannot be made: {error}")
    found = [_judged(model, samples, clock, needed=needed) for model in models]
    return min(found, key=lambda candidate: (candidate.model is None, candidate.judged))


def _models(kind: str, options: Mapping[str, Any], clock: _Clock) -> Iterator[KernelModel]:
    """Yield the models of a *kind* that are worth trying."""
    known = model_class(kind)
    accepted = inspect.signature(known).parameters
    defaults: dict[str, Any] = {}
    if "seed" in accepted:
        defaults["seed"] = clock.seed
    if "budget_s" in accepted:
        share = clock.budget_s / (FITS if clock.single else 2 * FITS)
        defaults["budget_s"] = max(share, LEAST_SEARCH_S)
    for trial in known.trials({**defaults, **options}):
        yield known(**trial)


def _judged(model: KernelModel, samples: Samples, clock: _Clock, *, needed: bool) -> Candidate:
    begun = time.monotonic()
    try:
        model.fit(samples)
    except TasksimError as error:
        return Candidate(model.kind, f"cannot be fitted: {error}")
    fit_s = time.monotonic() - begun
    folds = clock.folds(fit_s) or (FEWEST_FOLDS if needed else 0)
    if not folds:
        reason = f"not judged: a fit takes {fit_s:.2g} s, {max(clock.left_s, 0):.2g} s were left"
        return Candidate(model.kind, reason)
    try:
        out = left_out(model, samples, folds=folds, seed=clock.seed)
    except TasksimError as error:
        return Candidate(model.kind, f"cannot be judged: {error}", model, fit_seconds=fit_s)
    refit_s = (time.monotonic() - begun - fit_s) / folds
    errors = out.errors(samples)
    known = float(np.isfinite(errors).mean())
    reason = _how(out, known) if known else "cannot be judged: nothing was measured twice"
    return Candidate(model.kind, reason, model, out, errors, fit_s, refit_s)


def _how(out: LeftOut, known: float) -> str:
    what = "sizes left out" if out.by == "configuration" else "further samples of what it knows"
    return f"judged by {what}" + ("" if known == 1 else f", {100 * known:.2g} % of them")


def _choose(fitted: Sequence[Candidate], *, alone: bool) -> tuple[Candidate, str]:
    """Return the candidate to take, and why; *alone* if no other kind was tried."""
    general = [c for c in fitted if not c.exact and _enough(c)]
    exact = [c for c in fitted if c.exact and _enough(c)]
    if not general:
        chosen = min(exact or fitted, key=lambda c: c.judged)
        return chosen, f"{chosen.kind}: {_uncompared(chosen, alone=alone)}"
    best = min(general, key=lambda c: c.judged)
    chosen = min((c for c in general if _as_good(c, best)), key=lambda c: c.size_bytes or 0)
    history = min(exact, key=lambda c: c.judged, default=None)
    if history is not None and chosen.judged > max(FAR, WORSE * history.judged):
        return history, (
            f"{history.kind}: the best formula, {best.kind}, errs by {percent(best)} on sizes "
            f"left out, and {history.kind} by {percent(history)} on what it knows; it predicts "
            "nothing else"
        )
    return chosen, _why(chosen, best, general, alone=alone)


def _enough(candidate: Candidate) -> bool:
    return bool(np.isfinite(candidate.errors).mean() >= ENOUGH) if candidate.out else False


def _as_good(candidate: Candidate, best: Candidate) -> bool:
    """Return whether *candidate* errs no more than *best*, as far as one can tell."""
    if candidate is best or candidate.judged <= ALIKE * best.judged:
        return True
    difference = candidate.errors - best.errors
    difference = difference[np.isfinite(difference)]
    if len(difference) < 2:
        return False
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return bool(difference.mean() <= error)


def _uncompared(chosen: Candidate, *, alone: bool) -> str:
    """Return why *chosen* is taken where no candidate predicts what was not measured."""
    if chosen.mlogq_cv is None:
        return "nothing can be compared: no samples to leave out"
    # Others may have had no time, or too few samples: their rows of the table say so.
    others = "the only kind tried" if alone else "the only one that could be judged"
    where = "on further samples of what it knows" if chosen.exact else "on sizes left out"
    return f"{others}; it errs by {percent(chosen)} {where}"


def _why(chosen: Candidate, best: Candidate, general: Sequence[Candidate], *, alone: bool) -> str:
    error = f"errs by {percent(chosen)} on sizes left out"
    others = sorted((c for c in general if c is not chosen), key=lambda c: c.judged)
    if not others:
        if alone:
            return f"{chosen.kind}: {error}; it was the only kind tried"
        return f"{chosen.kind}: {error}; no other kind could be judged by these"
    compared = ", ".join(f"{c.kind} by {percent(c)}" for c in others)
    if chosen is best:
        return f"{chosen.kind}: {error}, the least ({compared})"
    return (
        f"{chosen.kind}: {error}, as little as the best within what can be told ({compared}), "
        f"and is smaller: {chosen.size_bytes} bytes, {best.kind} {best.size_bytes}"
    )


def _none_fits(table: Sequence[Candidate]) -> str:
    if len(table) == 1:
        return table[0].reason
    return "no kind of model fits these samples:" + "".join(
        f"\n  {row.kind}: {row.reason}" for row in table
    )


def _in_terms(names: Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of parameters in terms that are given: they are not left out."""
    words = {w for of in options.values() for w in re.findall(r"\w+", str(of.get("terms", "")))}
    return [name for name in names if name in words]


def _left_out_constants(samples: Samples) -> Iterator[str]:
    """Yield what there is to know of parameters that are the same in all samples."""
    if samples.constants:
        said = ", ".join(f"{name} is {value:.15g}" for name, value in samples.constants.items())
        yield (
            f"{said} in all {len(samples)} samples: left out, as they cannot tell what it does; "
            "predictions for other values are extrapolated"
        )


def _calibrated(chosen: Candidate, samples: Samples, clock: _Clock) -> Iterator[str]:
    """Give the model its uncertainty; yield what there is to warn of."""
    assert chosen.model is not None
    if chosen.out is None:
        yield "no intervals: no samples could be left out of the fit"
        return
    if not chosen.exact and POOR < chosen.judged < np.inf:
        yield (
            f"{chosen.kind} errs by {percent(chosen)} on sizes left out: measure more sizes, "
            "or look for a parameter that is missing"
        )
    resamples = clock.resamples(chosen.refit_seconds)
    try:
        found = calibrate(chosen.model, samples, chosen.out, seed=clock.seed, resamples=resamples)
    except InputError as error:
        yield f"no intervals: {error}"
        return
    if found.count < FEW:
        yield f"only {found.count} samples could be left out: intervals are no wider than theirs"
