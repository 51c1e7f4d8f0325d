"""The dm family against the rules written out plainly, a look at every worker each time."""

from __future__ import annotations

import random
from math import inf, nan
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.schedulers import expected_ends as expected
from tasksim.schedulers.registry import create

FAMILY = ["dm", "dmda", "dmdap", "dmdar", "dmdas", "dmdasd"]
SPEED = {"cpu": 0.5, "cuda": 13.33}


class Plain:
    """One policy of the family, by the definition. Times are whole: sums are exact."""

    def __init__(self, name, view, alpha, beta, watt):
        self.name, self.view = name, view
        self.alpha, self.beta, self.watt = (1, 0, 0) if name == "dm" else (alpha, beta, watt)
        self.sorted = name in ("dmdap", "dmdas", "dmdasd")
        self.ready = name in ("dmdar", "dmdas", "dmdasd")
        workers = len(view.workers)
        self.start, self.len, self.pipe = [0.0] * workers, [0.0] * workers, [0.0] * workers
        self.queue, self.tasks = [[] for _ in range(workers)], [0] * workers
        self.p, self.pt = {}, {}

    def work_ahead(self, w, task):
        """Return the work that counts as before *task* on *w*, and the number of its tasks."""
        view, queue = self.view, self.queue[w]
        everything = self.len[w], len(queue) + self.tasks[w]
        if self.name != "dmdasd":
            return everything
        before = [t for t in queue if view.priority[t] >= view.priority[task]]
        if not before:
            return self.pipe[w], everything[1]
        if len(before) == len(queue):
            return everything
        lengths = (view.estimates[view.class_of[w]][t] for t in before)
        return self.pipe[w] + sum(x for x in lengths if x > 0), self.tasks[w] + len(before)

    def choose(self, task):
        view, now = self.view, self.view.now
        rows, greedy, unknown, measuring, longest = [], None, False, False, 0.0
        for worker in view.workers:
            w = worker.id
            if not view.able[task] >> view.class_of[w] & 1:
                continue
            ahead, count = self.work_ahead(w, task)
            length = view.estimates[view.class_of[w]][task]
            load = count / SPEED[worker.architecture]
            new = length != length
            if (
                greedy is None
                or (not measuring and (load < greedy[0] or new))
                or (measuring and new and load < greedy[0])
            ):
                greedy = load, w
            measuring = measuring or new
            unknown = unknown or new or length == 0
            free = max(self.start[w], now) + ahead
            longest = max(longest, free)
            data = 0.0 if self.name == "dm" else view.transfer_estimate(task, worker.memory)
            rows.append((max(free, now + data) + length, data, w, length))
        if unknown:
            return greedy[1], 0.0, 0.0
        least, best = min(rows)[0], (inf, -1)
        for end, data, w, _ in rows:
            fitness = self.alpha * (end - least) + self.beta * data
            fitness += self.watt * max(0.0, end - longest)
            if best[1] < 0 or fitness < best[0]:
                best = fitness, w
        end, data, w, length = next(row for row in rows if row[2] == best[1])
        return w, length, data

    def commit(self, task, choice):
        w, length, data = choice
        now = self.view.now
        self.tasks[w] += 1
        self.start[w] = max(self.start[w], now)
        self.pt[task] = max(0.0, now + data - (self.start[w] + self.len[w]))
        self.p[task] = length
        self.len[w] += self.pt[task] + length
        queue = self.queue[w]
        level = [self.view.priority[t] if self.sorted else 0 for t in queue]
        mine = self.view.priority[task] if self.sorted else 0
        queue.insert(sum(p >= mine for p in level), task)

    def pop(self, w):
        now, queue = self.view.now, self.queue[w]
        self.start[w] = max(now, self.start[w])
        if not queue:
            return None
        task = min(self.candidates(w), key=lambda t: self.missing(w, t)) if self.ready else queue[0]
        queue.remove(task)
        self.len[w] -= self.pt[task]
        self.pipe[w] += self.pt[task]
        self.start[w] = now + self.pipe[w]
        return task

    def candidates(self, w):
        queue, priority = self.queue[w], self.view.priority
        return [t for t in queue if not self.sorted or priority[t] >= priority[queue[0]]]

    def missing(self, w, task):
        return self.view.unready(task, self.view.workers[w].memory)

    def started(self, task, w):
        self.pipe[w] += self.p[task] - self.pt[task]
        self.len[w] -= self.p[task]
        self.start[w] = self.view.now + self.pipe[w]

    def finished(self, task, w):
        self.pipe[w] -= self.p[task]
        self.tasks[w] -= 1
        self.start[w] = max(self.view.now + self.pipe[w], self.start[w])


