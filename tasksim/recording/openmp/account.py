"""Account of the time of the threads in an OpenMP recording."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasksim.platform.description import Overheads
from tasksim.recording.openmp.history import INTERRUPTED_NS
from tasksim.recording.openmp.pieces import Phase, Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.recording.openmp.pieces import Pieces
    from tasksim.run.record import Run

__all__ = ["TeamAccount", "account_of", "costs_of"]


@dataclass(frozen=True)
class TeamAccount:
    """Time of all threads together, in seconds; the parts add up to threads times makespan.

    Attributes
    ----------
    busy_s : float
        Time in tasks, and in the program around them.
    creation_s : float
        Between two creations by one task: the runtime's calls, and what the program does there.
    runtime_s : float
        On a core, without a task although some were ready: the runtime looked for one.
    waiting_s : float
        Without a core, asleep or being started, although tasks were ready.
    idle_s : float
        Without a task as none was ready.
    critical_path_s : float
        Longest chain of pieces: a lower bound for any number of threads.
    threads : int
    makespan_s : float
    """

    busy_s: float
    creation_s: float
    runtime_s: float
    waiting_s: float
    idle_s: float
    critical_path_s: float
    threads: int
    makespan_s: float

    def summary(self) -> str:
        """Return the account in a line."""
        whole_s = self.threads * self.makespan_s
        parts = {
            "busy": self.busy_s,
            "creation": self.creation_s,
            "runtime": self.runtime_s,
            "waiting": self.waiting_s,
            "idle": self.idle_s,
        }
        shares = ", ".join(
            f"{name} {100 * seconds / whole_s if whole_s else 0.0:.1f} %"
            for name, seconds in parts.items()
        )
        return f"time of {self.threads} threads: {shares}"

    def to_json(self) -> dict[str, float]:
        """Return the fields as plain data."""
        return asdict(self)


def account_of(run: Run, pieces: Pieces) -> TeamAccount:
    """Return the account of a *run* of *pieces*; events occupy no thread."""
    own = pieces.role != Role.EVENT
    duration_s = np.where(own, run.tasks.duration_s, 0.0)
    threads = len(np.unique(pieces.thread[own]))
    creating = pieces.creates & (pieces.phase == Phase.CREATED)
    creation_s = float(duration_s[creating].sum())
    starting_s = float(duration_s[pieces.role == Role.START].sum())
    idle_s = threads * run.makespan_s - float(duration_s.sum())
    gaps = _gaps(pieces, run)
    ready, start = run.tasks.ready_s[own], run.tasks.start_s[own]
    whole_s = _shared(gaps.begin_s, gaps.end_s, ready, start)
    runtime_s = _shared(gaps.begin_s, gaps.end_s - gaps.away_s, ready, start)
    return TeamAccount(
        busy_s=float(duration_s.sum()) - creation_s - starting_s,
        creation_s=creation_s,
        runtime_s=runtime_s,
        waiting_s=whole_s - runtime_s + starting_s,
        idle_s=max(idle_s - whole_s, 0.0),
        critical_path_s=(run.bounds or {}).get("critical_path_s", 0.0),
        threads=threads,
        makespan_s=run.makespan_s,
    )


def costs_of(run: Run, pieces: Pieces) -> Overheads:
    """Return the runtime's costs in replays: per task that is fetched, thread that wakes or starts.

    A piece that was ready when its thread had done the task before was fetched: the mean of these
    times is charged, per piece. A piece that goes on with a task without a wait costs nothing. A
    piece that became ready while its thread searched was noticed after the median of these times.

    Both are of gaps in which the thread kept its core, if there are any. A thread that lost it
    notices nothing until another program's time slice is over, and if a thread of the team loses
    its core with a lock of the runtime, the others spin for milliseconds: neither is a cost of the
    runtime.
    """
    gaps = _gaps(pieces, run)
    ready_s = run.tasks.ready_s[gaps.piece]
    missed_s = gaps.end_s - np.maximum(gaps.begin_s, ready_s)
    lost_s = np.maximum(missed_s - gaps.away_s, 0.0)
    is_fetch, kept_core = ready_s <= gaps.begin_s, gaps.away_s <= 1e-9 * INTERRUPTED_NS
    is_wakeup = ~is_fetch & kept_core
    is_typical = is_fetch & kept_core if (is_fetch & kept_core).any() else is_fetch
    fetching_s = float(lost_s[is_typical].mean()) * int(is_fetch.sum()) if is_fetch.any() else 0.0
    fetches = len(pieces) - (0 if run.graph is None else int(run.graph.goes_on_at_once.sum()))
    starts = pieces.role == Role.START
    return Overheads(
        start_s=float(np.median(run.tasks.duration_s[starts])) if starts.any() else 0.0,
        task_s=fetching_s / max(fetches, 1),
        wakeup_s=float(np.median(lost_s[is_wakeup])) if is_wakeup.any() else 0.0,
    )


class _Gaps(NamedTuple):
    """Times of threads without a piece.

    Attributes
    ----------
    begin_s, end_s
    away_s
        Time without a core, which is assumed to end the gap: with a core, the thread would have
        noticed a piece that was ready at once.
    piece
        Piece that ends it.
    """

    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    away_s: NDArray[np.float64]
    piece: NDArray[np.int64]


def _gaps(pieces: Pieces, run: Run) -> _Gaps:
    """Return the times of threads between two pieces, and before their first.

    A thread that has not come to a piece yet is being started.
    """
    order = np.lexsort((pieces.end_ns, pieces.start_ns, pieces.thread))
    order = order[pieces.role[order] != Role.EVENT]
    thread = pieces.thread[order]
    start, end = run.tasks.start_s[order], run.tasks.end_s[order]
    clock, clock_end = pieces.clock_ns[order], (pieces.clock_ns + pieces.cpu_ns)[order]
    there = (thread[1:] == thread[:-1]) & (start[1:] > end[:-1])
    begin, until, piece = end[:-1][there], start[1:][there], order[1:][there]
    cpu_s = 1e-9 * (clock[1:] - clock_end[:-1])[there]
    away_s = np.clip(until - begin - cpu_s, 0.0, until - begin)
    late = np.append(True, thread[1:] != thread[:-1]) & (start > 0.0)
    return _Gaps(
        np.append(begin, np.zeros(int(late.sum()))),
        np.append(until, start[late]),
        np.append(away_s, start[late]),
        np.append(piece, order[late]),
    )


def _shared(
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    ready: NDArray[np.float64],
    start: NDArray[np.float64],
) -> float:
    """Return the integral over time of the lesser of two numbers.

    That of the threads without a piece, each from *begin* to *end*; and that of the tasks that are
    *ready* and have not started.
    """
    times = np.concatenate([begin, end, ready, start])
    thread, task = np.ones(len(begin)), np.ones(len(ready))
    idle = np.concatenate([thread, -thread, 0 * task, 0 * task])
    waiting = np.concatenate([0 * thread, 0 * thread, task, -task])
    order = np.argsort(times, kind="stable")
    lesser = np.minimum(np.cumsum(idle[order]), np.cumsum(waiting[order]))[:-1]
    return float(np.maximum(lesser, 0.0) @ np.diff(times[order]))
