"""The account over ranks: against the simulated cluster, and what messages and ranks know."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tasksim
from tasksim import RW, R
from tasksim.base.errors import InputError, SchedulerError
from tasksim.engine.simulation import Simulation
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.graph.distribution.parts import cut_by, distribute
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.native.this_machine import this_machine
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.schedulers.registry import create
from tasksim.selective.policies import policy_of
from tasksim.selective.ranks.account import RankPaths, RanksAccount
from tasksim.selective.ranks.choosing import (
    RankChoosers,
    RankRules,
    RankSignatures,
    statistics_of_ranks,
)
from tasksim.selective.statistics import Statistics

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 2.5, "gemm": 6.0}
NETWORK = "switch:bandwidth=1MB/s,latency=250ms,model=ideal"


class InstantHands:
    """Hands that execute tasks and send messages at once, and report durations of a table."""

    def __init__(self, seconds, message_s):
        self.seconds, self.message_s = seconds, message_s
        self.pending, self.tasks, self.messages = [], [], []

    def task(self, rank, worker, task, rehearsed, *, safe):
        self.tasks.append((rank, task, rehearsed, safe))
        self.pending.append((rank, worker, self.seconds(rank, task)))

    def message(self, message):
        self.messages.append(message)
        self.pending.append((-1, message, self.message_s[message]))

    def elapsed_s(self, rank, worker):
        return 0.0

    def answer(self, account, rng):
        """Let any one of those that are under way return."""
        rank, place, seconds = self.pending.pop(rng.randrange(len(self.pending)))
        if rank < 0:
            account.returned_message(place, seconds, seconds)
        else:
            account.returned(rank, place, seconds)


class Skips:
    """Charges some what they take, and lets the others be executed and sent."""

    def __init__(self, seconds, message_s, skipped, sent):
        self.seconds, self.message_s, self.skipped, self.sent = seconds, message_s, skipped, sent

    def kind(self, rank, task):
        return 0

    def charge_s(self, rank, task, worker, before, now_s):
        return self.seconds(rank, task) if self.skipped(rank, task) else None

    def charge_message_s(self, message, before, now_s):
        return None if self.sent[message] else self.message_s[message]

    def measured(self, rank, task, seconds):
        assert seconds == self.seconds(rank, task)

    def measured_message(self, message, source_s, target_s):
        assert source_s == target_s == self.message_s[message]


def kept(cut, workers, scheduler, orders, chooses, kinds=1, company=True):
    """Return an account that has been kept to its end."""
    platforms = [this_machine(workers)] * len(cut.parts)
    schedulers = [create(scheduler) for _ in cut.parts]
    paths = RankPaths(kinds, [workers] * len(cut.parts))
    account = RanksAccount(cut, platforms, schedulers, orders, chooses, paths, company=company)
    rng = random.Random(1)
    account.begin(0)
    account.advance()
    while not account.over:
        orders.answer(account, rng)
        account.advance()
    return account, paths


def of_kernels(cut, table=DURATIONS_S):
    return lambda rank, task: table[cut.graph.kernel_of(int(cut.parts[rank].task[task]))]


def by_draw(cut, share):
    """Return for a task of a rank whether it is skipped, and per message whether it is sent."""
    rng = np.random.default_rng(1)
    skipped = rng.random(len(cut.graph)) < share
    sent = rng.random(len(cut.messages)) >= share
    return lambda rank, task: skipped[cut.parts[rank].task[task]], sent


@pytest.mark.parametrize("scheduler", ["eager", "lws", "prio", "ws"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("grid", [NodeGrid(1, 2), NodeGrid(2, 2)])
def test_the_account_is_the_simulated_clusters(scheduler, workers, share, grid):
    graph = tasksim.generate("cholesky", tiles=8, tile_size=250)
    cut = cut_by(graph, grid, "row")
    nodes = grid.rows * grid.columns
    network = read_network(NETWORK).sized(nodes)
    message_s = [network.alone_s(0, 1, float(size)) for size in cut.messages.size_bytes]
    seconds, (skipped, sent) = of_kernels(cut), by_draw(cut, share)
    orders = InstantHands(seconds, message_s)
    account, paths = kept(cut, workers, scheduler, orders, Skips(seconds, message_s, skipped, sent))
    platform = tasksim.Platform.identical(workers)
    cluster = Cluster.alike(platform, nodes, read_network(NETWORK))
    said = Simulation(graph, cluster, ConstantLibrary(DURATIONS_S), scheduler, grid=grid).run()
    assert account.makespan_s == said.makespan_s
    assert paths.longest.end_s == said.makespan_s
    assert account.messages.executed == len(orders.messages) == sent.sum()
    assert account.messages.executed + account.messages.skipped == len(cut.messages)
    for member in account.members:
        ours = np.array(member.task) >= 0
        starts = np.array(member.ledger.start)[ours]
        assert starts.tolist() == said.tasks.start_s[np.array(member.task)[ours]].tolist()


def drawn():
    """Return two ranks: a chain that goes from 0 to 1 and back, and tasks beside it on rank 1."""
    g = GraphBuilder("drawn")
    a, b, c = (g.handle(name, 1_000_000) for name in "abc")
    g.insert("make", RW(a))  # rank 0
    g.insert("use", R(a), RW(b))  # rank 1, after a message
    g.insert("beside", RW(c))  # rank 1
    g.insert("beside", RW(c))
    g.insert("back", R(b), RW(a))  # rank 0, after another
    return distribute(g.build(), [0, 1, 1], 2)


DRAWN_DURATIONS_S = {"make": 1.0, "use": 2.0, "beside": 0.75, "back": 0.5}


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_hand_drawn_graph(share):
    cut = drawn()
    message_s, seconds = [0.25, 0.5], of_kernels(cut, DRAWN_DURATIONS_S)
    skipped, sent = by_draw(cut, share)
    orders = InstantHands(seconds, message_s)
    account, _ = kept(cut, 1, "eager", orders, Skips(seconds, message_s, skipped, sent))
    # The first at 0, its message until 1.25; meanwhile one beside, the other one until 2.
    ends = [list(member.ledger.end) for member in account.members]
    of_rank = [
        dict(zip(member.task, ends[member.number], strict=True)) for member in account.members
    ]
    assert of_rank[0][0] == 1.0
    assert (of_rank[1][2], of_rank[1][3], of_rank[1][1]) == (0.75, 1.5, 3.5)
    assert account.makespan_s == of_rank[0][4] == 4.5


def test_the_account_says_for_whom_it_waits_and_how_long_that_must_have_taken():
    cut = drawn()
    message_s, seconds = [0.25, 0.5], of_kernels(cut, DRAWN_DURATIONS_S)

    def skipped(rank, task):
        return rank == 1

    orders = InstantHands(seconds, message_s)
    account = RanksAccount(
        cut, [this_machine(1)] * 2, [create("eager"), create("eager")], orders,
        Skips(seconds, message_s, skipped, [False, False]), RankPaths(1, [1, 1]), company=False,
    )  # fmt: skip
    account.begin(0)
    account.advance()
    assert list(account.waits_for()) == [(0, 0, 0.75)]  # the end of what is charged beside
    orders.elapsed_s = lambda rank, worker: 0.75 + 1e-9
    account.advance()
    assert list(account.waits_for()) == [(0, 0, 1.5)]  # of what is charged after that
    account.returned(0, 0, 1.0)
    assert list(account.waits_for()) == []


@pytest.mark.parametrize("company", [True, False])
def test_a_worker_that_has_returned_repeats_its_task_beside_what_is_measured(company):
    cut = drawn()
    message_s, seconds = [0.25, 0.5], of_kernels(cut, DRAWN_DURATIONS_S)
    orders = InstantHands(seconds, message_s)
    chooses = Skips(seconds, message_s, lambda rank, task: False, [True, True])
    account = RanksAccount(
        cut, [this_machine(1)] * 2, [create("eager"), create("eager")], orders, chooses,
        RankPaths(1, [1, 1]), company=company,
    )  # fmt: skip
    account.begin(0)
    account.advance()
    (make, beside) = orders.tasks
    assert (make[0], beside[0]) == (0, 1)
    assert not account.has_skipped
    account.returned(1, 0, 0.75)  # rank 0 has not come that far
    account.advance()
    repeated = orders.tasks[2:]
    assert repeated == ([(1, beside[1], -1, True)] if company else [])
    assert account.has_skipped is company  # its data are wrong now
    account.returned(0, 0, 1.0)
    account.advance()
    if company:  # the next task of rank 1 begins only after this one has returned again
        assert orders.tasks[2:] == repeated
        account.returned(1, 0, 99.0)
        account.advance()
        # Now it is rank 0 that has come further.
        assert orders.tasks[3:] == [(1, beside[1] + 1, -1, True), (0, make[1], -1, True)]
    else:
        assert [order[:2] for order in orders.tasks[2:]] == [(1, beside[1] + 1)]
    assert account.effort.executed == 3
    assert account.effort.executed_s == 1.75  # measured once


def test_a_message_that_is_skipped_takes_no_time_and_the_rest_goes_on():
    cut = drawn()
    message_s, seconds = [100.0, 0.5], of_kernels(cut, DRAWN_DURATIONS_S)
    orders = InstantHands(seconds, message_s)
    chooses = Skips(seconds, message_s, lambda rank, task: False, [False, False])
    account, _ = kept(cut, 1, "eager", orders, chooses)
    assert orders.messages == []
    assert account.messages.skipped == 2
    assert [task for rank, task, _, _ in orders.tasks if rank == 1][-1] == (
        account.members[1].task.index(1)
    )
    assert account.makespan_s == 104.0
    # What comes after a message that was skipped has wrong data: it is made safe.
    assert [safe for *_, safe in orders.tasks][-2:] == [True, True]


def test_a_message_carries_the_counts_of_its_sender():
    cut = drawn()
    message_s, seconds = [0.25, 0.5], of_kernels(cut, DRAWN_DURATIONS_S)
    known = RankSignatures(cut)
    statistics = [Statistics(), Statistics()]
    rules = RankRules(policy_of("online"), statistics, 0.0)
    chooses = RankChoosers(rules, known, cut, [1, 1])
    _, paths = kept(cut, 1, "eager", InstantHands(seconds, message_s), chooses, len(known.found))
    counted = {
        str(name): count
        for name, count in zip(known.found, paths.longest.counts, strict=True)
        if count
    }
    # To rank 1 with the second task beside, which ends later than the message comes.
    assert counted == {"beside": 2, "use": 1, "message size_bytes=1e+06": 1, "back": 1}
    assert paths.longest.end_s == 4.5
    assert paths.longest.waited_s == 0.0
    sent = [name for name in known.found if name.kernel == "message"]
    assert [(s.dtype, [k.count(s) for k in statistics]) for s in sent] == [
        ("0 to 1", [1, 1]),
        ("1 to 0", [1, 1]),
    ]


@pytest.mark.parametrize(
    ("rule", "ends", "charged"),
    [
        ("all", ("steady", "restless"), False),
        ("any", ("steady", "restless"), True),
        ("any", ("restless", "steady"), True),
        ("all", ("steady", "steady"), True),
        ("any", ("restless", "restless"), False),
    ],
)
def test_a_message_is_skipped_if_all_ranks_or_any_know_it(rule, ends, charged):
    cut = drawn()
    known = RankSignatures(cut)
    sent = next(found for found in known.found if found.dtype == "0 to 1")
    statistics = [Statistics(), Statistics()]
    for rank, end in enumerate(ends):
        for seconds in (2.0, 2.0, 2.0) if end == "steady" else (1.0, 2.0, 3.0):
            statistics[rank].add(sent, seconds)
    rules = RankRules(policy_of("eager"), statistics, 0.05, rule, sampling="first")
    chooses = RankChoosers(rules, known, cut, [1, 1])
    before = RankPaths(len(known.found), [1, 1]).longest
    assert chooses.charge_message_s(0, before, 0.0) == (2.0 if charged else None)


def test_every_message_is_sent_once_per_configuration_though_one_end_knows_it():
    cut = drawn()
    known = RankSignatures(cut)
    sent = next(found for found in known.found if found.dtype == "0 to 1")
    statistics = [Statistics(), Statistics()]
    for rank in range(2):
        for _ in range(3):
            statistics[rank].add(sent, 2.0)
    rules = RankRules(policy_of("local"), statistics, 0.05, "any", sampling="first")
    chooses = RankChoosers(rules, known, cut, [1, 1])
    before = RankPaths(len(known.found), [1, 1]).longest
    assert chooses.charge_message_s(0, before, 0.0) is None
    assert chooses.charge_message_s(0, before, 0.0) == 2.0


def test_eager_ranks_know_what_one_of_them_has_measured():
    one, other = statistics_of_ranks("eager", Statistics, 2)
    assert one is other
    one, other = statistics_of_ranks("local", Statistics, 2)
    assert one is not other


def test_a_rule_of_messages_that_is_none_is_refused():
    cut = drawn()
    rules = RankRules(policy_of("local"), [Statistics(), Statistics()], 0.05, "most")
    with pytest.raises(InputError, match="all"):
        RankChoosers(rules, RankSignatures(cut), cut, [1, 1])


@pytest.mark.parametrize("method", ["attach", "push", "pop", "finished"])
def test_an_error_of_a_scheduler_is_named_after_the_rank_that_has_it(method):
    cut = cut_by(tasksim.generate("cholesky", tiles=4, tile_size=250), NodeGrid(1, 2), "row")
    seconds, (skipped, sent) = of_kernels(cut), by_draw(cut, 1.0)
    message_s = [1.0] * len(cut.messages)

    class Failing(type(create("eager"))):
        """Fails in one method."""

    def fail(self, *_):
        raise ZeroDivisionError(method)

    fail.__code__ = fail.__code__.replace(co_name=method)  # by which the culprit is found
    setattr(Failing, method, fail)
    account = RanksAccount(
        cut, [this_machine(1)] * 2, [create("eager"), Failing()], InstantHands(seconds, message_s),
        Skips(seconds, message_s, skipped, sent), RankPaths(1, [1, 1]),
    )  # fmt: skip

    def keep():
        account.begin(0)
        account.advance()

    with pytest.raises(SchedulerError, match=f"failed in {method}.*ZeroDivisionError"):
        keep()
