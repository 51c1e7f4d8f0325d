"""Energy meter of this machine, which reads RAPL's counters."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["POWERCAP", "POWERCAP_VARIABLE", "EnergyMeter", "powercap"]

POWERCAP: Final = Path("/sys/class/powercap")
"""Folder in which Linux exposes the counters of running average power limits (RAPL)."""
POWERCAP_VARIABLE: Final = "TASKSIM_POWERCAP"
"""Environment variable that names another folder, for instance in a container."""
J_PER_UJ: Final = 1e-6


def powercap() -> Path:
    """Return the folder of this machine's counters; :data:`POWERCAP_VARIABLE` overrides it."""
    return Path(os.environ.get(POWERCAP_VARIABLE) or POWERCAP)


@dataclass(frozen=True)
class _Zone:
    """A counter of microjoules that wraps around to 0."""

    name: str
    counter: Path
    range_uj: int

    def read(self) -> int:
        return int(self.counter.read_text())


class EnergyMeter:
    """Energy used by the packages and memories of this machine since :meth:`start`.

    The counters cover whole packages, so other programs count, too. A full counter wraps around to
    0; the result is right for runs shorter than one wrap (some minutes at full power).

    Raises
    ------
    InputError
        If there are no counters, as in most virtual machines, or only root may read them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        folder = powercap() if folder is None else folder
        self._zones = _zones(folder)
        if not self._zones:
            raise InputError(
                f"no energy counters: {folder} has no zone intel-rapl:N, as in most virtual "
                "machines; write power: in the platform file instead"
            )
        try:
            self.start()
        except PermissionError as error:
            raise InputError(
                f"{error.filename}: only root may read the energy counters; make them readable "
                "(chmod a+r), or run as root"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"{folder}: energy cannot be read: {error}") from None

    @classmethod
    def found(cls, folder: Path | None = None) -> EnergyMeter | None:
        """Return a started meter, or None if this machine has none that is readable."""
        try:
            return cls(folder)
        except InputError:
            return None

    def start(self) -> None:
        """Start to count."""
        self._begun = [zone.read() for zone in self._zones]

    def used_j(self) -> float:
        """Return the energy used since :meth:`start` in joules."""
        return sum(self.used_uj().values()) * J_PER_UJ

    def used_uj(self) -> dict[str, int]:
        """Return the energy used by each package and memory (``package-0``) in microjoules."""
        pairs = zip(self._zones, self._begun, strict=True)
        return {zone.name: (zone.read() - begun) % (zone.range_uj + 1) for zone, begun in pairs}


def _zones(folder: Path) -> Sequence[_Zone]:
    """Return the zones of packages and memories; zones of cores are parts of packages."""
    found = []
    for place in sorted(folder.glob("intel-rapl:*")):
        name = place / "name"
        if not name.is_file() or not (place / "energy_uj").is_file():
            continue
        what = name.read_text().strip()
        if what.startswith("package") or what == "dram":
            full = (place / "max_energy_range_uj").read_text()
            number = place.name.removeprefix("intel-rapl:")
            name_of = what if what.startswith("package") else f"{what}-{number}"
            found.append(_Zone(name_of, place / "energy_uj", int(full)))
    return found
