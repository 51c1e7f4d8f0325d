"""Costs of an OpenMP runtime on this machine, measured once: creations, dependences, starts.

A small program is recorded on one thread and on two, in turn. On one thread the runtime executes
each task at once; on two it makes a node of it, finds its dependences, puts it in a queue, and
releases its successors. The differences are what a recording on one thread does not know.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.arguments import whole_number
from tasksim.base.errors import TasksimError
from tasksim.base.units import exact_quantity
from tasksim.calibration.tools import compiled
from tasksim.graph.taskgraph import THREAD_START
from tasksim.native.this_machine import usable_cores
from tasksim.platform.costs import Overheads
from tasksim.recording.openmp.openmp_recording import PreparedProgram
from tasksim.recording.openmp.runtime import find_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.recording.openmp.openmp_recording import OpenMPRecording

__all__ = ["RuntimeCosts", "measure_runtime", "write_runtime"]

PURPOSE: Final = "measuring an OpenMP runtime"
RECORDINGS_PER_KIND: Final = 24
"""Number of recordings of each kind: some are calm even on a machine that others use, as each takes
a millisecond."""
CALM_SHARE: Final = 1 / 3
"""Share of the recordings of a kind that count, the calmest."""
MAX_ROUNDS: Final = 10_000
"""Largest number of rounds, which take an hour."""
DATA_PER_TASK: Final = 3
"""Data of each task in the sweep: one that it writes, two that it reads."""
PROBE_SIZES: Final = {0: 7, DATA_PER_TASK: 3}
"""Depth of the tree, and steps of the sweep: each of some 250 tasks, a millisecond of them, so that
few recordings are interrupted."""
TASK_LOOP_LENGTH: Final = 4000
"""Length of each task's loop: some microseconds, in which the other thread creates a few tasks."""
MAX_LOST_SHARE: Final = 0.1
"""Share of the threads' time without a core beyond which a note tells of it: a start takes less."""
PROGRAM_SOURCE: Final = r"""
#include <cstdlib>
// Functions of OpenMP as GCC calls them: no compiler with OpenMP is needed.
extern "C" {
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned,
               void **, int);
void GOMP_taskwait(void);
int omp_get_thread_num(void);
}
struct Setup { long data, size, turns; };
static Setup setup;
enum { BLOCKS = 10, DEPENDS = 8 };
static double cells[BLOCKS][BLOCKS][8];
static void loop() {
    double x = 1;
    for (long i = setup.turns; i > 0; --i) x = x * 0.999 + 1;
    asm volatile("" : : "g"(&x) : "memory");
}
// A tree of tasks without data, as a recursion makes it.
static void tree(void *given) {
    long below = *(long *)given - 1;
    if (below < 0) return loop();
    for (int child = 0; child < 2; ++child)
        GOMP_task(tree, &below, nullptr, sizeof below, alignof(long), true, 0, nullptr, 0);
    GOMP_taskwait();
}
// One thread creates all tasks. Each writes a block, and reads those above it and to its left.
static void body(void *) { loop(); }
static void sweep() {
    for (long step = 0; step < setup.size; ++step)
        for (int row = 1; row < BLOCKS; ++row)
            for (int column = 1; column < BLOCKS; ++column) {
                void *depend[2 + 3] = {(void *)3, (void *)1, cells[row][column],
                                       cells[row - 1][column], cells[row][column - 1]};
                GOMP_task(body, nullptr, nullptr, 0, 1, true, DEPENDS, depend, 0);
            }
}
static void region(void *) {
    if (omp_get_thread_num()) return;
    if (setup.data) return sweep();
    long depth = setup.size;
    tree(&depth);
}
int main(int, char **words) {
    setup = {atol(words[2]), atol(words[3]), atol(words[4])};
    GOMP_parallel(region, nullptr, (unsigned)atol(words[1]), 0);
    return 0;
}
"""


@dataclass(frozen=True)
class RuntimeCosts:
    """Costs of an OpenMP runtime between two threads.

    Attributes
    ----------
    runtime
        The library.
    overheads
        Costs of a creation and per datum of the created task, on the creating thread; of a task and
        per datum, on the executing one; of a wake-up; of the start of a thread.
    notes
        Remarks on the measurement.
    """

    runtime: Path
    overheads: Overheads
    notes: tuple[str, ...] = ()

    def section(self) -> dict[str, str]:
        """Return the section ``overheads`` of a platform file."""
        cost = self.overheads
        seconds = {
            "creation": cost.creation_s, "dependence": cost.dependence_s, "task": cost.task_s,
            "fetch": cost.fetch_s, "wakeup": cost.wakeup_s, "start": cost.start_s,
        }  # fmt: skip
        return {name: exact_quantity(float(f"{s:.4g}"), "time") for name, s in seconds.items()}


class _Figures(NamedTuple):
    """Costs in seconds that one recording shows, or the medians of several recordings."""

    lost_share: float
    """Share of the threads' time without a core."""
    creation: float
    task: float
    wakeup: float
    start: float


