"""Latency and time per byte, fitted to the messages of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.run.recordtables import MessageTable

__all__ = ["Hockney", "fitted_hockney", "network_of_messages"]

UNDISTURBED_SHARE: Final = 0.25
"""Share of the messages of a size that are undisturbed even on a busy machine: beside two busy
processes on two cores, the fastest quarter took 5 % longer than on a calm machine, the median up to
170 %."""
MIN_BETA_S: Final = 1e-15
"""Smallest time per byte, in seconds: no network has a petabyte per second."""


@dataclass(frozen=True)
class Hockney:
    """Hockney's model: s bytes take ``alpha + beta s``, from any source to any target."""

    alpha_s: float
    beta_s: float

    def seconds(self, ranks: int, size_bytes: float) -> float:  # noqa: ARG002 - as OverNetwork's
        """Return the time of a message, whatever the number of *ranks*."""
        return self.alpha_s + self.beta_s * size_bytes


def fitted_hockney(
    size_bytes: NDArray[np.floating], seconds: NDArray[np.floating], share: float = 0.5
) -> Hockney:
    """Return the line with the least relative errors from message times; no part is negative.

    Each size counts with the quantile *share* of its times, by default the median.

    Examples
    --------
    >>> line = fitted_hockney(np.array([0.0, 1e6]), np.array([1e-5, 1.01e-3]))
    >>> bool(abs(line.alpha_s - 1e-5) < 1e-9 and abs(line.beta_s - 1e-9) < 1e-13)
    True
    """
    from tasksim.models.terms.leastsquares import non_negative

    known = np.isfinite(seconds) & (seconds > 0)
    if not known.any():
        raise InputError("messages: none was timed, so give the network")
    sizes, taken = np.asarray(size_bytes, float)[known], np.asarray(seconds, float)[known]
    # Not the mean of each size: some messages wait for the processor of their receiver.
    each, group = np.unique(sizes, return_inverse=True)
    typical = np.array([np.quantile(taken[group == index], share) for index in range(len(each))])
    design = np.column_stack([np.ones(len(each)), each]) / typical[:, None]
    scale = np.maximum(design.max(axis=0), np.finfo(float).tiny)
    alpha_s, beta_s = non_negative(design / scale, np.ones(len(each))) / scale
    return Hockney(float(alpha_s), float(beta_s))


def network_of_messages(messages: MessageTable) -> str:
    """Return a network, in the format of ``--network``, with the message times of a run.

    A message's time begins when its sender has the data and its receiver is ready, and ends with
    its arrival, so it includes the runtime; for each size, the lower quartile counts. Messages do
    not slow each other down, as the measured times include that already.

    Examples
    --------
    >>> from tasksim.run.recordtables import MessageTable
    >>> zeros = dict.fromkeys(("target", "handle", "priority", "posted_s", "start_s"), [0, 0])
    >>> table = MessageTable(
    ...     source=[1, 1], task=[0, 0], size_bytes=[0, 10**6],
    ...     ready_s=[1.0, 1.0], awaited_s=[0.0, 2.0], end_s=[1.5, 4.5], **zeros,
    ... )
    >>> network_of_messages(table)
    'switch:bandwidth=500000B/s,latency=0.25s,model=ideal'
    """
    taken_s = messages.end_s - np.maximum(messages.ready_s, messages.awaited_s)
    known = taken_s > 0
    line = Hockney(0.0, 0.0)
    if known.any():
        sizes = messages.size_bytes[known].astype(np.float64)
        line = fitted_hockney(sizes, taken_s[known], UNDISTURBED_SHARE)
    bandwidth = 1 / max(line.beta_s, MIN_BETA_S)
    # one cable from the sender, one to the receiver
    return f"switch:bandwidth={bandwidth:.9g}B/s,latency={line.alpha_s / 2:.9g}s,model=ideal"
