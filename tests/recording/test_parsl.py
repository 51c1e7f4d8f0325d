"""Programs with Parsl: the calls of their apps are the tasks, and results stay."""

import os
import sys
import warnings
from pathlib import Path

import pytest

import tasksim

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what Parsl itself imports
    parsl = pytest.importorskip("parsl", reason="no Parsl here: pip install parsl")

from parsl.config import Config
from parsl.executors import HighThroughputExecutor, ThreadPoolExecutor

pytestmark = [
    pytest.mark.usefixtures("no_own_work"),
    pytest.mark.filterwarnings("default"),  # Parsl forks with threads
]


@parsl.python_app
def double(number):
    return [2 * number]


@parsl.python_app
def add(*parts, inputs=()):
    return sum(part[0] for part in (*parts, *inputs))


@parsl.python_app(cache=True)
def cached(number):
    return number


@parsl.python_app
def fail(number):
    raise ValueError(number)


@parsl.bash_app
def expect(number):
    return f"test {number} = 12"


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Return a function that starts Parsl with an executor; it ends with the test."""
    # Parsl looks for programs of its own, which stand beside Python's.
    beside = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(beside), prepend=os.pathsep)
    started = []

    def load(executor):
        started.append(
            parsl.load(
                Config(
                    executors=[executor], run_dir=str(tmp_path / "parsl"), initialize_logging=False
                )
            )
        )

    yield load
    for kernel in started:
        kernel.cleanup()
    parsl.clear()


def recorded_sums(loaded, executor):
    with tasksim.record("sums") as recording:
        loaded(executor)
        parts = [double(number) for number in range(4)]
        total = add(parts[0], parts[1], inputs=parts[2:])
        assert total.result() == 12
        assert expect(total.result()).result() == 0
    return recording


def on_processes():
    return HighThroughputExecutor(
        label="processes", max_workers_per_node=2, cores_per_worker=0.5, address="127.0.0.1"
    )


@pytest.mark.parametrize(
    "executor",
    [
        pytest.param(lambda: ThreadPoolExecutor(max_threads=2), id="threads"),
        pytest.param(on_processes, id="processes", marks=pytest.mark.slow),
    ],
)
def test_calls_of_apps_are_tasks_and_futures_what_they_wait_for(executor, loaded, checked):
    recording = recorded_sums(loaded, executor())
    graph = checked(recording).graph
    assert graph.kernels == ("double", "add", "main thread", "expect")
    assert [graph.successors_of(task) for task in range(4)] == [[4]] * 4
    assert graph.successors_of(4) == [5]
    assert recording.run.config["recorded"]["of"] == ["parsl"]
    on_cores = [it for it in recording.run.workers if it.architecture == "cpu"]
    assert 1 <= len(on_cores) <= 2


def test_what_parsl_has_cached_is_no_task_again(loaded):
    with tasksim.record().quietly() as recording:
        loaded(ThreadPoolExecutor(max_threads=1))
        assert [cached(5).result() for _ in range(3)] == [5, 5, 5]
    assert [name for name in recording.run.kernel_names if name != "main thread"] == ["cached"]
    kernels = recording.run.tasks.kernel.tolist()
    assert kernels.count(recording.run.kernel_names.index("cached")) == 1


def test_what_raises_is_told_and_raises_where_it_did(loaded):
    with tasksim.record() as recording:
        loaded(ThreadPoolExecutor(max_threads=1))
        with pytest.raises(ValueError, match="7"):
            fail(7).result()
    assert "1 task raised an exception" in recording.notes


def test_apps_are_the_programs_own_after_the_recording(loaded):
    with tasksim.record().quietly():
        pass
    loaded(ThreadPoolExecutor(max_threads=1))
    assert double(3).result() == [6]
    assert "tasksim" not in sys.modules["parsl.dataflow.dflow"].DataFlowKernel.submit.__module__
