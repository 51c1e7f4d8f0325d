"""Folder of a raw trace, with the recorder's files and the description of its program.

It stays if tasksim is ended before the trace is a run, and can still become one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tasksim.base.documents.json_document import read_json
from tasksim.base.errors import InputError
from tasksim.base.files import is_folder, write_text

__all__ = ["ABOUT_FILE", "FOLDER_PREFIX", "TRACE_FOLDER", "RawTrace"]

FOLDER_PREFIX: Final = ".tasksim-openmp-"
"""Beginning of the names of such folders."""
TRACE_FOLDER: Final = "trace"
"""Folder within it that the recorder writes to."""
ABOUT_FILE: Final = "about.json"
"""File within it that names the program."""
LEGAL_FOLDERS: Final = f"a folder {FOLDER_PREFIX}* that 'tasksim record' has left"


@dataclass(frozen=True)
class RawTrace:
    """Raw trace, and the program that it belongs to.

    Attributes
    ----------
    folder : Path
    program : Path
        The program that is recorded.
    arguments : tuple of str
    process : int
        Number of its process; 0 before it has started.
    """

    folder: Path
    program: Path
    arguments: tuple[str, ...] = ()
    process: int = 0

    def write(self) -> None:
        """Write the description of the program to the folder."""
        # Arguments of a program are any bytes: what is no text of UTF-8 is escaped.
        arguments = [each.encode("utf-8", "backslashreplace").decode() for each in self.arguments]
        about = {
            "program": str(self.program), "arguments": arguments, "process": self.process
        }  # fmt: skip
        write_text(self.folder / ABOUT_FILE, json.dumps(about, indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> RawTrace:
        """Return the raw trace in *folder*; raise :exc:`InputError` if there is none."""
        if not is_folder(folder):
            raise InputError(f"{folder}: no such folder; legal: {LEGAL_FOLDERS}")
        if not is_folder(folder / TRACE_FOLDER):
            inside = sorted(path.name for path in folder.glob(f"{FOLDER_PREFIX}*"))
            hint = f"; in it is {inside[-1]}" if inside else ""
            raise InputError(
                f"{folder}: no raw trace of an OpenMP program; legal: {LEGAL_FOLDERS}{hint}"
            )
        about = read_json(folder / ABOUT_FILE)
        found: Any = about if isinstance(about, dict) else {}
        program, arguments, process = (
            found.get(name) for name in ("program", "arguments", "process")
        )
        if not (isinstance(program, str) and program and isinstance(process, int)):
            raise InputError(
                f"{folder / ABOUT_FILE}: got {str(about)[:60]}; legal: program and process, as "
                "'tasksim record' writes them"
            )
        words = arguments if isinstance(arguments, list) else []
        return cls(folder, Path(program), tuple(map(str, words)), process)

    def is_running(self) -> bool:
        """Return whether the program still runs, as far as the system tells."""
        if self.process <= 0:
            return False
        try:
            return Path(f"/proc/{self.process}/exe").samefile(self.program)
        except OSError:
            return False
