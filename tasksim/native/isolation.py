"""Isolation of a native run in a child process that a kernel may crash.

A C kernel that writes out of bounds kills its process. Here that is a child process; a board in
shared memory tells the parent which tasks were running.
"""

from __future__ import annotations

import mmap
import multiprocessing
import signal
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tasksim.base.errors import InputError, TaskFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from tasksim.base.arrays import Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program, Residual
    from tasksim.platform.description import Platform

__all__ = ["BoardedProgram", "isolated", "new_board"]

T = TypeVar("T")

NO_TASK = -1
"""Entry of a worker without a running task on the board."""


def new_board(workers: int) -> Ints:
    """Return an array shared with child processes, for the running task of each worker."""
    board = np.frombuffer(mmap.mmap(-1, 8 * workers), dtype=np.int64)
    board[:] = NO_TASK
    return board


class BoardedProgram:
    """A program that writes the running task of each worker on a *board*.

    All tasks run in Python, also those that the core could call directly: otherwise the board
    would miss them.
    """

    def __init__(self, program: Program, board: Ints) -> None:
        self.graph = program.graph
        self.kernels_by_clock: frozenset[str] = getattr(program, "kernels_by_clock", frozenset())
        self._program = program
        self._board = board

    def run(self, task: int, worker: int) -> None:
        """Execute *task*."""
        self._board[worker] = task
        self._program.run(task, worker)
        self._board[worker] = NO_TASK

    def reset(self) -> None:
        """Restore the initial data."""
        self._program.reset()

    def check(self) -> Residual | None:
        """Return the residual of the result of all tasks."""
        return self._program.check()


def isolated(function: Callable[[], T], graph: TaskGraph, platform: Platform, board: Ints) -> T:
    """Call *function* in a child process; return its result or raise its error here.

    Raises
    ------
    TaskFailed
        If the process ends early; with the signal and the running tasks.
    InputError
        If this system cannot fork a process.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise InputError("isolate: this system cannot fork a process; run without it")
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(function, theirs))
    child.start()
    theirs.close()
    try:
        told, answer = ours.recv()
    except EOFError:
        child.join()
        raise TaskFailed(_ended(child.exitcode, graph, platform, board)) from None
    except BaseException:
        child.kill()
        raise
    finally:
        ours.close()
        child.join()
    if not told:
        raise answer
    result: T = answer
    return result


def _answer(function: Callable[[], Any], connection: Connection) -> None:
    """Send the result or the error of *function*."""
    try:
        answer = True, function()
    except Exception as error:
        # Tracebacks and chained errors may not survive pickling.
        error.__traceback__ = error.__cause__ = error.__context__ = None
        answer = False, error
    connection.send(answer)


def _ended(code: int | None, graph: TaskGraph, platform: Platform, board: Ints) -> str:
    """Return a message on how the process ended and which tasks were running."""
    number = -(code or 0)
    how = f"signal {number}, {signal.strsignal(number)}" if number > 0 else f"exit code {code}"
    at = [
        f"{graph.label(int(task))} on worker {worker.name}"
        for task, worker in zip(board, platform.workers, strict=True)
        if task != NO_TASK
    ]
    return f"the process of the run ended ({how}); running: {'; '.join(at) or 'no task'}"
