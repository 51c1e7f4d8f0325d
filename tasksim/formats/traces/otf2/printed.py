"""Lines of ``otf2-print``, from the tool itself or from a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.files import reading
from tasksim.formats.registry import HEAD_BYTES
from tasksim.formats.traces.textlines import head_text, lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["is_printed", "printed_lines"]

PRINT_TOOL: Final = "otf2-print"
FAILURE_MARK: Final = "==ERROR=="
"""Beginning of the line that says why the tool gave up."""


def is_printed(path: Path) -> bool:
    """Return whether a file is output of the tool, and not part of an archive."""
    with reading(path) as file:
        return head_text(file.read(HEAD_BYTES)).lstrip().startswith("=== OTF2-PRINT")


def printed_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the printed lines of an archive with their numbers, from 1.

    Parameters
    ----------
    path : Path
        The anchor file of the archive, or output of the tool.

    Raises
    ------
    InputError
        If the tool is missing, or cannot read the archive; the message says why.
    """
    if is_printed(path):
        yield from lines(path)
        return
    tool = shutil.which(PRINT_TOOL)
    if tool is None:
        raise InputError(
            f"{path}: {PRINT_TOOL} reads archives of OTF2, but is not installed: install otf2-tools"
            f" (Debian, Ubuntu) or OTF2, or import the output of '{PRINT_TOOL} -A {path.name}' from"
            " another machine"
        )
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [tool, "-A", "--", str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=said, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        assert process.stdout is not None  # it is a pipe
        failure = ""
        try:
            for number, line in enumerate(process.stdout, 1):
                text = line.decode("utf-8", errors="replace").rstrip("\n")
                if text.startswith(FAILURE_MARK):
                    failure = text.removeprefix(FAILURE_MARK).strip()
                yield number, text
            code = process.wait()
        finally:
            process.stdout.close()
            process.kill()
            process.wait()
        if code or failure:
            said.seek(0)
            errors = said.read().decode("utf-8", errors="replace").splitlines()
            why = next((line for line in errors if "error" in line), "")
            told = "; ".join(text for text in (failure.rstrip("."), why.strip()) if text)
            raise InputError(f"{path}: {PRINT_TOOL} cannot read it: {told or f'exit code {code}'}")
