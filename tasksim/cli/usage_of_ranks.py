"""Usage errors of commands that ranks run together: said once, by rank 0.

What is wrong with a command line is found before the ranks meet. A rank that has found it goes to
where they all meet first, so that none waits for it in vain, and an error of one rank alone is
told with its number.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["agreed"]

TOGETHER = ("run", "autotune")
"""Commands that meet the other ranks whenever there are some."""
NETWORK = ("calibrate", "network")
"""The calibration that does; others measure on each rank by itself."""


def agreed(error: BaseException, arguments: Sequence[str]) -> BaseException:
    """Return what rank 0 says of an *error*; other ranks exit with its code.

    Parameters
    ----------
    error : BaseException
        What ended the command with *arguments*.
    arguments : sequence of str
        Of the command line.

    Returns
    -------
    BaseException
        *error*, where there are no ranks that this one has yet to meet.
    """
    if not isinstance(error, click.UsageError | InputError) or not _to_be_met(arguments):
        return error
    from tasksim.native.cluster.ranks import world

    text = error.format_message() if isinstance(error, click.UsageError) else str(error)
    try:
        ranks = world("a command over ranks")
    except InputError:
        return error  # this rank cannot meet the others, nor can they: each says what it knows
    try:
        ranks.together(lambda: _fail(text))
    except InputError as told:
        return error if str(told) == text else told
    return error


def _to_be_met(arguments: Sequence[str]) -> bool:
    """Return whether there are other ranks, and they will be met, which has not happened yet."""
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] not in ([name] for name in TOGETHER) and tuple(words[:2]) != NETWORK:
        return False
    from tasksim.native.cluster.launch import launched_ranks

    return launched_ranks() > 1 and "mpi4py.MPI" not in sys.modules


def _fail(text: str) -> None:
    raise InputError(text)
