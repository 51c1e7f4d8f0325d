"""How well does a recording of an OpenMP program explain its own run, and one on more threads?

    python benchmarks/openmp.py                           # some minutes, on a calm machine
    python benchmarks/openmp.py --rounds 5 --programs fib,lu
    python benchmarks/openmp.py --sizes coarse            # larger tasks
    python benchmarks/openmp.py --sizes other             # sizes between
    python benchmarks/openmp.py --costs                   # half a minute

The programs of ``examples/openmp`` are compiled and recorded in rounds: each on one thread and on
two, one right after the other, which is a pair. A pair is calm if two conditions hold, of which
neither looks at the time that is judged:

- *references*, short pieces of work before and after it, took at most 6 % longer than ever:
  products of matrices on one core and on both, and copies of memory (the gate of ``--calm``, which
  waits for such moments, too). No clock of the program tells how fast a core was: on a virtual
  machine, whose cores compute for neighbours, too, the same program may take twice as much
  processor time from one second to the next;
- its threads had a core nearly all the time, by their processor clocks.

A program without a calm pair has the figures of all its pairs, and does not count in the summary.
Libomp is told not to yield the core after each task (``KMP_USE_YIELD=0``), which on a machine that
others use is given to them. Printed, as medians over the calm pairs with the worst in brackets:

- *itself*: the replay of a recording on its own threads over its makespan;
- *spread*: how far makespans of calm recordings on two threads are from their median: half of them
  are closer than the first figure, all than the second;
- *1 for 2*: what the recording on one thread predicts for two, over its neighbour on two;
- *tasks*: how many times as long the same tasks took on two threads, which share caches and memory;
- *creation*: by how much longer the creation of all tasks took: on one thread, the runtime executes
  each at once, and puts it in no queue;
- *start*: how long the second thread took to start, which one thread does not know of;
- *with all*: the prediction with work that much longer, and half of the start;
- *costs*: what recordings on one thread predict for two with the runtime's costs, as
  ``tasksim calibrate openmp`` measures them, without any of these programs: the medians of three
  measurements before, between and after the rounds; and the same for all pairs, calm or not;
- *fastest*: the shortest of these predictions over the shortest makespan on two threads, of all
  pairs, calm or not: neighbours only make runs longer, so the shortest of many has the least of it.

Then the costs of recording: processor time per task of 50 us, and once per program.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim import Platform, simulate
from tasksim.base.errors import InputError
from tasksim.native.calm_moments import Probe, ProbedGate
from tasksim.platform.costs import Overheads
from tasksim.recording.openmp.openmp_recording import PreparedProgram
from tasksim.recording.openmp.pieces import Role
from tasksim.recording.openmp.program import run_program
from tasksim.recording.openmp.runtime import find_program, find_recorder
from tasksim.recording.openmp.runtime_costs import measure_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.recording.openmp.openmp_recording import OpenMPRecording

EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples" / "openmp"
ARGUMENTS: Final = {
    "cholesky.c": "10 40", "lu.c": "8 40", "qr.c": "7 32", "sparselu.c": "10 32",
    "strassen.c": "256 2", "sort.c": "120000 1500", "fib.c": "31 19", "nqueens.c": "10 3",
    "stencil.c": "16 12 12000", "health.c": "6 3 4", "taskloop.cpp": "120 12000",
    "pipeline.f90": "150 8",
}  # fmt: skip
"""Sizes for which a run takes some milliseconds: so short ones are calm at times on any machine."""
COARSE_ARGUMENTS: Final = {
    "cholesky.c": "10 100", "lu.c": "7 90", "qr.c": "7 80", "sparselu.c": "10 90",
    "strassen.c": "512 2", "sort.c": "1200000 15000", "fib.c": "37 26", "nqueens.c": "12 3",
    "stencil.c": "16 12 120000", "taskloop.cpp": "120 120000",
}  # fmt: skip
"""Sizes for which tasks take 0.1 ms and more, and runs 20 to 100 ms; the other programs have small
tasks only."""
OTHER_ARGUMENTS: Final = {
    "cholesky.c": "14 36", "lu.c": "10 60", "qr.c": "9 40", "sparselu.c": "13 40",
    "strassen.c": "192 2", "sort.c": "300000 4000", "fib.c": "32 20", "nqueens.c": "11 4",
    "stencil.c": "12 25 30000", "health.c": "7 3 4", "taskloop.cpp": "100 24000",
    "pipeline.f90": "250 6",
}  # fmt: skip
"""Sizes between these two, for which a run takes 2 to 15 ms."""
ARGUMENTS_BY_SIZE: Final = {"fine": ARGUMENTS, "coarse": COARSE_ARGUMENTS, "other": OTHER_ARGUMENTS}
COMPILERS: Final = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}
MAX_OFF_CORE: Final = 0.02
"""Share of the threads' time without a core up to which a recording is calm."""
START_S: Final = 4e-4
"""Longest start of a thread that is calm, in seconds: the median of calm ones is .3 ms."""
START_KERNEL: Final = "thread start"
COPIED_BYTES: Final = 64 * 2**20
"""Size of the memory that a reference copies: beyond all caches."""
COPY_COUNT: Final = 3
MAX_WAIT_S: Final = 2.0
"""Longest wait for a calm moment before a pair, in seconds: a busy machine gives pairs, too."""
TASKS_OF_50_US: Final = """
#include <stdlib.h>
int main(int count, char **values)
{
    int tasks = atoi(values[1]), turns = atoi(values[2]);
    volatile double sum = 0;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < tasks; ++t) {
#pragma omp task firstprivate(t)
        {
            double x = t;
            for (int i = 0; i < turns; ++i) x = x * 0.999 + 1;
            if (x < 0) sum = x;
        }
    }
    return 0;
}
"""


