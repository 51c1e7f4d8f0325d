"""The algorithms of the literature: published makespans, and their definitions by the book."""

from __future__ import annotations

import random

import numpy as np
import pytest
from by_the_book import ByTheBook, problems, rows
from classic import ARABNEJAD, TOPCUOGLU, graph_of, problem_of, processors
from hypothesis import given, settings
from scripted import replay_of
from tiers import few

from tasksim.base.errors import InputError
from tasksim.graph.builder import GraphBuilder
from tasksim.platform.description import Platform
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import Problem, plan
from tasksim.schedulers.static.hbmct import hbmct
from tasksim.schedulers.static.immediate import met
from tasksim.schedulers.static.pairs import dls, static_levels, wba

INF = float("inf")


def test_dls_has_the_makespan_that_the_heft_paper_gives_for_it():
    """H. Topcuoglu et al., 2002, section 5.1: DLS takes 91 where HEFT takes 80."""
    assert plan("dls", problem_of(*TOPCUOGLU)).makespan_s == 91


def test_lookahead_has_the_makespan_that_the_peft_paper_gives_for_it():
    """H. Arabnejad, J. G. Barbosa, 2014, figure 2: 127, between PEFT's 122 and HEFT's 133."""
    assert plan("lookahead", problem_of(*ARABNEJAD)).makespan_s == 127


def test_lookahead_does_not_wait_for_what_is_not_placed_yet():
    """Task 1 goes where it is short, as if the data of task 2 to their successor cost nothing."""
    problem = problem_of([(2, 3), (1, 1), (1, 1)], {(1, 3): 40, (2, 3): 30})
    made = plan("lookahead", problem)
    assert made.worker.tolist() == [0, 0, 0]
    assert made.makespan_s == 4


def test_the_serial_schedule_of_the_heft_papers_example():
    """The least sum of a column of its costs: 127 on the first processor."""
    problem = problem_of(*TOPCUOGLU)
    made = plan("fastest-node", problem)
    assert made.makespan_s == 127
    assert set(made.worker.tolist()) == {0}


def independent(costs):
    """Tasks that do not depend on each other; *costs* has a row per task."""
    graph = graph_of(len(costs), {})
    return Problem.of(graph, processors(range(len(costs[0]))), np.array(costs, dtype=float).T)


def test_four_ways_to_place_independent_tasks():
    problem = independent([[2, 3], [2, 4], [3, 9], [9, 1]])
    assert plan("met", problem).worker.tolist() == [0, 0, 0, 1]
    assert plan("mct", problem).worker.tolist() == [0, 0, 0, 1]  # 2; 4 as well as 4; 7 against 9
    assert plan("olb", problem).worker.tolist() == [0, 1, 0, 1]
    assert plan("fastest-node", problem).worker.tolist() == [0, 0, 0, 0]


def test_met_may_share_its_tasks_among_workers_that_are_alike():
    g = GraphBuilder("alike")
    for _ in range(4):
        g.insert("task")
    problem = Problem.of(g.build(), Platform.identical(2), [[1.0] * 4])
    assert met(problem).makespan_s == 4
    assert met(problem, ties="free").makespan_s == 2


def test_sufferage_serves_first_who_would_lose_most():
    """Task 2 would lose 8 without worker 0; min-min gives that worker to task 0, which loses 1."""
    problem = independent([[2, 3], [3, 11]])
    assert plan("sufferage", problem).worker.tolist() == [1, 0]
    assert plan("min-min", problem).worker.tolist() == [0, 0]
    assert plan("sufferage", problem).makespan_s == 3


def test_hbmct_moves_tasks_off_the_worker_that_ends_last():
    problem = independent([[2, 3], [2, 3], [2, 3], [2, 3], [2, 3]])
    assert plan("met", problem).makespan_s == 10
    assert plan("hbmct", problem).makespan_s == 6
    assert hbmct(problem, begin="completion").makespan_s == 6


def test_duplex_is_the_shorter_of_the_two():
    for example in (TOPCUOGLU, ARABNEJAD):
        problem = problem_of(*example)
        both = [plan(name, problem).makespan_s for name in ("min-min", "max-min")]
        assert plan("duplex", problem).makespan_s == min(both)


