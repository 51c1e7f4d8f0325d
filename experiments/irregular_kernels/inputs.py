"""Inputs of the fast multipole method: particles, and how the tree over them is cut into tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import tasksim

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = [
    "FULL_INPUTS",
    "QUICK_INPUTS",
    "SEEDS",
    "Input",
    "graph_settings",
    "inputs_of",
    "is_coarse",
]

SEEDS: Final = {"fitted": 0, "predicted": 1, "unseen": 2}
"""Seed of the particles of each part: no two parts have the same."""
DISTRIBUTIONS: Final = ("cube", "ball", "sphere", "sphere-poles", "ellipsoid", "plummer")
"""Distributions of particles that the generator ``fmm`` knows."""
FEWEST_GROUPS_PER_WORKER: Final = 3
"""Groups of leaves per worker below which the group size is called badly chosen: workers wait."""
QUICK_INPUTS: Final = {
    "fitted": (
        "cube:12000:4:24", "cube:20000:4:40", "cube:30000:4:64", "cube:50000:5:100",
        "cube:70000:5:64", "cube:40000:5:1024",
        "ellipsoid:12000:5:24", "ellipsoid:20000:5:48", "ellipsoid:30000:6:64",
        "ellipsoid:50000:6:128", "ellipsoid:70000:6:64", "ellipsoid:40000:6:800",
    ),
    "predicted": (
        "cube:16000:4:32", "cube:25000:4:48", "cube:40000:5:80", "cube:60000:5:150",
        "cube:50000:5:1500",
        "ellipsoid:16000:5:32", "ellipsoid:25000:6:48", "ellipsoid:40000:6:100",
        "ellipsoid:60000:6:80", "ellipsoid:50000:6:1500",
    ),
    "unseen": (
        "sphere:20000:5:48", "sphere:40000:6:100", "sphere:60000:6:150", "sphere:50000:6:1200",
        "sphere-poles:20000:5:48", "sphere-poles:40000:6:100", "sphere-poles:60000:6:150",
        "sphere-poles:50000:6:1200",
    ),
}  # fmt: skip
"""Small inputs, whose runs take some 50 to 200 ms on two cores."""
FULL_INPUTS: Final = {
    "fitted": (
        "cube:60000:4:32", "cube:100000:5:100", "cube:200000:5:200", "cube:200000:5:50",
        "cube:400000:5:128", "cube:150000:5:1024",
        "ellipsoid:50000:6:64", "ellipsoid:100000:6:128", "ellipsoid:200000:6:64",
        "ellipsoid:200000:7:256", "ellipsoid:300000:7:128", "ellipsoid:150000:6:800",
    ),
    "predicted": (
        "cube:80000:4:48", "cube:120000:5:64", "cube:160000:5:150", "cube:250000:5:80",
        "cube:350000:5:256", "cube:200000:5:1500",
        "ellipsoid:60000:6:100", "ellipsoid:120000:6:48", "ellipsoid:150000:6:200",
        "ellipsoid:160000:7:128", "ellipsoid:250000:7:200", "ellipsoid:200000:6:1500",
    ),
    "unseen": (
        "sphere:70000:5:64", "sphere:100000:6:100", "sphere:180000:6:256", "sphere:250000:7:150",
        "sphere:150000:7:64", "sphere:220000:6:1200",
        "sphere-poles:70000:6:64", "sphere-poles:110000:6:100", "sphere-poles:180000:7:256",
        "sphere-poles:250000:7:150", "sphere-poles:150000:7:64", "sphere-poles:200000:6:1200",
    ),
}  # fmt: skip
"""As in the paper 12 inputs each, at the scale of a machine of a few cores."""


class Input(NamedTuple):
    """Particles of a distribution, the height of the tree, the cells of a group."""

    distribution: str
    particles: int
    height: int
    group_size: int

    @property
    def name(self) -> str:
        """Name of its folder: ``cube-60k-h4-g32``."""
        return f"{self.distribution}-{self.particles / 1000:g}k-h{self.height}-g{self.group_size}"


def inputs_of(settings: Mapping[str, Any], part: str) -> list[Input]:
    """Return the inputs of a part, written as ``DISTRIBUTION:PARTICLES:HEIGHT:GROUP_SIZE``.

    Raises
    ------
    tasksim.InputError
        If one is written otherwise, or given twice.
    """
    found: list[Input] = []
    for text in settings[part]:
        fields = text.split(":")
        numbers = [int(field) if field.isdecimal() else 0 for field in fields[1:]]
        if len(fields) != len(Input._fields) or min(numbers) < 1:
            raise tasksim.InputError(
                f"--{part}: got '{text}'; legal: DISTRIBUTION:PARTICLES:HEIGHT:GROUP_SIZE, as in "
                "cube:60000:4:32"
            )
        found.append(Input(fields[0], *numbers))
        if fields[0] not in DISTRIBUTIONS:
            legal = f"legal distributions: {', '.join(DISTRIBUTIONS)}"
            raise tasksim.InputError(f"--{part}: got '{text}'; {legal}")
        if found[-1] in found[:-1]:
            raise tasksim.InputError(f"--{part}: '{text}' is given twice")
    return found


def graph_settings(given: Input, part: str, order: int) -> dict[str, Any]:
    """Return the settings of the generator ``fmm`` for an input of a part."""
    return {**given._asdict(), "order": order, "seed": SEEDS[part]}


def is_coarse(groups: int, workers: int) -> bool:
    """Return whether so few groups of leaves make too few tasks for the workers."""
    return groups < FEWEST_GROUPS_PER_WORKER * workers
