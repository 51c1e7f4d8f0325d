"""Working threads of a rank, with its workers, its mail and the thread that orders them.

Rank 0 keeps the account and gives orders; the other ranks follow them and report. Like the
communication thread of a full run, the ordering thread sleeps between polls: workers need the
cores.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import TaskFailed
from tasksim.native.cluster.communicator import BUSY_SLEEP_S, IDLE_SLEEP_S, be_prompt
from tasksim.native.threads import POLL_INTERVAL_S, conduct
from tasksim.selective.execution import SKIPPED_BEFORE
from tasksim.selective.ranks.crew import BEGUN, FAILED, RETURNED, RankReport
from tasksim.selective.ranks.mail import ARRIVAL, SEND_END, SEND_START

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.base.arrays import Floats, Ints
    from tasksim.base.interruption import Interrupts
    from tasksim.kernels.program import Program
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.platform.description import Platform
    from tasksim.selective.ranks.account import RanksAccount
    from tasksim.selective.ranks.crew import Crew
    from tasksim.selective.ranks.mail import Mail, Wires

__all__ = ["Follower", "Hands", "Leader", "let_work"]

END, EXECUTE, SEND, RECEIVE, ASK = range(5)
TEXT_TAG: Final = 1
"""Tag of a failed task's error message."""
SO_FAR: Final = 7
"""Report of a worker on request: the time that its task has run so far."""


class Hands:
    """Workers and mail of one rank.

    Parameters
    ----------
    crew : Crew
    mail : Mail
    shared : bool
        Whether ranks share cores: then the thread polls less often.
    """

    def __init__(self, crew: Crew, mail: Mail, *, shared: bool) -> None:
        self.crew, self._mail, self._shared = crew, mail, shared

    def do(self, what: int, one: int, two: int = 0, three: int = -1, safe: int = 0) -> None:
        """Execute an order."""
        if what == EXECUTE:
            self.crew.order(one, two, three, safe=bool(safe))
        elif what == SEND:
            self._mail.send(one)
        else:
            self._mail.receive(one)

    def answers(self) -> list[RankReport]:
        """Return the reports since the last call."""
        return [*self.crew.answers(), *self._mail.answers()]

    def nap(self) -> None:
        """Leave the cores to the workers for a moment, or until one of them reports."""
        busy = self._shared or (self.crew.busy and not self._mail.under_way)
        self.crew.listen(BUSY_SLEEP_S if busy else IDLE_SLEEP_S)


class Leader:
    """Rank 0, which keeps the account, gives orders and receives reports.

    Parameters
    ----------
    wires : Wires
    hands : Hands
        Workers and mail of rank 0.
    """

    def __init__(self, wires: Wires, hands: Hands) -> None:
        self._wires, self._hands = wires, hands
        self._began: dict[tuple[int, int], float] = {}
        self._so_far: dict[tuple[int, int], tuple[float, float]] = {}
        """Per task on another rank: the time that it had run, and when that was reported."""
        self._asked: set[tuple[int, int]] = set()
        self._sent: dict[int, float] = {}
        self._times: dict[int, dict[int, float]] = {}
        self._account: RanksAccount | None = None
        self._row: Floats = np.zeros(3)

    # Called by the account

    def task(self, rank: int, worker: int, task: int, rehearsed: int, *, safe: bool) -> None:
        """Have *worker* of *rank* execute a task of its part."""
        self._forget((rank, worker))
        self._order(rank, EXECUTE, worker, task, rehearsed, int(safe))

    def message(self, message: int) -> None:
        """Have a message sent and received."""
        assert self._account is not None
        messages = self._account.cut.messages
        self._order(int(messages.target[message]), RECEIVE, message)
        self._order(int(messages.source[message]), SEND, message)

    def elapsed_s(self, rank: int, worker: int) -> float:
        """Return a lower bound on the time that the task of *worker* has run so far."""
        if not rank:
            return self._hands.crew.elapsed_s(worker)
        return self._so_far.get((rank, worker), (0.0, 0.0))[0]

    def _ask(self, account: RanksAccount) -> None:
        """Ask workers of other ranks that the account waits for, if they may be far enough."""
        now_s = perf_counter()
        for rank, worker, needed_s in account.waits_for():
            asked = rank, worker
            began_s = self._began.get(asked)
            if not rank or began_s is None or asked in self._asked:
                continue
            taken_s, heard_s = self._so_far.get(asked, (0.0, began_s))
            if taken_s <= needed_s <= taken_s + (now_s - heard_s):
                self._asked.add(asked)
                self._order(rank, ASK, worker)

    def _forget(self, worker: tuple[int, int]) -> None:
        """Forget the progress of a worker: its task returned, or is yet to start."""
        self._began.pop(worker, None)
        self._so_far.pop(worker, None)

    def _order(self, rank: int, *numbers: int) -> None:
        if not rank:
            self._hands.do(*numbers)
            return
        row = np.zeros(5, np.int64)
        row[: len(numbers)] = numbers
        self._wires.orders.Send(row, rank)

    # Main loop

    def lead(self, account: RanksAccount, seed: int, going: Callable[[], bool]) -> None:
        """Keep *account* until it is over, or while *going* returns True."""
        self._account = account
        account.begin(seed)
        while going():
            account.advance()
            if account.over:
                return
            self._ask(account)
            # Process reports before the account asks for elapsed times.
            if not self._hear():
                self._hands.nap()

    def end(self, ranks: int) -> None:
        """Release the other ranks from :meth:`Follower.follow`."""
        for rank in range(1, ranks):
            self._order(rank, END)

    def _hear(self) -> bool:
        """Process the reports of all ranks; return whether there were any."""
        from mpi4py import MPI

        own = self._hands.answers()
        for answer in own:
            self._answered(0, answer)
        heard, orders, status = bool(own), self._wires.orders, MPI.Status()
        while orders.Iprobe(tag=0, status=status):
            heard, rank = True, status.Get_source()
            orders.Recv(self._row, rank, 0)
            what, place = int(self._row[0]), int(self._row[1])
            text = orders.recv(source=rank, tag=TEXT_TAG) if what == FAILED else ""
            self._answered(rank, RankReport(what, place, float(self._row[2]), text))
        return heard

    def _answered(self, rank: int, answer: RankReport) -> None:
        account = self._account
        assert account is not None
        worker = rank, answer.place
        if answer.what == BEGUN:
            self._began[worker] = answer.first_s
        elif answer.what == SO_FAR:
            self._asked.discard(worker)
            if worker in self._began:  # otherwise the report is on a task that returned
                self._so_far[worker] = answer.first_s, perf_counter()
        elif answer.what == RETURNED:
            self._forget(worker)
            account.returned(rank, answer.place, answer.first_s)
        elif answer.what == FAILED:
            raise _failed(account, rank, answer)
        else:
            times = self._times.setdefault(answer.place, {})
            times[answer.what] = answer.first_s
            if len(times) == len((SEND_START, SEND_END, ARRIVAL)):  # both ends have reported all
                del self._times[answer.place]
                taken = [
                    max(times[end] - times[SEND_START], MIN_MESSAGE_S)
                    for end in (SEND_END, ARRIVAL)
                ]
                account.returned_message(answer.place, *taken)


