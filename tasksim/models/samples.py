"""Measured durations of one kernel on one architecture.

Samples may have columns of counters, of :data:`COUNTERS`, and know what their file has besides them
(:class:`Unused`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import all_of
from tasksim.base.errors import InputError, nearest, option, short, unknown
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.categories import (
    checked_categories,
    coded_column,
    is_text,
    merged_categories,
    recoded,
)
from tasksim.models.rows import checked_table, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from tasksim.base.arrays import Floats, Indices, Ints

__all__ = [
    "ACCESSED_BYTES",
    "COUNTERS",
    "HITS",
    "MEMORY_LEVELS",
    "REACHED",
    "Samples",
    "Unused",
    "checked_counters",
    "counters_among",
    "drawn_configurations",
    "unfit_duration",
    "unused_text",
    "with_clock",
]

UNKNOWN_RUN = -1
"""The run of a sample if it is unknown; runs are numbered from 0."""

ACCESSED_BYTES: Final = (
    "data_read_bytes",
    "data_written_bytes",
    "far_read_bytes",
    "far_written_bytes",
)
"""Columns of accessed bytes: the bytes of data that a task only read, those of data that it wrote,
and the part of each that was far, that is, had left the cache (:mod:`tasksim.models.locality`)."""

BYTES_ROUNDING: Final = 1e-9
"""Rounding error of sums of bytes that files may have, as a share."""

FITTABLE_RANGE_S: Final = (1e-100, 1e100)
"""Range of durations that a formula can be fitted to, in seconds: their squares and the weights
1/y² do not overflow, with a factor of 1e100 to spare for terms."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Measured durations of one kernel, and the parameters it was called with.

    Parameters
    ----------
    names : sequence of str
        The names of the parameters.
    parameters : array_like, shape (samples, parameters)
        Finite and not negative.
    durations_s : array_like, shape (samples,)
        In seconds, finite and positive.
    runs : array_like of int, shape (samples,), default=None
        The run of the calibration that each sample comes from; -1 if unknown.
    counters : mapping, default=None
        Counter -> its values, one per sample
        (:data:`~tasksim.models.samples.COUNTERS`).
    constants : mapping, default=None
        Parameter with the same value in all samples, which has no column -> that value.
    unused : tuple of Unused, default=()
        Data of the file that the samples leave out.
    wall_s : array_like, shape (samples,), default=None
        Wall-clock durations, if ``durations_s`` exclude the time taken by other programs; None
        if they exclude nothing.
    categories : mapping, default={}
        Parameter (or constant) whose values are names -> the names of its categories. Its column
        holds the number of the category, from 0.
    notes : tuple of str, default=()
        Assumptions of the reader of a file, as text.
    accessed_bytes : array_like, shape (samples, 4), default=None
        Bytes that each sample accessed, :data:`ACCESSED_BYTES`; NaN if unknown.

    Raises
    ------
    InputError
        For a wrong value, with the sample and the parameter.

    See Also
    --------
    tasksim.select : Choose the kind of model with the smallest error.
    Samples.from_columns : Create samples from named columns.

    Examples
    --------
    >>> samples = Samples(("n",), [[64], [64], [128]], [1e-4, 1.2e-4, 8e-4])
    >>> len(samples), samples.configurations()[0].tolist()
    (3, [[64.0], [128.0]])

    A parameter with categories:

    >>> samples = Samples.from_columns({"layout": ["row", "col"], "duration_s": [1e-4, 2e-4]})
    >>> samples.parameters.tolist(), samples.categories["layout"]
    ([[1.0], [0.0]], ('col', 'row'))
    """

    names: tuple[str, ...]
    parameters: Floats
    durations_s: Floats
    runs: Ints | None = None
    counters: Mapping[str, Floats] | None = None
    constants: Mapping[str, float] | None = None
    unused: tuple[Unused, ...] = ()
    wall_s: Floats | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    accessed_bytes: Floats | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        names = _checked_names(self.names)
        table = checked_table(self.parameters, names, "sample")
        durations = _checked_durations(self.durations_s)
        columns: dict[str, Any] = {"parameters": table.copy(), "durations_s": durations}
        if self.runs is not None:
            columns["runs"] = np.array(self.runs, dtype=np.int64)
        if self.wall_s is not None:
            columns["wall_s"] = _checked_durations(self.wall_s)
        if self.accessed_bytes is not None:
            columns["accessed_bytes"] = _checked_bytes(self.accessed_bytes)
        for name, column in columns.items():
            _check_length(name, column, len(durations))
            column.setflags(write=False)
            object.__setattr__(self, name, column)
        object.__setattr__(self, "names", names)
        if self.counters is not None:
            checked = checked_counters(self.counters, len(durations))
            object.__setattr__(self, "counters", checked)
        if self.categories:
            known = checked_categories(self.categories, names, table, self.constants or ())
            object.__setattr__(self, "categories", known)

    def __len__(self) -> int:
        return len(self.durations_s)

    def configurations(self) -> tuple[Floats, Indices]:
        """Return the distinct rows of parameters, in order, and the index of each sample's row."""
        return distinct_rows(self.parameters)

    def select(self, which: ArrayLike) -> Samples:
        """Return the samples selected by *which*, a mask or indices."""
        chosen = np.asarray(which)
        arrays = ("parameters", "durations_s", "runs", "wall_s", "accessed_bytes")
        columns: dict[str, Any] = {
            name: column[chosen] for name in arrays if (column := getattr(self, name)) is not None
        }
        counters = {name: column[chosen] for name, column in (self.counters or {}).items()}
        return replace(self, **columns, counters=counters or None)

    def with_counters_apart(self, parameters: Sequence[str] = ()) -> Samples:
        """Return the samples with parameters named like counters turned into counters.

        Names in *parameters* stay parameters.
        """
        apart = [name for name in counters_among(self.names) if name not in parameters]
        if not apart:
            return self
        counters = {name: self.parameters[:, self.names.index(name)] for name in apart}
        named = [name for name in apart if name in self.categories]
        if named:
            raise InputError(
                f"'{named[0]}' is a counter, which is a number per execution: it cannot have "
                "categories"
            )
        return replace(self.without(apart), counters={**(self.counters or {}), **counters})

    def with_constants_apart(self, parameters: Sequence[str] = ()) -> Samples:
        """Return the samples with parameters of a single value turned into *constants*.

        Names in *parameters* stay parameters; so do all of them if all have a single value.
        """
        if len(self) < 2:
            return self
        rows, _ = self.configurations()
        same = [n for n, column in zip(self.names, rows.T, strict=True) if np.ptp(column) == 0]
        if len(same) == len(self.names):
            return self
        same = [name for name in same if name not in parameters]
        values = {name: float(rows[0, self.names.index(name)]) for name in same}
        return replace(
            self.without(same),
            constants={**(self.constants or {}), **values},
            categories=self.categories,
        )

    def text_of(self, name: str, value: float) -> str:
        """Return a *value* of parameter *name* as text: the name of its category, if it has one."""
        known = self.categories.get(name)
        return f"{value:.15g}" if known is None else known[int(value)]

    def with_categories(self, names: Sequence[str]) -> Samples:
        """Return the samples with the numbers of the parameters *names* as categories.

        >>> samples = Samples(("nodes",), [[8], [2]], [1.0, 2.0]).with_categories(["nodes"])
        >>> samples.categories["nodes"], samples.parameters.ravel().tolist()
        (('2', '8'), [1.0, 0.0])
        """
        table, categories = self.parameters.copy(), dict(self.categories)
        for name in names:
            if name not in self.names:
                raise unknown("parameter", name, self.names, "categorical")
            if name not in categories:
                column = self.names.index(name)
                table[:, column], categories[name] = coded_column(table[:, column].tolist())
        return replace(self, parameters=table, categories=categories)

    def with_used_categories(self) -> Samples:
        """Return the samples with the categories that occur, others left out.

        A part of some samples may lack categories: it still knows their names.
        """
        table, categories = self.parameters.copy(), dict(self.categories)
        for name in self.names:
            if name not in categories:
                continue
            column = table[:, self.names.index(name)]
            used = [categories[name][int(code)] for code in np.unique(column)]
            table[:, self.names.index(name)] = recoded(column, categories[name], used)
            categories[name] = tuple(used)
        return replace(self, parameters=table, categories=categories)

    def without(self, names: Sequence[str]) -> Samples:
        """Return the samples without the parameters of these *names*."""
        kept = [index for index, name in enumerate(self.names) if name not in names]
        left = {n: of for n, of in self.categories.items() if n not in self.names or n not in names}
        return replace(
            self,
            names=tuple(self.names[index] for index in kept),
            parameters=self.parameters[:, kept],
            categories=left,
        )

    @classmethod
    def from_columns(cls, columns: Mapping[str, ArrayLike]) -> Samples:
        """Return samples from named *columns*: ``duration_s``, optionally ``run``, parameters.

        Parameters in columns of texts are categories.

        >>> Samples.from_columns({"m": [1, 2], "duration_s": [0.1, 0.2]}).names
        ('m',)
        >>> Samples.from_columns({"layout": ["row"], "duration_s": [0.1]}).categories["layout"]
        ('row',)
        """
        if not hasattr(columns, "keys"):  # a pandas table has keys, but is not a Mapping
            raise InputError(
                f"columns: got {short(columns)}; legal: a mapping from names to columns"
            )
        all_of(columns, str, "columns")
        if "duration_s" not in columns:
            got = ", ".join(columns) or "none"
            raise InputError(
                f"samples need a column 'duration_s', in seconds{nearest('duration_s', columns)}"
                f" (columns: {got})"
            )
        durations = _checked_durations(columns["duration_s"])
        names = tuple(name for name in columns if name not in ("duration_s", "run"))
        for name in names:
            _check_length(f"column '{name}'", np.asarray(columns[name]), len(durations))
        table = [np.asarray(columns[name]) for name in names]
        categories = {}
        for place, name in enumerate(names):
            if is_text(table[place]):
                table[place], categories[name] = coded_column(table[place].tolist())
        parameters = np.column_stack(table) if table else np.empty((len(durations), 0))
        runs: Any = columns.get("run")
        return cls(names, parameters, durations, runs, categories=categories)

    @classmethod
    def concat(cls, parts: Sequence[Samples]) -> Samples:
        """Return the samples of all *parts*, in order; all must have the same parameters.

        Categories are those of all parts.
        """
        parts = all_of(parts, Samples, "parts")
        if not parts:
            raise InputError("no samples to concatenate: the list is empty")
        names = parts[0].names
        for part in parts:
            if sorted(part.names) != sorted(names):
                raise InputError(
                    "samples with different parameters cannot be concatenated: "
                    f"({', '.join(names)}) and ({', '.join(part.names)})"
                )
        parts, categories = _with_equal_categories(parts)
        tables = [part.parameters[:, [part.names.index(n) for n in names]] for part in parts]
        constants = [dict(part.constants or {}) for part in parts]
        if any(one != constants[0] for one in constants):
            raise InputError(
                "samples with different constants cannot be concatenated: "
                f"{' and '.join(map(str, constants))}"
            )
        columns = [part.counters or {} for part in parts]
        common = [name for name in columns[0] if all(name in of for of in columns)]
        counters = {name: np.concatenate([of[name] for of in columns]) for name in common}

        def joined(name: str, instead: Callable[[Samples], NDArray[Any]]) -> Any:
            """Return a column of all parts, *instead* of those without it; None if all are."""
            found = [getattr(part, name) for part in parts]
            if all(column is None for column in found):
                return None
            pairs = zip(parts, found, strict=True)
            return np.concatenate([instead(p) if column is None else column for p, column in pairs])

        durations = joined("durations_s", lambda part: part.durations_s)
        runs = joined("runs", lambda part: np.full(len(part), UNKNOWN_RUN))
        wall_s = joined("wall_s", lambda part: part.durations_s)
        unknown_bytes = np.full((1, len(ACCESSED_BYTES)), np.nan)
        accessed = joined("accessed_bytes", lambda part: unknown_bytes.repeat(len(part), axis=0))
        lost = {name for part in parts for name in part.counters or {}} - set(counters)
        unused = [
            *(one for part in parts for one in part.unused),
            *(Unused(name, "a counter that not all samples have") for name in sorted(lost)),
        ]
        return cls(
            names, np.concatenate(tables), durations, runs, counters or None,
            constants[0] or None, tuple(dict.fromkeys(unused)), wall_s, categories=categories,
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
            accessed_bytes=accessed,
        )  # fmt: skip


