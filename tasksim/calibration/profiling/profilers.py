"""Profilers of any program: Callgrind, which counts instructions, and perf, which samples."""

from __future__ import annotations

import re
import resource
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, TasksimError, unknown
from tasksim.base.units import duration_text
from tasksim.calibration.profiling.functions import FunctionProfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["PROFILE_SOURCES", "Profiled", "parse_callgrind", "parse_perf", "profile_program"]

PROFILE_SOURCES: Final = ("auto", "callgrind", "perf")
SAMPLES_PER_S: Final = 997
"""Samples per second: a prime, so that they do not keep step with what programs repeat."""
PERF_EVENTS: Final = ("cycles:u", "cpu-clock:u")
"""Events that perf samples by: the processor's, or else the system's clock."""
CALLGRIND_SLOWDOWN: Final = 50
"""Usual ratio of a program's time under Callgrind to that by itself, by Valgrind's manual."""
NAME: Final = re.compile(r"\((\d+)\)(?: (.*))?$")
"""Name in a file of Callgrind, which is written once, and later only its number."""


@dataclass(frozen=True)
class Profiled:
    """A profile, and what it cost.

    Attributes
    ----------
    profile : FunctionProfile
    source : str
        ``"callgrind"``, or ``"perf"`` with its event.
    seconds : float
        Processor time of the program and its profiler.
    alone_s : float or None
        Processor time of the program by itself; None if it was not run.
    exit_code : int
        Exit code of the profiled program.
    """

    profile: FunctionProfile
    source: str
    seconds: float
    alone_s: float | None
    exit_code: int

    @property
    def overhead(self) -> float | None:
        """Share of processor time that profiling adds; None if it is unknown."""
        return None if not self.alone_s else self.seconds / self.alone_s - 1.0


