"""Results judged by several processes, each with its part: here by threads in their place."""

import threading
import time

import pytest

from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.cutting import cut_by
from tasksim.graph.distribution.owners import Grid
from tasksim.kernels.program import bind


class AmongThreads:
    """What is between the ranks of MPI, between threads."""

    def __init__(self, rank, cut, barrier, board):
        self.rank, self._cut, self._barrier, self._board = rank, cut, barrier, board

    def counts(self, handle):
        return int(self._cut.owners[handle]) == self.rank

    def executor(self, task):
        return int(self._cut.executor[task])

    def total(self, values):
        self._board[self.rank] = values
        self._barrier.wait()
        summed = sum(self._board[rank] for rank in range(self._cut.nodes))
        self._barrier.wait()
        return summed

    def pass_on(self, values, source, target):
        line = self._board.setdefault((source, target), [])
        if self.rank == source:
            line.append(values.copy())
        elif self.rank == target:
            while not line:
                time.sleep(1e-4)
            values[:] = line.pop(0)

    def asked(self, judge, give):
        self._board[self.rank, "give"] = give
        self._barrier.wait()
        fetched = None
        if self.rank == 0:
            owners = self._cut.owners
            fetched = judge(lambda handle: self._board[int(owners[handle]), "give"](handle))
        self._barrier.wait()
        return fetched


def judged_in_parts(graph, nodes, spoil=None, owner="row"):
    """Return the residuals of the parts of *graph*, and what one process finds of the same data."""
    cut = cut_by(graph, nodes, owner)
    whole = bind(graph, 1)
    for task in range(len(graph)):
        whole.run(task, 0)
    if spoil is not None:
        whole.datum(spoil).view(whole.datum(spoil).dtype)[:] = 0
    barrier, board = threading.Barrier(cut.nodes, timeout=30), {}
    found = [None] * cut.nodes

    def judge(rank):
        part = bind(graph, 1, held=cut.parts[rank].handle)
        for handle in cut.parts[rank].handle.tolist():
            for mine, right in zip(part.pieces(handle), whole.pieces(handle), strict=True):
                mine[...] = right
        part.together = AmongThreads(rank, cut, barrier, board)
        found[rank] = part.check()

    threads = [threading.Thread(target=judge, args=(rank,)) for rank in range(cut.nodes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, whole.check()


GRAPHS = [
    ("cholesky", {"tiles": 5, "tile_size": 16}),
    ("lu", {"tiles": 4, "tile_size": 16, "dtype": "float32"}),
    ("qr", {"tiles": 4, "tile_size": 16}),
    ("qr", {"rows": 6, "columns": 3, "tile_size": 16}),
]


@pytest.mark.parametrize("nodes", [Grid(1, 2), Grid(2, 2)])
@pytest.mark.parametrize(("name", "arguments"), GRAPHS)
def test_parts_find_the_residual_of_the_whole(name, arguments, nodes):
    found, whole = judged_in_parts(generate(name, **arguments), nodes)
    for residual in found:
        assert residual.ok
        assert residual.value == pytest.approx(whole.value, rel=0.1)  # sums in another order


@pytest.mark.parametrize(("name", "arguments"), GRAPHS)
def test_parts_find_what_is_wrong_with_any_of_them(name, arguments):
    graph = generate(name, **arguments)
    last = int(graph.access_handle[graph.access_ptr[-2]])  # of rank 3 alone
    found, whole = judged_in_parts(graph, Grid(2, 2), spoil=last)
    for residual in found:
        assert not residual.ok
        assert residual.value == pytest.approx(whole.value, rel=1e-6)
