"""Messages of the runtime, timed from release to end, with posting and progress.

A chain of empty tasks alternates between two ranks, executed as any graph is.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from tasksim.calibration.network.patterns import Taken
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.distribution.parts import distribute
from tasksim.native.cluster.execute import RankExecution, platform_of_rank
from tasksim.native.cluster.records import message_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["chain_of_messages", "runtime_messages"]


def chain_of_messages(sizes: Sequence[int], rounds: int, seed: int = 0) -> TaskGraph:
    """Return a chain of tasks that pass on data of all *sizes* in random order.

    >>> chain_of_messages([8, 16], rounds=2)
    <TaskGraph messages: 5 tasks, 4 edges>
    """
    rng, graph = random.Random(seed), GraphBuilder("messages")
    order = [size for _ in range(rounds) for size in rng.sample(list(sizes), len(sizes))]
    before = None
    for number, size in enumerate([*order, order[-1]]):
        data = graph.handle(f"x{number}", size_bytes=size)
        graph.insert("step", *([] if before is None else [R(before)]), W(data), duration_s=0.0)
        before = data
    return graph.build()


def runtime_messages(ranks: Ranks, sizes: Sequence[int], rounds: int) -> tuple[Taken, Taken] | None:
    """Return the times of messages until they are posted, and from release to end.

    Only the first two ranks exchange messages; the call is collective, rank 0 has the result.
    """
    graph = chain_of_messages(sizes, rounds)
    owners = np.arange(graph.handles) % 2
    cut = distribute(graph, owners, ranks.size)
    platform = ranks.together(lambda: platform_of_rank(ranks, 1))
    record = RankExecution(ranks, graph, cut, platform).run("eager")
    if record is None:
        return None
    table = message_table(cut, record.ranks)
    posting, whole = Taken(), Taken()
    for size, posting_s, whole_s in zip(
        table.size_bytes.tolist(),
        (table.start_s - table.ready_s).tolist(),
        (table.end_s - table.ready_s).tolist(),
        strict=True,
    ):
        posting.add(size, posting_s)
        whole.add(size, whole_s)
    return posting, whole
