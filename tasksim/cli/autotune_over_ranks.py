"""``mpiexec -n N tasksim autotune``: all ranks try the configurations together, rank 0 tells."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tasksim.base.errors import TasksimError
from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.cli.output import note
from tasksim.cli.run_over_ranks import end_together, grid_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.tuning.autotune import Autotuned
    from tasksim.tuning.one_node import Site
    from tasksim.tuning.over import Candidate
    from tasksim.tuning.selection import Selection

__all__ = ["autotune_over_ranks"]


def autotune_over_ranks(
    asked: Callable[[], Sequence[Candidate]],
    selection: Selection,
    grid: str | None,
    owner: str,
    tuned: Callable[[Sequence[Candidate], Site], Autotuned],
    tell: Callable[[Autotuned], None],
) -> None:
    """Let all ranks try the candidates that are *asked* for; rank 0 tells what it has found."""
    from tasksim.native.cluster.launch import ABORT_PATIENCE_S, end_all, stop_all
    from tasksim.native.cluster.ranks import world
    from tasksim.tuning.over_ranks import OverRanks

    ranks = world("a tuning over ranks")
    some = ranks.together(asked)
    arranged = ranks.together(lambda: grid_of(grid, ranks.size))
    site = OverRanks(some, selection, ranks, arranged, owner)
    problem: TasksimError | None = None
    try:
        if ranks.rank:
            site.follow()
        else:
            found = tuned(some, site)
            tell(found)
            if found.interrupted:
                stop_all(INTERRUPTED_EXIT_CODE)  # others may wait for this one, in MPI
            site.end()
    except TasksimError as error:
        problem = error
        if not ranks.rank:
            site.end()
    except KeyboardInterrupt:
        if not ranks.rank:
            note("interrupted before any configuration was done")
            stop_all(INTERRUPTED_EXIT_CODE)
        time.sleep(ABORT_PATIENCE_S)  # while rank 0 tells what is done
        os._exit(INTERRUPTED_EXIT_CODE)
    except Exception as error:
        end_all(f"rank {ranks.rank}: {type(error).__name__}: {error}")
    end_together(ranks, problem)