MIN_MESSAGE_S: Final = 1e-9
"""Shortest duration of a message, in seconds, in case the clocks' error exceeds it."""


def _failed(account: RanksAccount, rank: int, answer: RankReport) -> TaskFailed:
    member = account.members[rank]
    local = account.task_of(rank, answer.place)
    name = member.facts.platform.workers[answer.place].name
    label = account.cut.graph.label(member.task[local])
    why = SKIPPED_BEFORE if account.has_skipped else ""
    return TaskFailed(f"rank {rank}: {label} failed on worker {name}: {answer.text}{why}")


class Follower:
    """A rank other than 0, which executes the orders of rank 0.

    Parameters
    ----------
    wires : Wires
    hands : Hands
        Workers and mail of this rank.
    """

    def __init__(self, wires: Wires, hands: Hands) -> None:
        self._wires, self._hands = wires, hands

    def follow(self, going: Callable[[], bool]) -> None:
        """Execute orders of rank 0 until it ends, or while *going* returns True."""
        order: Ints = np.zeros(5, np.int64)
        orders = self._wires.orders
        while going():
            moved = False
            while orders.Iprobe(0, 0):
                orders.Recv(order, 0, 0)
                if order[0] == END:
                    return
                what, *numbers = order.tolist()
                if what == ASK:
                    so_far_s = self._hands.crew.elapsed_s(numbers[0])
                    self._say(RankReport(SO_FAR, numbers[0], so_far_s))
                else:
                    self._hands.do(what, *numbers)
                moved = True
            for answer in self._hands.answers():
                self._say(answer)
                moved = True
            if not moved:
                self._hands.nap()

    def _say(self, answer: RankReport) -> None:
        orders = self._wires.orders
        orders.Send(np.array([answer.what, answer.place, answer.first_s]), 0, 0)
        if answer.what == FAILED:
            orders.send(answer.text, 0, TEXT_TAG)


class _Working:
    """Threads of a working rank, with its crew and the thread that leads or follows."""

    left = 0  # the account knows the number of tasks; no progress is reported by it

    def __init__(self, crew: Crew, loop: Callable[[Callable[[], bool]], None]) -> None:
        self._crew, self._loop = crew, loop
        self._over = threading.Event()
        self._given_up = False
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Do nothing: the account begins at 0."""

    def work(self, worker: int) -> None:
        """Execute the orders of *worker*."""
        self._crew.work(worker)

    def submit(self, interrupts: Interrupts) -> None:
        """Start the thread that leads or follows."""
        interrupts.check()
        threading.Thread(target=self._communicate, name="orders", daemon=True).start()

    def wait(self, timeout_s: float) -> bool:
        """Wait up to *timeout_s* for the end of the run; return whether it is over."""
        over = self._over.wait(timeout_s)
        if over and self._error is not None:
            raise self._error
        return over

    def give_up(self) -> None:
        """Tell the thread that leads or follows to end."""
        self._given_up = True
        self._over.wait(POLL_INTERVAL_S)

    def stop(self) -> bool:
        """Tell the workers to end."""
        self._given_up = True
        self._crew.end()
        return True

    def _communicate(self) -> None:
        be_prompt()
        self._crew.ordered_from_here()
        try:
            self._loop(lambda: not self._given_up)
        except BaseException as error:
            self._error = error
        finally:
            self._over.set()


def let_work(
    crew: Crew,
    platform: Platform,
    program: Program,
    loop: Callable[[Callable[[], bool]], None],
    *,
    pin: bool,
) -> list[ThreadAccount | None]:
    """Run a rank's *crew* until *loop*, which leads or follows, returns.

    Return the system's account of each worker's thread; None for one that was left behind.
    """
    return conduct(_Working(crew, loop), platform, program, pin=pin)
