"""Recorded script, a Python program that runs as Python would run it."""

from __future__ import annotations

import runpy
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.files import is_file, near_file
from tasksim.base.interruption import usual_termination
from tasksim.recording.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["record_script"]


def record_script(path: Path, arguments: Sequence[str], *, asyncio: bool = False) -> Recording:
    """Return the recording of the Python program in the file *path*.

    Raises :exc:`InputError` if there is no such file, and :exc:`TasksimError` if the program ends
    with an error.
    """
    if not is_file(path):
        raise InputError(
            f"{path}: no such program{near_file(path)} (legal: the path of a Python script, or of "
            "a compiled program that uses OpenMP)"
        )
    recording = Recording(path.stem, asyncio=asyncio).quietly()
    with _called(path, arguments), usual_termination(), recording:
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                raise TasksimError(f"{path} ended with exit code {end.code}") from end
        except Exception as error:
            said = type(error).__name__ + (f": {error}" if str(error) else "")
            raise TasksimError(f"{path}{_line(error, path)}: {said}") from error
    return recording


@contextmanager
def _called(path: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Have ``sys.argv`` and ``sys.path`` as Python has them for a script."""
    argv, places = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.absolute().parent))
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = places


def _line(error: BaseException, path: Path) -> str:
    """Return ``:LINE``, the last line of the script that the error passed."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return f":{lines[-1]}" if lines else ""
