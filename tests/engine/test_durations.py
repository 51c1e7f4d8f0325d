"""Durations of each task in each class of workers."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.engine.durations import AskedParameters, durations
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R, Scratch
from tasksim.models.kinds.bysize import SizeEntry, SizeHistory
from tasksim.models.kinds.given import ConstantLibrary, ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples
from tasksim.platform.description import Memory, Platform, Worker

INF = np.inf


class Library:
    """Models by kernel and architecture."""

    def __init__(self, models):
        self.models = models

    def model(self, kernel, architecture):
        if (kernel, architecture) not in self.models:
            raise InputError(f"no model of kernel '{kernel}' for architecture '{architecture}'")
        return self.models[kernel, architecture]

    def locality(self, kernel, architecture):
        self.model(kernel, architecture)


def platform(*architectures, **options):
    return Platform(
        name="drawn",
        workers=tuple(Worker(i, f"{a}{i}", a, 0) for i, a in enumerate(architectures)),
        memories=(Memory(0, "ram"),),
        **options,
    )


def measured(*durations_s, sizes=(8.0,), seed=0):
    """A history of some scatter around each size's duration."""
    rng = np.random.default_rng(seed)
    times = [d * (1 + 0.2 * rng.uniform(-1, 1, 40)) for d in durations_s]
    return HistoryModel().fit(Samples(("m",), np.repeat(sizes, 40)[:, None], np.concatenate(times)))


def gemms(*sizes, kernel="gemm", **names):
    builder = GraphBuilder("gemms", **names)
    for m in sizes:
        builder.insert(kernel, m=m, k=1)
    return builder.build()


def test_a_row_per_class_a_column_per_task():
    graph = generate("cholesky", tiles=2)
    models = ConstantLibrary({"potrf": 1.0, "trsm": 3.0, "syrk": 2.0})
    found = durations(graph, platform("cpu", "cpu", "big"), models)
    assert found.tolist() == [[1.0, 3.0, 2.0, 1.0]] * 2


def test_each_class_has_its_own_models():
    models = Library({("gemm", "cpu"): ConstantModel(6.0), ("gemm", "gpu"): ConstantModel(0.5)})
    found = durations(gemms(8, 16), platform("gpu", "cpu"), models)
    assert found.tolist() == [[0.5, 0.5], [6.0, 6.0]]


def test_where_there_is_no_model_a_task_cannot_run():
    builder = GraphBuilder("two")
    builder.insert("potrf", n=1)
    builder.insert("gemm", m=1)
    models = Library({("gemm", "gpu"): ConstantModel(0.5), ("potrf", "cpu"): ConstantModel(1.0)})
    found = durations(builder.build(), platform("cpu", "gpu"), models)
    assert found.tolist() == [[1.0, INF], [INF, 0.5]]


def test_a_kernel_without_any_model_is_named():
    with pytest.raises(InputError, match="no model of kernel 'gemm' for architecture 'cpu'"):
        durations(gemms(8), platform("cpu", "gpu"), Library({("potrf", "cpu"): ConstantModel(1)}))
    with pytest.raises(InputError, match="no duration for kernel 'gem', did you mean 'gemm'"):
        durations(gemms(8, kernel="gem"), platform("cpu"), ConstantLibrary({"gemm": 1.0}))


def test_the_speed_of_an_architecture_divides():
    models = ConstantLibrary({"gemm": 6.0})
    found = durations(gemms(8), platform("cpu", "fast", speeds={"fast": 1.5}), models)
    assert found.tolist() == [[6.0], [4.0]]


def test_an_architecture_may_use_the_models_of_another():
    models = Library({("gemm", "cpu"): ConstantModel(6.0)})
    both = platform("cpu", "slow", speeds={"slow": 0.5}, model_architecture={"slow": "cpu"})
    assert durations(gemms(8), both, models).tolist() == [[6.0], [12.0]]


def test_models_are_found_by_the_graphs_names_for_them():
    models = ConstantLibrary({"gemm": 6.0, "gemm_float32": 3.0})
    assert durations(gemms(8), platform("cpu"), models) == 6.0
    single = gemms(8, model_names={"gemm": "gemm_float32"})
    assert durations(single, platform("cpu"), models) == 3.0
    graph = generate("cholesky", tiles=1, dtype="float32")
    assert durations(graph, platform("cpu"), ConstantLibrary({"potrf_float32": 2.0})) == 2.0
    with pytest.raises(InputError, match="no duration for kernel 'potrf_float32'"):
        durations(graph, platform("cpu"), ConstantLibrary({"potrf": 2.0}))


def test_means_by_configuration():
    model = measured(1.0, 5.0, sizes=(8.0, 16.0))
    found = durations(gemms(16, 8, 16), platform("cpu"), Library({("gemm", "cpu"): model}))
    assert found.tolist() == [model.predict([[16.0], [8.0], [16.0]]).tolist()]


def test_draws_are_one_per_task_and_repeat_with_their_seed():
    models = Library({("gemm", "cpu"): measured(1.0)})
    graph = gemms(*[8] * 50)

    def draw(seed):
        return durations(graph, platform("cpu"), models, np.random.default_rng(seed))

    assert len(np.unique(draw(0))) == 50
    assert draw(0).tolist() == draw(0).tolist()
    assert draw(0).tolist() != draw(1).tolist()
    assert (abs(draw(0) - 1) <= 0.21).all()


