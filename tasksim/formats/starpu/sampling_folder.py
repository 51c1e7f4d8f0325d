"""The sampling directory, where StarPU keeps what it measured.

``.starpu/sampling`` in the home directory, or where ``STARPU_PERF_MODEL_DIR`` leads, has::

    bus/HOST.config, .bandwidth, .latency, .affinity, .platform.v4.xml
    codelets/45/MODEL.HOST
    codelets/tmp/MODEL.out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import exists

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["BUS_SUFFIXES", "CODELETS", "Sampling", "destination"]

CODELETS: Final = "codelets/45"
"""The version of StarPU's codelet files, which has been 45 since 2014."""
BUS_SUFFIXES: Final = (
    ".platform.v4.xml",
    ".platform.xml",
    ".config",
    ".bandwidth",
    ".latency",
    ".affinity",
)


@dataclass(frozen=True)
class Sampling:
    """A sampling directory."""

    folder: Path

    @classmethod
    def find(cls, place: Path) -> Sampling:
        """Return the sampling directory at *place*: itself, what holds it, or what it holds.

        Raises
        ------
        InputError
            There is none.
        """
        if not exists(place):
            raise InputError(f"{place}: no such folder")
        for folder in _near(place.absolute()):
            if (folder / "bus").is_dir():
                return cls(folder)
        raise InputError(
            f"{place}: no sampling directory of StarPU: expected a folder with bus/ and codelets/, "
            "such as ~/.starpu/sampling"
        )

    def hosts(self) -> tuple[str, ...]:
        """Return the machines that have files in ``bus/``, in order of their names."""
        names = sorted(path.name for path in (self.folder / "bus").iterdir())
        found = [
            name.removesuffix(suffix)
            for name in names
            for suffix in BUS_SUFFIXES
            if name.endswith(suffix)
        ]
        return tuple(dict.fromkeys(host for host in found if not host.startswith(".")))

    def host(self, name: str | None) -> str:
        """Return *name*, which must be a machine here; the only one for None."""
        hosts = self.hosts()
        if name is None and len(hosts) == 1:
            return hosts[0]
        if name is None:
            known = f"say which: {', '.join(hosts)}" if hosts else "no files of any machine"
            raise InputError(f"{self.folder} has {len(hosts)} machines; {known}")
        if name not in hosts:
            raise unknown("machine", name, hosts, where=str(self.folder))
        return name

    def bus(self, host: str) -> dict[str, Path]:
        """Return the files in ``bus/`` of *host*, by suffix."""
        paths = {suffix: self.folder / "bus" / f"{host}{suffix}" for suffix in BUS_SUFFIXES}
        return {suffix: path for suffix, path in paths.items() if path.is_file()}

    def codelets(self, host: str) -> dict[str, Path]:
        """Return the codelet files of *host*, by the name of the performance model."""
        folder = self.folder / CODELETS
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        suffix = f".{host}"
        return {
            path.name.removesuffix(suffix): path
            for path in paths
            if path.name.endswith(suffix) and path.name != suffix and path.is_file()
        }

    def samples(self, model: str) -> Path | None:
        """Return the file of samples of a multiple regression; StarPU keeps no host in its name."""
        path = self.folder / "codelets" / "tmp" / f"{model}.out"
        return path if path.is_file() else None


def destination(place: Path) -> Path:
    """Return the sampling directory at *place* if there is one, else *place* itself, to be made."""
    inside = (place / "sampling", place / ".starpu" / "sampling")
    return next((folder for folder in inside if folder.is_dir()), place)


def _near(place: Path) -> Iterator[Path]:
    """Yield *place*, what it may hold, and what may hold it."""
    yield place
    yield place / "sampling"
    yield place / ".starpu" / "sampling"
    yield from list(place.parents)[:3]
