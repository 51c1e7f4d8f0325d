"""Resumable CSV file of samples, which grows during the measurement.

Written samples survive any end of the process: each part is one write of whole lines. The caller
gives the offset, so that a part whose write was interrupted is written again in its place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import read_json
from tasksim.base.errors import InputError, OutputError, option
from tasksim.base.files import read_text, refuse_existing, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

MeasuredBlocks = dict[tuple[int, ...], list[tuple[int, float, float]]]

__all__ = [
    "FIRST_COLUMNS",
    "LAST_COLUMNS",
    "ResumableFile",
    "check_same",
    "read_notes",
    "refuse_both",
    "side_path",
]

FIRST_COLUMNS: Final = ("run", "repetition")
LAST_COLUMNS: Final = ("duration_s", "wall_s")


def side_path(path: Path) -> Path:
    """Return the path of the file that describes the measurement of the samples at *path*.

    >>> from pathlib import Path
    >>> str(side_path(Path("gemm.csv")))
    'gemm.meta.json'
    """
    return path.with_suffix(".meta.json")


class ResumableFile:
    """Resumable CSV file of samples.

    The file at *path* has the columns ``run``, ``repetition``, *names*, ``duration_s`` and
    ``wall_s``.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = path
        self.header = ",".join([*FIRST_COLUMNS, *names, *LAST_COLUMNS]) + "\n"

    def create(self, *, force: bool) -> int:
        """Write the header, with *force* over an existing file; return the end of the file."""
        refuse_existing(self.path, force=force)
        write_text(self.path, self.header, force=force)
        return len(self.header)

    def resume(self) -> tuple[MeasuredBlocks, int]:
        """Return the samples in the file, and the end of its last whole line.

        The samples are configuration -> run, duration and wall time in seconds. Raise
        :exc:`InputError` if the file has other contents.
        """
        text = read_text(self.path)
        whole = text[: text.rfind("\n") + 1]
        if not whole.startswith(self.header):
            raise InputError(
                f"{self.path}:1: got '{text.partition(chr(10))[0][:80]}'; "
                f"legal: '{self.header.strip()}'"
            )
        found: MeasuredBlocks = {}
        for number, line in enumerate(whole.splitlines()[1:], 2):
            fields = line.split(",")
            try:
                if len(fields) != self.header.count(",") + 1:
                    raise ValueError
                sample = int(fields[0]), float(fields[-2]), float(fields[-1])
                configuration = tuple(map(int, fields[2:-2]))
            except ValueError:
                raise InputError(
                    f"{self.path}:{number}:1: got '{line[:80]}'; legal: numbers for "
                    f"{self.header.strip()}"
                ) from None
            found.setdefault(configuration, []).append(sample)
        return found, len(whole.encode())

    def put(self, offset: int, rows: Iterable[tuple[int, int, Sequence[int], float, float]]) -> int:
        """Write samples at *offset*, where the file is cut; return the new end of the file.

        A sample is its run, repetition, configuration, duration and wall time in seconds.
        """
        text = "".join(
            f"{run},{repetition},{','.join(map(str, sizes))},{duration_s!r},{wall_s!r}\n"
            for run, repetition, sizes, duration_s, wall_s in rows
        )
        data = text.encode()
        try:
            with self.path.open("r+b", buffering=0) as file:
                file.seek(offset)
                file.truncate()
                file.write(data)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error
        return offset + len(data)


def refuse_both(*, resume: bool, force: bool) -> None:
    """Raise :exc:`InputError` if a file is to be continued and replaced."""
    if resume and force:
        raise InputError(
            f"{option('resume', 'True')} continues the file, {option('force', 'True')} replaces "
            "it: choose one"
        )


def read_notes(path: Path) -> dict[str, Any]:
    """Return the description of the measurement beside the samples at *path*."""
    side = side_path(path)
    notes = read_json(side)
    if not isinstance(notes, dict):
        raise InputError(f"{side}: got {json.dumps(notes)[:40]}; legal: an object")
    return notes


def check_same(path: Path, earlier: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to continue samples of a different request.

    Raises
    ------
    InputError
        With the differences between *earlier* and *wanted*.
    """
    other = [
        f"{name} {earlier.get(name)!r}, now {value!r}"
        for name, value in wanted.items()
        if earlier.get(name) != value
    ]
    if other:
        raise InputError(
            f"{path}: was measured with {'; '.join(other)}; to continue, ask for the same, "
            "or choose another name"
        )