def _with_equal_categories(
    parts: Sequence[Samples],
) -> tuple[Sequence[Samples], dict[str, tuple[str, ...]]]:
    """Return the *parts* with their categories numbered alike, and all categories."""
    merged = merged_categories([part.categories for part in parts])
    if all(part.categories == merged for part in parts):
        return parts, merged
    found = []
    for part in parts:
        table, constants = part.parameters.copy(), dict(part.constants or {})
        for name, new in merged.items():
            old = part.categories.get(name)
            if old is None:
                raise InputError(
                    f"samples with numbers and with categories of '{name}' cannot be "
                    f"concatenated: the categories are {', '.join(new)}"
                )
            if name in part.names:
                column = part.names.index(name)
                table[:, column] = recoded(table[:, column], old, new)
            elif name in constants:
                constants[name] = float(recoded(np.array([constants[name]]), old, new)[0])
        found.append(
            replace(part, parameters=table, constants=constants or None, categories=merged)
        )
    return found, merged


def unfit_duration(samples: Samples) -> str:
    """Return a message about the first duration that no formula can be fitted to, or ""."""
    least, most = FITTABLE_RANGE_S
    wrong = (samples.durations_s < least) | (samples.durations_s > most)
    if not wrong.any():
        return ""
    index = int(np.argmax(wrong))
    return (
        f"sample {index}: duration {samples.durations_s[index]!s} s: formulas can be fitted to "
        f"durations from {least:g} to {most:g} s; is the unit right?"
    )


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InputError(f"the names of parameters must be a tuple of texts, got '{names}'")
    names = all_of(names, str, "names")
    for index, name in enumerate(names):
        if not name:
            raise InputError(f"parameter {index} needs a name, got {name!r}")
        if name in names[:index]:
            raise InputError(f"parameter '{name}' is given twice (of {', '.join(names)})")
    return names


