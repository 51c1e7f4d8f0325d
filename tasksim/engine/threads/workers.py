"""Workers as StarPU's threads see each other: states, locks, and how one wakes another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.threads.kernel import Condition, Mutex, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.machine.driver import Driver
    from tasksim.engine.threads.kernel import Calls

__all__ = ["Bell", "Office", "Worker"]


class Worker:
    """What StarPU keeps of a worker (``core/workers.h``).

    Attributes
    ----------
    mutex, condition : Mutex, Condition
        Those of its state.
    scheduling, sleeping : bool
        Whether it looks for a task, since its last one; whether its last pop gave it none.
    operating, relaxed : bool, int
        Whether it pushes or pops just now; whether others may interrupt that.
    told : bool
        Whether it was woken since it last asked. Cores never forget it.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.number, self.memory = driver.worker, driver.memory
        self.mutex, self.condition = Mutex(), Condition()
        self.until_relaxed = Wait(self.condition, self.mutex)
        self.bell = Bell()
        self.scheduling = self.sleeping = True
        self.operating, self.relaxed = False, 1
        self.told = False

    def enter(self) -> None:
        """Begin to push or pop, with the mutex held."""
        self.operating, self.relaxed = True, 0

    def leave(self) -> Calls:
        """End it, with the mutex held."""
        self.operating, self.relaxed = False, 1
        yield self.condition

    def relax(self) -> Calls:
        """Let others interrupt what it does."""
        if self.operating:
            yield self.mutex
            self.relaxed += 1
            yield self.condition
            yield self.mutex

    def tense(self) -> Calls:
        """Do not let others interrupt any more."""
        if self.operating:
            yield self.mutex
            self.relaxed -= 1
            yield self.mutex


class Bell:
    """What a worker sleeps on when it has nothing to do (``starpu_pthread_wait_t``)."""

    __slots__ = ("condition", "mutex", "rung", "wait")

    def __init__(self) -> None:
        self.mutex, self.condition = Mutex(), Condition()
        self.wait = Wait(self.condition, self.mutex)
        self.rung = False

    def reset(self) -> Calls:
        """Forget what was rung."""
        yield self.mutex
        self.rung = False
        yield self.mutex

    def sleep(self) -> Calls:
        """Wait until it is rung, unless it was since the last reset."""
        yield self.mutex
        while not self.rung:
            yield self.wait
        yield self.mutex

    def ring(self) -> Calls:
        """Wake who sleeps on it."""
        yield self.mutex
        self.rung = True
        yield self.condition
        yield self.mutex

    def ring_if_slept_on(self) -> Condition | None:
        """Mark it as rung if somebody sleeps on it; return what to signal then."""
        if not self.condition.waiters:
            return None
        self.rung = True
        return self.condition


class Office:
    """All workers, with the queues on which they are woken."""

    def __init__(self, workers: Sequence[Worker], memories: int) -> None:
        self.workers = workers
        # Drivers of devices look after main memory, too.
        self.on = [list(workers)]
        self.on += [[w for w in workers if w.memory == memory] for memory in range(1, memories)]
        self._by_memory = [Mutex() for _ in range(memories)]
        self._by_worker = [Mutex() for _ in workers]
        self._conditions = Mutex()

    def stir(self, memory: int) -> Calls:
        """Wake all who look after *memory*: one of a task's data is there."""
        yield self._by_memory[memory]
        for worker in self.on[memory]:
            yield from worker.bell.ring()
        yield self._by_memory[memory]

    def tell_all(self, memory: int, me: Worker | None) -> Calls:
        """Wake all who look after *memory*, and note that they were told."""
        yield self._conditions
        for worker in self.on[memory]:
            if worker is me:
                worker.told = True
                continue
            yield worker.mutex
            worker.told = True
            yield worker.condition
            yield worker.mutex
        yield self._conditions
        yield from self.stir(memory)

    def tell(self, worker: Worker, me: Worker | None) -> Calls:
        """Wake *worker* for a task; return whether one more need not be woken.

        One that is just asking is not interrupted: it will find the task.
        """
        if worker is not me:
            if me is not None:
                yield from me.relax()
            yield worker.mutex
            while not worker.relaxed:
                if worker.scheduling:
                    worker.told = True
                    yield worker.mutex
                    if me is not None:
                        yield from me.tense()
                    return True
                yield worker.until_relaxed
        else:
            yield worker.mutex
        fresh = yield from self.tell_locked(worker)
        yield worker.mutex
        if worker is not me and me is not None:
            yield from me.tense()
        return fresh

    def tell_locked(self, worker: Worker) -> Calls:
        """Wake *worker*, whose mutex is held; return whether it slept and nobody had told it."""
        queue = self._by_worker[worker.number]
        yield queue
        yield from worker.bell.ring()
        yield queue
        if worker.sleeping:
            fresh, worker.told = not worker.told, True
            yield worker.condition
            return fresh
        if worker.scheduling:
            worker.told = True
        return False

    def ended(self, worker: Worker) -> Calls:
        """Wake *worker* when a kernel has ended on its device."""
        yield worker.mutex
        while not worker.relaxed:
            yield worker.until_relaxed
        yield from self.tell_locked(worker)
        yield worker.mutex
