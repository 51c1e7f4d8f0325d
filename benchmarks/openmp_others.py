"""How well are OpenMP programs that others wrote explained and predicted by their recordings?

    python benchmarks/openmp_others.py --bots FOLDER --kastors FOLDER      # two minutes

The folders are the Barcelona OpenMP Tasks Suite (https://github.com/bsc-pm/bots) and KaStORS
(https://gitlab.inria.fr/openmp/kastors), each compiled as its own documentation says, with GCC;
their programs are in ``bin``. What is done and printed is described in ``benchmarks/openmp.py``.
Of BOTS, some are left out: floorplan, a branch and bound whose tasks depend on what other threads
have found; uts and the variants without cut-off, which have millions of tasks; and concom and
knapsack, which the suite's Makefile does not build.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmp import argument_parser, report

from tasksim.recording.openmp.openmp_recording import PreparedProgram

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

BOTS_PROGRAMS: Final = {
    "alignment": "alignment.gcc.single-omp-tasks -f inputs/alignment/prot.20.aa",
    "alignment-for": "alignment.gcc.for-omp-tasks -f inputs/alignment/prot.20.aa",
    "fft": "fft.gcc.omp-tasks -n 131072",
    "fib": "fib.gcc.omp-tasks-manual -n 40 -x 8",
    "health": "health.gcc.omp-tasks-manual -f inputs/health/test.input",
    "nqueens": "nqueens.gcc.omp-tasks-manual -n 11 -x 3",
    "sort": "sort.gcc.omp-tasks -n 600000",
    "sparselu": "sparselu.gcc.single-omp-tasks -n 20 -m 40",
    "sparselu-for": "sparselu.gcc.for-omp-tasks -n 20 -m 40",
    "strassen": "strassen.gcc.omp-tasks-manual -n 512",
}
KASTORS_PROGRAMS: Final = {
    "dpotrf": "dpotrf -n 1024 -b 128 -i 1",
    "dgetrf": "dgetrf -n 1024 -b 128 -i 1",
    "dgeqrf": "dgeqrf -n 768 -b 128 -ib 32 -i 1",
    "jacobi-block": "jacobi-block-task-dep -n 1024 -b 128 -r 10 -i 1",
    "jacobi": "jacobi-task-dep -n 512 -b 64 -r 4 -i 1",
    "k-sparselu": "sparselu-task-dep -n 20 -m 40 -i 1",
    "k-strassen": "strassen-task-dep -n 512 -s 64 -d 3 -i 1",
}
"""Command lines, from the folder; each takes up to half a second."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--bots", type=Path, help="folder of BOTS")
    parser.add_argument("--kastors", type=Path, help="folder of KaStORS")
    given = parser.parse_args(arguments)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    report(dict(programs(given)), given.rounds, given.patience)
    return 0


def programs(given: argparse.Namespace) -> Iterator[tuple[str, PreparedProgram]]:
    """Yield the chosen programs by name."""
    chosen = given.programs.split(",") if given.programs else None
    for folder, lines in ((given.bots, BOTS_PROGRAMS), (given.kastors, KASTORS_PROGRAMS)):
        for name, words in lines.items() if folder else ():
            if chosen is None or name in chosen:
                program, *rest = words.split()
                paths = [str(folder / w) if w.startswith("inputs/") else w for w in rest]
                yield name, PreparedProgram(folder / "bin" / program, paths)


if __name__ == "__main__":
    sys.exit(main())
