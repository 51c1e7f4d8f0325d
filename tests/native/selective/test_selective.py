"""Selective runs: the account against the simulator, policies, real kernels on skipped data."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError, TaskFailed
from tasksim.core.library import status
from tasksim.engine.batch import Item, totals
from tasksim.kernels.program import bind
from tasksim.models.kinds.constant import ConstantLibrary
from tasksim.native.selective.cells import told_by_others
from tasksim.native.selective.execute import execute_selectively
from tasksim.native.selective.execution import SelectiveExecution
from tasksim.native.selective.policies import POLICIES, Chooser, Rules, policy_of
from tasksim.native.selective.statistics import Signature, Statistics, signatures
from tasksim.native.this_machine import this_machine
from tasksim.platform.description import Platform
from tasksim.run.critical import practical_critical_path
from tasksim.run.runchecks import check_run
from tasksim.runtime.facts import Facts
from tasksim.runtime.pathrecords import PathRecords
from tasksim.schedulers.registry import create

SECONDS = {"potrf": 1.0, "trsm": 3.0, "syrk": 2.5, "gemm": 6.0}


class Told:
    """Executes tasks in no time; they are said to take what the table says."""

    def __init__(self, seconds, workers):
        self.seconds, self.taken, self.tasks = seconds, [0.0] * workers, []

    def expect(self, worker):
        self.taken[worker] = 0.0

    def elapsed_s(self, worker):
        return self.taken[worker]

    def run(self, task, worker, *, safe):
        self.tasks.append((task, safe))
        self.taken[worker] = self.seconds[task]


class Skips:
    """Charges some tasks what they take, and lets the others be executed."""

    def __init__(self, seconds, skipped):
        self.seconds, self.skipped = seconds, skipped

    def charge_s(self, task, worker, before, now_s):
        return self.seconds[task] if self.skipped[task] else None

    def measured(self, task, seconds):
        assert seconds == self.seconds[task]


def account(graph, scheduler, workers, seconds, skipped, chooses=None, of_task=None):
    platform = this_machine(workers)
    facts = Facts(graph, platform, create(scheduler), [seconds], [1] * len(graph))
    tasks = Told(seconds, workers)
    paths = PathRecords(graph.kernel.tolist() if of_task is None else of_task, workers)
    done = SelectiveExecution(facts, tasks, chooses or Skips(seconds, skipped), paths)
    program = bind(graph, workers, functions=dict.fromkeys(graph.kernels, print))
    done.run(random.Random(0), program, pin=False)
    return done, tasks, paths


@pytest.mark.parametrize("scheduler", ["eager", "lws", "prio", "dmda", "ws"])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_account_is_the_simulators(scheduler, workers, share):
    graph = tasksim.generate("cholesky", tiles=6)
    seconds = [SECONDS[graph.kernel_of(task)] for task in range(len(graph))]
    skipped = np.random.default_rng(1).random(len(graph)) < share
    done, tasks, paths = account(graph, scheduler, workers, seconds, skipped)
    said = tasksim.simulate(graph, workers=workers, durations=SECONDS, scheduler=scheduler)
    assert done.ledger.makespan_s() == said.makespan_s
    table = done.table()
    assert table.start_s.tolist() == said.tasks.start_s.tolist()
    assert table.worker.tolist() == said.tasks.worker.tolist()
    assert paths.longest.end_s == said.makespan_s
    effort = done.effort
    assert effort.executed == (~skipped).sum()
    assert effort.skipped + effort.accompanied == skipped.sum()
    assert len(tasks.tasks) == effort.executed + effort.accompanied


def test_what_is_executed_after_something_was_skipped_is_made_safe():
    graph = tasksim.generate("chain", length=3)
    _, tasks, _ = account(graph, "eager", 1, [1.0] * 3, [False, True, False])
    assert tasks.tasks == [(0, False), (2, True)]


@pytest.fixture(params=["python", "compiled"])
def runtime(request):
    """Keep the account in Python, or in the core, if it is there."""
    if request.param == "compiled" and not status().available:
        pytest.skip(f"the core is {status().why}")
    return request.param


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


def test_the_record_on_the_way_is_the_path_of_the_run(runtime):
    graph = tasksim.generate("cholesky", tiles=5, tile_size=24)
    done = execute_selectively(
        bind(graph, 2), this_machine(2), tolerance=0.5, pin=False, runtime=runtime
    )
    walked = practical_critical_path(done.run)
    assert sum(done.path.counts) == len(walked.steps)
    assert sum(done.path.seconds) == pytest.approx(sum(walked.kernel_s.values()))


def known(graph, seconds):
    """Return statistics that know every kernel of *graph* to the last bit."""
    statistics = Statistics()
    for signature in signatures(graph)[0]:
        for _ in range(2):
            statistics.add(signature, seconds[signature.kernel])
    return statistics


@pytest.mark.parametrize("scheduler", ["eager", "lws", "prio", "ws"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_where_all_is_known_it_is_a_simulation(scheduler, workers, runtime):
    graph = tasksim.generate("cholesky", tiles=6, tile_size=8)
    done = execute_selectively(
        bind(graph, workers),
        this_machine(workers),
        scheduler,
        policy="eager",
        statistics=known(graph, SECONDS),
        pin=False,
        runtime=runtime,
    )
    said = tasksim.simulate(graph, workers=workers, durations=SECONDS, scheduler=scheduler)
    assert done.effort.executed == 0
    for column in ("start_s", "end_s", "ready_s", "worker", "released_by"):
        assert getattr(done.run.tasks, column).tolist() == getattr(said.tasks, column).tolist()
    assert done.path.end_s == said.makespan_s


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


def test_the_nearest_policy_is_said():
    with pytest.raises(InputError, match="did you mean 'conditional'"):
        policy_of("conditonal")


class Before:
    """A path with so many of the first signature."""

    def __init__(self, count):
        self.counts = (count,)


def choose(policy, samples, *, met=0, on_path=0, profile=(), tolerance=0.1):
    """Return what is charged after *samples*, when the worker has met the kernel *met* times."""
    graph = tasksim.generate("chain", length=1)
    statistics = Statistics()
    found, of_task = signatures(graph)
    for seconds in samples:
        statistics.add(found[0], seconds)
    chooser = Chooser(policy_of(policy), statistics, tolerance, found, of_task, 1, profile, "first")
    for _ in range(met):
        chooser.charge_s(0, 0, Before(on_path))
    return chooser.charge_s(0, 0, Before(on_path))


def test_when_policies_skip():
    samples = [9.0, 10.0, 11.0]  # known to 24.8 %
    assert choose("conditional", samples, met=50, tolerance=0.2) is None
    assert choose("conditional", samples, met=1, tolerance=0.25) == 10.0
    assert choose("local", samples, met=5) is None  # 24.8 / sqrt(6) = 10.1
    assert choose("local", samples, met=6) == 10.0
    assert choose("online", samples, met=1, on_path=5) is None
    assert choose("online", samples, met=1, on_path=6) == 10.0
    assert choose("apriori", samples, met=1, profile=(6,)) is None
    assert choose("apriori", samples, met=1, profile=(7,)) == 10.0


def test_what_matters_little_needs_to_be_known_less():
    graph = tasksim.generate("cholesky", tiles=10, tile_size=8)
    statistics = Statistics()
    found, of_task = signatures(graph)
    for signature in found:
        for seconds in (9.0, 10.0, 11.0):  # known to 24.8 %
            statistics.add(signature, seconds)
    charged = {}
    for policy in ("eager", "shares"):
        chooser = Chooser(policy_of(policy), statistics, 0.2, found, of_task, 2, (), "first")
        for task, place in enumerate(of_task):
            path = SimpleNamespace(counts=[0] * len(found))
            charged[policy, found[place].kernel] = chooser.charge_s(task, 0, path, 0.0)
    assert all(charged["eager", s.kernel] is None for s in found)
    # Of 220 tasks 10 are potrf and 120 gemm: .248 is less than .2 / (10 / 220) / 2, not than
    # .2 / (120 / 220) / 2.
    assert charged["shares", "potrf"] == 10.0
    assert charged["shares", "gemm"] is None


@pytest.mark.parametrize("policy", ["online", "shares"])
def test_how_often_the_tolerance_is_kept(policy):
    """Durations are drawn; the truth is a run of tasks that take what they take in the mean."""
    graph = tasksim.generate("cholesky", tiles=10)
    mean = np.array([SECONDS[graph.kernel_of(task)] for task in range(len(graph))])
    truth_s = tasksim.simulate(graph, workers=2, durations=SECONDS, scheduler="lws").makespan_s
    errors, rng = [], np.random.default_rng(3)
    for _ in range(40):
        seconds = (mean * rng.lognormal(-0.02, 0.2, len(mean))).tolist()
        rules = Rules(policy_of(policy), Statistics(), 0.04, *signatures(graph), 2)
        done, _, _ = account(graph, "lws", 2, seconds, None, Chooser(*rules))
        errors.append(abs(done.ledger.makespan_s() / truth_s - 1))
    within = np.mean(np.array(errors) <= 0.04)
    if policy == "shares":
        assert within >= 0.85
    else:  # it is bold: the errors of what is charged the same mean do not cancel
        assert within < 0.6


def test_policies_that_reset_execute_once_per_configuration():
    samples = [10.0, 10.0]
    assert choose("eager", samples) == choose("shares", samples) == 10.0
    for policy in POLICIES:
        if not POLICIES[policy].reuses:
            assert choose(policy, samples, profile=(1,)) is None
            assert choose(policy, samples, met=1, profile=(1,)) == 10.0


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


def test_samples_are_spread_over_the_run():
    graph = tasksim.generate("chain", length=100)
    statistics = Statistics()
    found, of_task = signatures(graph)
    executed = {}
    for sampling in ("first", "spread"):
        statistics.reset()
        policy = policy_of("conditional")
        chooser = Chooser(policy, statistics, 0.1, found, of_task, 1, (), sampling)
        for task in range(100):
            if chooser.charge_s(task, 0, Before(0)) is None:
                chooser.measured(task, 10.0 + 2.0 * (task % 2))
                executed.setdefault(sampling, []).append(task)
    first, spread = executed["first"], executed["spread"]
    assert first == list(range(len(first)))
    assert abs(len(spread) - len(first)) <= 2
    assert spread[-1] > 50 > first[-1]


def test_other_sizes_make_a_kernel_known():
    graph = tasksim.generate("cholesky", tiles=4, tile_size=48)
    found, of_task = signatures(graph)
    for scatter, known in ((0.001, True), (0.3, False)):
        statistics = Statistics(cells=True)
        for size in (16, 32, 64, 96):
            off = scatter * (-1) ** (size // 16)
            for signature in found:
                sizes = tuple((name, float(size)) for name, _ in signature.parameters)
                for seconds in (1.0, 1.01):
                    statistics.add(signature._replace(parameters=sizes), seconds * (1 + off))
        chooser = Chooser(policy_of("eager"), statistics, 0.1, found, of_task, 1)
        charged = [chooser.charge_s(task, 0, Before(0)) for task in range(len(graph))]
        if known:
            assert charged == pytest.approx([1.005] * len(graph), rel=0.01)
        else:
            assert charged == [None] * len(graph)


def test_two_other_sizes_tell_nothing():
    statistics = Statistics(cells=True)
    for size in (16.0, 32.0):
        for _ in range(2):
            statistics.add(Signature("potrf", (("n", size),)), size**3)
    assert told_by_others(statistics, Signature("potrf", (("n", 24.0),))).half_width == np.inf


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


@pytest.mark.parametrize("policy", ["conditional", "local", "online", "eager", "shares"])
def test_predictions_are_not_biased_by_first_touches(policy):
    """Durations are drawn, those of first touches 12 % longer; the truth is known."""
    graph = tasksim.generate("cholesky", tiles=10)
    found, of_task = signatures(graph, apart=True)
    mean = np.array([SECONDS[found[p].kernel] * (1.12 if found[p].touches else 1) for p in of_task])
    rng, platform = np.random.default_rng(1), Platform.identical(2)
    models = ConstantLibrary(SECONDS)
    item = Item(graph, platform, models, "lws", drawn=lambda: mean[None, :])
    (truth,) = totals([item])
    biases = {}
    for apart in (True, False):
        said = []
        for _ in range(10):
            seconds = (mean * rng.lognormal(-(0.05**2) / 2, 0.05, len(mean))).tolist()
            signed = signatures(graph, apart=apart)
            chooser = Chooser(*Rules(policy_of(policy), Statistics(), 0.05, *signed, 2))
            done, _, _ = account(graph, "lws", 2, seconds, None, chooser, signed[1])
            said.append(done.ledger.makespan_s() / truth.makespan_s - 1)
        biases[apart] = np.mean(said)
    assert abs(biases[True]) < 0.015
    assert biases[False] > 0.02
