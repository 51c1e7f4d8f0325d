"""Scaling over nodes, with speed-up, efficiency and two empirical laws that predict them.

Two empirical laws from models of earth systems are the baselines. Both are fitted to times on few
nodes and judged on many: Worley's ``a / P + b P^c + d``, for one size, and Nan's ``a size / P +
b``, for several.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.extras import needed_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Law",
    "nan_law",
    "scaling_strong",
    "scaling_weak",
    "worley_law",
    "worley_undetermined",
]

WORLEY_NODES: Final = 4
"""Minimum number of node counts for Worley's law: it has as many coefficients."""

WORLEY_EXPONENTS: Final = np.linspace(0.05, 3.0, 60)
"""Exponents of P that the fit tries; nobody scales to costs that grow faster than P cubed."""
MAX_FITTED_NODES: Final = 8
"""Maximum number of nodes that a law is fitted to by default."""


@dataclass(frozen=True)
class Law:
    """A fitted law of the time over nodes P and size."""

    name: str
    coefficients: Mapping[str, float]
    share: float | None = None
    """The only size/P in the fit, if the law holds for no other; else None."""

    def seconds(self, nodes: ArrayLike, size: ArrayLike = 1.0) -> NDArray[np.float64]:
        """Return the time on *nodes* of a problem of that *size*; NaN if it is not determined."""
        P, c = np.asarray(nodes, float), self.coefficients
        share = np.asarray(size, float) / P
        law = c["a"] * share + c.get("d", 0.0) + c["b"] * P ** c.get("c", 0.0)
        known = True if self.share is None else np.isclose(share, self.share)
        return np.where(known, law, np.nan)

    def __str__(self) -> str:
        return f"{self.name}: " + ", ".join(f"{k} = {v:.4g}" for k, v in self.coefficients.items())


def worley_law(nodes: Sequence[float], seconds: Sequence[float]) -> Law:
    """Return ``a / P + b P^c + d`` with non-negative coefficients, by least relative squares.

    Parameters
    ----------
    nodes : sequence of float
        Numbers of nodes, four or more different ones.
    seconds : sequence of float
        The time measured on each.

    Raises
    ------
    InputError
        If there are fewer than four numbers of nodes: there are four coefficients.

    Examples
    --------
    >>> law = worley_law([1, 2, 4, 8], [8.3, 4.4, 2.6, 2.1])
    >>> bool(abs(law.seconds(1) - 8.3) < 0.01)
    True
    """
    P, t = _checked(nodes, seconds)
    if why := worley_undetermined(nodes):
        raise InputError(f"scaling: the law a/P + b P^c + d {why}")
    best: tuple[float, float, NDArray[np.float64]] | None = None
    for c in WORLEY_EXPONENTS:
        columns = np.stack([1.0 / P, P**c, np.ones_like(P)], axis=1)
        found, error = _not_negative(columns / t[:, None])
        if best is None or error < best[0] - 1e-12:
            best = error, float(c), found
    assert best is not None
    a, b, d = (float(x) for x in best[2])
    return Law("a/P + b P^c + d", {"a": a, "b": b, "c": best[1], "d": d})


def worley_undetermined(nodes: Sequence[float]) -> str:
    """Return the reason why times on *nodes* do not determine Worley's law, or an empty text.

    >>> worley_undetermined([1, 2, 2, 4])
    'needs times on 4 numbers of nodes, as it has 4 coefficients; got 3 (1, 2, 4)'
    """
    got = sorted(set(nodes))
    if len(got) >= WORLEY_NODES:
        return ""
    return (
        f"needs times on {WORLEY_NODES} numbers of nodes, as it has {WORLEY_NODES} coefficients; "
        f"got {len(got)} ({', '.join(f'{P:g}' for P in got)})"
    )


def nan_law(nodes: Sequence[float], sizes: Sequence[float], seconds: Sequence[float]) -> Law:
    """Return ``a size / P + b`` with non-negative coefficients, by least relative squares.

    If size / P is the same for all, the law is a constant, known for that size / P alone.

    Parameters
    ----------
    nodes, sizes, seconds : sequence of float
        Nodes, sizes of the problem, and measured times.

    Raises
    ------
    InputError
        If there are fewer than two numbers of nodes.
    """
    P, t = _checked(nodes, seconds)
    share = np.asarray(sizes, float) / P
    columns = np.stack([share, np.ones_like(P)], axis=1)
    if np.allclose(share, share[0]):
        (b,), _ = _not_negative(columns[:, 1:] / t[:, None])
        return Law("a size/P + b", {"a": 0.0, "b": float(b)}, share=float(share[0]))
    (a, b), _ = _not_negative(columns / t[:, None])
    return Law("a size/P + b", {"a": float(a), "b": float(b)})


