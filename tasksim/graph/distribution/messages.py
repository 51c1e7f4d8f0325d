"""Messages between nodes, one per version of a datum and node that reads it.

All nodes traverse the whole graph and find the same messages, as in StarPU-MPI: before a task, the
owners of its input data send them; after it, an executor that is not the owner sends the written
data back. A datum is sent again after a write, or after a hint that it is not used any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.dependencies import MODE_READS, MODE_WRITES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int32, Int64
    from tasksim.graph.dependencies import Accesses

__all__ = ["Needed", "PostedMessages", "needed_messages"]


@dataclass(frozen=True, eq=False)
class PostedMessages:
    """Messages in columns, in the order in which the submission posts them.

    Attributes
    ----------
    source, target
        int32: the sending and the receiving node.
    handle, size_bytes
        int32, int64: the datum in the whole graph, and its size.
    priority
        int32: the priority of the task that caused it.
    task
        int32: that task in the whole graph: the first reader on the target, or the writer.
    back
        bool: whether it returns written data to the owner, after its task.
    send, receive
        int32: the numbers of its communication tasks in the parts of source and target.
    """

    source: Int32
    target: Int32
    handle: Int32
    size_bytes: Int64
    priority: Int32
    task: Int32
    back: NDArray[np.bool_]
    send: Int32
    receive: Int32

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.source)

    @property
    def bytes(self) -> int:
        """Total size of their data, in bytes."""
        return int(self.size_bytes.sum())

    def ends(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Return the sending and the receiving end of each: a node, and a task of its part."""
        sources = zip(self.source.tolist(), self.send.tolist(), strict=True)
        targets = zip(self.target.tolist(), self.receive.tolist(), strict=True)
        return list(zip(sources, targets, strict=True))


@dataclass(frozen=True, eq=False)
class Needed:
    """Ordered messages of a graph, and the lifetimes of their copies.

    Attributes
    ----------
    source, target, handle, task
        As in :class:`PostedMessages`.
    order
        int64: its place in :func:`posting_order`.
    dropped
        int32: number of tasks before the hint that drops the copy; -1 for never.
    """

    source: Int32
    target: Int32
    handle: Int32
    task: Int32
    order: Int64
    dropped: Int32


def posting_order(task: Int32, place: Int64, *, after: bool) -> Int64:
    """Return numbers that sort messages in the order of posting, before or *after* their tasks.

    *place* is the number of the access. A task itself comes before messages posted after it.
    """
    return task.astype(np.int64) << 32 | (place + 1 | 1 << 31 if after else place)


def needed_messages(
    accesses: Accesses,
    owners: Int32,
    executor: Int32,
    hints: tuple[Int32, Int32],
    *,
    cache: bool,
) -> Needed:
    """Return the messages for *accesses*, with data dropped by *hints*.

    Without *cache*, each reader of a remote datum has a message of its own.
    """
    remote = owners[accesses.handle] != executor[accesses.task]
    read = np.flatnonzero(remote & MODE_READS[accesses.mode])
    written = np.flatnonzero(remote & MODE_WRITES[accesses.mode])
    first, dropped = _first_readers(accesses, executor, read, hints, cache=cache)
    before = posting_order(accesses.task[first], first, after=False)
    behind = posting_order(accesses.task[written], written, after=True)
    order = np.concatenate((before, behind))
    sorting = np.argsort(order, kind="stable")
    places = np.concatenate((first, written))[sorting]
    back = np.repeat([False, True], [len(first), len(written)])[sorting]
    task, handle = accesses.task[places], accesses.handle[places]
    owner, other = owners[handle], executor[task]
    return Needed(
        source=np.where(back, other, owner).astype(np.int32),
        target=np.where(back, owner, other).astype(np.int32),
        handle=handle,
        task=task,
        order=order[sorting],
        dropped=np.concatenate((dropped, np.full(len(written), -1, np.int32)))[sorting],
    )


def _first_readers(
    accesses: Accesses,
    executor: Int32,
    read: Int64,
    hints: tuple[Int32, Int32],
    *,
    cache: bool,
) -> tuple[Int64, Int32]:
    """Return the accesses among *read* that need a message, and when its copy is dropped."""
    if not len(read):
        return read, np.empty(0, np.int32)
    # Sorted keys are found several times faster.
    task = accesses.task[read].astype(np.int64)
    moment = accesses.handle[read].astype(np.int64) << 33 | task << 1
    order = np.argsort(moment)
    read, moment = read[order], moment[order]
    handle, ends = moment >> 33, _ends_of_versions(accesses, hints)
    version = np.searchsorted(ends, moment)
    # A version that a hint ends is dropped after the tasks before the hint.
    end = np.append(ends, -1)[version]
    by_hint = (end >> 33 == handle) & (end & 1 == 1)
    dropped = np.where(by_hint, (end & 0x1FFFFFFFF) + 1 >> 1, -1).astype(np.int32)
    if not cache:
        return read, dropped
    # Versions that never end have no number of their own: the datum distinguishes them, and as both
    # ascend, so does their sum.
    keys = (version + handle) << 16 | executor[accesses.task[read]]
    order = np.argsort(keys)
    begins = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return np.minimum.reduceat(read[order], begins), dropped[order[begins]]


def _ends_of_versions(accesses: Accesses, hints: tuple[Int32, Int32]) -> Int64:
    """Return sorted writes and drops of data: the datum, and twice the task.

    A drop before a task counts as half a task earlier.
    """
    places = np.flatnonzero(MODE_WRITES[accesses.mode])
    written = accesses.handle[places].astype(np.int64) << 33
    written |= accesses.task[places].astype(np.int64) << 1
    handle, after = (column.astype(np.int64) for column in hints)
    at_once = after == 0  # nothing was sent yet
    dropped = (handle << 33 | (after << 1) - 1)[~at_once]
    ends = np.concatenate((written, dropped))
    ends.sort()
    return ends
