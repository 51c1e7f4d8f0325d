"""Interface of fitted models, with predictions, domains and other fits of the same kind.

A kernel model takes columns of parameters by name (:func:`columns`). Predictions for categories
that were not measured may be pooled over those that were (:func:`pooled_mean`).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

import numpy as np

from tasksim.base.errors import OutOfDomainError, listed, nearest
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.rows import describe_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.base.errors import InputError
    from tasksim.models.forms import MeansForm
    from tasksim.models.samples import Samples

__all__ = [
    "FittedModel",
    "bounding_parameters",
    "columns",
    "highest_clock",
    "in_box",
    "model_numbers",
    "pooled_interval",
    "pooled_mean",
    "row_text",
    "unlike_fixed",
]


class FittedModel(Protocol):
    """Interface of a fitted model for uncertainty, validation and columns.

    :class:`KernelModel` implements it. That class uses these modules in turn, so that they cannot
    import it.
    """

    kind: ClassVar[str]
    needs_fit: ClassVar[bool]
    doubt_kind: ClassVar[Any]
    label: str
    names_: tuple[str, ...]
    domain_: dict[str, tuple[float, float]]
    fixed_: Mapping[str, float]
    categories_: Mapping[str, tuple[str, ...]]
    unmeasured_: Mapping[str, tuple[str, ...]]
    _held_out: Floats | None

    def predict(self, parameters: ArrayLike) -> Floats:
        """Return the expected duration of each row of *parameters*, in seconds."""

    def interval(self, parameters: ArrayLike, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the bounds that contain a measurement of each row with probability *level*."""

    def knows(self, table: Floats) -> Bools:
        """Return whether the categories of each row were measured."""

    def inside(self, parameters: ArrayLike) -> Bools:
        """Return whether each row lies within the fitted range."""

    def refitted(self, samples: Samples) -> Self:
        """Return a model of the same kind and options, fitted to a part of the samples."""

    def used_parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters that predictions depend on."""

    def means(self) -> MeansForm | None:
        """Return the model as means of measured configurations; None if it is more than that."""

    def report(self) -> dict[str, Any]:
        """Return the accuracy of the fit, as plain data."""

    def _check_fitted(self, asked: str) -> None: ...

    def _refusal(self, message: str, kind: type[InputError] = ...) -> InputError: ...

    def _table(self, parameters: ArrayLike) -> Floats: ...

    def _elasticities(self, table: Floats) -> Floats: ...

    def _repetitions(self, table: Floats) -> tuple[Ints, Floats]: ...

    def _unknown_share(self, table: Floats, *, left_out: bool = False) -> Floats | None: ...


MAX_LISTED_NAMES: Final = 5
"""Number of names listed in a message, so that they fit one line of a terminal."""


def columns(
    model: FittedModel,
    names: Sequence[str],
    table: Floats,
    clock_hz: float | None = None,
    categories: Mapping[str, tuple[str, ...]] | None = None,
    *,
    keep_unseen: bool = False,
) -> Floats:
    """Return the columns of *table* that *model* needs, in its order.

    Parameters
    ----------
    names
        The names of the columns of *table*, as in a task graph. Columns that the model does
        not need are ignored. An array of objects, or of texts, may have the names of categories.
    clock_hz
        The clock for a model measured at several clocks; by default its highest.
    categories
        Column -> the names of its categories, where *table* has their numbers. Other columns of
        categories hold numbers that are names, such as 8 of the category ``"8"``.
    keep_unseen
        Whether categories that the model does not know become
        :data:`~tasksim.models.categories.UNSEEN_CATEGORY`.

    Raises
    ------
    InputError
        If columns other than the clock are missing, or a column is in categories that are numbers
        for the model.
    OutOfDomainError
        If the model does not know a category, unless they are kept.
    """
    model._check_fitted("predict")
    missing = [name for name in model.names_ if name not in names and name != CLOCK_PARAMETER]
    if missing:
        needed = ("parameters " if len(missing) > 1 else "parameter ") + listed(
            missing, MAX_LISTED_NAMES
        )
        message = f"the model needs the {needed}"
        if unseen := [name for name in names if name not in model.names_]:
            near = nearest(unseen[0], missing)
            message += f"; got {listed(unseen, MAX_LISTED_NAMES)}{near}"
        raise model._refusal(message)
    if CLOCK_PARAMETER in model.names_ and CLOCK_PARAMETER not in names:
        clock = highest_clock(model) if clock_hz is None else clock_hz
        names = (*names, CLOCK_PARAMETER)
        table = np.column_stack([table, np.full(len(table), clock)])
    chosen: Floats = table[:, [names.index(name) for name in model.names_]]
    if not model.categories_ and not categories:
        return chosen
    return _recoded(model, chosen, categories or {}, keep_unseen=keep_unseen)


def highest_clock(model: FittedModel) -> float:
    """Return the default clock of a model: the highest one measured."""
    return model.domain_[CLOCK_PARAMETER][1]


def bounding_parameters(model: FittedModel) -> tuple[str, ...]:
    """Return the names of the parameters whose measured range limits interpolation.

    These are the parameters that predictions depend on, and those with a single value in all
    samples, since their effect is unknown.
    """
    used = model.used_parameters()
    fixed = {name for name, (low, high) in model.domain_.items() if low == high}
    return tuple(name for name in model.names_ if name in used or name in fixed)


def in_box(model: FittedModel, table: Floats) -> Bools:
    """Return which rows lie within the measured range of every bounding parameter."""
    bounding = bounding_parameters(model)
    low, high = np.array([model.domain_[name] for name in bounding]).reshape(-1, 2).T
    chosen = table[:, [model.names_.index(name) for name in bounding]]
    return np.asarray(((chosen >= low) & (chosen <= high)).all(axis=1))


def unlike_fixed(
    model: FittedModel,
    names: Sequence[str],
    table: Floats,
    categories: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Floats]:
    """Return the values in *table* that differ from a parameter's single value in the samples.

    *names* are the columns of *table*, *categories* the names of categories of some. Parameters
    without a column are skipped.
    """
    found = {}
    for name, value in model.fixed_.items():
        if name in names:
            column = table[:, names.index(name)]
            other = model_numbers(model, name, column, categories) != value
            if other.any():
                found[name] = column[other]
    return found


def row_text(model: FittedModel, row: Floats) -> str:
    """Return a *row* of parameters of *model* as text, with the names of categories."""
    return describe_row(model.names_, row, model.categories_)


def _recoded(
    model: FittedModel,
    table: Floats,
    categories: Mapping[str, tuple[str, ...]],
    *,
    keep_unseen: bool,
) -> Floats:
    """Return *table* with the numbers that *model* has for its categories."""
    from tasksim.models.categories import UNSEEN_CATEGORY, text_of, unseen_message

    result = table.astype(object) if table.dtype.kind in "OUS" else table.copy()
    for place, name in enumerate(model.names_):
        known = model.categories_.get(name)
        if known is None:
            if name in categories:
                raise model._refusal(
                    f"{name}: got categories ({listed(categories[name])}); legal: numbers, as in "
                    "the samples that the model was fitted to"
                )
            continue
        result[:, place] = model_numbers(model, name, table[:, place], categories)
        unseen = result[:, place] == UNSEEN_CATEGORY
        if unseen.any() and not keep_unseen:
            value = table[unseen, place][0]
            got = categories[name][int(value)] if name in categories else text_of(value)
            raise model._refusal(unseen_message(name, got, known), OutOfDomainError)
    try:
        return result.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise model._refusal(f"parameters must be numbers: {error}") from None


def model_numbers(
    model: FittedModel, name: str, column: Floats, categories: Mapping[str, tuple[str, ...]] | None
) -> Floats:
    """Return a *column* with the numbers that *model* has for the categories of parameter *name*.

    *categories* are the names of those whose numbers the column holds; by default, it holds numbers
    that are names. Categories that the model does not know become
    :data:`~tasksim.models.categories.UNSEEN_CATEGORY`.
    """
    known = model.categories_.get(name)
    if known is None:
        return column
    from tasksim.models.categories import code_of, recoded

    given = (categories or {}).get(name)
    if given == known:
        return column
    if given is not None:
        return recoded(column, given, known)
    values, inverse = np.unique(column, return_inverse=True)
    return np.array([code_of(value, known) for value in values.tolist()])[inverse]


def pooled_mean(model: FittedModel, table: Floats) -> Floats:
    """Return predictions, for unknown categories the geometric mean over all measured ones.

    *table* has the numbers of categories, ``UNSEEN`` for those that are not known.
    """
    known = model.knows(table)
    result = np.empty(len(table))
    result[known] = model.predict(table[known])
    for row in np.flatnonzero(~known).tolist():
        result[row] = np.exp(np.log(model.predict(_with_measured(model, table[row]))).mean())
    return result


def pooled_interval(model: FittedModel, table: Floats, level: float) -> tuple[Floats, Floats]:
    """Return intervals, for unknown categories from the lowest to the highest bound of all.

    Another category may be as fast as the fastest and as slow as the slowest one.
    """
    known = model.knows(table)
    low, high = np.empty(len(table)), np.empty(len(table))
    low[known], high[known] = model.interval(table[known], level)
    for row in np.flatnonzero(~known).tolist():
        lows, highs = model.interval(_with_measured(model, table[row]), level)
        low[row], high[row] = lows.min(), highs.max()
    return low, high


def _with_measured(model: FittedModel, row: Floats) -> Floats:
    """Return copies of *row* with all measured categories in place of unknown ones."""
    choices = []
    for value, name in zip(row.tolist(), model.names_, strict=True):
        categories, lacking = model.categories_.get(name, ()), model.unmeasured_.get(name, ())
        measured = [float(i) for i, other in enumerate(categories) if other not in lacking]
        choices.append([value] if not categories or value in measured else measured)
    return np.array(list(product(*choices)))
