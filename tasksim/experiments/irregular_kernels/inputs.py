"""The inputs of the experiment: distributions, sizes, heights and group sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.graph.apps.registry import generate

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["DISTRIBUTIONS", "FITTED", "PREDICTED", "UNSEEN", "Input"]

DISTRIBUTIONS: Final = ("cube", "ellipsoid")
"""Those that models are fitted to."""


@dataclass(frozen=True)
class Input:
    """Particles, and how the tree over them is cut into tasks.

    ``badly_chosen``: the group size makes so few tasks that workers must wait.
    """

    distribution: str
    particles: int
    height: int
    group_size: int
    badly_chosen: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the generator ``fmm``, but for order and seed."""
        return {
            "particles": self.particles,
            "height": self.height,
            "group_size": self.group_size,
            "distribution": self.distribution,
        }

    @property
    def unseen(self) -> bool:
        """Whether no model was fitted to its distribution."""
        return self.distribution not in DISTRIBUTIONS

    @property
    def text(self) -> str:
        """In short: ``cube 100k h5 g64``."""
        size = f"{self.particles / 1000:g}k"
        return f"{self.distribution} {size} h{self.height} g{self.group_size}"

    def graph(self, order: int, seed: int) -> TaskGraph:
        """Generate its task graph."""
        return generate("fmm", **self.arguments, order=order, seed=seed)


FITTED: Final = (
    Input("cube", 60_000, 4, 32),
    Input("cube", 100_000, 5, 100),
    Input("cube", 200_000, 5, 200),
    Input("cube", 200_000, 5, 50),
    Input("cube", 400_000, 5, 128),
    Input("cube", 150_000, 5, 1024, badly_chosen=True),
    Input("ellipsoid", 50_000, 6, 64),
    Input("ellipsoid", 100_000, 6, 128),
    Input("ellipsoid", 200_000, 6, 64),
    Input("ellipsoid", 200_000, 7, 256),
    Input("ellipsoid", 300_000, 7, 128),
    Input("ellipsoid", 150_000, 6, 800, badly_chosen=True),
)
"""Inputs whose native runs the models are fitted to."""

PREDICTED: Final = (
    Input("cube", 80_000, 4, 48),
    Input("cube", 120_000, 5, 64),
    Input("cube", 160_000, 5, 150),
    Input("cube", 250_000, 5, 80),
    Input("cube", 350_000, 5, 256),
    Input("cube", 200_000, 5, 1500, badly_chosen=True),
    Input("ellipsoid", 60_000, 6, 100),
    Input("ellipsoid", 120_000, 6, 48),
    Input("ellipsoid", 150_000, 6, 200),
    Input("ellipsoid", 160_000, 7, 128),
    Input("ellipsoid", 250_000, 7, 200),
    Input("ellipsoid", 200_000, 6, 1500, badly_chosen=True),
)
"""Other inputs of the same distributions, predicted and measured."""

UNSEEN: Final = (
    Input("sphere", 70_000, 5, 64),
    Input("sphere", 100_000, 6, 100),
    Input("sphere", 180_000, 6, 256),
    Input("sphere", 250_000, 7, 150),
    Input("sphere", 150_000, 7, 64),
    Input("sphere", 220_000, 6, 1200, badly_chosen=True),
    Input("sphere-poles", 70_000, 6, 64),
    Input("sphere-poles", 110_000, 6, 100),
    Input("sphere-poles", 180_000, 7, 256),
    Input("sphere-poles", 250_000, 7, 150),
    Input("sphere-poles", 150_000, 7, 64),
    Input("sphere-poles", 200_000, 6, 1200, badly_chosen=True),
)
"""Distributions that no model was fitted to: spheres, uniform and dense at the poles."""
