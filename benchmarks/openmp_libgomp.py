"""How well is a program on GCC's own OpenMP runtime predicted, which nothing can record?

    python benchmarks/openmp_libgomp.py                   # some minutes, on a calm machine
    python benchmarks/openmp_libgomp.py --programs fib,lu --sizes coarse

The programs of ``examples/openmp`` are linked with a function around ``GOMP_parallel``, which tells
how long the parallel regions took by the wall clock. They run, not recorded, on libgomp and on
libomp, on two threads, in turn. Other programs only make runs longer, so the shortest one counts.
Predictions are of the shortest recording on libomp, on one thread, replayed on two under the
scheduler ``libgomp`` and under ``libomp``: with the costs of a team of libomp, which ``tasksim
calibrate openmp`` measures, and without any. Printed:

- the regions on each runtime, and how far runs are apart (the first quartile over the least);
- what is predicted for each, over that;
- the ratio of both runtimes as it is, and as it is predicted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from openmp import ARGUMENTS_BY_SIZE, COMPILERS, EXAMPLES

from tasksim import Platform, simulate
from tasksim.base.errors import InputError
from tasksim.platform.costs import Overheads
from tasksim.recording.openmp.openmp_recording import PreparedProgram
from tasksim.recording.openmp.runtime import find_runtime
from tasksim.recording.openmp.runtime_costs import measure_runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

THREAD_COUNT: Final = "2"
TIMING_SOURCE: Final = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
void __real_GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
static double seconds;
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}
void __wrap_GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    double begun = now();
    __real_GOMP_parallel(body, data, threads, flags);
    seconds += now() - begun;
}
__attribute__((destructor)) static void tell(void)
{
    if (getenv("TIMED")) fprintf(stderr, "%.9f\n", seconds);
}
"""


class Real(NamedTuple):
    """Regions of a program on a runtime, in seconds; and their spread."""

    least_s: float
    spread: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", default="", help="some of them, by comma; default: all")
    parser.add_argument(
        "--sizes", choices=list(ARGUMENTS_BY_SIZE), default="fine", help="default fine"
    )
    parser.add_argument("--runs", type=int, default=40, help="of each, default 40")
    given = parser.parse_args(arguments)
    chosen = given.programs.split(",") if given.programs else None
    os.environ["KMP_USE_YIELD"] = "0"
    measured = measure_runtime()
    print(f"load {os.getloadavg()[0]:.1f}; costs of libomp: {measured.section()}")
    two = Platform.identical(int(THREAD_COUNT))
    teams = (replace(two, overheads=Overheads()), replace(two, overheads=measured.overheads))
    print(f"{'':9} {'libgomp':>15} {'libomp':>15}   libgomp without, with   libomp  ratio is, said")
    errors: list[tuple[float, ...]] = []
    with tempfile.TemporaryDirectory(prefix="tasksim-benchmark-") as folder:
        for name, sizes in ARGUMENTS_BY_SIZE[given.sizes].items():
            stem = Path(name).stem
            if chosen is not None and stem not in chosen:
                continue
            program = timed(EXAMPLES / name, Path(folder))
            gomp, omp = real(program, sizes.split(), given.runs)
            (gomp_free, _), (gomp_costly, omp_costly) = predicted(
                program, sizes.split(), given.runs, teams
            )
            found = (
                gomp_free / gomp.least_s - 1, gomp_costly / gomp.least_s - 1,
                omp_costly / omp.least_s - 1,
                (gomp_costly / omp_costly) / (gomp.least_s / omp.least_s) - 1,
            )  # fmt: skip
            errors.append(found)
            print(
                f"{stem:9} {shown(gomp)} {shown(omp)}   {found[0]:+8.1%} {found[1]:+8.1%} "
                f"{found[2]:+14.1%}  {gomp.least_s / omp.least_s:5.2f} "
                f"{gomp_costly / omp_costly:5.2f}",
                flush=True,
            )
    for number, text in enumerate(("libgomp without", "libgomp with", "libomp with", "ratio")):
        column = [abs(each[number]) for each in errors]
        median, worst = 100 * statistics.median(column), 100 * max(column)
        print(f"{text:16} median {median:.1f} %, worst {worst:.1f} %")
    return 0


def timed(source: Path, folder: Path) -> Path:
    """Compile an example whose regions are timed; return the program."""
    wrapper, target = folder / "timed.c", folder / source.stem
    wrapper.write_text(TIMING_SOURCE, encoding="utf-8")
    subprocess.run(["gcc", "-O2", "-c", str(wrapper), "-o", str(folder / "timed.o")], check=True)
    command = [COMPILERS[source.suffix], "-g", "-O2", "-fopenmp", str(source)]
    wrapped = [str(folder / "timed.o"), "-Wl,--wrap=GOMP_parallel", "-lm"]
    subprocess.run([*command, *wrapped, "-o", str(target)], check=True)
    return target


def real(program: Path, arguments: Sequence[str], runs: int) -> tuple[Real, Real]:
    """Return how long the regions of a program take on libgomp and on libomp."""
    links = program.parent / "libomp"
    links.mkdir(exist_ok=True)
    if not (links / "libgomp.so.1").exists():
        (links / "libgomp.so.1").symlink_to(find_runtime())
    own = os.environ | {"OMP_NUM_THREADS": THREAD_COUNT, "TIMED": "1"}
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for seconds, more in zip(found, ({}, {"LD_LIBRARY_PATH": str(links)}), strict=True):
            done = subprocess.run(
                [program, *arguments], env=own | more, capture_output=True, text=True, check=True
            )
            seconds.append(float(done.stderr.splitlines()[-1]))
    one, other = (
        Real(ordered[0], ordered[runs // 4] / ordered[0]) for ordered in map(sorted, found)
    )
    return one, other


def predicted(
    program: Path, arguments: Sequence[str], runs: int, teams: Sequence[Platform]
) -> list[tuple[float, float]]:
    """Return per platform how long the regions take under libgomp and libomp, on two threads."""
    os.environ["OMP_NUM_THREADS"] = "1"
    prepared = PreparedProgram(program, arguments)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        recordings = [prepared.record(stdout=nowhere) for _ in range(runs)]
    if not all(len(each.run) for each in recordings):
        raise InputError(f"{program}: nothing was recorded")
    recordings.sort(key=lambda each: each.run.makespan_s)
    run = recordings[0].run
    return [
        tuple(  # type: ignore[misc]  # two of them
            simulate(run, team, scheduler=name, durations="alone").makespan_s
            for name in ("libgomp", "libomp")
        )
        for team in teams
    ]


def shown(found: Real) -> str:
    """Return the duration and the spread of a program's regions."""
    return f"{1e3 * found.least_s:7.2f} ms {found.spread - 1:4.0%}"


if __name__ == "__main__":
    sys.exit(main())
