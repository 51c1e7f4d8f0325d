"""Path records of native runs: what a walk back from the end finds, kept on the way."""

import numpy as np
import pytest

import tasksim
from tasksim.core.library import status
from tasksim.native.execute import execute
from tasksim.native.this_machine import this_machine
from tasksim.run.critical import practical_critical_path
from tasksim.runtime.pathrecords import PathRecords


@pytest.mark.parametrize(
    ("name", "tiles", "scheduler"),
    [("cholesky", 6, "lws"), ("qr", 4, "eager")],
)
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("runtime", ["python", "compiled"])
def test_records_on_the_way_are_what_the_walk_back_finds(name, tiles, scheduler, workers, runtime):
    if runtime == "compiled" and not status().available:
        pytest.skip(f"the core is {status().why}")
    graph = tasksim.generate(name, tiles=tiles, tile_size=32)
    paths = PathRecords(graph.kernel.tolist(), workers)
    here = this_machine(workers)
    run = execute(graph, here, scheduler, paths=paths, pin=False, runtime=runtime)
    walked, found = practical_critical_path(run), paths.longest
    tasks = [run.tasks.kernel[step.task] for step in walked.steps]
    assert found.counts == tuple(np.bincount(tasks, minlength=len(graph.kernels)))
    seconds = [walked.kernel_s.get(kernel, 0.0) for kernel in graph.kernels]
    assert found.seconds == pytest.approx(seconds)
    assert found.waited_s == pytest.approx(sum(walked.waited_s.values()))
    assert found.end_s == run.makespan_s
    assert run.engine == runtime
