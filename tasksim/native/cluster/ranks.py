"""Ranks: the processes of one run over MPI, and how they agree before it begins.

What goes wrong on one rank before the run is raised on all of them, where all can still end in
good order; only rank 0 says it.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.versions import version_of
from tasksim.native.cluster.launch import launched_rank, launched_ranks
from tasksim.native.cores import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

NAP_S: Final = 200e-6
"""How long a rank that waits for others sleeps between two looks: MPI never sleeps, and takes
the core of whoever is still computing."""

__all__ = ["Ranks", "refuse_unequal", "world"]


class Ranks:
    """The ranks of a communicator of MPI, as this one of them sees them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        All of them.

    Attributes
    ----------
    rank, size : int
        Which this is, and how many there are.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()

    @cached_property
    def cores(self) -> list[int]:
        """The cores that ranks of this machine may use, when they were looked at first."""
        return usable_cores()

    @cached_property
    def here(self) -> tuple[int, int]:
        """Which this is among the ranks of this machine, and how many of them there are."""
        from mpi4py import MPI

        local = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
        found = local.Get_rank(), local.Get_size()
        local.Free()
        return found

    def wait_for_all(self) -> None:
        """Wait until all ranks have come here, and leave the cores to those that have not."""
        request = self.comm.Ibarrier()
        while not request.Test():
            time.sleep(NAP_S)

    def together(self, make: Callable[[], T]) -> T:
        """Return what *make* returns, when no rank has failed; else all ranks raise.

        Rank 0 raises the first error, whose message names the rank if not all have the same; the
        others end with its exit code, silently.
        """
        made: T | None = None
        mine: tuple[str, int] | None = None
        try:
            made = make()
        except TasksimError as error:
            mine = str(error), error.exit_code
        all_errors: list[tuple[str, int] | None] = self.comm.allgather(mine)
        first = next((rank for rank, error in enumerate(all_errors) if error), None)
        if first is None:
            return made  # type: ignore[return-value]  # nobody has failed: neither has this one
        text, code = all_errors[first] or ("", 1)
        if self.rank:
            raise SystemExit(code)
        message = text if len(set(all_errors)) == 1 else f"rank {first}: {text}"
        raise InputError(message) if code == InputError.exit_code else TasksimError(message)


def world(what: str) -> Ranks:
    """Return all ranks of this launch, which all have the same version of tasksim.

    Raises :exc:`InputError` if mpi4py is not installed; *what* needs it.
    """
    try:
        from mpi4py import MPI
    except ImportError as error:
        if launched_rank():
            raise SystemExit(InputError.exit_code) from None
        raise InputError(
            f"{what} needs mpi4py, which cannot be imported ({error}); "
            "install it with: pip install 'tasksim[mpi]'"
        ) from None
    ranks = Ranks(MPI.COMM_WORLD)
    launched = launched_ranks()
    if launched != ranks.size:
        raise InputError(
            f"mpiexec has started {launched} ranks, but mpi4py sees {ranks.size}: they are of "
            "different MPIs; use the mpiexec of the MPI that mpi4py was built for"
        )
    versions = ranks.comm.allgather(version_of("tasksim"))
    ranks.together(lambda: refuse_unequal(versions))
    return ranks


def refuse_unequal(versions: Sequence[str | None]) -> None:
    """Raise :exc:`InputError` unless all ranks have the same of these *versions* of tasksim."""
    usual = Counter(versions).most_common(1)[0][0]
    others = [
        f"rank {rank} has {version}" for rank, version in enumerate(versions) if version != usual
    ]
    if others:
        raise InputError(
            f"tasksim is not the same on all ranks: {', '.join(others)}, the others {usual}; "
            "they would cut the graph differently"
        )
