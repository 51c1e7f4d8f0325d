"""Clocks of the core, a parameter of samples measured at several clocks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.columns import CLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["with_clock", "without_clock"]

SAME_CLOCK_FACTOR: Final = 1.05
"""Factor between neighbouring frequencies up to which they count as one clock: governors choose
steps of a tenth of a GHz or more, and measured frequencies scatter by a few per cent."""


def with_clock(samples: Samples, *, always: bool = False) -> Samples:
    """Return the samples with the clock as a parameter, if configurations have several clocks.

    Parameters
    ----------
    samples
        With or without the counter ``frequency_hz``, which is kept.
    always
        Whether a single clock becomes a parameter, too, as for samples that test a model with a
        clock.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> clocks = {"frequency_hz": [2e9, 3e9, 2.01e9, 3e9]}
    >>> samples = Samples(("n",), [[8], [8], [16], [16]], [3.0, 2.0, 6.0, 4.0], counters=clocks)
    >>> found = with_clock(samples)
    >>> found.names, found.parameters[:, 1].tolist()
    (('n', 'frequency_hz'), [2005000000.0, 3000000000.0, 2005000000.0, 3000000000.0])
    """
    frequency_hz = (samples.counters or {}).get(CLOCK)
    if frequency_hz is None or CLOCK in samples.names or not len(samples):
        return samples
    clock, number = _clocks(frequency_hz)
    _, group = samples.configurations()
    pairs = len(np.unique(group * len(clock) + number))
    # A clock that depends on the configuration is not a setting: short kernels look slower.
    if not always and (pairs == group.max() + 1 or not (frequency_hz > 0).all()):
        return samples
    table = np.column_stack([samples.parameters, clock[number]])
    return replace(samples, names=(*samples.names, CLOCK), parameters=table)


def without_clock(samples: Samples) -> Samples:
    """Return the samples without the clock as a parameter."""
    return samples.without([CLOCK])


def _clocks(frequency_hz: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the clocks, medians of similar frequencies, and the index of each sample's clock."""
    values, place = np.unique(frequency_hz, return_inverse=True)
    number = np.concatenate([[0], np.cumsum(values[1:] > SAME_CLOCK_FACTOR * values[:-1])])[place]
    clocks = [float(np.median(frequency_hz[number == i])) for i in range(number.max() + 1)]
    return np.array(clocks), number
