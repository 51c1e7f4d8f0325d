"""Categories, the values of parameters that are names instead of quantities.

A column of categories holds numbers: the place of each name in the tuple of names of its parameter,
from 0. This module is the only place that turns names into numbers and back.

In a table of numbers, such a column holds these numbers. In a table with texts (a list of rows such
as ``["row", 64]``, an array of objects, a pandas table), it holds the names; a name that is a
number, such as ``"8"``, may be the number 8 there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, OutOfDomainError, listed, nearest
from tasksim.base.numerals import sorted_names, table_number
from tasksim.models.rows import checked_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from tasksim.base.arrays import Floats
    from tasksim.base.documents.json_document import JsonNode

    Categories = Mapping[str, tuple[str, ...]]

__all__ = [
    "MAX_CATEGORIES",
    "UNSEEN_CATEGORY",
    "UNSEEN_CHOICES",
    "category_table",
    "checked_categories",
    "code_of",
    "coded_column",
    "is_text",
    "merged_categories",
    "read_categories",
    "recoded",
    "text_of",
    "unseen_message",
]

UNSEEN_CATEGORY: Final = -1.0
"""Number of a category that is not known, in tables whose reader asked for it."""
UNSEEN_CHOICES: Final = ("refuse", "pooled")
"""Predictions for an unknown category: an error, or the mean of those for all known ones."""
MAX_CATEGORIES: Final = 256
"""Maximum number of categories of a parameter that is read from a file: of more, none has enough
samples, and the column is an identifier or a quantity."""


def text_of(value: object) -> str:
    """Return the name of the category *value*, a text or a number: ``8``, not ``8.0``.

    >>> text_of("row"), text_of(8.0), text_of(0.5)
    ('row', '8', '0.5')
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float | np.floating):
        return f"{value:.17g}" if float(f"{value:.15g}") != value else f"{value:.15g}"
    return str(value)


def is_text(values: ArrayLike) -> bool:
    """Return whether a column of *values* holds texts, or objects among which there are texts.

    >>> is_text(["a", "b"]), is_text([1, 2.5])
    (True, False)
    """
    array = np.asarray(values)
    if array.dtype.kind in "US":
        return True
    return array.dtype.kind == "O" and any(isinstance(value, str) for value in array.ravel())


def coded_column(values: Iterable[object]) -> tuple[Floats, tuple[str, ...]]:
    """Return a column of names as numbers of categories, and the names.

    >>> column, names = coded_column(["row", "col", "row"])
    >>> column.tolist(), names
    ([1.0, 0.0, 1.0], ('col', 'row'))
    """
    texts = [text_of(value) for value in values]
    names = sorted_names(texts)
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[text] for text in texts], dtype=np.float64), names


def code_of(value: object, names: Sequence[str]) -> float:
    """Return the number of the category *value* among *names*; ``UNSEEN`` if there is none.

    >>> code_of("row", ("col", "row")), code_of(8.0, ("2", "8")), code_of("8", ("col", "row"))
    (1.0, 1.0, -1.0)
    """
    text = text_of(value)
    if text in names:
        return float(names.index(text))
    number = table_number(text)
    if number is not None:
        for place, name in enumerate(names):
            if table_number(name) == number:
                return float(place)
    return UNSEEN_CATEGORY


def recoded(column: Floats, old: Sequence[str], new: Sequence[str]) -> Floats:
    """Return a *column* of numbers of the categories *old* as numbers of those in *new*.

    Categories that *new* lacks become ``UNSEEN``.
    """
    codes = np.array([code_of(name, new) for name in old], dtype=np.float64)
    places = column.astype(np.intp)
    return np.asarray(np.where(places >= 0, codes[places], UNSEEN_CATEGORY), dtype=np.float64)


