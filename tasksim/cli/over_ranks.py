"""Commands that MPI ranks run together, with their grid and their errors.

A command line is checked before the ranks meet. A rank that finds an error still goes to the first
meeting point, so that no other rank waits for it. Rank 0 reports the errors, each once; an error of
a single rank is reported with its number.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError, TasksimError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["agreed_error", "ending_together", "grid_of"]

COLLECTIVE_COMMANDS = ("run", "autotune")
"""Commands that all ranks run together."""
COLLECTIVE_MEASUREMENTS = (("calibrate", "network"), ("measure", "collective"))
"""Measurements that all ranks run together, by their first two words; each rank runs others by
itself."""


def agreed_error(error: BaseException, arguments: Sequence[str]) -> BaseException:
    """Return the error to report for *error*, after a meeting with the other ranks.

    Only rank 0 returns from the meeting; other ranks exit with its code.

    Parameters
    ----------
    error : BaseException
        Error that ended the command with *arguments*.
    arguments : sequence of str
        Arguments of the command line.

    Returns
    -------
    BaseException
        The error of all ranks; *error* itself if this rank meets no others, or has met them.
    """
    if not isinstance(error, click.UsageError | InputError) or not _will_meet(arguments):
        return error
    from tasksim.native.cluster.ranks import world

    text = error.format_message() if isinstance(error, click.UsageError) else str(error)
    try:
        ranks = world("a command over ranks")
    except InputError:
        return error  # no rank can meet the others: each reports its own error
    try:
        ranks.together(lambda: _fail(text))
    except InputError as common:
        # The same text comes from all ranks: the error itself also has its exit code and usage.
        return error if str(common) == text else common
    return error


def _will_meet(arguments: Sequence[str]) -> bool:
    """Return whether this rank will meet others, and has not done so yet."""
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] not in ([name] for name in COLLECTIVE_COMMANDS) and (
        tuple(words[:2]) not in COLLECTIVE_MEASUREMENTS
    ):
        return False
    from tasksim.native.cluster.launch import launched_ranks

    return launched_ranks() > 1 and "mpi4py.MPI" not in sys.modules


def _fail(text: str) -> None:
    raise InputError(text)


def grid_of(text: str | None, ranks: int) -> NodeGrid:
    """Return the grid in *text*, ``2x3``; by default a nearly square one.

    >>> grid_of("2x3", 6)
    NodeGrid(rows=2, columns=3)
    """
    from tasksim.graph.distribution.owners import NodeGrid, nearly_square

    if text is None:
        return nearly_square(ranks)
    grid = NodeGrid.parse(text)
    if grid is None:
        raise InputError(f"--grid {text}; legal: ROWSxCOLUMNS of ranks, such as 2x3")
    return grid


@contextmanager
def ending_together(ranks: Ranks) -> Iterator[None]:
    """Let the ranks leave the block together, after rank 0.

    A :exc:`TasksimError` comes from rank 0, or from
    :meth:`~tasksim.native.cluster.ranks.Ranks.together` on all ranks; a rank without the error
    exits with its code. Any other error ends all ranks at once.
    """
    from tasksim.native.cluster.launch import end_all

    problem: TasksimError | None = None
    try:
        yield
    except TasksimError as error:
        problem = error
    except Exception as error:
        end_all(f"rank {ranks.rank}: {type(error).__name__}: {error}")
    code = ranks.comm.bcast(0 if problem is None else problem.exit_code)
    if problem is not None:
        raise problem
    if code:
        raise SystemExit(code)