@settings(max_examples=few(80), deadline=None)
@given(problem=problems(commuting=False))
def test_mct_sufferage_etf_and_dls_are_by_the_book(problem):
    workers, edges = range(problem.workers), problem.edges
    before = {t: set(edges.source[edges.target == t].tolist()) for t in range(problem.tasks)}
    levels = {name: static_levels(problem, name) for name in ("mean", "median")}

    def key(name, task, starts, ends):
        """Return what the least of decides, for each worker that can run the task."""
        second = sorted(ends)[1] if problem.workers > 1 else min(ends)
        loss = second - min(ends) if second < INF else 0.0
        costs = [problem.costs_s[task, problem.class_of[w]] for w in workers]
        able = [cost for cost in costs if cost < INF]
        for worker in workers:
            if ends[worker] == INF:
                continue
            yield {
                "mct": (task, ends[worker], worker),
                "sufferage": (-loss, ends[worker], task, worker),
                "etf": (starts[worker], -levels["mean"][task], costs[worker], task, worker),
                "dls": (
                    -(levels["median"][task] - starts[worker]
                      + (float(np.median(able)) - costs[worker])), task, worker,
                ),
            }[name]  # fmt: skip

    for name in ("mct", "sufferage", "etf", "dls"):
        book, free = ByTheBook(problem), [0.0] * problem.workers
        while len(book.worker) < problem.tasks:
            keys = []
            for task in range(problem.tasks):
                if task not in book.worker and before[task] <= set(book.worker):
                    starts = [max(free[w], book.ready(task, w)) for w in workers]
                    ends = [s + book.cost(task, w) for w, s in enumerate(starts)]
                    keys += [(k, task, k[-1]) for k in key(name, task, starts, ends)]
            _, task, worker = min(keys)
            book.place(task, worker, max(free[worker], book.ready(task, worker)))
            free[worker] = max(free[worker], book.end[task])
        assert rows(plan(name, problem)) == book.plan(), name


@settings(max_examples=few(40), deadline=None)
@given(problem=problems(commuting=False))
def test_lookahead_is_heft_where_no_task_has_a_successor(problem):
    if not len(problem.edges.source):
        assert rows(plan("lookahead", problem)) == rows(plan("heft", problem))


@settings(max_examples=few(40), deadline=None)
@given(problem=problems())
def test_wba_without_tolerance_lets_the_makespan_grow_as_little_as_can_be(problem):
    """With alpha 0, no task that is placed alone ends later than under MCT's first step."""
    made = wba(problem, random.Random(1), alpha=0.0)
    if problem.tasks == 1:
        assert made.makespan_s == plan("mct", problem).makespan_s
    again = wba(problem, random.Random(1), alpha=0.0)
    assert rows(made) == rows(again)


def test_wba_draws_from_the_seed_of_the_run():
    costs, volumes = TOPCUOGLU
    table = np.array(costs, dtype=float).T.tolist()
    found = set()
    for seed in range(8):
        scheduler = create("wba:alpha=1")
        replay_of(graph_of(10, volumes), processors(range(3)), scheduler, table).run(seed)
        found.add(tuple(scheduler.plan.worker.tolist()))
    assert len(found) > 1


def test_levels_with_median_and_mean_durations():
    problem = problem_of(*TOPCUOGLU)
    assert static_levels(problem, "median")[[9, 8, 7]].tolist() == [16, 34, 27]
    assert dls(problem, average="mean").makespan_s == 91


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("met:ties=last", r"'met': option 'ties': got 'last' .*legal: first, free"),
        ("dls:average=mode", r"'dls': option 'average': got 'mode' .*legal: mean, median"),
        ("gdl:descendants=2", r"'gdl': option 'descendants': got 2 .*; legal: 0 or 1"),
        ("wba:alpha=2", r"'wba': option 'alpha': got 2 .*; legal: a number from 0 to 1"),
        ("fcp:queue=-1", r"'fcp': option 'queue': got -1 .*; legal: a whole number from 0"),
        ("hbmct:begin=end", r"'hbmct': option 'begin': got 'end' .*legal: execution, completion"),
        ("etf:alpha=1", r"unknown option 'alpha'"),
    ],
)
def test_options_that_do_not_exist(text, message):
    with pytest.raises(InputError, match=message):
        create(text)
