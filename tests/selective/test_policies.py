"""Policies of selective runs: when a kernel is known well enough to be skipped."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.selective.policies import POLICIES, Chooser, Rules, policy_of
from tasksim.selective.statistics import Statistics, signatures


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
    rules = Rules(
        policy_of(policy), statistics, tolerance, found, of_task, 1, profile, "first", "mean"
    )
    chooser = Chooser(rules)
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
        rules = Rules(policy_of(policy), statistics, 0.2, found, of_task, 2, (), "first", "mean")
        chooser = Chooser(rules)
        for task, place in enumerate(of_task):
            path = SimpleNamespace(counts=[0] * len(found))
            charged[policy, found[place].kernel] = chooser.charge_s(task, 0, path, 0.0)
    assert all(charged["eager", s.kernel] is None for s in found)
    # Of 220 tasks 10 are potrf and 120 gemm: .248 is less than .2 / (10 / 220) / 2, not than
    # .2 / (120 / 220) / 2.
    assert charged["shares", "potrf"] == 10.0
    assert charged["shares", "gemm"] is None


def test_policies_that_reset_execute_once_per_configuration():
    samples = [10.0, 10.0]
    assert choose("eager", samples) == choose("shares", samples) == 10.0
    for policy in POLICIES:
        if not POLICIES[policy].reuses:
            assert choose(policy, samples, profile=(1,)) is None
            assert choose(policy, samples, met=1, profile=(1,)) == 10.0


def test_samples_are_spread_over_the_run():
    graph = tasksim.generate("chain", length=100)
    statistics = Statistics()
    found, of_task = signatures(graph)
    executed = {}
    for sampling in ("first", "spread"):
        statistics.reset()
        policy = policy_of("conditional")
        rules = Rules(policy, statistics, 0.1, found, of_task, 1, (), sampling, "mean")
        chooser = Chooser(rules)
        for task in range(100):
            if chooser.charge_s(task, 0, Before(0)) is None:
                chooser.measured(task, 10.0 + 2.0 * (task % 2))
                executed.setdefault(sampling, []).append(task)
    first, spread = executed["first"], executed["spread"]
    assert first == list(range(len(first)))
    assert abs(len(spread) - len(first)) <= 2
    assert spread[-1] > 50 > first[-1]
