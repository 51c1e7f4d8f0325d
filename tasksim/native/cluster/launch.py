"""Launch of ranks: what is known before MPI is, who watches over a rank, how all are ended.

``mpiexec`` ends all ranks when one of them dies, and says so at length, but not which it was. So
each rank is watched by the process that mpiexec has started: it forks before anything is imported,
and the child is the rank. When that is killed, the watcher says which rank it was, and asks
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

SIZES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PALS_SIZE")
"""Where launchers say how many ranks there are: MPICH and its kin, Open MPI, Cray."""
RANKS: Final = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID")

PATIENCE_S: Final = 2.0
"""How long a rank that has asked for the end of all waits for it: mpiexec takes milliseconds."""

HEARD_S: Final = 0.2
"""How long mpiexec has to read what a rank says before it is asked to end all: then it reads no
more, and what it has not read is lost."""

_DEATH_OF_PARENT: Final = 1
"""``PR_SET_PDEATHSIG`` of Linux: the signal that a process gets when its parent ends."""


def launched_ranks() -> int:
    """Return how many ranks the launcher says that there are; 1 if there is none."""
    return _number(SIZES, 1)


def launched_rank() -> int:
    """Return which of them this is, 0 if there is no launcher."""
    return _number(RANKS, 0)


def _number(names: tuple[str, ...], otherwise: int) -> int:
    said = next((os.environ[name] for name in names if name in os.environ), "")
    return int(said) if said.isdecimal() else otherwise


def watch_over_rank() -> None:
    """Go on in a child process, if this is one of several ranks; this one waits for its end.

    To be called before there are threads.
    """
    if launched_ranks() == 1 or not hasattr(os, "fork"):
        return
    parent, child = os.getpid(), os.fork()
    if child == 0:
        die_with(parent)
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda signum, _: _pass_on(child, signum))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        name = signal.Signals(-code).name
        end_all(f"rank {launched_rank()}: its process was killed ({name})")
    os._exit(code)


def die_with(parent: int) -> None:
    """Let this process be killed when *parent* ends, as mpiexec kills only what it has started."""
    with suppress(OSError, AttributeError):  # another system than Linux
        ctypes.CDLL(None).prctl(_DEATH_OF_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _pass_on(child: int, signum: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, signum)


def end_all(message: str) -> NoReturn:
    """Print *message*, and end all ranks with exit code 1, at once."""
    sys.stdout.flush()
    sys.stderr.write(f"Error: {message}\n")
    stop_all(1)


def stop_all(code: int) -> NoReturn:
    """End all ranks with exit code *code*, at once, when what was printed has been read."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    time.sleep(HEARD_S)
    if "PMI_FD" in os.environ:  # as MPI_Abort does, but that has something to say itself
        with suppress(OSError, ValueError):
            os.write(int(os.environ["PMI_FD"]), f"cmd=abort exitcode={code}\n".encode())
            time.sleep(PATIENCE_S)
    if (mpi := sys.modules.get("mpi4py.MPI")) is not None and mpi.Is_initialized():
        mpi.COMM_WORLD.Abort(code)
    os._exit(code)
