"""The experiment: its settings, steps and exhibits."""

from __future__ import annotations

from typing import Final

from experiments.frame import Experiment, Setting, Step
from experiments.selective_execution.exhibits import EXHIBITS, headline
from experiments.selective_execution.tunings import tune_all

__all__ = ["EXPERIMENT"]

POLICIES: Final = ("conditional", "local", "online", "apriori", "eager", "shares")

SETTINGS: Final = (
    Setting("policies", "Policies of selective execution.", POLICIES[:5], POLICIES,
            choices=POLICIES),
    Setting("tolerances", "Confidence tolerances, as shares.", (0.5, 0.125, 0.03125, 0.0078125),
            (0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625), least=1e-6),
    Setting("statistics", "Statistics from one configuration to the next; policy: as each policy"
            " has it in the paper.", "policy", "policy",
            choices=("policy", "reset", "reuse", "model")),
    Setting("sampling", "Tasks of a kernel that are executed.", "spread", "spread",
            choices=("spread", "apart", "first")),
    Setting("full_runs", "Full runs of each configuration beside each selective one.", 1, 5,
            least=1),
    Setting("schedulers", "Schedulers to choose from.", ("lws",), ("lws", "eager")),
    Setting("cholesky_n", "Rows of the matrix of the tiled Cholesky factorisation.", 1728, 3456,
            least=1),
    Setting("cholesky_tiles", "Its tile sizes.", (144, 192, 216, 288), (144, 192, 216, 288, 384),
            least=1),
    Setting("qr_n", "Rows of the matrix of the tiled QR factorisation.", 1152, 2304, least=1),
    Setting("qr_tiles", "Its tile sizes.", (144, 192, 288), (128, 144, 192, 256, 288), least=1),
    Setting("qr_inner", "Its inner block sizes.", (16, 32), (16, 32, 48), least=1),
)  # fmt: skip

EXPERIMENT: Final = Experiment(
    name="selective_execution",
    title="Selective execution, after Critter",
    paper="E. Hutter, E. Solomonik, Accelerating distributed-memory autotuning via statistical "
    "analysis of execution paths, IPDPS 2021",
    question="How much faster is a tuning whose runs execute only the kernels that are not known "
    "well enough, how far are its predictions off, and does it choose as well? Cholesky and QR "
    "factorisations are tuned here, on all cores, under every policy and tolerance; a full run "
    "stands beside each selective one.",
    settings=SETTINGS,
    steps=(Step("tunings", "tuning", tune_all, (6.0, 90.0)),),
    exhibits=EXHIBITS,
    headline=headline,
    examples=(
        "python -m experiments.selective_execution --schedulers lws,prio,eager --output schedulers",
        "python -m experiments.selective_execution --statistics model --sampling first",
    ),
)
