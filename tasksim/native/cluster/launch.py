"""Launch of ranks, their supervision, and the end of all ranks after a failure.

``mpiexec`` ends all ranks when one of them dies, with a long message that does not name the rank.
So the process that mpiexec started watches over its rank: it forks before anything is imported, and
the child is the rank. If the child is killed, the watcher reports which rank it was and asks
mpiexec to end the others.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Final, NoReturn

__all__ = ["die_with", "end_all", "launched_rank", "launched_ranks", "stop_all", "watch_over_rank"]

SIZE_VARIABLES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PALS_SIZE")
"""Variables with the number of ranks: of MPICH and its relatives, Open MPI, Cray."""
RANK_VARIABLES: Final = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID")

ABORT_PATIENCE_S: Final = 2.0
"""Time for which a rank that requested the end of all ranks waits for it, in seconds: mpiexec takes
milliseconds."""

OUTPUT_PATIENCE_S: Final = 0.2
"""Time for mpiexec to read the output of a rank before the request to end all ranks, in seconds:
output that it has not read by then is lost."""

_DEATH_OF_PARENT: Final = 1
"""``PR_SET_PDEATHSIG`` of Linux: sets the signal that a process gets when its parent ends."""


def launched_ranks() -> int:
    """Return the number of ranks according to the launcher; 1 without a launcher."""
    return _number(SIZE_VARIABLES, 1)


def launched_rank() -> int:
    """Return the number of this rank; 0 without a launcher."""
    return _number(RANK_VARIABLES, 0)


def _number(names: tuple[str, ...], otherwise: int) -> int:
    said = next((os.environ[name] for name in names if name in os.environ), "")
    return int(said) if said.isdecimal() else otherwise


def watch_over_rank() -> None:
    """Fork if this is one of several ranks: the child continues, this process waits for its end.

    Call this before any thread is started.
    """
    if launched_ranks() == 1 or not hasattr(os, "fork"):
        return
    parent, child = os.getpid(), os.fork()
    if child == 0:
        die_with(parent)
        return

    def pass_on(signum: int, _: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, signum)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        name = signal.Signals(-code).name
        end_all(f"rank {launched_rank()}: its process was killed ({name})")
    os._exit(code)


def die_with(parent: int) -> None:
    """Have this process killed when *parent* ends: mpiexec kills only processes that it started."""
    with suppress(OSError, AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_DEATH_OF_PARENT, signal.SIGKILL)
    # The parent may have ended before prctl took effect.
    if os.getppid() != parent:
        os._exit(1)


def end_all(message: str) -> NoReturn:
    """Print *message* and end all ranks at once with exit code 1."""
    sys.stdout.flush()
    sys.stderr.write(f"Error: {message}\n")
    stop_all(1)


def stop_all(code: int) -> NoReturn:
    """End all ranks at once with exit code *code*, after their output was read."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    time.sleep(OUTPUT_PATIENCE_S)
    if "PMI_FD" in os.environ:  # like MPI_Abort, which prints a message of its own
        with suppress(OSError, ValueError):
            os.write(int(os.environ["PMI_FD"]), f"cmd=abort exitcode={code}\n".encode())
            time.sleep(ABORT_PATIENCE_S)
    if (mpi := sys.modules.get("mpi4py.MPI")) is not None and mpi.Is_initialized():
        mpi.COMM_WORLD.Abort(code)
    os._exit(code)
