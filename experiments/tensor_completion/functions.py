"""Singular value decompositions of functions of two parameters on a grid: figure 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.tensor_completion.datasets import mlogq

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from experiments.frame import Work

    Floats = NDArray[np.float64]

__all__ = ["FUNCTIONS", "decompose"]

VALUES_PER_PARAMETER: Final = 100
"""Values of each parameter, 1 to 100, as in the paper."""
NOISE: Final = 0.01
"""Standard deviation of the relative noise, as in the paper."""
RANKS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Ranks of the approximations: numbers of singular values that are kept."""
MIN_DURATION: Final = 1e-16
"""Replacement of a duration that is not positive, as in the paper."""

FUNCTIONS: Final = {
    "f1": "x^1.5 y + 100 x, with 1 % noise",
    "f2": "x y up to x + y = 100, 3 x + 20 y beyond, with 1 % noise",
    "f3": "x y + 50 (x + y) + 200 sqrt(x y), without noise",
}
"""Name -> formula. The text of the paper does not give its formulas; these have its properties."""


def decompose(work: Work) -> dict[str, Any]:
    """Return singular values, and errors of approximations, of functions and their logarithms."""
    x, y = np.meshgrid(
        np.arange(1.0, VALUES_PER_PARAMETER + 1),
        np.arange(1.0, VALUES_PER_PARAMETER + 1),
        indexing="ij",
    )
    values = {
        "f1": x**1.5 * y + 100 * x,
        "f2": np.where(x + y <= VALUES_PER_PARAMETER, x * y, 3 * x + 20 * y),
        "f3": x * y + 50 * (x + y) + 200 * np.sqrt(x * y),
    }
    rng = np.random.default_rng(work.settings["seed"])
    found: dict[str, Any] = {"ranks": list(RANKS)}
    for name, value in values.items():
        noisy = value if name == "f3" else value * (1 + NOISE * rng.standard_normal(value.shape))
        durations, logs = _parts(noisy), _parts(np.log(noisy))
        found[name] = {
            "durations": [
                mlogq(np.maximum(_low(durations, r), MIN_DURATION), noisy) for r in RANKS
            ],
            "logarithms": [mlogq(np.exp(_low(logs, r)), noisy) for r in RANKS],
            "singular values": (durations[1] / durations[1][0])[: RANKS[-1]].tolist(),
        }
    return found


def _parts(table: Floats) -> tuple[Floats, Floats, Floats]:
    left, values, right = np.linalg.svd(table)
    return left, values, right


def _low(parts: tuple[Floats, Floats, Floats], rank: int) -> Floats:
    """Return the best approximation of a rank."""
    left, values, right = parts
    return np.asarray((left[:, :rank] * values[:rank]) @ right[:rank])
