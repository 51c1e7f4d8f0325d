"""Losses of choices by the simulator, and by learners, in real runs of this machine.

    python benchmarks/tuning.py                 all of it: 12 minutes on a quiet machine
    python benchmarks/tuning.py --patience 1    9 minutes, with more runs that others disturbed
    python benchmarks/tuning.py --seed 1        other sizes of loops than the usual ones
    python benchmarks/tuning.py --loops         chunk sizes of loops alone
    python benchmarks/tuning.py --quick         a minute
    python benchmarks/tuning.py -o tuning.json  all that was measured

Tile sizes and schedulers of Cholesky, LU and QR, group sizes of the FMM, chunk sizes of five
operations over vectors and matrices, on one and on all cores: every choice is simulated, and
really run, interleaved with the others. MSOP: the mean performance of what was chosen, as a share
of the best. Learners are taught by 300 further loops of other sizes, which are only run. "Half of
the runs" is what the best of half of them keeps in the other half: what it lacks is noise. Exit
code 3 if the simulator's MSOP of tile sizes, schedulers and group sizes is below .97, or that of
chunk sizes (or the tree's) below .95, equal share's or the best constant's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.cli.tune_report import FEW_EXAMPLES, TRAINING_LOOPS, text_of
from tasksim.native.calm_moments import run_gate
from tasksim.native.this_machine import usable_cores
from tasksim.tuning.native_answers import MeasurementEffort, answer, run_examples
from tasksim.tuning.native_questions import (
    graph_questions,
    loop_questions,
    teaching_questions,
)
from tasksim.tuning.native_report import report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.tuning.native_report import NativeReport

GRAPHS, LOOPS = 0.97, 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--patience", type=float, default=5.0, help="seconds, per question")
    parser.add_argument("--seed", type=int, help="draws the sizes of loops")
    parser.add_argument("--loops", action="store_true", help="chunk sizes of loops alone")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    workers, begun = len(usable_cores()), time.monotonic()
    graphs = [] if given.loops else graph_questions(workers, quick=given.quick)
    loops = loop_questions(workers, quick=given.quick, seed=given.seed)
    teaching = teaching_questions(workers, FEW_EXAMPLES if given.quick else TRAINING_LOOPS, loops)
    effort = MeasurementEffort(given.repetitions, 2.0 if given.quick else 3.0, given.patience)
    answers = list(answer([*graphs, *loops], effort, gate=run_gate, progress=told))
    found = report(answers, list(run_examples(teaching, given.repetitions, progress=told)))
    if given.output is not None:
        given.output.write_text(json.dumps(found.to_json(), indent=1) + "\n")
    print("\n".join(text_of(found)))
    runs = sum(len(one.measured_s) for one in answers) * given.repetitions
    disturbed = sum(one.disturbed for one in answers)
    print(f"\n{time.monotonic() - begun:.0f} s; {disturbed} of {runs} runs disturbed by others")
    missed = list(missing(found))
    for line in missed:
        print(line)
    sys.exit(3 if missed else 0)


def told(what: str, share: float) -> None:
    print(f"{100 * share:3.0f} %  {what}", file=sys.stderr)


def missing(found: NativeReport) -> Iterator[str]:
    for name, score in found.tunables.items():
        if name != "chunk size" and score.msop < GRAPHS:
            yield f"{name}: MSOP {score.msop:.3f}, wanted {GRAPHS}"
    scores = found.splits["shuffled"]
    for name in ("tree", "simulator"):
        others = max(scores["equal-share"].msop, scores["constant"].msop)
        if scores[name].msop < max(LOOPS, others):
            yield (
                f"{name}: MSOP {scores[name].msop:.3f}, wanted {LOOPS}, and more than equal share"
                f" and the best constant, {others:.3f}"
            )


if __name__ == "__main__":
    main()
