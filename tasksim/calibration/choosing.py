"""Choice of the next measurement: the one that most reduces a model's variance per second.

A model is drawn many times over the domain. The rows of logarithms show how far predictions may be
off, and where they are off together. With K their covariance, a measurement at c with noise v that
takes t_c seconds leaves the variances

    K'_xx = K_xx - K_xc^2 / (K_cc + v)
    next: the largest sum over x of K_xc^2 / ((K_cc + v) t_c)

(D. A. Cohn, Z. Ghahramani and M. I. Jordan, "Active learning with statistical models", J.
Artificial Intelligence Research 4, 1996). For independent means, with v the variance of a sample
and v/n that of a mean, this is the criterion of ``calibrate --until``: v / (n (n + 1) t_c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["measured_at", "off_by", "worth"]


def off_by(logs: Array) -> Array:
    """Return *logs*, shape (draws, places), as deviations from the mean, scaled to unit weight.

    >>> of = off_by(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> (of.T @ of).tolist()  # the covariance
    [[2.0, 0.0], [0.0, 0.0]]
    """
    apart = logs - logs.mean(axis=0)
    return np.asarray(apart / np.sqrt(max(len(logs) - 1, 1)))


def worth(apart: Array, noise: float, seconds: Array) -> Array:
    """Return the reduction of the total variance per second by a measurement at each place.

    Parameters
    ----------
    apart : ndarray, shape (draws, places)
        Deviations of draws from :func:`off_by`; their square is the covariance.
    noise : float
        Variance of a measurement about the truth, in logarithms.
    seconds : ndarray, shape (places,)
        Duration of a measurement at each place.
    """
    # Sum over x of K_xc^2 via draws x draws, which is smaller than places x places.
    between = apart @ apart.T
    squares = np.einsum("dc,de,ec->c", apart, between, apart, optimize=True)
    variance = np.einsum("dc,dc->c", apart, apart)
    whole = variance + noise
    # Without variance and noise there is nothing to learn.
    return np.asarray(
        np.divide(squares, whole, out=np.zeros_like(whole), where=whole > 0) / seconds
    )


def measured_at(apart: Array, place: int, noise: float) -> Array:
    """Return the deviations that remain after a measurement at *place*.

    The draws move together so that their covariance is exactly the remaining one (J. E. Potter's
    update of a square root: R. H. Battin, "Astronautical Guidance", 1964).
    """
    own = apart[:, place]
    whole = float(own @ own) + noise
    if not whole:
        return apart
    share = 1 / (whole + np.sqrt(noise * whole))
    return np.asarray(apart - share * np.outer(own, own @ apart))
