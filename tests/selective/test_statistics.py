"""Statistics of kernels in selective runs: intervals, other sizes, signatures."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tasksim
from tasksim.selective.policies import Chooser, Rules, policy_of
from tasksim.selective.statistics import Signature, Statistics, estimate_from_sizes, signatures


def test_the_papers_interval_is_narrower():
    normal = Statistics("normal")
    student = Statistics()
    kernel = signatures(tasksim.generate("chain", length=1))[0][0]
    for seconds in (9.0, 10.0, 11.0):
        normal.add(kernel, seconds)
        student.add(kernel, seconds)
    assert normal.half_width(kernel) == pytest.approx(1.959964 / 3**0.5 / 10)
    assert student.half_width(kernel) == pytest.approx(4.302653 / 3**0.5 / 10)


def test_one_sample_and_none_tell_nothing():
    statistics, kernel = Statistics(), signatures(tasksim.generate("chain", length=1))[0][0]
    assert statistics.half_width(kernel) == float("inf")
    statistics.add(kernel, 1.0)
    assert statistics.half_width(kernel) == float("inf")
    statistics.add(kernel, 1.0)
    assert statistics.half_width(kernel) == 0.0


def test_other_sizes_make_a_kernel_known():
    graph = tasksim.generate("cholesky", tiles=4, tile_size=48)
    found, of_task = signatures(graph)
    before = SimpleNamespace(counts=(0,) * len(found))
    for scatter, known in ((0.001, True), (0.3, False)):
        statistics = Statistics(cells=True)
        for size in (16, 32, 64, 96):
            off = scatter * (-1) ** (size // 16)
            for signature in found:
                sizes = tuple((name, float(size)) for name, _ in signature.parameters)
                for seconds in (1.0, 1.01):
                    statistics.add(signature._replace(parameters=sizes), seconds * (1 + off))
        rules = Rules(policy_of("eager"), statistics, 0.1, found, of_task, 1, charge="mean")
        chooser = Chooser(rules)
        charged = [chooser.charge_s(task, 0, before) for task in range(len(graph))]
        if known:
            assert charged == pytest.approx([1.005] * len(graph), rel=0.01)
        else:
            assert charged == [None] * len(graph)


def test_two_other_sizes_tell_nothing():
    statistics = Statistics(cells=True)
    for size in (16.0, 32.0):
        for _ in range(2):
            statistics.add(Signature("potrf", (("n", size),)), size**3)
    assert estimate_from_sizes(statistics, Signature("potrf", (("n", 24.0),))).half_width == np.inf


def test_first_touches_have_signatures_of_their_own():
    graph = tasksim.generate("cholesky", tiles=3, tile_size=8)
    found, of_task = signatures(graph, apart=True)
    touching, seen = [], set()
    for task in range(len(graph)):
        handles = graph.access_handle[graph.access_ptr[task] : graph.access_ptr[task + 1]]
        touching.append(not set(handles.tolist()) <= seen)
        seen.update(handles.tolist())
    assert [found[place].touches for place in of_task] == touching
    assert [found[place].kernel for place in of_task] == list(
        map(graph.kernel_of, range(len(graph)))
    )
    assert len(set(found)) == len(found) == len(set(of_task))
    assert str(found[-1]).endswith(", first touch") == found[-1].touches
