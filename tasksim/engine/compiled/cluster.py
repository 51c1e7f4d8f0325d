"""Replay of a cluster on the compiled core, equal to SimPy's engine to the last bit."""

from __future__ import annotations

import ctypes
import random
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tasksim.base.progress import watched
from tasksim.core import interface, library
from tasksim.engine.cluster.communicator import NotedMessages, ends_of_messages, protocol_of
from tasksim.engine.cluster.outcome import ClusterOutcome, NodeOutcome, cluster_records
from tasksim.engine.cluster.ways import Ways, way_table
from tasksim.engine.cluster.work import Work
from tasksim.engine.compiled.answers import NotedCopies, ended, finished, numa_use, read_tasks
from tasksim.engine.compiled.flat import (
    flat_alone,
    flat_contention,
    flat_far,
    flat_platform,
    scheduler_fields,
)
from tasksim.engine.compiled.view import KnownView
from tasksim.engine.outcome import Reports
from tasksim.engine.question import SEEDS_PER_RUN
from tasksim.engine.ticks import ticks
from tasksim.network.model import cost_s
from tasksim.runtime.flat import (
    Arrays,
    Flat,
    Refused,
    flat_graph,
    graph_columns,
    policy_fields,
    policy_structure,
    ported,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.engine.question import ClusterQuestion, NodeQuestion
    from tasksim.network.model import HostCost
    from tasksim.runtime.flat import Ported

__all__ = ["CompiledCluster"]


class _Part(NamedTuple):
    """The question of a node."""

    work: Work
    graph: Flat
    visible: Flat
    platform: Flat
    question: interface.Question
    policy: Ported
    view: KnownView
    seed: int


class CompiledCluster:
    """One simulated run on a cluster, on the compiled core.

    Parameters
    ----------
    question : ClusterQuestion
        As for :class:`~tasksim.engine.cluster.cluster.ClusterReplay`.

    Raises
    ------
    Refused
        If the core does not support the replay.

    See Also
    --------
    tasksim.engine.cluster.cluster.ClusterReplay : The reference engine.
    """

    why = ""
    """Remark on the engine: none, because the core calls no Python scheduler of a cluster."""

    def __init__(self, question: ClusterQuestion) -> None:
        core = interface.functions()
        if core is None:
            raise Refused(f"the core is {library.status().why}")
        self._core, self._asked = core, question
        distribution, network = question.distribution, question.network
        self._protocol = protocol_of(network.model, by_rank=distribution.graph.by_rank)
        self._network = network
        self._cores = question.cores or 0
        # The shares of the time before a replay are those of 16 nodes.
        self._works = [Work(part) for part in watched(distribution.parts, "nodes", until=0.7)]
        self._table = distribution.messages
        self.messages = NotedMessages(*ends_of_messages(self._table, self._works))
        self._column = Arrays()
        self._alone: dict[int, int | None] = {}
        self._kept: list[Any] = [self._column]
        self._outcome = interface.Outcome()
        self._handle: int | None = None

    def run(self, seed: int, progress: CountProgress | None = None) -> float:
        """Replay the graph; return the makespan in seconds.

        *progress* is called from time to time with the number of finished tasks and of all tasks,
        messages included.

        Raises
        ------
        Refused
            If the replay fails: SimPy's engine then raises the error.
        """
        self._make(seed)
        core, handle, noted = self._core, self._handle, self.messages
        reads = [
            (partial(core.tasksim_cluster_tasks, handle, node), len(work.graph))
            for node, work in enumerate(self._works)
        ]
        look = None
        if progress is not None:
            tasks = sum(count for _, count in reads)
            look = Reports(progress, tasks, lambda: sum(finished(*of) for of in reads)).look
        status = ended(core.tasksim_replay_go_on, handle, look)
        if status != interface.CallStatus.DONE:
            raise Refused(f"the core has ended with status {status}")
        self.columns = [read_tasks(*of) for of in reads]
        core.tasksim_cluster_messages(handle, noted.started.ctypes.data, noted.ended.ctypes.data)
        ends = (c["end_s"][: w.own_tasks] for c, w in zip(self.columns, self._works, strict=True))
        return max(float(column.max(initial=0.0)) for column in ends)

    def records(self) -> dict[str, Any]:
        """Return the fields of a run with the records of the replay, by name."""
        return cluster_records(self.outcome())

    def outcome(self) -> ClusterOutcome:
        """Return the result of the replay."""
        core, handle, nodes = self._core, self._handle, []
        for node, (work, asked) in enumerate(zip(self._works, self._asked.nodes, strict=True)):
            noted = interface.Outcome()
            core.tasksim_cluster_outcome(handle, node, ctypes.byref(noted))
            log = None
            if noted.copies >= 0:
                log = NotedCopies(partial(core.tasksim_cluster_log, handle, node), noted)
            slowing = None if self._cores else asked.slowing
            numa = numa_use(slowing, partial(core.tasksim_cluster_numa, handle, node))
            nodes.append(
                NodeOutcome(work, asked.platform, self.columns[node], log, noted.evictions, numa)
            )
        return ClusterOutcome(self._asked.distribution, nodes, self.messages)

    def as_data(self, seed: int) -> dict[str, Any]:
        """Return the input of the core as numbers, texts and arrays by name.

        Raises
        ------
        Refused
            If the core has no policy for the scheduler of a node.
        """
        members = []
        for part in self._parts(seed):
            rng = random.Random(part.seed)
            members.append(
                {
                    "graph": part.graph.fields(),
                    "visible": part.visible.fields(),
                    "platform": part.platform.fields(),
                    "question": self._column.fields(part.question),
                    "scheduler": policy_fields(part.policy, part.view, rng, part.seed),
                    "order": np.ascontiguousarray(part.work.order, np.int32),
                    "message": np.ascontiguousarray(part.work.message, np.int32),
                    "first_ready": len(part.work.first_ready),
                }
            )
        return {"cluster": {**self._column.fields(self._cluster()), "member": members}}

    # Input of the core

    def _make(self, seed: int) -> None:
        members = (interface.Member * len(self._works))(*map(self._member, self._parts(seed)))
        given = self._cluster()
        given.nodes, given.member = len(members), ctypes.addressof(members)
        self._kept += [members, given]
        status = ctypes.c_int32()
        self._handle = self._core.tasksim_cluster_new(
            ctypes.byref(given), ctypes.byref(status), ctypes.byref(self._outcome)
        )
        if self._handle is None:
            raise Refused(f"the core does not take this cluster, status {status.value}")
        weakref.finalize(self, self._core.tasksim_replay_free, self._handle)

    def _parts(self, seed: int) -> Iterator[_Part]:
        """Yield the question of each node."""
        works = watched(self._works, "nodes", until=1.0)
        for node, (work, asked) in enumerate(zip(works, self._asked.nodes, strict=True)):
            policy = ported(asked.scheduler)
            if policy is None:
                raise Refused(f"scheduler {asked.scheduler.name} is no policy of the core")
            estimates = np.ascontiguousarray(asked.estimates[:, work.task])
            costs = np.zeros((len(asked.costs), len(work.graph)))
            costs[:, : work.own_tasks] = asked.costs[:, work.task]
            yield _Part(
                work,
                _flat_part(work),
                flat_graph(work.visible),
                flat_platform(asked.platform),
                self._question(asked, costs, estimates, work),
                policy,
                KnownView(work.visible, asked.platform, costs[:, : work.own_tasks], estimates),
                seed * SEEDS_PER_RUN + node,
            )

    def _member(self, part: _Part) -> interface.Member:
        told = policy_structure(part.policy, part.view, random.Random(part.seed), self._kept)
        self._kept += [part, told]
        return interface.Member(
            graph=part.graph.handle,
            visible=part.visible.handle,
            platform=part.platform.handle,
            question=ctypes.addressof(part.question),
            scheduler=ctypes.addressof(told),
            order=self._column(part.work.order, np.int32),
            message=self._column(part.work.message, np.int32),
            first_ready=len(part.work.first_ready),
        )

    def _question(
        self,
        asked: NodeQuestion,
        costs: NDArray[np.float64],
        estimates: NDArray[np.float64],
        work: Work,
    ) -> interface.Question:
        platform = asked.platform
        if id(platform) not in self._alone:
            names = self._works[0].graph.model_names
            self._alone[id(platform)] = flat_alone(platform, names, self._column)
        return interface.Question(
            costs=self._column(costs, np.float64),
            estimates=self._column(estimates, np.float64),
            far=self._column.structure(
                None if asked.far is None else flat_far(work.charge(asked.far))
            ),
            alone=self._alone[id(platform)],
            contention=self._column.structure(
                None if asked.slowing is None else flat_contention(asked.slowing, work.graph)
            ),
            machine=True,
            blind=self._asked.simultaneous_pushes == "blind",
            threads=self._asked.has_threads(asked),
            **scheduler_fields(asked.scheduler),
        )

    def _cluster(self) -> interface.Cluster:
        """Return the messages, and the ways between the nodes that exchange any."""
        table, model, column = self._table, self._network.model, self._column
        nodes = len(self._works)
        pairs, way = np.unique(
            table.source.astype(np.int64) * nodes + table.target, return_inverse=True
        )
        known = Ways(self._network)
        ways = way_table(self._network, pairs // nodes, pairs % nodes)
        latency, factor, sent = known.transfers(ways.latency_s[way], table.size_bytes)
        given = interface.Cluster(
            cores=self._cores,
            messages=len(table),
            in_flight=self._protocol.in_flight,
            source=column(table.source, np.int32),
            target=column(table.target, np.int32),
            priority=column(table.priority, np.int32),
            send=column(self.messages.send, np.int32),
            receive=column(self.messages.receive, np.int32),
            way=column(way, np.int32),
            eager=column(table.size_bytes < model.eager_bytes, np.int8),
            detached=column(table.size_bytes < model.detached_bytes, np.int8),
            lands=column(~table.back, np.int8),
            latency=column(latency, np.int64),
            factor=column(factor, np.float64),
            bytes=column(sent, np.float64),
            isend=self._host_costs(model.isend_costs),
            received=self._host_costs(model.receive_costs),
            links=len(known.capacity),
            ways=len(ways),
            uses=len(ways.link),
            capacity=column(known.capacity, np.float64),
            way_limit=column(ways.limit, np.float64),
            way_weight=column(ways.weight, np.float64),
            way_ptr=column(ways.pointers, np.int64),
            use_link=column(ways.link, np.int32),
            use_of_byte=column(ways.of_byte, np.float64),
        )
        size = self._protocol.envelope_bytes
        if size is not None and len(ways):
            latency, factor, sent = known.transfers(ways.latency_s, np.full(len(ways), size))
            given.envelope_latency = column(latency, np.int64)
            given.envelope_factor, given.envelope_bytes = factor[0], sent[0]
        return given

    def _host_costs(self, costs: tuple[HostCost, ...]) -> int | None:
        if not costs:
            return None
        sizes, which = np.unique(self._table.size_bytes, return_inverse=True)
        known = np.array([ticks(cost_s(costs, size)) for size in sizes.tolist()], np.int64)
        return self._column(known[which], np.int64)


def _flat_part(work: Work) -> Flat:
    """Return the flat form of all tasks of *work*, with the waits of each hint."""
    column = Arrays()
    waits = work.hint_waits
    given = interface.Graph(
        **graph_columns(work.graph, column),
        waits=len(waits.tasks),
        hint_ptr=column(waits.pointers, np.int64),
        hint_waits=column(waits.tasks, np.int32),
        hint_drops=column(waits.drops, np.int8),
    )
    return Flat("graph", given, column)
