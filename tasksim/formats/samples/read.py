"""Reading samples whatever their format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.formats.samples.csvfile import read_csv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.models.samples import Samples

__all__ = ["read_samples"]


def read_samples(
    path: Path | str,
    *,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    """Return the samples in the file at *path*."""
    return read_csv(Path(path), duration, parameters, part)
