"""MPI library that mpi4py has loaded, and one of the environment that it has not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MpiLibrary", "loaded_mpi", "mpi_of_environment", "probed_mpi"]

PROBE_TIMEOUT_S: Final = 20.0
"""Longest time in seconds for another process to load an MPI, which takes some tenths."""
MPI_FILE_NAME: Final = re.compile(r"libmpi(_abi)?\.(so|dylib)(\.\d+)*")
"""Name of the file of an MPI library, of Open MPI, MPICH and its relatives."""


@dataclass(frozen=True)
class MpiLibrary:
    """The MPI library of this process.

    Attributes
    ----------
    name : str
        Its name and version: ``Open MPI v4.1.4``.
    path : str or None
        Its file; None if the system does not tell.
    ignored : str or None
        The library in the environment of Python or of mpi4py, if another one was loaded.
    """

    name: str
    path: str | None
    ignored: str | None

    def __str__(self) -> str:
        return self.name if self.path is None else f"{self.name} ({self.path})"

    def warning(self) -> str | None:
        """Return a warning if the environment has another MPI."""
        if self.ignored is None:
            return None
        return (
            f"mpi4py has loaded {self}, not the MPI of the environment: "
            f"MPI4PY_LIBMPI={self.ignored} selects that"
        )


def loaded_mpi() -> MpiLibrary:
    """Return the library that mpi4py has loaded, or loads now, without a start of MPI."""
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.initialize = False
    from mpi4py import MPI

    text = MPI.Get_library_version().strip("\0 \n")
    path = _mapped()
    prefixes = [Path(sys.prefix), *Path(mpi4py.__file__).parents[4:5]]
    return MpiLibrary(_short_name(text), path, mpi_of_environment(prefixes, path))


def probed_mpi() -> MpiLibrary | str:
    """Return the library that mpi4py loads, found in another process; or why it loads none."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__], capture_output=True, text=True, check=False,
            timeout=PROBE_TIMEOUT_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it did not answer within {PROBE_TIMEOUT_S:g} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    return MpiLibrary(**json.loads(done.stdout))


def _short_name(version: str) -> str:
    r"""Return name and version of a library by the text that MPI has of it.

    >>> _short_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4")
    'Open MPI v4.1.4'
    >>> _short_name("MPICH Version:      4.0.2\nMPICH Release date: ...")
    'MPICH 4.0.2'
    """
    first = version.partition("\n")[0].partition(",")[0]
    return " ".join(first.replace("Version:", "").split())


def _mapped() -> str | None:
    """Return the file of the MPI library in the memory of this process."""
    with suppress(OSError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line.partition("/")[2]
            if path and MPI_FILE_NAME.fullmatch(Path(path).name):
                return f"/{path}"
    return None


def mpi_of_environment(prefixes: Iterable[Path], loaded: str | None) -> str | None:
    """Return an MPI library below *prefixes*; None if *loaded* is one of theirs, or is unknown."""
    if loaded is None:
        return None
    found = [
        file
        for prefix in prefixes
        for file in sorted((prefix / "lib").glob("libmpi.*"))
        if MPI_FILE_NAME.fullmatch(file.name)
    ]
    if not found or Path(loaded).resolve() in [file.resolve() for file in found]:
        return None
    return str(found[-1])  # with its number: without, wheels have a text in place of a link


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(loaded_mpi())))