GROUPS = [("cuda", 1), ("cpu", 0), ("cuda", 2)]
TASKS = 40
STEPS = ["push", "pop", "pop", "start", "end", "wait"]


def drawn_view(draw):
    """Return a view of up to three classes with interleaved workers; *draw* is a generator."""
    classes = draw.randint(1, 3)
    class_of = [*range(classes), *draw.choices(range(classes), k=draw.randint(0, 4))]
    draw.shuffle(class_of)
    lengths = [1.0, 2.0, 3.0, 5.0, 8.0] * 8 + [0.0, nan]
    missing = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (8, 4, 4), (0, 0, 4), (4, 4, 4)]
    transfers = [draw.choices([0.0, 0.0, 1.0, 3.0, 7.0], k=TASKS) for _ in range(3)]
    lacks = [draw.choices(missing, k=TASKS) for _ in range(3)]
    return SimpleNamespace(
        power=None,
        decisions=None,
        now=0.0,
        class_of=class_of,
        workers=[
            SimpleNamespace(id=w, architecture=GROUPS[c][0], memory=GROUPS[c][1])
            for w, c in enumerate(class_of)
        ],
        classes=[
            SimpleNamespace(
                memory=GROUPS[c][1], workers=tuple(w for w, k in enumerate(class_of) if k == c)
            )
            for c in range(classes)
        ],
        estimates=[draw.choices(lengths, k=TASKS) for _ in range(classes)],
        able=[draw.choice([2**classes - 1, draw.randint(1, 2**classes - 1)]) for _ in range(TASKS)],
        priority=draw.choices([-1, 0, 0, 1, 2], k=TASKS),
        transfer_estimate=lambda task, memory: transfers[memory][task],
        unready=lambda task, memory: lacks[memory][task],
        prefetch=lambda task, memory: None,
        wake=lambda worker: None,
    )


@pytest.mark.parametrize("few", [0, 16])
@pytest.mark.parametrize("name", FAMILY)
@settings(max_examples=few(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_choice_and_every_pop_is_that_of_the_rules(name, few, seed):
    draw = random.Random(seed)
    view = drawn_view(draw)
    alpha, beta, watt = draw.choice([(1, 1, 0), (1, 2, 1), (0.5, 0, 2), (0, 1, 1), (0, 1, 0)])
    options = f":alpha={alpha},beta={beta},gamma=1000000,idle_power={watt}"
    scheduler, plain = create(name + options * (name != "dm")), Plain(name, view, alpha, beta, watt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "MAX_SCANNED_WORKERS", few)
        scheduler.attach(view, random.Random(0))
    todo, fetched, running = list(range(TASKS)), {}, {}
    while todo or any(plain.queue):
        step, w = draw.choice(STEPS), draw.choice(view.workers).id
        if step == "wait":
            view.now += draw.choice([0.0, 1.0, 4.0])
        elif step == "push" and todo:
            task = todo.pop(0)
            choice = plain.choose(task)
            assert scheduler.choose(task) == choice
            scheduler.commit(task, choice)
            plain.commit(task, choice)
        elif step == "pop" and w not in fetched:
            task = plain.pop(w)
            assert scheduler.pop(w) == task
            if task is not None:
                fetched[w] = task
        elif step == "start" and w in fetched and w not in running:
            running[w] = fetched.pop(w)
            scheduler.started(running[w], w)
            plain.started(running[w], w)
        elif step == "end" and w in running:
            scheduler.finished(running[w], w)
            plain.finished(running.pop(w), w)
        assert scheduler._exp_len == plain.len
        assert scheduler._pipeline_len == plain.pipe
