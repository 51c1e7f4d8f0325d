"""Octrees of the paper's figures, and their numbers by the command that draws them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.irregular_kernels.inputs import SEEDS, inputs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from experiments.frame import Work

__all__ = ["paper_positions", "trees"]

EMPTY_LEAVES: Final = (34, 35, *range(40, 45), 46)
"""Morton indices of the leaves without particles in the paper's figure 3."""


def paper_positions() -> NDArray[np.float64]:
    """Return a particle in the middle of each leaf of the paper's figure 3."""
    leaves = np.array([leaf for leaf in range(64) if leaf not in EMPTY_LEAVES])
    # The bits of a Morton index are those of both coordinates in turn.
    x, y = (sum(((leaves >> (2 * bit + odd)) & 1) << bit for bit in range(3)) for odd in (1, 0))
    return (np.column_stack([x, y]) + 0.5) / 8


def trees(work: Work) -> dict[str, Any]:
    """Ask for the numbers of the paper's example, and of particles on a sphere in 3-D.

    It is the first step, so it refuses illegal inputs of all parts, before anything is measured.
    """
    for part in SEEDS:
        inputs_of(work.settings, part)
    rows = "".join(f"{x},{y}\n" for x, y in paper_positions().tolist())
    (work.folder / "paper.csv").write_text(f"x,y\n{rows}")
    asked = {
        "cell 26": ("particles=paper.csv", "height=4", "group_size=8", "cell=26"),
        "cell 22": ("particles=paper.csv", "height=4", "group_size=8", "cell=22"),
        "solid": ("particles=400", "distribution=sphere", "dimension=3", "height=4",
                  "group_size=16"),
    }  # fmt: skip
    found = {}
    for name, words in asked.items():
        target = f"{name.replace(' ', '-')}.png"
        said = work.tasksim("view", "octree", *words, "-o", target, "--force", "--json")
        found[name] = json.loads(said)
    return found
