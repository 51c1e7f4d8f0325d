"""Copy engines, which decide which copies may run together.

Copies from one memory to another run one after the other, in the order of their requests, unless
copies share none of the links between them. With ``serialised``, two more rules hold, which were
observed on CUDA devices (StarPU's simulation, ``core/simgrid.c``). A copy is *direct* if neither
end is main memory:

- direct copies between the same two memories exclude each other, in either direction;
- a direct copy excludes every copy *into* either of its two ends.

A copy waits for all copies requested earlier that exclude it, even if they wait themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.clock import Clock
    from tasksim.engine.data.network import Network

__all__ = ["Copy", "CopyEngines"]


@dataclass(slots=True, eq=False)
class Copy:
    """A requested copy."""

    pair: tuple[int, int]
    size: float
    done: Callable[[Copy], None]
    value: Any
    blocks: list[Copy] = field(default_factory=list)
    blocked_by: int = 0
    started: int = 0


class CopyEngines:
    """Copy engines on the *network*, which start copies when the rules allow them.

    *devices* says per memory whether it belongs to a device; *first_use* is the delay of the first
    copy between two memories, in ticks.
    """

    def __init__(
        self,
        clock: Clock,
        network: Network,
        devices: list[bool],
        *,
        serialised: bool,
        first_use: int,
    ) -> None:
        self._clock = clock
        self._network = network
        self._devices = devices
        self._serialised = serialised
        self._first_use = first_use
        self._used: set[tuple[int, int]] = set()
        self._asked: list[Copy] = []
        self._exclusive: dict[tuple[tuple[int, int], tuple[int, int]], bool] = {}

    def ask(self, copy: Copy) -> None:
        """Start *copy* as soon as no copy requested earlier excludes it."""
        for other in self._asked:
            if self._exclude(copy.pair, other.pair):
                other.blocks.append(copy)
                copy.blocked_by += 1
        self._asked.append(copy)
        if not copy.blocked_by:
            self._start(copy)

    def _start(self, copy: Copy) -> None:
        if self._first_use and copy.pair not in self._used:
            self._used.add(copy.pair)
            self._clock.alarm(self._first_use, lambda event: self._send(event.value), copy)
        else:
            self._send(copy)

    def _send(self, copy: Copy) -> None:
        copy.started = self._clock.now
        self._network.send(*copy.pair, copy.size, self._on_end, copy)

    def _on_end(self, copy: Copy) -> None:
        self._asked.remove(copy)
        copy.done(copy)
        for other in copy.blocks:
            other.blocked_by -= 1
            if not other.blocked_by:
                self._start(other)

    def _exclude(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        known = self._exclusive.get((one, other))
        if known is None:
            known = one == other and self._network.shares(*one)
            if self._serialised and not known:
                one_direct, other_direct = (
                    self._devices[source] and self._devices[target]
                    for source, target in (one, other)
                )
                known = (one_direct and (one == other[::-1] or other[1] in one)) or (
                    other_direct and one[1] in other
                )
            self._exclusive[one, other] = known
        return known