class Pair(NamedTuple):
    """A recording of a program on one thread and one on two, made right after each other.

    Attributes
    ----------
    slowed : float
        Time of the slowest reference before and after the pair, over its shortest ever.
    """

    one: OpenMPRecording
    two: OpenMPRecording
    slowed: float

    @property
    def had_cores(self) -> bool:
        """Whether the threads of both had a core nearly all the time."""
        return all(
            len(each.run.workers) == threads and off_core(each) < MAX_OFF_CORE
            for threads, each in enumerate((self.one, self.two), 1)
        )


class References:
    """Pieces of work whose time tells how fast the machine is; a call returns a ratio, 1 or more.

    It is the largest of the pieces' times over their shortest so far.
    """

    def __init__(self) -> None:
        self._source = np.random.default_rng(0).random(COPIED_BYTES // 8)
        self._target = np.empty_like(self._source)
        self._pieces = (Probe(1), Probe(2), self._copy_s)
        self._shortest_s = [float("inf")] * len(self._pieces)

    def __call__(self) -> float:
        """Return the largest ratio of a piece's time now to its shortest time so far."""
        took_s = [piece() for piece in self._pieces]
        self._shortest_s = list(map(min, self._shortest_s, took_s))
        return max(now_s / least_s for now_s, least_s in zip(took_s, self._shortest_s, strict=True))

    def _copy_s(self) -> float:
        times = []
        for _ in range(COPY_COUNT):
            begun = time.perf_counter()
            np.copyto(self._target, self._source)
            times.append(time.perf_counter() - begun)
        return statistics.median(times)


class Row(NamedTuple):
    """Figures of a program; errors as shares."""

    name: str
    tasks: int
    calm: int
    pairs: int
    real_s: float
    one: list[float]
    two: list[float]
    spread: list[float]
    predicted: float
    longer: float
    creation_s: float
    start_s: float
    with_all: float
    with_costs: float
    with_costs_of_all: float
    fastest: float


HEADER: Final = (
    f"{'':13} {'tasks':>5} {'calm':>7} {'2 threads':>10} {'itself, 1':>17} {'itself, 2':>17} "
    f"{'spread':>15} {'1 for 2':>8} {'tasks':>6} {'creation':>9} {'start':>7} {'with all':>8} "
    f"{'costs':>7} {'all pairs':>9} {'fastest':>8}"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--sizes", choices=list(ARGUMENTS_BY_SIZE), default="fine", help="default fine"
    )
    parser.add_argument("--costs", action="store_true", help="only the costs of recording")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tasksim-benchmark-") as folder:
        if not given.costs:
            chosen = given.programs.split(",") if given.programs else None
            programs = {
                Path(name).stem: PreparedProgram(
                    compiled(EXAMPLES / name, Path(folder)), sizes.split()
                )
                for name, sizes in ARGUMENTS_BY_SIZE[given.sizes].items()
                if chosen is None or Path(name).stem in chosen
            }
            report(programs, given.rounds, given.patience)
        costs(Path(folder))
    return 0


def argument_parser(documentation: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of measurements in rounds."""
    parser = argparse.ArgumentParser(description=(documentation or "").partition("\n")[0])
    parser.add_argument("--programs", default="", help="some of them, by comma; default: all")
    parser.add_argument("--rounds", type=int, default=25, help="pairs of each, default 25")
    parser.add_argument(
        "--patience", type=float, default=300.0, help="seconds for all rounds, default 300"
    )
    return parser


def report(programs: dict[str, PreparedProgram], rounds: int, patience_s: float) -> None:
    """Record the programs in rounds, and print what recordings on one thread predict for two."""
    os.environ["KMP_USE_YIELD"] = "0"
    print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores")
    measured, gate, pairs = [measure_runtime().overheads], ProbedGate(References()), {}
    until = time.monotonic() + patience_s
    for part in (rounds - rounds // 2, rounds // 2):
        for name, found in recorded_pairs(programs, gate, part, until).items():
            pairs.setdefault(name, []).extend(found)
        measured.append(measure_runtime().overheads)
    for each in measured:
        print("costs of the runtime:", ", ".join(f"{k} {1e9 * s:.0f} ns" for k, s in charged(each)))
    print(HEADER)
    rows = []
    for name, found in pairs.items():
        rows.append(row_of(name, found, gate, typical_of(measured)))
        print(line(rows[-1]), flush=True)
    summary([row for row in rows if row.calm] or rows)
    every = [pair for found in pairs.values() for pair in found]
    quartiles = [100 * (q - 1) for q in statistics.quantiles([p.slowed for p in every], n=4)]
    print(
        f"{sum(gate.is_calm(pair.slowed) for pair in every)} of {len(every)} pairs beside calm "
        f"references (quartiles {', '.join(f'{q:+.0f} %' for q in quartiles)} of the excess); "
        f"in {sum(pair.had_cores for pair in every)} pairs the threads had cores"
    )


def charged(overheads: Overheads) -> list[tuple[str, float]]:
    """Return the costs that are not zero, by name."""
    found = [(each.name, getattr(overheads, each.name)) for each in fields(overheads)]
    return [(name.removesuffix("_s"), seconds) for name, seconds in found if seconds]


def typical_of(measured: Sequence[Overheads]) -> Overheads:
    """Return the median of each cost."""
    return Overheads(
        *(
            statistics.median(getattr(each, cost.name) for each in measured)
            for cost in fields(Overheads)
        )
    )


def compiled(source: Path, folder: Path) -> Path:
    """Compile an example; return the program."""
    target = folder / source.stem
    command = [COMPILERS[source.suffix], "-g", "-O2", "-fopenmp", str(source), "-o", str(target)]
    subprocess.run([*command, "-lm"], check=True)
    return target


def recorded_pairs(
    programs: dict[str, PreparedProgram],
    gate: ProbedGate[tuple[OpenMPRecording, OpenMPRecording]],
    rounds: int,
    until: float,
) -> dict[str, list[Pair]]:
    """Return pairs of recordings of each program, at least one of each, until a time is over."""
    found: dict[str, list[Pair]] = {name: [] for name in programs}
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:

        def record(name: str, threads: int) -> OpenMPRecording:
            os.environ["OMP_NUM_THREADS"] = str(threads)
            return programs[name].record(stdout=nowhere)

        def pair(name: str, is_reversed: bool) -> tuple[OpenMPRecording, OpenMPRecording]:
            made = {n: record(name, n) for n in ((2, 1) if is_reversed else (1, 2))}
            return made[1], made[2]

        for number in range(rounds):
            for name, pairs in found.items():
                if number and time.monotonic() > until:
                    return found
                latest = min(until, time.monotonic() + MAX_WAIT_S)
                made, slowed = gate.during(partial(pair, name, bool(number % 2)), latest)
                pairs.append(Pair(*made, slowed))
    return found


def off_core(recording: OpenMPRecording) -> float:
    """Return the share of the threads' time without a core; of starts, what is longer than calm."""
    pieces = recording._pieces
    assert pieces is not None
    started, lost_ns = pieces.role != Role.START, 0
    for thread in np.unique(pieces.thread):
        mine = np.flatnonzero((pieces.thread == thread) & started)
        order = mine[np.lexsort((pieces.end_ns[mine], pieces.start_ns[mine]))]
        wall_ns = pieces.end_ns[order[-1]] - pieces.start_ns[order[0]]
        clock = pieces.clock_ns[order[-1]] + pieces.cpu_ns[order[-1]] - pieces.clock_ns[order[0]]
        lost_ns += max(int(wall_ns - clock), 0)
    late_s = max(start_s(recording) - START_S, 0.0)
    return (1e-9 * lost_ns + late_s) / (len(recording.run.workers) * recording.run.makespan_s)


def start_s(recording: OpenMPRecording) -> float:
    """Return how long threads took to start."""
    run = recording.run
    starts = np.array([name == START_KERNEL for name in run.kernel_names])[run.tasks.kernel]
    return float(run.tasks.duration_s[starts].sum())


def busy_s(recording: OpenMPRecording) -> tuple[float, float]:
    """Return the time of all threads in tasks, and that between two creations."""
    run, creation_s = recording.run, recording.account.creation_s
    return float(run.tasks.duration_s.sum()) - start_s(recording) - creation_s, creation_s


def row_of(
    name: str,
    pairs: Sequence[Pair],
    gate: ProbedGate[tuple[OpenMPRecording, OpenMPRecording]],
    overheads: Overheads,
) -> Row:
    """Return the figures of a program: of the calm pairs, or of all if none is calm."""
    is_calm = [gate.is_calm(pair.slowed) and pair.had_cores for pair in pairs]
    calm = [pair for pair, chosen in zip(pairs, is_calm, strict=True) if chosen] or pairs
    one, two = [pair.one for pair in calm], [pair.two for pair in calm]
    real_s = statistics.median(recording.run.makespan_s for recording in two)
    (tasks_1, creation_1), (tasks_2, creation_2) = (
        map(statistics.median, zip(*map(busy_s, recordings), strict=True))
        for recordings in (one, two)
    )
    late_s = statistics.median(map(start_s, two))
    longer = (tasks_2 + creation_2) / (tasks_1 + creation_1)
    team = replace(Platform.identical(2), overheads=overheads)

    def costed_s(pair: Pair) -> float:
        return simulate(
            pair.one.run, team, scheduler="libomp", durations="measured"
        ).makespan_s  # fmt: skip

    teams = [pair for pair in pairs if len(pair.two.run.workers) == 2]
    predicted_s = {id(pair): costed_s(pair) for pair in [*calm, *teams]}

    def error(pair: Pair) -> float:
        return predicted_s[id(pair)] / pair.two.run.makespan_s - 1

    alone_s = [each.simulate(2).makespan_s for each in one]
    return Row(
        name,
        one[0].tasks,
        sum(is_calm),
        len(pairs),
        real_s,
        [each.simulate().makespan_s / each.run.makespan_s - 1 for each in one],
        [each.simulate().makespan_s / each.run.makespan_s - 1 for each in two],
        [each.run.makespan_s / real_s - 1 for each in two],
        statistics.median(
            s / each.run.makespan_s - 1 for s, each in zip(alone_s, two, strict=True)
        ),
        tasks_2 / tasks_1,
        creation_2 - creation_1,
        late_s,
        (statistics.median(alone_s) * longer + late_s / 2) / real_s - 1,
        statistics.median(map(error, calm)),
        statistics.median(map(error, teams)),
        min(predicted_s[id(pair)] for pair in teams)
        / min(pair.two.run.makespan_s for pair in teams)
        - 1,
    )


def line(row: Row) -> str:
    """Return a line of the table."""

    def shown(errors: list[float]) -> str:
        worst = max(errors, key=abs)
        return f"{statistics.median(errors):+7.2%} ({worst:+7.2%})"

    return (
        f"{row.name:13} {row.tasks:5} {row.calm:3}/{row.pairs:3} {1e3 * row.real_s:7.2f} ms "
        f"{shown(row.one)} {shown(row.two)} "
        f"{typical(row.spread):6.1%} ({max(map(abs, row.spread)):6.1%}) "
        f"{row.predicted:+8.1%} {row.longer:6.2f} "
        f"{1e6 * row.creation_s:6.0f} us {1e6 * row.start_s:4.0f} us {row.with_all:+8.1%} "
        f"{row.with_costs:+7.1%} {row.with_costs_of_all:+9.1%} {row.fastest:+8.1%}"
    )


def typical(errors: list[float]) -> float:
    """Return the median of the absolute errors."""
    return statistics.median(map(abs, errors))


def summary(rows: list[Row]) -> None:
    """Print medians and worst of all programs."""
    columns = {
        "itself, 1": [abs(statistics.median(row.one)) for row in rows],
        "itself, 2": [abs(statistics.median(row.two)) for row in rows],
        "spread": [typical(row.spread) for row in rows],
        "1 for 2": [abs(row.predicted) for row in rows],
        "with all": [abs(row.with_all) for row in rows],
        "costs": [abs(row.with_costs) for row in rows],
        "all pairs": [abs(row.with_costs_of_all) for row in rows],
        "fastest": [abs(row.fastest) for row in rows],
    }
    calm, pairs = sum(row.calm for row in rows), sum(row.pairs for row in rows)
    print(f"{calm} of {pairs} pairs of {len(rows)} programs are calm")
    for name, errors in columns.items():
        median, worst = 100 * statistics.median(errors), 100 * max(errors)
        print(f"{name:10} median {median:.2f} %, worst {worst:.2f} %")


def costs(folder: Path) -> None:
    """Print what recording costs: the least processor time of some runs with and without it.

    What becomes of the records after the program's end is no part of it.
    """
    source = folder / "tasks.c"
    source.write_text(TASKS_OF_50_US)
    program = compiled(source, folder)
    os.environ["OMP_NUM_THREADS"] = "1"
    found, recorder = find_program(program), find_recorder()
    if found is None or found.runtime is None:
        raise InputError(f"{program}: no libomp in the place of libgomp")
    (folder / "libgomp.so.1").symlink_to(found.runtime)
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    tasks, turns = 4000, "40000"

    def recorded(count: int) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as records:
            run_program(found, [str(count), turns], recorder, Path(records))

    def alone(count: int) -> None:
        subprocess.run([program, str(count), turns], env=environment, check=True)

    def least_s(count: int) -> tuple[float, float]:
        took = [(processor_s(alone, count), processor_s(recorded, count)) for _ in range(15)]
        return min(pair[0] for pair in took), min(pair[1] for pair in took)

    start_s, whole_s = least_s(1), least_s(tasks)
    alone_s, recorded_s = (whole_s[k] - start_s[k] for k in (0, 1))
    more = 100 * (recorded_s / alone_s - 1)
    print(
        f"recording: {1e6 * alone_s / tasks:.1f} us of processor time per task, with it "
        f"{1e6 * (recorded_s - alone_s) / tasks:+.2f} us ({more:+.1f} %), and "
        f"{1e3 * (start_s[1] - start_s[0]):.1f} ms once"
    )


def processor_s(action: Callable[[int], None], count: int) -> float:
    """Return the processor time of the child processes of *action*."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    action(count)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
