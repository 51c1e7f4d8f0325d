"""Reading samples whatever their format."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.models.samples import Samples

__all__ = ["READERS", "detect_format", "read_samples"]

READERS: Final = {
    "csv": "csvfile:read_csv",
    "parquet": "parquet:read_parquet",
    "json": "jsonfile:read_json",
    "extra-p text": "extrap_text:read_extrap_text",
    "starpu samples": "starpufiles:read_starpu_out",
    "starpu codelet": "starpufiles:read_codelet_samples",
}
"""Format -> where in this package its reader is."""
_HEAD_BYTES: Final = 4096


def read_samples(
    path: Path | str,
    *,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    r"""Return the samples in the file at *path*, durations in seconds.

    Parameters
    ----------
    path
        CSV, Parquet, JSON lines, Extra-P's JSON or text, StarPU's ``.out`` or codelet files; the
        content decides.
    duration
        The column or metric of durations, its unit at the end of the name (``runtime_ms``) or
        after a colon (``runtime:ms``; s, ms, us, ns). By default the one whose name says both.
    parameters
        The columns that are parameters; by default all numeric ones but ``run``, ``repetition``
        and durations.
    part
        Where a file has several sets of samples, the one that is meant: an ``architecture``, a
        combination of devices, a call path.

    Raises
    ------
    InputError
        ``file:line:column: what, what was got, what is legal``; also if the file does not say
        what is the duration, or in which unit, or has several sets of samples.

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
    path = Path(path)
    module, _, name = READERS[detect_format(path)].partition(":")
    reader = getattr(import_module(f"tasksim.formats.samples.{module}"), name)
    samples: Samples = reader(path, duration, parameters, part)
    return samples


def detect_format(path: Path) -> str:
    """Return which of :data:`READERS` the file at *path* is for, by its first few kilobytes."""
    head = _head(path)
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.decode("utf-8-sig", errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith("#")]
    first = said[0] if said else ""
    if first.startswith("{"):
        return "json"
    if re.match(r"(PARAMETER|POINTS|REGION|METRIC)\s", first):
        return "extra-p text"
    if "# Performance Model Version" in lines or (path.parent.name == first == "45"):
        return "starpu codelet"
    if path.suffix == ".out" and re.match(r"Duration\s*,", first):
        return "starpu samples"
    return "csv"


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
