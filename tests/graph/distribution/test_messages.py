"""Messages of distributed graphs: closed formulas, and the submission loop gone through by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.base.errors import InputError
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder, R, W, access
from tasksim.graph.distribution.owners import NodeGrid, nearly_square, owners_of
from tasksim.graph.distribution.parts import RECEIVE_KERNEL, SEND_KERNEL, distribute

READING_MODES = {AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE, AccessMode.REDUCTION}
WRITING_MODES = READING_MODES - {AccessMode.R} | {AccessMode.W}


def by_hand(graph, owners, nodes, cache=True):
    """Return the messages and what each node does, from a walk through the submission."""
    sent, messages, done = set(), [], [[] for _ in range(nodes)]
    hints = list(zip(graph.hint_after.tolist(), graph.hint_handle.tolist(), strict=True))
    executor = [node_of(graph, owners, task) for task in range(len(graph))]

    def forget(handle):
        for key in [key for key in sent if key[0] == handle]:
            sent.remove(key)

    def send(source, target, handle, task):
        done[source].append(("send", len(messages)))
        done[target].append(("receive", len(messages)))
        messages.append((source, target, handle, task))

    for task in range(len(graph)):
        while hints and hints[0][0] <= task:
            forget(hints.pop(0)[1])
        node = executor[task]
        for handle, mode in graph.accesses_of(task):
            if mode in READING_MODES and owners[handle] != node and (handle, node) not in sent:
                send(owners[handle], node, handle, task)
                if cache:
                    sent.add((handle, node))
        done[node].append(("task", task))
        for handle, mode in graph.accesses_of(task):
            if mode in WRITING_MODES:
                if owners[handle] != node:
                    send(node, owners[handle], handle, task)
                forget(handle)
    return messages, done


def node_of(graph, owners, task):
    accesses = [(h, m) for h, m in graph.accesses_of(task) if m != AccessMode.SCRATCH]
    written = {owners[handle] for handle, mode in accesses if mode in WRITING_MODES}
    if len(written) == 1:
        return written.pop()
    held = {}
    for handle, mode in accesses:
        times = (mode in READING_MODES) + (mode in WRITING_MODES)
        held[owners[handle]] = held.get(owners[handle], 0) + times * graph.handle_size[handle]
    return min(held, key=lambda node: (-held[node], node), default=0)


def messages_of(cut):
    columns = (cut.messages.source, cut.messages.target, cut.messages.handle, cut.messages.task)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def doings(part):
    kernels = part.graph.kernels
    found = []
    for task, message, kernel in zip(part.task, part.message, part.graph.kernel, strict=True):
        found.append(("task", int(task)) if task >= 0 else (kernels[kernel], int(message)))
    return found


@st.composite
def flows(draw):
    """Graphs of a few tasks on a few data of several owners."""
    handles, nodes = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    g = GraphBuilder("drawn")
    sizes = [draw(st.integers(0, 3)) for _ in range(handles)]
    data = [g.handle(f"x{number}", size) for number, size in enumerate(sizes)]
    for _ in range(draw(st.integers(0, 12))):
        used = draw(st.lists(st.sampled_from(data), unique=True, max_size=3))
        g.insert("task", *[access(x, draw(st.sampled_from(list(AccessMode)))) for x in used])
        if draw(st.booleans()):
            g.wont_use(draw(st.sampled_from(data)))
    owners = np.array([draw(st.integers(0, nodes - 1)) for _ in data])
    return g.build(), owners, nodes


@given(flows(), st.booleans())
@settings(max_examples=few(200), deadline=None)
def test_messages_are_those_of_the_submission_loop(flow, cache):
    graph, owners, nodes = flow
    cut = distribute(graph, owners, nodes, cache=cache)
    messages, done = by_hand(graph, owners.tolist(), nodes, cache)
    assert messages_of(cut) == messages
    assert [doings(part) for part in cut.parts] == done


@given(flows())
@settings(max_examples=few(100), deadline=None)
def test_parts_are_graphs_that_hold_together(flow):
    graph, owners, nodes = flow
    cut = distribute(graph, owners, nodes)
    for node, part in enumerate(cut.parts):
        part.graph.validate()
        executed = part.task[part.task >= 0].tolist()
        assert executed == np.flatnonzero(cut.executor == node).tolist()
        assert part.graph.handle_size.tolist() == graph.handle_size[part.handle].tolist()
        for local, task in enumerate(part.task.tolist()):
            if task >= 0:
                own = [(int(part.handle[h]), m) for h, m in part.graph.accesses_of(local)]
                assert own == graph.accesses_of(task)
    for number in range(len(cut.messages)):
        for nodes_of, places, kernel, mode in (
            (cut.messages.source, cut.messages.send, SEND_KERNEL, AccessMode.R),
            (cut.messages.target, cut.messages.receive, RECEIVE_KERNEL, AccessMode.W),
        ):
            part = cut.parts[nodes_of[number]]
            local = int(places[number])
            assert part.message[local] == number
            assert part.graph.kernel_of(local) == kernel
            ((handle, how),) = part.graph.accesses_of(local)
            assert (part.handle[handle], how) == (cut.messages.handle[number], mode)


@pytest.mark.parametrize(
    ("tiles", "flushed", "kept"), [(8, 65, 56), (16, 289, 240), (24, 673, 552), (32, 1217, 992)]
)
def test_cholesky_on_four_nodes_has_as_many_messages_as_the_peer(tiles, flushed, kept):
    for flush, count in (("peer", flushed), ("none", kept)):
        graph = generate("cholesky", tiles=tiles, tile_size=960, dtype="float32", flush=flush)
        cut = distribute(graph, owners_of(graph, NodeGrid(2, 2)), 4)
        assert len(cut.messages) == count
        assert cut.messages.bytes == count * 960 * 960 * 4


def test_flushes_are_an_option_of_the_generator_that_others_do_not_see():
    assert "flush" not in generate("cholesky", tiles=3).arguments
    assert generate("cholesky", tiles=3, flush="none").hints == generate("cholesky", tiles=3).hints


@pytest.mark.parametrize(
    "grid", [NodeGrid(1, 3), NodeGrid(2, 2), NodeGrid(2, 3), NodeGrid(3, 2), NodeGrid(4, 1)]
)
@pytest.mark.parametrize("tiles", [1, 5, 9])
def test_lu_and_cholesky_send_each_tile_along_its_row_and_column(grid, tiles):
    p, q = grid

    def node(m, n):
        return m % p, n % q

    expected = {"cholesky": 0, "lu": 0}
    for k in range(tiles):
        later = range(k + 1, tiles)
        for m in range(k, tiles):
            readers = {node(m, n) for n in range(k + 1, m + 1)}
            readers |= {node(i, m) for i in range(m, tiles) if m > k}
            readers |= {node(i, k) for i in later if m == k}
            expected["cholesky"] += len(readers - {node(m, k)})
        for i in later:
            expected["lu"] += len({node(i, j) for j in later} - {node(i, k)})
            expected["lu"] += len({node(j, i) for j in later} - {node(k, i)})
        panel = {node(i, k) for i in later} | {node(k, i) for i in later}
        expected["lu"] += len(panel - {node(k, k)})
    for app, count in expected.items():
        graph = generate(app, tiles=tiles)
        for owner in ("row", "column"):
            cut = distribute(graph, owners_of(graph, grid, owner), grid.nodes)
            assert len(cut.messages) == count


def test_an_order_without_data_is_a_message_without_bytes():
    g = GraphBuilder("ordered")
    x, y = g.handle("x", 8), g.handle("y", 8)
    first = g.insert("task", W(x))
    g.insert("task", W(y), after=[first])
    cut = distribute(g.build(), [0, 1], 2)
    assert messages_of(cut) == [(0, 1, 2, 1)]
    assert cut.messages.bytes == 0
    assert cut.parts[1].graph.successors_of(0) == [1]


def test_tasks_can_be_put_on_nodes_one_by_one():
    g = GraphBuilder("elsewhere")
    x = g.handle("x", 8)
    g.insert("task", W(x))
    g.insert("task", R(x))
    cut = distribute(g.build(), [0], 3, executor=[2, -1])
    assert messages_of(cut) == [(2, 0, 0, 0)]
    assert cut.messages.back.tolist() == [True]


def test_one_node_has_the_whole_graph_and_no_messages():
    graph = generate("cholesky", tiles=5)
    cut = distribute(graph, np.zeros(graph.handles, int), 1)
    part = cut.parts[0]
    assert len(cut.messages) == 0
    assert part.task.tolist() == list(range(len(graph)))
    assert part.graph.successors.tolist() == graph.successors.tolist()
    assert part.graph.hint_after.tolist() == graph.hint_after.tolist()
    assert part.handle[part.graph.hint_handle].tolist() == graph.hint_handle.tolist()


def test_hints_reach_the_owner_and_who_has_received_the_datum():
    g = GraphBuilder("hinted")
    x, y = g.handle("x", 8), g.handle("y", 8)
    g.insert("task", W(x))
    g.insert("task", R(x), W(y))
    g.wont_use(x)
    cut = distribute(g.build(), [0, 1], 3)
    said = [part.graph.hint_after.tolist() for part in cut.parts]
    assert said == [[2], [2], []]


@pytest.mark.parametrize("owners", [[0, 3], [-1, 0], [0], [0.5, 0.5]])
def test_owners_are_nodes(owners):
    g = GraphBuilder("two")
    g.vector("x", 2, 8)
    with pytest.raises(InputError, match="owners"):
        distribute(g.build(), owners, 3)


def test_a_million_nodes_are_refused():
    with pytest.raises(InputError, match="1000000 nodes; legal: 1 to 65536"):
        distribute(generate("cholesky", tiles=2), [0] * 4, 1_000_000)


@pytest.mark.parametrize(
    "owner", ["row", "column", "diamond", "round-robin", "morton", "partitioned"]
)
def test_owners_by_name_are_nodes(owner):
    for graph in (
        generate("cholesky", tiles=4), generate("qr", tiles=4),
        generate("fmm", particles=2000, height=3, group_size=4),
    ):  # fmt: skip
        found = owners_of(graph, NodeGrid(2, 3), owner)
        assert len(found) == graph.handles
        assert set(found.tolist()) <= set(range(6))


def test_grids_are_nearly_square():
    assert [nearly_square(nodes) for nodes in (1, 2, 6, 7, 64)] == [
        (1, 1), (1, 2), (2, 3), (1, 7), (8, 8),
    ]  # fmt: skip
