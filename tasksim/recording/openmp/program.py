"""OpenMP program under the recorder: started, waited for, and left to end as it likes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError
from tasksim.native.pulse import idle_core_of_any
from tasksim.native.this_machine import is_virtual
from tasksim.recording.openmp.data_map import MAP_VARIABLE
from tasksim.recording.openmp.raw_trace import TRACE_FOLDER, RawTrace
from tasksim.recording.openmp.trace import DATA_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tasksim.recording.openmp.runtime import OpenMPProgram

__all__ = ["ProgramEnd", "run_program"]

_FORWARDED: Final = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
"""Signals that are sent on to the program. Those of the terminal reach it by themselves."""
_OF_TERMINAL: Final = ("SIGINT", "SIGQUIT")
RUNTIME: Final = "runtime"


@dataclass(frozen=True)
class ProgramEnd:
    """End of a program.

    Attributes
    ----------
    exit_code
        Its exit code, or 128 plus the number of the signal that ended it, as in a shell.
    signal_name
        Name of that signal; empty if it ended by itself.
    wall_s
        How long it ran, in seconds.
    """

    exit_code: int
    signal_name: str
    wall_s: float


def run_program(
    program: OpenMPProgram,
    arguments: Sequence[str],
    recorder: Path,
    folder: Path,
    stdout: Any = None,
) -> ProgramEnd:
    """Run a program, and have it recorded in *folder*; return how it ended.

    Input and output are those of this process, or *stdout*.
    """
    trace = folder / TRACE_FOLDER
    trace.mkdir(parents=True)
    raw = RawTrace(folder, program.path.absolute(), tuple(arguments))
    raw.write()
    environment = _environment(program, recorder, folder, trace)
    began_s = time.monotonic()
    command = [str(program.path.absolute()), *arguments]
    with _signals_passed_on() as started:
        try:
            process = subprocess.Popen(
                [str(program.path), *arguments], executable=command[0], env=environment,
                stdout=stdout,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"{program.path}: cannot be run: {error.strerror}") from None
        started(process)
        replace(raw, process=process.pid).write()
        code = process.wait()
    wall_s = time.monotonic() - began_s
    if code >= 0:
        return ProgramEnd(code, "", wall_s)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return ProgramEnd(128 - code, name, wall_s)


def _environment(
    program: OpenMPProgram, recorder: Path, folder: Path, trace: Path
) -> dict[str, str]:
    """Return the environment in which the program finds the runtime, and that the recorder."""
    found = dict(os.environ)
    links = folder / RUNTIME
    links.mkdir()
    # Under a name without the separator of lists of paths.
    tool = links / "recorder.so"
    tool.symlink_to(recorder)
    if program.runtime is not None:
        (links / program.wants).symlink_to(program.runtime)
        search = found.get("LD_LIBRARY_PATH")
        found["LD_LIBRARY_PATH"] = f"{links}:{search}" if search else str(links)
    if program.has_taskloops:
        # The recorder mends a defect of LLVM's runtime: its functions are found before the others.
        preloaded = found.get("LD_PRELOAD")
        found["LD_PRELOAD"] = f"{preloaded}:{tool.name}" if preloaded else tool.name
    others = found.get("OMP_TOOL_LIBRARIES")
    # Only a virtual machine shares its cores with others that no account of its system tells of.
    idle = idle_core_of_any() if is_virtual() else None
    if idle is not None:
        found["TASKSIM_OMPT_IDLE"] = f"{idle.pulse!r} {idle.beat_s!r}"
    found |= {
        "OMP_TOOL": "enabled",
        "OMP_TOOL_LIBRARIES": f"{tool}:{others}" if others else str(tool),
        # Without it, a region in the child of a fork waits for threads that only the parent has.
        # Libraries of Python (scikit-learn) turn it off, in the environment of all their children.
        "KMP_INIT_AT_FORK": "TRUE",
        "TASKSIM_OMPT_FOLDER": str(trace),
        MAP_VARIABLE: str(trace / DATA_FILE),
        "TASKSIM_OMPT_PARENT": str(os.getpid()),
    }
    return found


@contextlib.contextmanager
def _signals_passed_on() -> Iterator[Callable[[subprocess.Popen[Any]], None]]:
    """Have this process survive signals that are the program's, from before that runs.

    Yields a function that takes the process once it has started. Signals that came before that
    wait for it.
    """
    before: dict[int, Any] = {}
    processes: list[subprocess.Popen[Any]] = []
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        if not processes:
            early.append(number)
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    def started(process: subprocess.Popen[Any]) -> None:
        processes.append(process)
        for number in early:
            forward(number, None)

    try:
        for names, action in ((_FORWARDED, forward), (_OF_TERMINAL, lambda *_: None)):
            for name in names:
                number = getattr(signal, name, None)
                if number is not None:
                    before[number] = signal.signal(number, action)
    except ValueError:  # in another thread than the main one, Python refuses
        pass
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