def profile_program(
    command: Sequence[str],
    source: str = "auto",
    *,
    alone: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Profiled:
    """Run *command* under a profiler, with all processes that it starts; return its profile.

    Parameters
    ----------
    command
        A program and its arguments; it may be ``mpiexec``.
    source
        ``"perf"`` samples the functions that run, with little overhead; ``"callgrind"`` counts
        the instructions of each in a simulated processor, exactly and some fifty times slower;
        ``"auto"`` is perf where it may sample, else Callgrind.
    alone
        Whether the program is also run by itself, for the overhead.
    tell
        Called with what begins: a run of the program, or the reading of its profile. If the time of
        a run by itself is known, that under Callgrind is estimated.

    Raises
    ------
    InputError
        If the program is not found, or the source unknown.
    TasksimError
        If the profiler is not available, or it recorded nothing.
    """
    if source not in PROFILE_SOURCES:
        raise unknown("source", source, PROFILE_SOURCES)
    if not command:
        raise InputError("no program to profile; give it with its arguments")
    if shutil.which(command[0]) is None:
        raise InputError(f"{command[0]}: no such program")
    event = _event() if source in ("auto", "perf") else None
    if source == "perf" and event is None:
        raise TasksimError(
            "--source perf: perf is not there or may not sample here; install it, or allow it: "
            "'sysctl kernel.perf_event_paranoid=2'; --source callgrind needs Valgrind alone"
        )
    text = shlex.join(command)
    alone_s = None
    about = f", some {CALLGRIND_SLOWDOWN} times as long as by itself"
    if alone:
        tell(f"running {text} by itself")
        begun = time.monotonic()
        alone_s = _run(command)[1]
        about = f", about {duration_text(CALLGRIND_SLOWDOWN * (time.monotonic() - begun))}"
    with TemporaryDirectory(prefix="tasksim-") as name:
        folder = Path(name)
        if event is not None:
            tell(f"running {text} under perf")
            code, seconds, costs, counted = _by_perf(command, folder, event, tell)
            unit, told = "samples", f"perf ({counted})"
        else:
            tell(f"running {text} under callgrind{about}")
            code, seconds, costs = _by_callgrind(command, folder, tell)
            unit, told = "instructions", "callgrind"
    if not costs:
        raise TasksimError(
            f"{text}: {told} recorded nothing; exit code {code}. A program that ends within a "
            "millisecond is too short for samples"
        )
    ordered = dict(sorted(costs.items(), key=lambda pair: (-pair[1], pair[0])))
    return Profiled(FunctionProfile(text, unit, ordered), told, seconds, alone_s, code)


def _run(command: Sequence[str]) -> tuple[int, float]:
    """Run *command*, whose output goes to the standard error; return exit code and CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(command, stdout=2, check=False).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _event() -> str | None:
    """Return the event that perf may sample by; None if there is none."""
    perf = shutil.which("perf")
    if perf is None:
        return None
    for event in PERF_EVENTS:
        words = [perf, "record", "-q", "-e", event, "-o", "-", "--", "true"]
        done = subprocess.run(words, capture_output=True, check=False)
        if done.returncode == 0:
            return event
    return None


FunctionCosts = dict[tuple[str, str], float]


SAMPLED_EVENT: Final = re.compile(r"^# Samples: .* of event '([^']+)'$", re.MULTILINE)
"""Event in a report of perf, which takes the clock where the processor counts no cycles."""


def _by_perf(
    command: Sequence[str], folder: Path, event: str, tell: Callable[[str], None]
) -> tuple[int, float, FunctionCosts, str]:
    """Return exit code, processor time, samples by function, and the event."""
    data = str(folder / "perf.data")
    words = ["perf", "record", "-q", "-e", event, "-F", str(SAMPLES_PER_S), "-o", data, "--"]
    code, seconds = _run([*words, *command])
    tell("reading the samples")
    report = ["perf", "report", "-i", data, "--stdio", "--no-children", "--percent-limit", "0",
              "-F", "sample,dso,sym", "-t", "|"]  # fmt: skip
    done = subprocess.run(report, capture_output=True, text=True, check=False)
    counted = SAMPLED_EVENT.search(done.stdout)
    named = event if counted is None else counted[1]
    return code, seconds, parse_perf(done.stdout.splitlines()), named


def parse_perf(lines: Iterable[str]) -> FunctionCosts:
    """Return samples by function of what ``perf report -F sample,dso,sym -t '|'`` prints.

    >>> parse_perf(["# a comment", " 188        |t.out        |[.] solve", ""])
    {('solve', 't.out'): 188.0}
    """
    costs: FunctionCosts = {}
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("#") or len(cells) != 3 or not cells[0].isdecimal():
            continue
        name = cells[2].partition("] ")[2] or cells[2]
        costs[name, cells[1]] = costs.get((name, cells[1]), 0.0) + float(cells[0])
    return costs


def _by_callgrind(
    command: Sequence[str], folder: Path, tell: Callable[[str], None]
) -> tuple[int, float, FunctionCosts]:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise TasksimError(
            "--source callgrind: Valgrind was not found; install it (Debian: apt install valgrind)"
        )
    words = [valgrind, "--tool=callgrind", "--quiet", "--trace-children=yes",
             f"--callgrind-out-file={folder}/counts.%p"]  # fmt: skip
    code, seconds = _run([*words, *command])
    tell("reading the counts")
    costs: FunctionCosts = {}
    for path in sorted(folder.glob("counts.*")):
        for name, cost in parse_callgrind(path.read_text().splitlines()).items():
            costs[name] = costs.get(name, 0.0) + cost
    return code, seconds, costs


def parse_callgrind(lines: Iterable[str]) -> FunctionCosts:
    """Return the instructions of each function, without those that it calls, of Callgrind's file.

    >>> parse_callgrind(["events: Ir", "ob=(1) /tmp/a.out", "fn=(2) main", "3 5", "cfn=(4) f",
    ...                  "calls=1 9", "4 100", "+1 2", "fn=(4)", "9 100"])
    {('main', 'a.out'): 7.0, ('f', 'a.out'): 100.0}
    """
    names: dict[tuple[str, str], str] = {}
    costs: FunctionCosts = {}
    place = function = ""
    inclusive = False
    for line in lines:
        key, equals, text = line.partition("=")
        if equals and key in ("ob", "fn", "cfn", "cob"):
            found = _named(names, key[-2:], text)
            if key == "ob":
                place = Path(found).name
            elif key == "fn":
                function = found
        elif key == "calls":
            inclusive = True  # the next line is what the called function takes
        elif line[:1].isdecimal() or line[:1] in ("+", "-", "*"):
            cells = line.split()
            if not inclusive and len(cells) > 1:
                costs[function, place] = costs.get((function, place), 0.0) + float(cells[1])
            inclusive = False
    return costs


def _named(names: dict[tuple[str, str], str], kind: str, text: str) -> str:
    """Return a name, which a number may stand for."""
    found = NAME.fullmatch(text)
    if found is None:
        return text
    if found[2] is not None:
        names[kind, found[1]] = found[2]
    return names.get((kind, found[1]), "?")
