"""Programs with joblib: their calls are the tasks, on whatever backend, and results stay."""

import threading

import pytest
from joblib import Memory, Parallel, delayed

import tasksim

pytestmark = pytest.mark.usefixtures("no_own_work")


def double(number):
    return [2 * number]


def add(*parts):
    return sum(part[0] for part in parts)


def fail(number):
    raise ValueError(number)


def again(number):
    return Parallel(n_jobs=2, backend="threading")(delayed(double)(n) for n in range(number))


BACKENDS = [
    ("threading", 2),
    pytest.param("loky", 2, marks=pytest.mark.slow),  # its workers start in a second
    ("multiprocessing", 2),
    ("sequential", 1),
]


@pytest.mark.parametrize(("backend", "workers"), BACKENDS)
def test_calls_are_tasks_and_results_that_are_passed_on_are_read(backend, workers, checked):
    with tasksim.record("sums") as recording:
        parallel = Parallel(n_jobs=workers, backend=backend)
        parts = parallel(delayed(double)(n) for n in range(6))
        (total,) = parallel([delayed(add)(*parts)])
    assert (parts, total) == ([[0], [2], [4], [6], [8], [10]], 30)
    graph = checked(recording).graph
    assert graph.kernels == ("double", "main thread", "add")
    assert [graph.kernel_of(task) for task in range(8)] == [
        *["double"] * 6, "main thread", "add"
    ]  # fmt: skip
    assert [graph.successors_of(task) for task in range(7)] == [*[[6, 7]] * 6, [7]]
    reads = [handle for handle, mode in graph.accesses_of(7) if mode.name == "R"]
    assert len(reads) == 6
    assert recording.run.config["recorded"]["of"] == ["joblib"]
    on_cores = [it for it in recording.run.workers if it.architecture == "cpu"]
    assert 1 <= len(on_cores) <= workers


def test_more_calls_than_are_dispatched_at_once_depend_on_what_was_seen_before(checked):
    """joblib takes most calls of a generator in a thread of its own."""
    with tasksim.record() as recording:
        parallel = Parallel(n_jobs=2, backend="threading", batch_size=1, pre_dispatch=2)
        first = parallel(delayed(double)(n) for n in range(3))
        assert parallel(delayed(double)(part[0]) for part in first * 5) == 5 * [[0], [4], [8]]
    graph = checked(recording).graph
    assert len(graph) == 3 + 1 + 15
    assert [graph.successors_of(task) for task in range(3)] == [[3]] * 3
    assert graph.successors_of(3) == list(range(4, 19))


@pytest.mark.parametrize("return_as", ["generator", "generator_unordered"])
def test_results_of_a_generator_are_seen_one_by_one(return_as, checked, edges):
    with tasksim.record() as recording:
        items = Parallel(n_jobs=1, return_as=return_as)(delayed(double)(n) for n in range(2))
        assert next(items) == [0]
        items.close()
        Parallel(n_jobs=1)([delayed(double)(7)])
    found = edges(checked(recording))
    assert found["double 0"] == ["main thread 1"]
    assert found["main thread 1"] == ["double 2"]


def test_errors_are_the_programs_and_what_ran_is_kept(checked):
    with tasksim.record() as recording:
        with pytest.raises(ValueError, match="3"):
            Parallel(n_jobs=1)([delayed(double)(1), delayed(fail)(3)])
        assert Parallel(n_jobs=1)([delayed(double)(2)]) == [[4]]
    assert checked(recording).graph.kernels == ("double", "fail", "main thread")
    assert "1 task raised an exception" in recording.notes


def test_calls_inside_of_calls_are_told(checked):
    with tasksim.record() as recording:
        assert Parallel(n_jobs=1)([delayed(again)(3)]) == [[[0], [2], [4]]]
    assert len(checked(recording).graph) == 4
    assert any("tasks submitted other tasks, 3 tasks" in note for note in recording.notes)


@pytest.mark.slow
def test_functions_in_caches_and_of_scikit_learn_have_their_names(tmp_path, checked):
    from sklearn.utils.parallel import Parallel as Configured
    from sklearn.utils.parallel import delayed as configured

    cached = Memory(tmp_path, verbose=0).cache(double)
    with tasksim.record() as recording:
        Parallel(n_jobs=1)([delayed(cached)(4)])
        Configured(n_jobs=2, backend="threading")(configured(add)([n]) for n in range(2))
    assert checked(recording).graph.kernels == ("double", "main thread", "add")


def test_a_program_that_imports_joblib_while_it_is_recorded(tmp_path):
    import subprocess
    import sys

    script = """
import tasksim
with tasksim.record() as recording:
    from joblib import Parallel, delayed
    calls = (delayed(abs)(-n) for n in range(4))
    assert Parallel(n_jobs=2, backend="threading")(calls) == [0, 1, 2, 3]
assert recording.graph.kernels == ("abs",), recording.graph.kernels
assert len(recording.graph) == 4
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)


def test_everything_is_as_before_afterwards():
    before = Parallel.__call__
    with tasksim.record():
        assert Parallel.__call__ is not before
        Parallel(n_jobs=1)([delayed(double)(1)])
    assert Parallel.__call__ is before
    lengths = []

    class Known(list):
        def __len__(self):
            lengths.append(threading.get_ident())
            return super().__len__()

    with tasksim.record():
        Parallel(n_jobs=1)(Known([delayed(double)(1)]))
    assert lengths  # joblib still knows how many there are