def test_draws_are_divided_by_the_speed_and_independent_between_classes():
    models = Library({("gemm", a): measured(1.0) for a in ("cpu", "fast")})
    two = platform("cpu", "fast", speeds={"fast": 2.0})
    cpu, fast = durations(gemms(*[8] * 400), two, models, np.random.default_rng(0))
    assert cpu.mean() == pytest.approx(2 * fast.mean(), rel=0.05)
    assert abs(np.corrcoef(cpu, fast)[0, 1]) < 0.2


def test_parameters_that_a_model_was_not_fitted_to_are_refused():
    models = Library({("gemm", "cpu"): measured(1.0)})
    with pytest.raises(InputError, match="no samples with"):
        durations(gemms(8, 32), platform("cpu"), models)


def test_a_graph_without_tasks():
    graph = GraphBuilder("empty").build()
    assert durations(graph, platform("cpu", "gpu"), ConstantLibrary({})).shape == (2, 0)


# The size of the data


def by_size(*pairs, name="size_bytes"):
    return SizeHistory.from_entries((SizeEntry(s, t, 0.0, 50) for s, t in pairs), name)


def copies(*sizes, **parameters):
    """Tasks of one configuration that read and write data of different sizes."""
    builder = GraphBuilder("copies")
    for index, (read, written) in enumerate(sizes):
        source = builder.handle(f"x{index}", size_bytes=read)
        target = builder.handle(f"y{index}", size_bytes=written)
        builder.insert("copy", R(source), RW(target), **parameters)
    return builder.build()


def test_a_model_may_ask_for_the_size_of_the_data_that_a_task_accesses():
    graph = copies((10, 90), (100, 300), (50, 50))
    models = Library({("copy", "cpu"): by_size((100, 1.0), (400, 8.0))})
    assert durations(graph, platform("cpu"), models).tolist() == [[1.0, 8.0, 1.0]]


def test_models_of_recordings_ask_for_the_same_by_another_name():
    models = Library({("copy", "cpu"): by_size((100, 1.0), (400, 8.0), name="bytes")})
    assert durations(copies((10, 90), (100, 300)), platform("cpu"), models).tolist() == [[1.0, 8.0]]
    given = copies((10, 90), (100, 300), bytes=400)
    assert durations(given, platform("cpu"), models).tolist() == [[8.0, 8.0]]


def test_starts_of_threads_that_a_platform_lacks_take_no_time():
    """Three threads of a recording started; the platform has its first thread alone."""
    builder = GraphBuilder("recorded")
    for kernel in ("work", *["thread start"] * 3):
        builder.insert(kernel)
    models = ConstantLibrary({"work": 5.0, "thread start": 1.0})
    found = durations(builder.build(), platform("cpu"), models)
    assert found.tolist() == [[5.0, 0.0, 0.0, 0.0]]


def test_scratch_has_no_size_and_a_task_without_data_has_0():
    builder = GraphBuilder("scratch")
    data, work = builder.handle("x", size_bytes=100), builder.handle("w", size_bytes=300)
    builder.insert("copy", RW(data), Scratch(work))
    builder.insert("copy")
    models = Library({("copy", "cpu"): by_size((0, 0.5), (100, 1.0), (400, 8.0))})
    assert durations(builder.build(), platform("cpu"), models).tolist() == [[1.0, 0.5]]


def test_a_parameter_of_that_name_is_taken_as_it_is():
    graph = copies((10, 90), (100, 300), size_bytes=400)
    models = Library({("copy", "cpu"): by_size((100, 1.0), (400, 8.0))})
    assert durations(graph, platform("cpu"), models).tolist() == [[8.0, 8.0]]


def test_sizes_and_parameters_together():
    table = [[8, 100], [8, 400], [16, 400]]
    model = HistoryModel().fit(Samples(("m", "size_bytes"), table, [1.0, 2.0, 3.0]))
    builder = GraphBuilder("both")
    for m, size in ((16, 400), (8, 400), (8, 100)):
        builder.insert("copy", RW(builder.handle(f"x{m}{size}", size_bytes=size)), m=m)
    found = durations(builder.build(), platform("cpu"), Library({("copy", "cpu"): model}))
    assert found.tolist() == [[3.0, 2.0, 1.0]]


def test_each_size_is_asked_for_once():
    graph = copies(*[(10, 90), (100, 300)] * 50, m=1)
    asked = AskedParameters(graph)
    table, rows = asked.rows(0, by_size((100, 1.0)))
    assert table.tolist() == [[100.0], [400.0]]
    assert rows.tolist() == [0, 1] * 50


def test_other_parameters_than_the_size_must_be_there():
    models = Library({("copy", "cpu"): by_size((100, 1.0), name="n")})
    with pytest.raises(InputError, match="needs the parameter n; got m"):
        durations(copies((10, 90), m=1), platform("cpu"), models)


def test_draws_by_size_are_one_per_task():
    model = SizeHistory.from_entries([SizeEntry(100, 1.0, 0.1, 50)])
    graph = copies(*[(10, 90)] * 50)
    models = Library({("copy", "cpu"): model})
    found = durations(graph, platform("cpu"), models, np.random.default_rng(0))
    assert len(np.unique(found)) == 50
    assert found.mean() == pytest.approx(1.0, rel=0.1)
