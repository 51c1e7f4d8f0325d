"""Energy meter of this machine: RAPL's counters, as far as the system lets one read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["POWERCAP", "EnergyMeter"]

POWERCAP: Final = Path("/sys/class/powercap")
"""Where Linux shows the counters of running average power limits."""
J_PER_UJ: Final = 1e-6


@dataclass(frozen=True)
class _Zone:
    """A counter of microjoules that starts again from 0 when it is full."""

    counter: Path
    range_uj: int

    def read(self) -> int:
        return int(self.counter.read_text())


class EnergyMeter:
    """What the packages of this machine, and their memories, have used since :meth:`start`.

    Counters are those of whole packages: other programs count, too. One that is full starts again
    from 0; runs of less than its range (some minutes at full power) are right.

    Raises
    ------
    InputError
        There are no counters, as in most virtual machines, or only root may read them.
    """

    def __init__(self, folder: Path = POWERCAP) -> None:
        self._zones = _zones(folder)
        if not self._zones:
            raise InputError(
                f"no energy is counted here: {folder} has no zone intel-rapl:N, as in most virtual "
                "machines; write power: in the platform file instead"
            )
        try:
            self.start()
        except PermissionError as error:
            raise InputError(
                f"{error.filename}: only root may read how much energy is used; give yourself the "
                "right to (chmod a+r), or run as root"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"{folder}: energy cannot be read: {error}") from None

    @classmethod
    def found(cls, folder: Path = POWERCAP) -> EnergyMeter | None:
        """Return a meter that has started; None if this machine has none that one can read."""
        try:
            return cls(folder)
        except InputError:
            return None

    def start(self) -> None:
        """Begin to count."""
        self._begun = [zone.read() for zone in self._zones]

    def used_j(self) -> float:
        """Return what has been used since then, in joules."""
        pairs = zip(self._zones, self._begun, strict=True)
        used_uj = [(zone.read() - begun) % (zone.range_uj + 1) for zone, begun in pairs]
        return sum(used_uj) * J_PER_UJ


def _zones(folder: Path) -> Sequence[_Zone]:
    """Return the packages, and their memories; cores are parts of packages."""
    found = []
    for place in sorted(folder.glob("intel-rapl:*")):
        name = place / "name"
        if not name.is_file() or not (place / "energy_uj").is_file():
            continue
        what = name.read_text().strip()
        if what.startswith("package") or what == "dram":
            full = (place / "max_energy_range_uj").read_text()
            found.append(_Zone(place / "energy_uj", int(full)))
    return found