def _checked(
    nodes: Sequence[float], seconds: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    P, t = np.asarray(nodes, float), np.asarray(seconds, float)
    if len(P) != len(t):
        raise InputError(f"scaling: got {len(P)} numbers of nodes, but {len(t)} times")
    if len(set(P.tolist())) < 2:
        raise InputError(f"scaling: a law needs two numbers of nodes or more (got {P.tolist()})")
    if (P < 1).any() or (t <= 0).any() or not np.isfinite(t).all():
        raise InputError("scaling: nodes must be 1 or more, times above 0")
    return P, t


def _not_negative(columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the non-negative least squares of *columns* against ones.

    There are at most three columns, so every set of positive coefficients is tried.
    """
    count = columns.shape[1]
    best, error = np.zeros(count), np.inf
    for size in range(1, count + 1):
        for chosen in itertools.combinations(range(count), size):
            part = columns[:, chosen]
            found = np.linalg.lstsq(part, np.ones(len(part)), rcond=None)[0]
            left = float(((part @ found - 1.0) ** 2).sum())
            if (found >= 0).all() and left < error - 1e-15:
                best, error = np.zeros(count), left
                best[list(chosen)] = found
    return best, error


def scaling_strong(
    nodes: Sequence[int],
    seconds: Sequence[float],
    *,
    predicted: Mapping[str, Sequence[float]] | None = None,
    fitted: int = MAX_FITTED_NODES,
) -> pd.DataFrame:
    """Return the table of one problem on more and more nodes.

    Parameters
    ----------
    nodes : sequence of int
        Numbers of nodes.
    seconds : sequence of float
        The time on each number of nodes.
    predicted : mapping, optional
        Other predictions by name, on the same nodes: their errors stand beside those of the law.
    fitted : int, default 8
        Most nodes that the law is fitted to.

    Returns
    -------
    pandas.DataFrame
        ``nodes, seconds, speed_up, efficiency``, per prediction its seconds and error in percent:
        NaN for the law if fewer than four numbers of nodes, up to *fitted*, were measured.

    Examples
    --------
    >>> table = scaling_strong([1, 2, 4, 16], [8.0, 4.2, 2.3, 0.9])
    >>> [round(float(x), 2) for x in table.efficiency]
    [1.0, 0.95, 0.87, 0.56]
    """
    P, t = _checked(nodes, seconds)
    few = fitted >= P
    known = P[few].tolist()
    told: dict[str, Any] = {"worley": np.full(len(P), np.nan)}
    if not worley_undetermined(known):
        told["worley"] = worley_law(known, t[few].tolist()).seconds(P)
    told |= predicted or {}
    # The run on fewest nodes is the reference: its efficiency is taken as 1.
    first = int(np.argmin(P))
    speed_up = t[first] * P[first] / t
    return _table(P, t, {"speed_up": speed_up, "efficiency": speed_up / P}, told)


def scaling_weak(
    nodes: Sequence[int],
    sizes: Sequence[float],
    seconds: Sequence[float],
    *,
    predicted: Mapping[str, Sequence[float]] | None = None,
    fitted: int = MAX_FITTED_NODES,
) -> pd.DataFrame:
    """Return the table of problems that grow with the nodes.

    Parameters
    ----------
    nodes : sequence of int
        Numbers of nodes.
    sizes : sequence of float
        The work of each problem. In proportion to the nodes it is equal work per node; for
        matrices decide for n³ / P or n² / P, which cannot both be constant.
    seconds : sequence of float
        The time of each.
    predicted, fitted
        As for :func:`scaling_strong`.

    Returns
    -------
    pandas.DataFrame
        As :func:`scaling_strong`; the efficiency is that of the work per node and second.
    """
    P, t = _checked(nodes, seconds)
    work = np.asarray(sizes, float)
    few = fitted >= P
    law = nan_law(P[few].tolist(), work[few].tolist(), t[few].tolist())
    told = {"nan": law.seconds(P, work), **(predicted or {})}
    first = int(np.argmin(P))
    rate = work / (P * t)
    return _table(P, t, {"size": work, "efficiency": rate / rate[first]}, told)


def _table(
    P: NDArray[np.float64],
    t: NDArray[np.float64],
    facts: Mapping[str, NDArray[np.float64]],
    told: Mapping[str, Any],
) -> pd.DataFrame:
    with needed_for("the table of a scaling law"):
        import pandas as pd

    columns: dict[str, Any] = {"nodes": P.astype(int), "seconds": t, **facts}
    for name, values in told.items():
        columns[f"{name}_s"] = np.asarray(values, float)
        columns[f"{name}_error_percent"] = 100.0 * (np.asarray(values, float) / t - 1.0)
    return pd.DataFrame(columns)
