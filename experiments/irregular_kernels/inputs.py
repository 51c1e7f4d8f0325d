"""Inputs of the experiment: distributions, sizes, heights and group sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.graph.apps.registry import generate
from tasksim.scenario.scenario import Scenario

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["DESIGNS", "DISTRIBUTIONS", "SEEDS", "Design", "Input"]

DISTRIBUTIONS: Final = ("cube", "ellipsoid")
"""Those that models are fitted to."""

SEEDS: Final = {"fitted": 0, "predicted": 1, "unseen": 2}
"""Per part of the experiment the seed of its particles: no two parts have the same."""


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

    def scenario(self, order: int, seed: int) -> Scenario:
        """Return the question what it takes natively, on all usable cores."""
        settings = {**self.arguments, "order": order, "seed": seed}
        return Scenario("fmm", settings, clock="native")

    def graph(self, order: int, seed: int) -> TaskGraph:
        """Generate its task graph."""
        return generate("fmm", **self.arguments, order=order, seed=seed)


@dataclass(frozen=True)
class Design:
    """The inputs of the experiment.

    Attributes
    ----------
    fitted
        Those whose native runs the models are fitted to: cubes and ellipsoids.
    predicted
        Others of the same distributions, predicted and measured.
    unseen
        Spheres, uniform and dense at the poles: predicted by the general models before they are
        run for the first time.
    """

    fitted: tuple[Input, ...]
    predicted: tuple[Input, ...]
    unseen: tuple[Input, ...]

    def part(self, name: str) -> tuple[Input, ...]:
        """Return the inputs of a part, named as in :data:`SEEDS`."""
        inputs: tuple[Input, ...] = getattr(self, name)
        return inputs


PAPER: Final = Design(
    fitted=(
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
    ),
    predicted=(
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
    ),
    unseen=(
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
    ),
)
"""As in the paper, 12 inputs each, at the scale of a machine of a few cores."""

QUICK: Final = Design(
    fitted=(
        Input("cube", 4_000, 4, 24),
        Input("cube", 8_000, 4, 60),
        Input("cube", 10_000, 4, 100),
        Input("ellipsoid", 4_000, 5, 24),
        Input("ellipsoid", 8_000, 5, 60),
        Input("ellipsoid", 10_000, 5, 100),
    ),
    predicted=(
        Input("cube", 6_000, 4, 40),
        Input("cube", 9_000, 4, 300, badly_chosen=True),
        Input("ellipsoid", 6_000, 5, 40),
        Input("ellipsoid", 9_000, 5, 300, badly_chosen=True),
    ),
    unseen=(Input("sphere", 7_000, 5, 50), Input("sphere-poles", 7_000, 5, 50)),
)
"""Seconds instead of minutes: to see how it works, not to judge models by."""

DESIGNS: Final = {"paper": PAPER, "quick": QUICK}