def measure_runtime(
    libomp: Any = None,
    *,
    rounds: int = RECORDINGS_PER_KIND,
    progress: ShareProgress | None = None,
) -> RuntimeCosts:
    """Measure the costs of an OpenMP runtime on this machine.

    Parameters
    ----------
    libomp : str or path, optional
        The runtime; default: that on which programs are recorded.
    rounds : int, default 24
        Number of recordings of each kind; medians of the calmest third count, and the least start,
        as whatever else runs only delays it.
    progress : callable, optional
        Called with the current measurement and the share that is done.

    Raises
    ------
    InputError
        If there is no such runtime, or *rounds* is no such number.
    TasksimError
        If there are fewer than two cores, or no compiler.
    """
    rounds = whole_number(rounds, "rounds", 1, MAX_ROUNDS)
    runtime = find_runtime(libomp)
    if len(usable_cores()) < 2:
        raise TasksimError(f"{PURPOSE} needs two cores; this process may use one")
    with TemporaryDirectory(prefix="tasksim-") as folder:
        program = compiled(
            PROGRAM_SOURCE, Path(folder, "probe"), PURPOSE, linked=(str(runtime), "-pthread")
        )
        found = _measured(program, runtime, rounds, progress)
    starts_s = [each.start for data in PROBE_SIZES for each in found[2, data]]
    calm = {kind: _calmest(each) for kind, each in found.items()}
    alone, beside = (calm[threads, 0] for threads in (1, 2))
    alone_data, beside_data = (calm[threads, DATA_PER_TASK] for threads in (1, 2))
    creation_s = _more(beside, alone, "creation")
    overheads = Overheads(
        creation_s=creation_s,
        dependence_s=max(_more(beside_data, alone_data, "creation") - creation_s, 0.0)
        / DATA_PER_TASK,
        task_s=_median(beside).task,
        fetch_s=_more(beside_data, beside, "task") / DATA_PER_TASK,
        wakeup_s=max(_median(beside).wakeup, _median(beside_data).wakeup),
        start_s=min(starts_s),
    )
    return RuntimeCosts(runtime, overheads, tuple(_notes(beside_data)))


def write_runtime(path: Path, costs: RuntimeCosts) -> dict[str, Any]:
    """Write the costs to the platform file at *path*; its other sections stay.

    Returns the overheads that were there, unless they were those of an OpenMP runtime.
    """
    from tasksim.calibration.write_library import known_sections
    from tasksim.platform.load import dump

    known, comment = known_sections(path, "Written by `tasksim calibrate openmp`.")
    path.parent.mkdir(parents=True, exist_ok=True)
    dump({**known, "overheads": costs.section()}, path, comment=comment)
    before: dict[str, Any] = known.get("overheads") or {}
    return {} if "creation" in before else before


def _measured(
    program: Path,
    runtime: Path,
    rounds: int,
    progress: ShareProgress | None,
) -> dict[tuple[int, int], list[_Figures]]:
    """Return the figures of all recordings, by number of threads and of data."""
    prepared = {
        (threads, data): PreparedProgram(
            program, [str(n) for n in (threads, data, size, TASK_LOOP_LENGTH)], libomp=runtime
        )
        for threads in (1, 2)
        for data, size in PROBE_SIZES.items()
    }
    found: dict[tuple[int, int], list[_Figures]] = {}
    for done in range(rounds):
        for (threads, data), one in prepared.items():
            if progress is not None:
                progress(f"{threads} threads, {data} data", done / rounds)
            recording = one.record()
            if len(recording.run.workers) == threads:
                found.setdefault((threads, data), []).append(_figures(recording))
    if len(found) < len(prepared):
        raise TasksimError(f"{PURPOSE}: the second thread got no task; other programs had the core")
    return found


def _calmest(found: Sequence[_Figures]) -> list[_Figures]:
    return sorted(found)[: math.ceil(CALM_SHARE * len(found))]


def _figures(recording: OpenMPRecording) -> _Figures:
    run, overheads, account = recording.run, recording.platform().overheads, recording.account
    duration_s, cpu_s = run.tasks.duration_s, run.tasks.cpu_s
    starts = np.array([name == THREAD_START for name in run.kernel_names])[run.tasks.kernel]
    lost_s = float((duration_s - cpu_s)[~starts].sum()) + account.waiting_s
    return _Figures(
        lost_s / (account.threads * account.makespan_s),
        account.creation_s / recording.tasks,
        overheads.task_s,
        overheads.wakeup_s,
        float(duration_s[starts].sum()),
    )


def _median(found: Sequence[_Figures]) -> _Figures:
    return _Figures(*map(median, zip(*found, strict=True)))


def _more(several: Sequence[_Figures], few: Sequence[_Figures], what: str) -> float:
    """Return the increase of *what* from the *few* recordings to the *several*, at least 0."""
    more: float = getattr(_median(several), what) - getattr(_median(few), what)
    return max(more, 0.0)


def _notes(found: Sequence[_Figures]) -> Iterator[str]:
    lost = _median(found).lost_share
    if lost > MAX_LOST_SHARE:
        yield (
            f"even in the calmest recordings, threads had no core for {100 * lost:.0f} % of their "
            "time: measure again when other programs use the machine less"
        )
