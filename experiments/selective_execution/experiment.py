"""The experiment: its settings, steps and exhibits."""

from __future__ import annotations

from typing import Final

from experiments.frame import Experiment, Setting, Step
from experiments.selective_execution.exhibits import PAPER_EXHIBITS, headline
from experiments.selective_execution.machine import make_machine
from experiments.selective_execution.overhead import measure_overhead
from experiments.selective_execution.paths import follow_paths
from experiments.selective_execution.tradeoffs import compare_costs
from experiments.selective_execution.tunings import tune_all

__all__ = ["SELECTIVE_EXECUTION"]

POLICIES: Final = ("conditional", "local", "online", "apriori", "eager", "shares")

BASES: Final = ("gather", "allgather", "layer")

DESIGN_SETTINGS: Final = (
    Setting("policies", "Policies of selective execution.", POLICIES[:5], POLICIES,
            choices=POLICIES),
    Setting("tolerances", "Confidence tolerances, as shares.", (0.5, 0.125, 0.03125, 0.0078125),
            (0.5, 0.25, 0.125, 0.0625, 0.03125, 0.0078125), least=1e-6),
    Setting("statistics", "Statistics from one configuration to the next; policy: as each policy"
            " has it in the paper.", "policy", "policy",
            choices=("policy", "reset", "reuse", "model")),
    Setting("sampling", "Tasks of a kernel that are executed.", "spread", "spread",
            choices=("spread", "apart", "first")),
    Setting("charge", "Duration of a task that is not executed: drawn from the measured ones of its"
            " kernel, or their mean, as in the paper.", "drawn", "drawn",
            choices=("drawn", "mean")),
    Setting("overhead_runs", "Profiled runs of each configuration that execute all.", 3, 5,
            least=1),
    Setting("full_runs", "Full runs of each configuration beside each selective one.", 1, 2,
            least=1),
    Setting("schedulers", "Schedulers to choose from.", ("lws",), ("lws",)),
    Setting("side", "Ranks along each side of the emulated cube of ranks.", 2, 4, least=2),
    Setting("gflops", "GFlop/s of an emulated rank.", 20.0, 20.0, least=1e-3),
    Setting("latency_us", "Microseconds that a message takes at least.", 2.0, 2.0, least=0.0),
    Setting("bandwidth_gbs", "GB/s that a rank sends.", 0.2, 0.2, least=1e-6),
    Setting("scatter", "Standard deviation of emulated durations, as a share.", 0.1, 0.1,
            least=0.0),
    Setting("recursive_n", "Rows of the matrix of the recursive Cholesky factorisation.", 2048,
            4096, least=1),
    Setting("recursive_blocks", "Its block sizes.", (64, 128, 256, 512),
            (64, 128, 256, 512, 1024), least=1),
    Setting("recursive_bases", "How it solves base cases.", BASES, BASES, choices=BASES),
    Setting("pipelined_n", "Rows of the matrix of the pipelined QR factorisation.", 768, 2048,
            least=1),
    Setting("pipelined_blocks", "Its block sizes.", (32, 64, 128), (32, 64, 128), least=1),
    Setting("pipelined_rows", "Rows of its grid of ranks.", (1, 2, 4, 8), (4, 8, 16, 32, 64),
            least=1),
    Setting("path_tiles", "Tile rows of the schedule whose paths are drawn.", 5, 5, least=2),
    Setting("cholesky_n", "Rows of the matrix of the tiled Cholesky factorisation.", 1728, 3456,
            least=1),
    Setting("cholesky_tiles", "Its tile sizes.", (144, 192, 216, 288), (144, 192, 216, 288, 384),
            least=1),
    Setting("cholesky_lookahead", "Its look-ahead depths.", (0, 1), (0, 1, 2), least=0),
    Setting("qr_n", "Rows of the matrix of the tiled QR factorisation.", 1152, 2304, least=1),
    Setting("qr_tiles", "Its tile sizes.", (144, 192, 288), (128, 144, 192, 256, 288), least=1),
    Setting("qr_inner", "Its inner block sizes.", (16, 32), (16, 32, 48), least=1),
)  # fmt: skip

SELECTIVE_EXECUTION: Final = Experiment(
    name="selective_execution",
    title="Selective execution, after Critter",
    paper="E. Hutter, E. Solomonik, Accelerating distributed-memory autotuning via statistical "
    "analysis of execution paths, IPDPS 2021",
    question="How much faster is a tuning whose runs execute only the kernels that are not known "
    "well enough, how far are its predictions off, and does it choose as well? Four factorisations "
    "are tuned under every policy and tolerance; a full run stands beside each selective one. "
    "Tiled Cholesky and QR, as SLATE's, run on all cores of this machine. Recursive Cholesky, as "
    "Capital's, and pipelined QR, as CANDMC's, run on an emulated machine, where executed kernels "
    "and messages take durations that are drawn.",
    settings=DESIGN_SETTINGS,
    steps=(
        Step("machine", "models of the emulated machine", make_machine, (0.1, 0.1)),
        Step("paths", "critical paths of a schedule", follow_paths, (0.1, 0.1)),
        Step("costs", "costs of configurations", compare_costs, (0.5, 2.0)),
        Step("overhead", "overhead of profiling", measure_overhead, (1.0, 8.0)),
        Step("tunings", "tuning", tune_all, (3.0, 65.0)),
    ),
    exhibits=PAPER_EXHIBITS,
    headline=headline,
    examples=(
        "python -m experiments.selective_execution --schedulers lws,prio,eager --output schedulers",
        "python -m experiments.selective_execution --statistics model --sampling first",
        "python -m experiments.selective_execution --charge mean --output means",
    ),
)
