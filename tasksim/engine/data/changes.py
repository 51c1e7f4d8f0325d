"""Changes: which data have come to a memory or left it, for those who follow that."""

from __future__ import annotations

__all__ = ["Changes"]


class Changes:
    """The followers of *memories*, and what they are told.

    ``followed`` is a mask of the memories that anybody follows: whoever changes where data are
    looks at it first, so that nothing is spent while nobody does.
    """

    def __init__(self, memories: int) -> None:
        self.followed = 0
        self._followers: list[list[set[int]]] = [[] for _ in range(memories)]

    def follow(self, memory: int) -> set[int]:
        """Return a set to which every datum is added that changes in *memory* from now on."""
        told: set[int] = set()
        self._followers[memory].append(told)
        self.followed |= 1 << memory
        return told

    def leave(self, memory: int, told: set[int]) -> None:
        """Take back that *told* hears of *memory*."""
        left = [other for other in self._followers[memory] if other is not told]
        self._followers[memory] = left
        if not left:
            self.followed &= ~(1 << memory)

    def note(self, handle: int, memories: int) -> None:
        """Tell the followers of *memories*, a mask, that *handle* has changed there."""
        for memory, followers in enumerate(self._followers):
            if memories >> memory & 1:
                for told in followers:
                    told.add(handle)
