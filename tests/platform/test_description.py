"""The platform as the other rooms see it."""

from __future__ import annotations

import doctest
import pickle
import subprocess
import sys

import pytest

from tasksim.base.errors import InputError
from tasksim.platform import description
from tasksim.platform.description import Memory, Overheads, Platform, Worker, WorkerClass


def hybrid() -> Platform:
    workers = (
        Worker(0, "cpu0", "cpu", 0, core=2),
        Worker(1, "cuda0", "cuda", 1),
        Worker(2, "cpu1", "cpu", 0, core=3),
    )
    memories = (Memory(0, "ram"), Memory(1, "gpu", size_bytes=16.0 * 2**30))
    return Platform("hybrid", workers, memories, Overheads(2e-6, 0.0, 60e-6), {"cuda": 2.0})


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(description).failed == 0


def test_identical_workers():
    platform = Platform.identical(3)
    assert platform.name == "identical-3"
    assert platform.workers == tuple(Worker(i, f"cpu{i}", "cpu", 0) for i in range(3))
    assert platform.memories == (Memory(0, "ram", 0, None),)
    assert platform.overheads == Overheads(0.0, 0.0, 0.0)
    assert platform.speeds == {"cpu": 1.0}
    assert platform.model_architecture == {"cpu": "cpu"}
    assert platform.nodes == 1


@pytest.mark.parametrize("n", [0, -1, 1_000_001, 10**9, 2.0, "2", None])
def test_a_platform_has_a_worker_and_not_too_many(n):
    with pytest.raises(InputError, match=r"^workers: got .* number from 1 to 1000000$"):
        Platform.identical(n)


def test_classes_are_by_architecture_and_memory_in_first_seen_order():
    assert hybrid().architectures == ("cpu", "cuda")
    assert hybrid().classes == (
        WorkerClass("cpu", 0, (0, 2), "cpu"),
        WorkerClass("cuda", 1, (1,), "cuda"),
    )


def test_every_architecture_has_a_speed_and_models():
    assert hybrid().speeds == {"cpu": 1.0, "cuda": 2.0}
    assert hybrid().model_architecture == {"cpu": "cpu", "cuda": "cuda"}


def test_summary():
    assert hybrid().summary() == (
        "hybrid: 2 cpu + 1 cuda (speed 2); 2 memories: ram, gpu 16 GiB; "
        "overheads: submission 2 us, wakeup 60 us"
    )


def test_survives_pickling():
    assert pickle.loads(pickle.dumps(hybrid())) == hybrid()


def test_no_models_no_folder():
    with pytest.raises(InputError, match="platform identical-1: no models given"):
        Platform.identical(1).models_folder()


def test_is_cheap_to_import():
    code = (
        "import sys, tasksim.platform; "
        "print(sorted({'numpy', 'pydantic', 'yaml', 'pandas'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")
