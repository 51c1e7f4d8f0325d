"""Rank 0's hands: what it knows of tasks under way, its own and those of other ranks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tasksim.selective.ranks import hands
from tasksim.selective.ranks.crew import BEGUN, RETURNED, RankReport
from tasksim.selective.ranks.hands import ASK, END, SO_FAR, Follower, Leader


@pytest.fixture
def clock(monkeypatch):
    """The clock on the wall, in seconds."""
    now = SimpleNamespace(s=0.0)
    monkeypatch.setattr(hands, "perf_counter", lambda: now.s)
    return now


class Account:
    """Waits for the first worker of rank 1 to have taken so long."""

    def __init__(self, needed_s):
        self.needed_s, self.ends = needed_s, []

    def waits_for(self):
        yield 0, 0, self.needed_s
        yield 1, 0, self.needed_s

    def returned(self, rank, worker, seconds):
        self.ends.append((rank, worker, seconds))


def leading(account):
    """Return a leader of *account*, and what it sends to other ranks."""
    sent = []
    orders = SimpleNamespace(Send=lambda row, rank: sent.append((rank, *row)))
    own = SimpleNamespace(do=lambda *_: None, crew=SimpleNamespace(elapsed_s=lambda _: 0.25))
    leader = Leader(SimpleNamespace(orders=orders), own)
    leader._account = account
    leader.task(1, 0, 7, -1, safe=False)
    sent.clear()
    return leader, sent


def test_how_far_a_task_is_does_not_go_by_the_clock_on_the_wall(clock):
    leader, _ = leading(Account(1.0))
    for rank in range(2):
        leader._answered(rank, RankReport(BEGUN, 0, 0.0))
    clock.s = 100.0
    assert leader.elapsed_s(0, 0) == 0.25  # as its crew says
    assert leader.elapsed_s(1, 0) == 0.0  # until it says more
    leader._answered(1, RankReport(SO_FAR, 0, 0.5))
    clock.s = 200.0
    assert leader.elapsed_s(1, 0) == 0.5


def test_another_rank_is_asked_when_its_task_may_be_far_enough_and_once(clock):
    account = Account(1.0)
    leader, sent = leading(account)

    def asked():
        sent.clear()
        leader._ask(account)
        return [(rank, what, worker) for rank, what, worker, *_ in sent]

    assert asked() == []  # it has not begun
    leader._answered(1, RankReport(BEGUN, 0, 0.0))
    clock.s = 0.9
    assert asked() == []  # it cannot have taken so long
    clock.s = 1.1
    assert asked() == [(1, ASK, 0)]
    assert asked() == []  # the answer is under way
    leader._answered(1, RankReport(SO_FAR, 0, 0.4))
    clock.s = 1.6
    assert asked() == []  # .6 s more are needed
    clock.s = 1.8
    assert asked() == [(1, ASK, 0)]
    leader._answered(1, RankReport(SO_FAR, 0, 1.01))
    clock.s = 9.0
    assert asked() == []  # that is enough


def test_an_answer_about_a_task_that_has_returned_tells_nothing_of_the_next(clock):
    account = Account(1.0)
    leader, sent = leading(account)
    leader._answered(1, RankReport(BEGUN, 0, 0.0))
    clock.s = 2.0
    leader._ask(account)
    leader._answered(1, RankReport(RETURNED, 0, 1.5))
    assert account.ends == [(1, 0, 1.5)]
    leader.task(1, 0, 8, -1, safe=False)
    leader._answered(1, RankReport(SO_FAR, 0, 1.5))
    leader._answered(1, RankReport(BEGUN, 0, 2.5))
    assert leader.elapsed_s(1, 0) == 0.0
    clock.s, sent[:] = 4.0, []
    leader._ask(account)
    assert [(rank, what) for rank, what, *_ in sent] == [(1, ASK)]


def test_who_is_asked_answers_what_its_crew_says():
    said, given = [], [[ASK, 1, 0, 0, 0], [END, 0, 0, 0, 0]]
    orders = SimpleNamespace(
        Iprobe=lambda source, tag: True,
        Recv=lambda order, source, tag: order.put(range(5), given.pop(0)),
        Send=lambda row, rank, tag: said.append((*row.tolist(), rank, tag)),
    )
    own = SimpleNamespace(crew=SimpleNamespace(elapsed_s=lambda worker: 0.5 + worker))
    Follower(SimpleNamespace(orders=orders), own).follow(lambda: True)
    assert said == [(SO_FAR, 1, 1.5, 0, 0)]
