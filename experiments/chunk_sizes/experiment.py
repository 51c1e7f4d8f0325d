"""Experiment: its settings, steps and exhibits."""

from __future__ import annotations

from typing import Any, Final

from experiments.chunk_sizes import exhibits, measuring
from experiments.frame import Exhibit, Experiment, Headline, Setting, Step

__all__ = ["CHUNK_SIZES"]

OPERATIONS: Final = (
    "vector-add", "matrix-vector", "matrix-add", "matrix-scale", "matrix-add-nt",
    "matrix-multiply",
)  # fmt: skip
"""Operations of the paper's table 2, from which its models learn."""


def _headline(found: Any, _: Any) -> Headline:
    methods = found["judging"]["shuffled"]["methods"]
    return Headline(
        "share of the best performance that the custom decision tree gets (MSOP)",
        "94.8 %",
        f"{100 * methods['tree']['msop']:.1f} %",
    )


CHUNK_SIZES: Final = Experiment(
    name="chunk_sizes",
    title="Chunk sizes of parallel loops, chosen by learners",
    paper=(
        "G. Laberge, S. Shirzad, P. Diehl, H. Kaiser, S. Prudhomme and A. S. Lemoine, "
        '"Scheduling optimization of parallel linear algebra algorithms using supervised '
        'learning" (2019)'
    ),
    question=(
        "A loop over the blocks of a vector or matrix is handed to threads in chunks of some "
        "blocks. Small chunks cost overhead, large ones leave threads without work. Can a learner "
        "choose the chunk size before the loop runs, from the operation, the size and the number "
        "of threads? Operations are run here with chunks of 1 to 10 blocks; a decision tree that "
        "minimises what its choices lose, and other learners, are taught by some of them and "
        "judged by the others. Beside the paper, the same loops are simulated, and self-scheduling "
        "with chunks that shrink is compared."
    ),
    settings=[
        Setting("operations", "Operations that teach and judge.", OPERATIONS, OPERATIONS),
        Setting("sizes", "Sizes per operation, over its range.", 4, 12, least=2),
        Setting("threads", "Numbers of threads.", (1, 2), (1, 2), least=1),
        Setting("chunks", "Chunk sizes to choose from.", tuple(range(1, 11)), tuple(range(1, 11)),
                least=1),
        Setting("repetitions", "Runs of each choice, interleaved.", 3, 9, least=1),
        Setting("run_ms", "About how long a run takes, in milliseconds.", 2.0, 4.0, least=0.01),
        Setting("shown", "Operations of figures 7 to 11.",
                ("vector-add", "matrix-vector", "matrix-add", "matrix-multiply-nt"),
                ("vector-add", "matrix-vector", "matrix-add", "matrix-multiply-nt")),
        Setting("points", "Sizes per operation in figure 11.", 5, 12, least=2),
        Setting("patience_s", "Longest wait for calm moments, per loop, in seconds.", 1.0, 10.0,
                least=0.0),
        Setting("calibration_s", "Calibration of each simulated loop, in seconds.", 2.0, 5.0,
                least=0.1),
        Setting("scheduler", "Scheduler that hands out the chunks.", "eager", "eager"),
    ],
    steps=[
        Step("examples", "operations run with all chunks", measuring.examples, (4, 60)),
        Step("curves", "loops of figures 7 to 10", measuring.curves, (1, 4)),
        Step("judging", "learners taught and judged", measuring.judging, (1, 2)),
        Step("sweep", "sizes of figure 11", measuring.sweep, (2, 15)),
        Step("schedules", "chunks that shrink", measuring.schedules, (1, 6)),
        Step("simulated", "the same loops simulated", measuring.simulated, (1, 4)),
    ],
    exhibits=[
        Exhibit("table-1", "Operations", exhibits.REPORTED["table-1"], exhibits.operations),
        Exhibit("table-2", "Operations that teach", exhibits.REPORTED["table-2"],
                exhibits.teaching),
        Exhibit("table-3", "Block sizes", exhibits.REPORTED["table-3"], exhibits.blocks),
        *(
            Exhibit(f"figure-{7 + index}", f"Performance over chunk size, {place} operation shown",
                    exhibits.REPORTED[f"figure-{7 + index}"], exhibits.curve(index))
            for index, place in enumerate(("first", "second", "third", "fourth"))
        ),
        Exhibit("table-4", "Methods, their MSOP, time of a prediction",
                exhibits.REPORTED["table-4"], exhibits.methods),
        Exhibit("listing-1", "Tree as a C header", exhibits.REPORTED["listing-1"],
                exhibits.listing),
        Exhibit("figure-11", "Old formula, equal share, learned",
                exhibits.REPORTED["figure-11"], exhibits.sweep),
        Exhibit("beyond-1", "Schedules with chunks that shrink", exhibits.REPORTED["beyond-1"],
                exhibits.schedules),
        Exhibit("beyond-2", "The same choices simulated", exhibits.REPORTED["beyond-2"],
                exhibits.simulated),
    ],
    headline=_headline,
    examples=[
        "python -m experiments.chunk_sizes --operations daxpy,matrix-multiply-tt --shown"
        " daxpy,matrix-multiply-tt --scheduler lws --output variation",
    ],
)  # fmt: skip
