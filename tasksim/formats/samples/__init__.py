"""Readers of samples, measured durations of a kernel, in files of many tools.

:func:`read_samples` recognises the format by the content.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.arguments import all_of
from tasksim.base.errors import InputError
from tasksim.base.files import reading
from tasksim.formats.registry import FORMATS, format_of
from tasksim.models.samples import unused_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.models.samples import Samples

__all__ = ["read_samples", "samples_in"]


def read_samples(
    path: Path | str,
    *,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
    categorical: Sequence[str] = (),
) -> Samples:
    r"""Return the samples in the file at *path*, durations in seconds.

    Parameters
    ----------
    path
        CSV, Parquet, JSON lines, Extra-P's JSON or text, StarPU's ``.out`` or codelet files; the
        content decides.
    duration
        The column or metric of durations, with its unit at the end of the name (``runtime_ms``) or
        after a colon (``runtime:ms``; s, ms, us, ns). By default the column with such a name.
    parameters
        The columns that are parameters; by default all but ``run``, ``repetition``, durations,
        counters (:data:`~tasksim.models.samples.COUNTERS`), row numbers, dates, spreads of
        durations, and texts that differ from row to row. Counters are kept apart, unless they are
        parameters. Parameters of texts have categories.
    part
        The set of samples to read, if the file has several: an ``architecture``, a combination of
        devices, a call path.
    categorical
        The numeric columns whose values are names, such as an algorithm's number: they have
        categories, too.

    Raises
    ------
    InputError
        ``file:line:column: what, what was got, what is legal``; also if the duration or its unit is
        unknown, or the file has several sets of samples.

    Warns
    -----
    UserWarning
        About columns or rows that are not used although nobody left them out, such as rows with
        empty cells; ``samples.unused`` has all of them, with the reasons. About assumptions, such
        as a unit, which ``samples.notes`` have, too.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "gemm.csv")
    ...     _ = path.write_text("m,n,runtime_ms\n64,32,1.5\n")
    ...     samples = read_samples(path)
    >>> samples.names, samples.parameters.tolist(), samples.durations_s.tolist()
    (('m', 'n'), [[64.0, 32.0]], [0.0015])
    """
    samples = samples_in(
        path, duration=duration, parameters=parameters, part=part, categorical=categorical
    )
    if unused := unused_text(one for one in samples.unused if not one.chosen):
        warnings.warn(f"{path}: not used: {unused}", stacklevel=2)
    for note in samples.notes:
        warnings.warn(f"{path}: {note}", stacklevel=2)
    return samples


def samples_in(
    path: Path | str,
    *,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
    categorical: Sequence[str] = (),
) -> Samples:
    """Return the samples as :func:`read_samples` does, without warnings."""
    path = Path(path)
    with reading(path):  # report a folder or a missing file first
        found = format_of(path, "reads_samples") or FORMATS.find("csv")
    assert found.reads_samples is not None  # chosen for this ability
    names = checked_names(categorical, "categorical")
    if found.takes_categorical:
        samples = found.reads_samples(path, duration, parameters, part, names)
    else:
        samples = found.reads_samples(path, duration, parameters, part).with_categories(names)
    return samples.with_counters_apart(parameters or ())


def checked_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Return *names* of columns as a tuple; raise :exc:`InputError` for anything else."""
    if isinstance(names, str):
        raise InputError(f"{what}: got '{names}'; legal: a list of names of columns")
    return all_of(names, str, what)
