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

    from tasksim.graph.distribution.owners import Grid
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["agreed", "ending_together", "grid_of"]

TOGETHER = ("run", "autotune")
"""Commands that meet the other ranks whenever there are any."""
PAIRS = (("calibrate", "network"), ("measure", "collective"))
"""Pairs of words of measurements over ranks; other measurements run on each rank by itself."""


def agreed(error: BaseException, arguments: Sequence[str]) -> BaseException:
    """Return rank 0's error for an *error* of this rank; other ranks exit with its code.

    Parameters
    ----------
    error : BaseException
        Error that ended the command with *arguments*.
    arguments : sequence of str
        Arguments of the command line.

    Returns
    -------
    BaseException
        *error* itself, unless this rank has yet to meet others.
    """
    if not isinstance(error, click.UsageError | InputError) or not _to_be_met(arguments):
        return error
    from tasksim.native.cluster.ranks import world

    text = error.format_message() if isinstance(error, click.UsageError) else str(error)
    try:
        ranks = world("a command over ranks")
    except InputError:
        return error  # no rank can meet the others: each reports its own error
    try:
        ranks.together(lambda: _fail(text))
    except InputError as told:
        return error if str(told) == text else told
    return error


def _to_be_met(arguments: Sequence[str]) -> bool:
    """Return whether this rank will meet others, and has not done so yet."""
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] not in ([name] for name in TOGETHER) and tuple(words[:2]) not in PAIRS:
        return False
    from tasksim.native.cluster.launch import launched_ranks

    return launched_ranks() > 1 and "mpi4py.MPI" not in sys.modules


def _fail(text: str) -> None:
    raise InputError(text)


def grid_of(text: str | None, ranks: int) -> Grid:
    """Return the grid in *text*, ``2x3``; by default a nearly square one.

    >>> grid_of("2x3", 6)
    Grid(rows=2, columns=3)
    """
    from tasksim.graph.distribution.owners import Grid, nearly_square

    if text is None:
        return nearly_square(ranks)
    grid = Grid.parse(text)
    if grid is None:
        raise InputError(f"--grid {text}; legal: ROWSxCOLUMNS of ranks, such as 2x3")
    return grid


@contextmanager
def ending_together(ranks: Ranks) -> Iterator[None]:
    """Let the ranks leave the block together, after rank 0.

    A :exc:`TasksimError` is rank 0's, or one of
    :meth:`~tasksim.native.cluster.ranks.Ranks.together`, which all ranks have: ranks without it end
    with its exit code. Any other error ends all ranks at once.
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
