"""The schedulers against StarPU's own, in StarPU-SimGrid (StarPU 1.4.99, SimGrid 3.32).

Mean kernel durations in seconds of the machines *mirage* and *attila* on one CPU core, tiles of
960, float32 (StarPU's shipped calibration), 12 CPU workers; its makespans in milliseconds. The peer
charges 1 us for a submission and 3 us from push to start. Its order of simultaneous events
moves all but prio's schedules by some percent, so they are compared within that.
"""

from __future__ import annotations

import statistics

import pytest
from scripted import replay_of

from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Overheads, Platform
from tasksim.schedulers.registry import create

DURATIONS_S = {
    ("mirage", "cholesky"): [0.01884969, 0.04564676, 0.0438901, 0.0877802],
    ("mirage", "lu"): [0.1286436, 0.05118532, 0.04545501, 0.08756135],
    ("attila", "cholesky"): [0.0759337, 0.04361594, 0.04203779, 0.08407559],
}
KERNELS = {
    "cholesky": ["potrf", "trsm", "syrk", "gemm"],
    "lu": ["getrf", "trsm_ll", "trsm_ru", "gemm"],
}
PEER_MS = {
    # machine, application, tiles: eager, prio, lws
    ("mirage", "cholesky", 8): [1078.40699, 1057.79264, 1059.56230],
    ("mirage", "cholesky", 16): [5432.55619, 5411.98184, 5604.66727],
    ("mirage", "cholesky", 24): [17308.22743, 17311.78175, 17753.06458],
    ("mirage", "lu", 8): [2525.85259, 2000.50349, 2096.81336],
    ("mirage", "lu", 16): [12064.74955, 10758.79004, 10976.66965],
    ("attila", "cholesky", 8): [1333.26110, 1207.14071, 1257.32440],
    ("attila", "cholesky", 16): [5701.82210, 5357.85786, 5597.22993],
}
MEDIAN = {"eager": 0.003, "prio": 0.0005, "lws": 0.01}
MAX_ERRORS = {"eager": 0.03, "prio": 0.005, "lws": 0.04}


def makespan_s(machine, application, tiles, scheduler):
    graph = generate(application, tiles=tiles, tile_size=960, dtype="float32")
    duration = dict(zip(KERNELS[application], DURATIONS_S[machine, application], strict=True))
    free = Platform.identical(12)
    platform = Platform(
        name=machine,
        workers=free.workers,
        memories=free.memories,
        overheads=Overheads(submission_s=1e-6, task_s=3e-6),
    )
    costs = [[duration[graph.kernel_of(task)] for task in range(len(graph))]]
    return replay_of(graph, platform, create(scheduler), costs).run(0)


@pytest.mark.parametrize(("position", "scheduler"), list(enumerate(["eager", "prio", "lws"])))
def test_makespans_are_those_of_the_peer(position, scheduler):
    errors = []
    for (machine, application, tiles), peer_ms in PEER_MS.items():
        ours_s = makespan_s(machine, application, tiles, scheduler)
        errors.append(1e3 * ours_s / peer_ms[position] - 1)
    sizes = [abs(error) for error in errors]
    assert statistics.median(sizes) < MEDIAN[scheduler]
    assert max(sizes) < MAX_ERRORS[scheduler]
    assert abs(statistics.mean(errors)) < 0.01
