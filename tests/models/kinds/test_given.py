"""Durations that a graph gives itself."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.engine.durations import durations
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.models.kinds.given import GivenDurations, GivenModel, gives_durations
from tasksim.platform.description import Platform, Worker


def two_kernels():
    builder = GraphBuilder("two", model_names={"b": "b_float32"})
    builder.insert("a", n=8, duration_s=0.5)
    builder.insert("b", duration_s=2.0)
    builder.insert("a", duration_s=0.25, n=4)
    return builder.build()


def test_each_task_takes_what_it_says():
    graph = two_kernels()
    models = GivenDurations(graph)
    assert gives_durations(graph)
    assert models.kernels() == ("a", "b_float32")
    found = durations(graph, Platform.identical(2), models)
    assert found.tolist() == [[0.5, 2.0, 0.25]]
    drawn = durations(graph, Platform.identical(2), models, np.random.default_rng(0))
    assert drawn.tolist() == found.tolist()


def test_the_speed_of_an_architecture_divides_them():
    cpu = Platform.identical(1)
    platform = Platform(
        name="two",
        workers=(*cpu.workers, Worker(1, "big0", "big", 0)),
        memories=cpu.memories,
        speeds={"big": 4.0},
    )
    graph = generate("chain", length=2)
    found = durations(graph, platform, GivenDurations(graph))
    assert found.tolist() == [[1e-3, 1e-3], [0.25e-3, 0.25e-3]]


def test_graphs_that_do_not_say_are_refused():
    graph = generate("cholesky", tiles=2)
    assert not gives_durations(graph)
    with pytest.raises(InputError) as caught:
        GivenDurations(graph)
    assert str(caught.value) == (
        "graph cholesky: tasks of potrf, trsm, syrk have no parameter duration_s"
    )


def test_one_kernel_that_does_not_say_is_enough():
    builder = GraphBuilder("half")
    builder.insert("a", duration_s=0.5)
    builder.insert("b", n=1)
    with pytest.raises(InputError, match="graph half: tasks of b have no"):
        GivenDurations(builder.build())


def test_other_kernels_are_unknown():
    models = GivenDurations(two_kernels())
    models.require(["a", "b_float32"], ["cpu"])
    with pytest.raises(InputError, match="unknown kernel 'b'"):
        models.model("b", "cpu")
    assert models.locality("a", "cpu") is None
    assert models.predict("a", "cpu", ("n", "duration_s"), np.array([[1.0, 3.0]])) == 3.0


def test_the_model_is_of_a_kind_and_needs_no_fit():
    model = GivenModel()
    assert model.kind == model.to_json()["kind"] == model.report()["kind"] == "given"
    assert model.inside([[1e9]]).tolist() == [True]
    again = GivenModel.from_json(model.to_json())
    assert again.predict([[0.5]]).tolist() == [0.5]
    with pytest.raises(InputError, match="finite and not negative"):
        model.predict([[-1.0]])
