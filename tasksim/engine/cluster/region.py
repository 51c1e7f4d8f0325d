"""Region: the flows around a change, as few as their shares allow.

Shares are max-min fair if and only if no link is over-full and each flow is at its limit or has a
*bottleneck*: a full link on which no flow has a higher level, which is share / weight. That can be
looked at flow by flow. So the flows next to a change are shared anew, the others staying as
they are; where one of those would lose its bottleneck, or has more than a flow that it holds
back, it joins; and so on until all is well. What comes out is what sharing everything from
scratch would give, but for rounding.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, TypeAlias

from tasksim.engine.cluster.shares import Filling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.engine.cluster.flow import Flow

__all__ = ["On", "settle"]

On: TypeAlias = "Mapping[int, Mapping[int, tuple[Flow, float]]]"
"""Per link, by number, the flows on it, each with what a byte takes."""

TOLERANCE = 1e-11
"""By how much levels may differ that are equal: the rounding of sums of ten thousand flows."""


def settle(
    region: dict[int, Flow], on: On, capacity: Sequence[float], can_be_full: Callable[[int], bool]
) -> None:
    """Share the links anew among the flows of a *region*, which grows as far as it has to.

    Their ``share`` stays as it was; what they get, and where they stop, is in ``settled`` and
    ``stop``.

    Parameters
    ----------
    region : dict of int to Flow
        The flows next to a change, by number; those that join are added.
    on : mapping
        The flows on each link.
    capacity : sequence of float
        Per link.
    can_be_full : callable
        Says whether a link can be full at all.
    """
    while True:
        flows = [region[number] for number in sorted(region)]
        links = {link for flow in flows for link, _ in flow.way.uses if can_be_full(link)}
        left = {link: _left(link, region, on, capacity[link]) for link in sorted(links)}
        filling = Filling([flow.way for flow in flows], left)
        filling.fill()
        for flow, share, stop in zip(flows, filling.shares, filling.stops, strict=True):
            flow.settled, flow.stop = share, stop
        size = len(region)
        for link in left:
            members = [flows[number] for number in filling.on[link]]
            slack = filling.left[link] > capacity[link] * TOLERANCE
            _join(link, members, slack, region, on)
        if len(region) == size:
            return


def _left(link: int, region: Mapping[int, Flow], on: On, capacity: float) -> float:
    """Return what the flows on *link* that stay as they are leave."""
    for number, (flow, use) in on[link].items():
        if number not in region:
            capacity -= use * flow.share
    return max(0.0, capacity)


def _join(link: int, members: Sequence[Flow], slack: bool, region: dict[int, Flow], on: On) -> None:
    """Add to *region* the flows on *link* that cannot stay as they are beside its *members*."""
    lowest, highest = inf, 0.0
    for flow in members:
        level = flow.settled / flow.way.weight
        highest = max(highest, level)
        if flow.stop == link:
            lowest = min(lowest, level)
    lowest *= 1 + TOLERANCE
    highest *= 1 - TOLERANCE
    for number, (flow, _) in on[link].items():
        if number not in region:
            level = flow.share / flow.way.weight
            if level > lowest or (flow.stop == link and (slack or level < highest)):
                flow.settled = flow.share
                region[number] = flow
