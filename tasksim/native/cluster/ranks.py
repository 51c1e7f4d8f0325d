"""Ranks of one run over MPI, and their agreement on errors and actions.

An error on one rank before the run is raised on all ranks, so that all of them end in an orderly
way; only rank 0 reports it. Where the order of collective actions depends on what happens
(:class:`Leading`), rank 0 alone decides: no decision depends on values that differ between ranks,
such as clocks. Waiting ranks sleep between polls and leave the cores to others, also to probes of
the machine's load.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.versions import version_of
from tasksim.native.cluster.launch import launched_rank, launched_ranks
from tasksim.native.cluster.mpi_library import loaded_mpi
from tasksim.native.this_machine import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Leading", "Ranks", "agreed_probe", "refuse_unequal", "world"]


T = TypeVar("T")

NAP_S: Final = 200e-6
"""Sleep between two polls of a waiting rank, in seconds: MPI itself never sleeps, and takes the
core of a rank that still computes."""


class Ranks:
    """The ranks of an MPI communicator, seen from one of them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.

    Attributes
    ----------
    rank, size : int
        Number of this rank, and number of ranks.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()

    @cached_property
    def cores(self) -> list[int]:
        """Cores that ranks of this machine may use, read at the first access."""
        return usable_cores()

    @cached_property
    def here(self) -> tuple[int, int]:
        """Index of this rank among those of its machine, and their number."""
        from mpi4py import MPI

        local = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
        found = local.Get_rank(), local.Get_size()
        local.Free()
        return found

    def wait_for_all(self) -> None:
        """Wait until all ranks are here; leave the cores to the others meanwhile."""
        request = self.comm.Ibarrier()
        while not request.Test():
            time.sleep(NAP_S)

    def together(self, make: Callable[[], T]) -> T:
        """Return the result of *make* if it succeeds on all ranks; otherwise raise on all.

        Rank 0 raises the first error; its message names the rank unless all ranks have the same
        error. The other ranks exit silently with its exit code.
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
            return made  # type: ignore[return-value]  # no rank failed, so this one has a result
        text, code = all_errors[first] or ("", 1)
        if self.rank:
            raise SystemExit(code)
        message = text if len(set(all_errors)) == 1 else f"rank {first}: {text}"
        raise InputError(message) if code == InputError.exit_code else TasksimError(message)


def world(what: str) -> Ranks:
    """Return all ranks of this launch, after a check that their versions of tasksim agree.

    Raise :exc:`InputError` if mpi4py is not installed; *what* names the feature that needs it. Rank
    0 warns if mpi4py has loaded another MPI than that of the environment.
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
            f"mpiexec started {launched} ranks, but mpi4py sees {ranks.size}: they belong to "
            f"different MPIs; use the mpiexec of the MPI that mpi4py has loaded, {loaded_mpi()}"
        )
    versions = ranks.comm.allgather(version_of("tasksim"))
    ranks.together(lambda: refuse_unequal(versions))
    if ranks.rank == 0 and (told := loaded_mpi().warning()) is not None:
        warnings.warn(told, stacklevel=2)
    return ranks


def refuse_unequal(versions: Sequence[str | None]) -> None:
    """Raise :exc:`InputError` unless all *versions* of tasksim on the ranks are equal."""
    usual = Counter(versions).most_common(1)[0][0]
    others = [
        f"rank {rank} has {version}" for rank, version in enumerate(versions) if version != usual
    ]
    if others:
        raise InputError(
            f"ranks have different versions of tasksim: {', '.join(others)}, the others {usual}; "
            "they would cut the graph differently"
        )


FOLLOWER_POLL_S: Final = 1e-3
"""Sleep between two polls of a waiting rank, in seconds: some thousandths of a core."""


class Leading(Generic[T]):
    """Collective actions that rank 0 starts.

    Parameters
    ----------
    ranks : Ranks
    actions : sequence of callables
        The same actions on all ranks.
    """

    def __init__(self, ranks: Ranks, actions: Sequence[Callable[[], T]]) -> None:
        self._ranks, self._actions = ranks, actions

    def do(self, action: int) -> T:
        """Run the action with number *action* on all ranks; called on rank 0."""
        self._say(action + 1)
        return self._actions[action]()

    def end(self) -> None:
        """Release the other ranks from :meth:`follow`; called on rank 0."""
        self._say(0)

    def follow(self) -> None:
        """Run the actions that rank 0 chooses until it ends; called on the other ranks."""
        word = np.zeros(1, np.int64)
        while True:
            request = self._ranks.comm.Irecv(word, 0)
            while not request.Test():
                time.sleep(FOLLOWER_POLL_S)
            if not word[0]:
                return
            self._actions[int(word[0]) - 1]()

    def _say(self, word: int) -> None:
        for other in range(1, self._ranks.size):
            self._ranks.comm.Send(np.array([word]), other)


def agreed_probe(ranks: Ranks, probe: Callable[[], float]) -> float:
    """Return the longest *probe*, of one rank per machine; collective."""
    place, _ = ranks.here
    found_s = probe() if place == 0 else 0.0
    ranks.wait_for_all()  # asleep while others probe
    all_s: Any = ranks.comm.allgather(found_s)
    return float(max(all_s))