def checked_categories(
    given: Mapping[str, Sequence[str]], names: Sequence[str], table: Floats, others: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return the categories *given* for the columns *names* of *table*, and for *others*.

    Raises
    ------
    InputError
        For a parameter that is not there, names that are not distinct texts, and numbers in the
        column that are none of a category.
    """
    if not hasattr(given, "items"):
        raise InputError(f"categories: got {given!r}; legal: parameter -> names of its categories")
    known = [*names, *others]
    found: dict[str, tuple[str, ...]] = {}
    for name, texts in given.items():
        if name not in known:
            raise InputError(
                f"categories: got '{name}'{nearest(str(name), known)}; legal: one of the "
                f"parameters ({', '.join(known)})"
            )
        if isinstance(texts, str) or not all(isinstance(text, str) and text for text in texts):
            raise InputError(f"categories of '{name}': got {texts!r}; legal: texts, none empty")
        if len(set(texts)) != len(texts) or not len(texts):
            raise InputError(f"categories of '{name}': got {texts!r}; legal: one or more, once")
        found[name] = tuple(texts)
        if name in names:
            _check_numbers(name, table[:, names.index(name)], found[name], "sample")
    return found


def read_categories(node: JsonNode, known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read the categories in a coefficient file, of parameters among those *known*."""
    found = {}
    for name, names in node.items():
        if name not in known:
            raise names.error(f"'{name}' is none of the parameters ({', '.join(known)})")
        found[name] = names.texts()
        if not found[name]:
            raise names.expected("names of categories, at least one")
    return found


def merged_categories(
    parts: Sequence[Mapping[str, tuple[str, ...]]],
) -> dict[str, tuple[str, ...]]:
    """Return the categories of all *parts*, in order."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: sorted_names(text for part in parts for text in part.get(name, ())) for name in names
    }


def category_table(
    parameters: ArrayLike,
    names: Sequence[str],
    categories: Categories,
    *,
    keep_unseen: bool = False,
) -> Floats:
    """Return *parameters* as a table with the columns *names*, and the numbers of categories.

    With *keep_unseen*, categories that are not known become ``UNSEEN``.

    Raises
    ------
    InputError
        For a wrong number of columns, and a number that no category has.
    OutOfDomainError
        For a category that is not known, with the nearest known one.
    """
    try:
        array = np.asarray(parameters)
    except ValueError as error:
        raise InputError(f"parameters must be a table: {error}") from None
    if array.ndim != 2 or array.shape[1] != len(names):
        return checked_table(array, names)
    unseen = np.zeros(array.shape, dtype=bool)
    if array.dtype.kind in "biuf":
        if keep_unseen:
            unseen = (array == UNSEEN_CATEGORY) & [name in categories for name in names]
        table = checked_table(np.where(unseen, 0.0, array) if unseen.any() else array, names)
        for place, name in enumerate(names):
            if name in categories:
                _check_numbers(name, table[:, place], categories[name], "row")
        return np.where(unseen, UNSEEN_CATEGORY, table) if unseen.any() else table
    result = array.astype(object)
    for place, name in enumerate(names):
        if name not in categories:
            continue
        values = array[:, place].tolist()
        codes = {value: code_of(value, categories[name]) for value in dict.fromkeys(values)}
        strange = [value for value, code in codes.items() if code == UNSEEN_CATEGORY]
        if strange and not keep_unseen:
            got = unseen_message(name, text_of(strange[0]), categories[name])
            raise OutOfDomainError(f"row {values.index(strange[0])}: {got}")
        unseen[:, place] = [codes[value] == UNSEEN_CATEGORY for value in values]
        result[:, place] = [max(codes[value], 0.0) for value in values]
    table = checked_table(result, names)
    return np.where(unseen, UNSEEN_CATEGORY, table)


def unseen_message(name: str, got: str, known: Sequence[str]) -> str:
    """Return the message that *got* is none of the *known* categories of a parameter.

    >>> unseen_message("layout", "raw", ("col", "row"))
    "layout=raw: no such category was measured, did you mean 'row'? (measured: col, row)"
    """
    return (
        f"{name}={got}: no such category was measured{nearest(got, known)} "
        f"(measured: {listed(known)})"
    )


def _check_numbers(name: str, column: NDArray[Any], known: Sequence[str], what: str) -> None:
    fine = (column >= 0) & (column < len(known)) & (column == np.floor(column))
    if fine.all():
        return
    row = int(np.argmin(fine))
    raise InputError(
        f"{what} {row}: {name}={float(column[row]):.15g}: in a table of numbers, a parameter with "
        f"categories holds their numbers, 0 to {len(known) - 1}; give names as texts: "
        f"{listed(known)}"
    )
