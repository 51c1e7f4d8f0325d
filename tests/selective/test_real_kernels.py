"""Selective runs of real kernels: on skipped data, what they record, and kernels that fail."""

from __future__ import annotations

import pytest

import tasksim
from tasksim.base.errors import InputError, TaskFailed
from tasksim.core.interface import functions
from tasksim.kernels.program import bind
from tasksim.native.pulse import Idle
from tasksim.native.this_machine import this_machine
from tasksim.run import crowding
from tasksim.run.critical import practical_critical_path
from tasksim.run.runchecks import check_run
from tasksim.selective import execute
from tasksim.selective.execute import execute_selectively
from tasksim.selective.policies import POLICIES
from tasksim.selective.statistics import Statistics, signatures


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_real_kernels_on_data_that_were_skipped(name, policy, runtime):
    graph = tasksim.generate(name, tiles=5, tile_size=24)
    statistics = Statistics()
    program, here = bind(graph, 2), this_machine(2)
    for _ in range(2):
        done = execute_selectively(
            program,
            here,
            policy=policy,
            tolerance=1.0,
            statistics=statistics,
            pin=False,
            runtime=runtime,
        )
        check_run(done.run, graph)
        assert done.run.engine == runtime
        assert done.effort.skipped + done.effort.accompanied + done.effort.executed == len(graph)
    found, _ = signatures(graph)
    assert set(statistics.summaries) == set(found)
    # The second time everything was known; all but eager execute each kernel once, though.
    if policy != "apriori":
        assert done.effort.executed <= len(found) or statistics_is_wide(statistics)


def statistics_is_wide(statistics):
    return any(statistics.half_width(found) > 0.5 for found in statistics.summaries)


@pytest.mark.skipif(functions() is None, reason="the core measures pulses, for both runtimes")
@pytest.mark.parametrize(("idle", "left_out"), [(Idle(1e-3, 1e-12), True), (Idle(1e3, 1.0), False)])
def test_what_others_on_the_same_processor_take_is_left_out(runtime, idle, left_out, monkeypatch):
    """Beside the first idle core, any core is busy, and beside the second none is."""
    monkeypatch.setattr(crowding, "PULSE_WEIGHT", 1e9)
    monkeypatch.setattr(crowding, "PULSE_WEIGHTS", {})
    monkeypatch.setattr(execute, "idle_cores", lambda workers: [idle] * workers)
    program = bind(tasksim.generate("cholesky", tiles=4, tile_size=64), 1)
    done = execute_selectively(program, this_machine(1), tolerance=1e-3, runtime=runtime)
    assert bool(done.run.tasks.duration_s.max() < 1e-6) is left_out


def test_the_record_on_the_way_is_the_path_of_the_run(runtime):
    graph = tasksim.generate("cholesky", tiles=5, tile_size=24)
    done = execute_selectively(
        bind(graph, 2), this_machine(2), tolerance=0.5, pin=False, runtime=runtime
    )
    walked = practical_critical_path(done.run)
    assert sum(done.path.counts) == len(walked.steps)
    assert sum(done.path.seconds) == pytest.approx(sum(walked.kernel_s.values()))


@pytest.mark.parametrize("sampling", ["spread", "apart", "first"])
def test_what_is_measured_is_added_to_what_is_known(sampling, runtime):
    graph = tasksim.generate("qr", tiles=4, tile_size=24, ib=8)
    program, statistics = bind(graph, 2), Statistics()
    executed = 0
    for policy in ("conditional", "shares"):
        done = execute_selectively(
            program,
            this_machine(2),
            policy=policy,
            tolerance=0.2,
            statistics=statistics,
            sampling=sampling,
            pin=False,
            runtime=runtime,
        )
        executed += done.effort.executed
        assert sum(s.count for s in statistics.summaries.values()) == executed
    assert all(s.mean_s > 0 for s in statistics.summaries.values())


def test_a_kernel_that_fails_in_the_middle_is_named(runtime):
    graph = tasksim.generate("cholesky", tiles=2, tile_size=8)
    program = bind(graph, 1)
    program.tiles.tile(1, 1)[:] = -1.0
    program.tiles.keep()
    with pytest.raises(TaskFailed, match=r"failed on worker .* not positive definite$"):
        execute_selectively(program, this_machine(1), pin=False, runtime=runtime)


def test_the_core_keeps_no_account_of_what_python_computes():
    graph = tasksim.generate("chain", length=2)
    program = bind(graph, 1, functions=dict.fromkeys(graph.kernels, str))
    assert execute_selectively(program, this_machine(1), "eager", pin=False).run.engine == "python"
    with pytest.raises(InputError, match="cannot keep this account"):
        execute_selectively(program, this_machine(1), "eager", pin=False, runtime="compiled")


def test_a_kernel_that_fails_is_named():
    graph = tasksim.generate("chain", length=2)

    def fails(task):
        raise ValueError("no")

    program = bind(graph, 1, functions=dict.fromkeys(graph.kernels, fails))
    with pytest.raises(TaskFailed, match="ValueError: no"):
        execute_selectively(program, this_machine(1), "eager", pin=False)


@pytest.mark.parametrize("tolerance", [0.0, -0.1, 1.5, float("nan")])
def test_no_tolerance(tolerance):
    program = bind(tasksim.generate("cholesky", tiles=2, tile_size=8), 1)
    with pytest.raises(InputError, match="above 0, at most 1"):
        execute_selectively(program, this_machine(1), tolerance=tolerance)
