"""Choosing: which measurement makes a model surest over a whole domain, per second of measuring.

A model draws itself again and again over the domain: rows of logarithms, which say how far
predictions may be off, and where they are off together. With K their covariance, a measurement at c
with noise v, which takes t_c seconds, leaves the variances

    K'_xx = K_xx - K_xc^2 / (K_cc + v)
    next: the largest sum over x of K_xc^2 / ((K_cc + v) t_c)

(D. A. Cohn, Z. Ghahramani and M. I. Jordan, "Active learning with statistical models", J.
Artificial Intelligence Research 4, 1996). Of means that are known apart from each other, v being
the variance of a sample and v/n that of a mean, it is what steers ``calibrate --until``:
v / (n (n + 1) t_c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["measured_at", "off_by", "worth"]


def off_by(logs: Array) -> Array:
    """Return *logs*, shape (draws, places), as differences from the means, of unit weight.

    >>> of = off_by(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> (of.T @ of).tolist()  # the covariance
    [[2.0, 0.0], [0.0, 0.0]]
    """
    apart = logs - logs.mean(axis=0)
    return np.asarray(apart / np.sqrt(max(len(logs) - 1, 1)))


def worth(apart: Array, noise: float, seconds: Array) -> Array:
    """Return by how much all variances would shrink per second, of a measurement at each place.

    Parameters
    ----------
    apart : ndarray, shape (draws, places)
        What :func:`off_by` makes of draws; its square is the covariance.
    noise : float
        The variance of a measurement about the truth, in logarithms.
    seconds : ndarray, shape (places,)
        What measuring takes.
    """
    # Sum over x of K_xc^2 by way of draws x draws, not places x places.
    between = apart @ apart.T
    squares = np.einsum("dc,de,ec->c", apart, between, apart, optimize=True)
    variance = np.einsum("dc,dc->c", apart, apart)
    whole = variance + noise
    # Where nothing is unknown, and nothing is noise, there is nothing to learn.
    return np.asarray(
        np.divide(squares, whole, out=np.zeros_like(whole), where=whole > 0) / seconds
    )


def measured_at(apart: Array, place: int, noise: float) -> Array:
    """Return the differences that are left when something was measured at a *place*.

    Draws are drawn together so that their covariance is exactly the one that is left (J. E.
    Potter's update of a square root: R. H. Battin, "Astronautical Guidance", 1964).
    """
    own = apart[:, place]
    whole = float(own @ own) + noise
    if not whole:
        return apart
    share = 1 / (whole + np.sqrt(noise * whole))
    return np.asarray(apart - share * np.outer(own, own @ apart))
