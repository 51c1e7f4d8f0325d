"""Exact and reproducible counts in Valgrind's simulated caches."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, TasksimError
from tasksim.calibration.counters.inside_valgrind import window_library
from tasksim.native.caches import data_caches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from tasksim.native.caches import Cache

__all__ = ["CountsByKernel", "count", "find_valgrind", "unmoved"]

HEADER_FOLDERS: Final = ("/usr/include", "/usr/local/include")
TRIGGER: Final = re.compile(r"^desc: Trigger: Client Request: (.+)$", re.MULTILINE)
EVENTS: Final = re.compile(r"^events: (.+)$", re.MULTILINE)
SUMMARY: Final = re.compile(r"^summary: (.*)$", re.MULTILINE)
MIN_CACHES: Final = 2
"""Number of cache levels that Valgrind simulates: a first and a last one. With three levels, each
of the others is the last one in a run of its own."""

MAX_WAIT_S: Final = 0.2
"""Longest single wait of the main thread, in seconds: Python notices a Ctrl-C just before a wait
only when the wait ends."""

COPY_TUNABLE: Final = "glibc.cpu.x86_rep_movsb_threshold=0x7fffffff"
"""Tunable that makes long copies use vectors: Valgrind counts each byte of a repeating instruction.
"""
NUMBA_VARIABLES: Final = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+bmi,+bmi2,"
    "+f16c,+fma,+lzcnt,+movbe,+cx16,+fxsr,+xsave",
}

INHERITED_VARIABLES: Final = (
    "PATH", "HOME", "LANG", "LC_", "LD_", "TMP", "TEMP", "VIRTUAL_ENV", "XDG_", "TASKSIM_",
    "NUMBA_", "OPENBLAS_", "VALGRIND_", "PYTHONPATH", "PYTHONHOME",
)  # fmt: skip
"""Variables that the process inherits: the size of the environment moves its stack, and libraries
change the environment while a program runs."""

PACKAGE_FOLDER: Final = Path(__file__).parents[3]
"""Folder of this package: the process may have another working folder."""

CountsByKernel = dict[str, dict[str, float]]
"""Label of a window -> counters."""


def find_valgrind() -> str:
    """Return the path of Valgrind.

    Raise :exc:`TasksimError`, with instructions, if it is not installed.
    """
    found = shutil.which("valgrind")
    if found is None:
        raise TasksimError(
            "--source valgrind: Valgrind was not found; install it (Debian: apt install valgrind)"
        )
    if not any(Path(folder, "valgrind/callgrind.h").exists() for folder in HEADER_FOLDERS):
        raise TasksimError(
            f"--source valgrind: {found} has no headers (valgrind/callgrind.h); install them"
        )
    return found


def count(request: Mapping[str, Any]) -> tuple[CountsByKernel, dict[str, Any]]:
    """Return the counters of each window of *request*, and the facts that the process returned.

    :mod:`~tasksim.calibration.counters.inside_valgrind` executes *request*. With three levels of
    caches it is executed twice, once with each of the two further levels as the last; both run at
    once, as counts do not depend on other processes.

    Raises
    ------
    TasksimError
        If Valgrind is not available, or the execution fails under it, with its last message.
    """
    valgrind, caches = find_valgrind(), data_caches()
    if len(caches) < MIN_CACHES:
        raise TasksimError("--source valgrind: the system does not report this machine's caches")
    first, *others = caches
    _prepare(request)
    with ThreadPoolExecutor(len(others)) as pool, _Passes() as under_way:
        futures = [
            pool.submit(_executed, valgrind, first, last, request, under_way) for last in others
        ]
        while wait(futures, MAX_WAIT_S, FIRST_EXCEPTION).not_done and not _failures(futures):
            pass
        answers = [future.result() for future in _failures(futures) or futures]
    passes, told = [events for events, _ in answers], answers[0][1]
    labels = [label for label in passes[0] if label != "nothing"]
    return {label: _levels(label, others, passes) for label in labels}, told


def _failures(futures: list[Future[Any]]) -> list[Future[Any]]:
    return [future for future in futures if future.done() and future.exception() is not None]


class _Passes:
    """Counting processes, killed at once when counting is given up, as on Ctrl-C.

    The pool waits for its threads, and these wait for the processes, possibly for a minute.
    """

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self._over = False
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._lock:
            self._over = True
            for process in self._processes if kind is not None else ():
                process.kill()

    def begun(self, process: subprocess.Popen[str]) -> subprocess.Popen[str]:
        """Return *process* after it was added to the processes that end together."""
        with self._lock:
            self._processes.append(process)
            if self._over:
                process.kill()
        return process


def _levels(
    label: str, others: list[Cache], passes: list[dict[str, dict[str, int]]]
) -> dict[str, float]:
    """Return the counters of a window, less those of an empty window."""
    events = [
        {name: max(0, value - found["nothing"][name]) for name, value in found[label].items()}
        for found in passes
    ]
    accesses = events[0]["Dr"] + events[0]["Dw"]
    reached = [accesses, _misses(events[0], "D1")]
    reached += [min(reached[1], _misses(found, "DL")) for found in events]
    counters = {"instructions": float(events[0]["Ir"])}
    for number, level in enumerate([1, *(other.level for other in others)]):
        counters[f"l{level}_hits"] = float(max(0, reached[number] - reached[number + 1]))
    return {**counters, "memory_accesses": float(reached[-1])}


def _misses(events: Mapping[str, int], which: str) -> int:
    return events[f"{which}mr"] + events[f"{which}mw"]


def _executed(
    valgrind: str, first: Cache, last: Cache, request: Mapping[str, Any], under_way: _Passes
) -> tuple[dict[str, dict[str, int]], dict[str, Any]]:
    """Execute *request* with these two caches; return the events in each window."""
    with TemporaryDirectory(prefix="tasksim-") as name:
        folder = Path(name)
        answer = folder / "answer.json"
        window = window_library(folder / "window.so")
        # Relative names, as the temporary folder differs each time: the length of a process's texts
        # moves its memory, and with it the cache lines.
        asked = {**request, "window": f"./{window.name}", "answer": answer.name}
        done = _python(folder, asked, [
            valgrind, "--tool=callgrind", "--cache-sim=yes", "--instr-atstart=no", "--quiet",
            f"--I1={_option(first)}", f"--D1={_option(first)}", f"--LL={_option(last)}",
            "--callgrind-out-file=counts",
        ], under_way)  # fmt: skip
        if done.returncode or not answer.exists():
            raise _failed(done)
        dumps = sorted(folder.glob("counts*"), key=lambda path: int(path.suffix[1:] or 0))
        found = dict(filter(None, map(_dump, dumps)))
        return found, json.loads(answer.read_text())


def _prepare(request: Mapping[str, Any]) -> None:
    """Execute *request* without Valgrind, so that all code is compiled, also for its processor."""
    with TemporaryDirectory(prefix="tasksim-") as folder, _Passes() as alone:
        done = _python(Path(folder), {**request, "prepare": True}, [], alone)
        if done.returncode:
            raise _failed(done)


def _python(
    folder: Path, request: Mapping[str, Any], under: list[str], under_way: _Passes
) -> subprocess.CompletedProcess[str]:
    """Execute *request* in a process of its own, in *folder*, *under* Valgrind or nothing."""
    (folder / "request.json").write_text(json.dumps({**request, "folder": str(Path.cwd())}))
    command = [
        *unmoved(), *under, sys.executable, "-m", "tasksim.calibration.counters.inside_valgrind",
        "request.json",
    ]  # fmt: skip
    pipe = subprocess.PIPE
    with under_way.begun(
        subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=_environment(), cwd=folder
        )
    ) as process:
        said, complained = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, said, complained)


@cache
def unmoved() -> tuple[str, ...]:
    """Return the command that disables address randomization; empty if there is none.

    Addresses decide which cache line data take. Some containers refuse the command: then counts of
    hits differ by some in 10,000 between runs.
    """
    found = shutil.which("setarch")
    if found is None:
        return ()
    tried = subprocess.run(
        [found, "-R", sys.executable, "-c", ""], capture_output=True, check=False
    )
    return () if tried.returncode else (found, "-R")


def _option(cache: Cache) -> str:
    return ",".join(map(str, cache.geometry()))


def _environment() -> dict[str, str]:
    """Return the environment of the process: one thread, nothing random.

    Valgrind's processor is a Haswell, whatever the real one. Numba's compiler would take minutes
    under Valgrind: it compiles for that processor beforehand (:func:`_prepare`), and the process
    finds the cached code.
    """
    numba = {} if platform.machine() != "x86_64" else NUMBA_VARIABLES
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    found = {
        name: text for name, text in os.environ.items() if name.startswith(INHERITED_VARIABLES)
    }
    places = [str(PACKAGE_FOLDER), str(Path.cwd())]
    places += filter(None, [found.get("PYTHONPATH")])
    python = {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(places)}
    return {**found, **threads, **numba, **python, "GLIBC_TUNABLES": COPY_TUNABLE}


def _failed(done: subprocess.CompletedProcess[str]) -> TasksimError:
    """Return the error of a process under Valgrind, without its traceback."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if not line.startswith(("==", "--"))), "")
    if "SIGILL" in done.stderr or "Unrecognised instruction" in done.stderr:
        return TasksimError(
            "valgrind does not know an instruction of the kernel; with OpenBLAS, set "
            "OPENBLAS_CORETYPE=Haswell"
        )
    kind, _, message = last.partition(": ")
    if kind.endswith("InputError"):
        return InputError(message)
    return TasksimError(f"valgrind failed (exit code {done.returncode}): {last or 'no message'}")


def _dump(path: Path) -> tuple[str, dict[str, int]] | None:
    """Return label and events of a window; None for other files of Callgrind."""
    text = path.read_text()
    label, names, counts = TRIGGER.search(text), EVENTS.search(text), SUMMARY.search(text)
    if label is None or names is None or counts is None:
        return None
    values = [int(value) for value in counts[1].split()]
    events = names[1].split()
    return label[1], dict(zip(events, [*values, *[0] * (len(events) - len(values))], strict=True))