def _checked_bytes(given: Any) -> Floats:
    """Return the bytes that samples accessed; raise :exc:`InputError` if they are impossible."""
    table = np.array(given, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(ACCESSED_BYTES):
        raise InputError(
            f"accessed_bytes: got shape {table.shape}; legal: columns {', '.join(ACCESSED_BYTES)}"
        )
    known = ~np.isnan(table).any(axis=1)
    some = table[known]
    legal = np.isfinite(some) & (some >= 0)
    legal[:, 2:] &= some[:, 2:] <= some[:, :2] * (1 + BYTES_ROUNDING)
    if not legal.all():
        row, column = np.argwhere(~legal)[0]
        index = int(np.flatnonzero(known)[row])
        most = "" if column < 2 else f" up to {ACCESSED_BYTES[column - 2]}"
        raise InputError(
            f"sample {index}: {ACCESSED_BYTES[column]}: got {some[row, column]:g}; legal: a number "
            f"from 0{most}"
        )
    table[~known] = np.nan
    return table


def _checked_durations(durations_s: ArrayLike) -> Floats:
    try:
        durations = np.array(durations_s, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"durations must be numbers, in seconds: {error}") from None
    if durations.ndim != 1:
        raise InputError(f"durations must be one column, got an array of shape {durations.shape}")
    wrong = ~(np.isfinite(durations) & (durations > 0))
    if wrong.any():
        index = int(np.argmax(wrong))
        raise InputError(
            f"sample {index}: duration {durations[index]!s} s: "
            "durations must be finite and positive"
        )
    return durations


def _check_length(what: str, column: NDArray[Any], length: int) -> None:
    rows = len(np.atleast_1d(column))
    if column.ndim == 0 or rows != length:
        raise InputError(f"{what}: {rows} rows, but there are {length} durations")


MEMORY_LEVELS: Final = ("l1", "l2", "l3", "memory")
"""Levels of memory, nearest first."""
HITS: Final = {"l1": "l1_hits", "l2": "l2_hits", "l3": "l3_hits", "memory": "memory_accesses"}
"""Counter of the accesses that a level served, by level."""
REACHED: Final = {
    "l1": "l1_reached", "l2": "l2_reached", "l3": "l3_reached", "memory": "memory_accesses",
}  # fmt: skip
"""Accesses that a level or a more distant one served, by level: they increase monotonically with
the data, whereas hits of a level increase and decrease."""

COUNTERS: Final[Mapping[str, str]] = {
    "instructions": "instructions executed, per execution of the kernel",
    "cycles": "cycles of the core, per execution",
    "stall_cycles": "of these, cycles in which it only waited for memory",
    "l1_hits": "loads and stores of data that the first-level cache answered",
    "l2_hits": "those that the second level answered",
    "l3_hits": "those that the third level answered",
    "memory_accesses": "those that no cache answered",
    "communication_s": "seconds in messages between ranks, per execution",
    "frequency_hz": "cycles per second of the core while it was measured",
    "latency_factor": "how many times as long as alone an access took, beside a load of the memory",
}
"""Meaning of a column of samples, per execution, by its name. Counters are parameters only on
request; a missing level was not distinguished from the next one."""


def counters_among(columns: Sequence[str]) -> list[str]:
    """Return the *columns* that are counters, in their order.

    >>> counters_among(["m", "instructions", "duration_s", "l1_hits"])
    ['instructions', 'l1_hits']
    """
    return [name for name in columns if name in COUNTERS]


def checked_counters(counters: Mapping[str, Any], length: int) -> dict[str, Floats]:
    """Return *counters* as columns of *length* numbers, finite and not negative.

    Raises
    ------
    InputError
        For a wrong value, with the counter and the sample.
    """
    found = {}
    for name, values in counters.items():
        column = np.array(values, dtype=np.float64)
        if column.shape != (length,):
            raise InputError(
                f"counter '{name}': {column.size} values, but there are {length} samples"
            )
        wrong = ~(np.isfinite(column) & (column >= 0))
        if wrong.any():
            index = int(np.argmax(wrong))
            raise InputError(
                f"sample {index}: {name} {column[index]!s}: counters must be finite and not "
                "negative"
            )
        column.setflags(write=False)
        found[name] = column
    return found


SAME_CLOCK_FACTOR: Final = 1.05
"""Factor between neighbouring frequencies up to which they count as one clock: governors choose
steps of a tenth of a GHz or more, and measured frequencies scatter by a few per cent."""


def with_clock(samples: Samples, *, always: bool = False) -> Samples:
    """Return the samples with the clock as a parameter, if configurations have several clocks.

    Parameters
    ----------
    samples
        With or without the counter ``frequency_hz``, which is kept.
    always
        Whether a single clock becomes a parameter, too, as for samples that test a model with a
        clock.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> clocks = {"frequency_hz": [2e9, 3e9, 2.01e9, 3e9]}
    >>> samples = Samples(("n",), [[8], [8], [16], [16]], [3.0, 2.0, 6.0, 4.0], counters=clocks)
    >>> found = with_clock(samples)
    >>> found.names, found.parameters[:, 1].tolist()
    (('n', 'frequency_hz'), [2005000000.0, 3000000000.0, 2005000000.0, 3000000000.0])
    """
    frequency_hz = (samples.counters or {}).get(CLOCK_PARAMETER)
    if frequency_hz is None or CLOCK_PARAMETER in samples.names or not len(samples):
        return samples
    # A clock is the median of similar frequencies.
    values, place = np.unique(frequency_hz, return_inverse=True)
    number = np.concatenate([[0], np.cumsum(values[1:] > SAME_CLOCK_FACTOR * values[:-1])])[place]
    clocks = [float(np.median(frequency_hz[number == i])) for i in range(number.max() + 1)]
    _, group = samples.configurations()
    pairs = len(np.unique(group * len(clocks) + number))
    # A clock that depends on the configuration is not a setting: short kernels look slower.
    if not always and (pairs == group.max() + 1 or not (frequency_hz > 0).all()):
        return samples
    table = np.column_stack([samples.parameters, np.array(clocks)[number]])
    return replace(samples, names=(*samples.names, CLOCK_PARAMETER), parameters=table)


def drawn_configurations(samples: Samples, count: int, seed: int) -> Samples:
    """Return the samples of at most *count* configurations, drawn at random."""
    rows, group = samples.configurations()
    if len(rows) <= count:
        return samples
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(len(rows))[:count]] = True
    return samples.select(chosen[group])


@dataclass(frozen=True)
class Unused:
    """A column, or rows, of a file that are not among its samples.

    Parameters
    ----------
    name : str
        The column, or another description of the data, such as ``"3 samples"``.
    why : str
        The reason, in a few words.
    chosen : bool, default=False
        Whether this is intended: the caller chose other columns, or the column is bookkeeping.
    takable : bool, default=False
        Whether it is a column that the reader of a file takes as a parameter if it is named.
    """

    name: str
    why: str
    chosen: bool = False
    takable: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the unused data as plain data."""
        return {"name": self.name, "why": self.why, "chosen": self.chosen}


def unused_text(unused: Iterable[Unused]) -> str:
    """Return the unused columns as text, grouped by reason; an empty text if there are none.

    >>> unused_text([Unused("layout", "text"), Unused("solver", "text"), Unused("id", "constant")])
    'layout, solver (text); id (constant)'
    """
    names: dict[str, list[str]] = {}
    takable = ""
    for one in unused:
        names.setdefault(one.why, []).append(one.name)
        if one.takable:
            takable = f"; {option('parameters')} takes the columns that it names"
    return "; ".join(f"{', '.join(of)} ({why})" for why, of in names.items()) + takable
