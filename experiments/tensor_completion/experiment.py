"""The experiment: its settings, its steps, its exhibits."""

from __future__ import annotations

from typing import Final

from experiments.frame import Exhibit, Experiment, Setting, Step
from experiments.tensor_completion.functions import decompose
from experiments.tensor_completion.learners import FAMILIES
from experiments.tensor_completion.measuring import make_beyond, make_datasets
from experiments.tensor_completion.model_exhibits import (
    headline,
    show_beyond,
    show_samples,
    show_sizes,
)
from experiments.tensor_completion.reported import REPORTED
from experiments.tensor_completion.sweeps import judge_beyond, judge_learners, judge_tensors
from experiments.tensor_completion.table_exhibits import (
    show_applications,
    show_functions,
    show_metrics,
)
from experiments.tensor_completion.tensor_exhibits import show_cells, show_density, show_ranks

__all__ = ["TENSOR_COMPLETION"]

OTHER_APPLICATIONS: Final = ("broadcast", "mpi", "fmm", "amg", "kripke")
"""Applications beside the kernels; mpi only where mpiexec is."""

DESIGN_SETTINGS: Final = (
    Setting("kernels", "Kernels measured here; the first is extrapolated. See 'tasksim list "
            "kernels'.", ("gemm", "geqrf"), ("gemm", "geqrf")),
    Setting("applications", "Applications beside these kernels.", OTHER_APPLICATIONS,
            OTHER_APPLICATIONS, choices=OTHER_APPLICATIONS),
    Setting("largest", "Largest size of a kernel; QR takes up to eight times as many rows.",
            768, 2048, least=256),
    Setting("measured", "Configurations measured per kernel.", 2500, 6000, least=40),
    Setting("seconds", "Longest time to measure one kernel.", 75.0, 500.0, least=1),
    Setting("repetitions", "Most repetitions of a configuration.", 5, 20, least=1),
    Setting("simulated", "Simulated configurations of the broadcast, and of the FMM.",
            1200, 5000, least=40),
    Setting("made_up", "Configurations of each made-up application.", 10000, 40000, least=40),
    Setting("below", "Configurations to extrapolate from; a quarter of that to be judged by.",
            320, 1024, least=40),
    Setting("tests", "Most configurations that models are judged by.", 1000, 4000, least=8),
    Setting("samples", "Numbers of configurations to learn from.",
            (128, 512, 2048, 8192), (256, 1024, 4096, 16384), least=16),
    Setting("cells", "Cells per parameter of tensors.",
            (4, 8, 16, 32), (4, 8, 16, 32, 64), least=2),
    Setting("ranks", "Ranks of tensors.", (1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32), least=1),
    Setting("regularization", "Shrinkages of tensors; the best is reported.",
            (1e-5,), (1e-5, 1e-3), least=1e-12),
    Setting("models", "Kinds of models.", FAMILIES, FAMILIES, choices=FAMILIES),
    Setting("broadcast_ranks", "Most ranks of the broadcast.", 256, 1024, least=8),
    Setting("algorithm", "Algorithm of the broadcast, or the library that chooses it.",
            "openmpi", "openmpi"),
    Setting("particles", "Most particles of the FMM.", 8000, 32000, least=1024),
    Setting("scheduler", "Scheduler of the FMM.", "lws", "lws"),
    Setting("seed", "Seed of what is drawn.", 0, 0, least=0),
)  # fmt: skip

STEPS: Final = (
    Step("functions", "singular values", decompose, (0.1, 0.1)),
    Step("datasets", "measuring", make_datasets, (5, 35)),
    Step("tensors", "tensors", judge_tensors, (2, 30)),
    Step("learners", "other models", judge_learners, (2, 25)),
    Step("beyond", "measuring to extrapolate", make_beyond, (1, 15)),
    Step("extrapolation", "extrapolation", judge_beyond, (1, 10)),
)

PAPER_EXHIBITS: Final = (
    Exhibit("table-1", "Metrics of errors", REPORTED["table-1"], show_metrics),
    Exhibit("table-2", "Applications and their parameters", REPORTED["table-2"], show_applications),
    Exhibit("figure-1", "Singular values of discretised functions", REPORTED["figure-1"],
            show_functions),
    Exhibit("figure-3", "Error over cells", REPORTED["figure-3"], show_cells),
    Exhibit("figure-4", "Error over rank", REPORTED["figure-4"], show_ranks),
    Exhibit("figure-5", "Error over samples, by size of the tensor", REPORTED["figure-5"],
            show_density),
    Exhibit("figure-6", "Error over samples, by model", REPORTED["figure-6"], show_samples),
    Exhibit("figure-7", "Error over size of the model", REPORTED["figure-7"], show_sizes),
    Exhibit("figure-8", "Error beyond what was measured", REPORTED["figure-8"], show_beyond),
)  # fmt: skip

TENSOR_COMPLETION: Final = Experiment(
    "tensor_completion",
    "Performance models by tensor completion",
    "E. Hutter, E. Solomonik, Application Performance Modeling via Tensor Completion, SC 2023",
    "Does a tensor of low rank over a grid of the parameters, completed from few measured cells, "
    "predict durations better than other models, with fewer bytes, and beyond what was measured? "
    "Matrix products, QR and, under mpiexec, a broadcast among 2 and 4 ranks are measured here; a "
    "broadcast among up to 128 nodes and an FMM of six parameters, with kernels measured here, are "
    "simulated; two functions with the parameters of "
    "AMG and KRIPKE, made up, stand in for these.",
    DESIGN_SETTINGS,
    STEPS,
    PAPER_EXHIBITS,
    headline,
    examples=[
        "python -m experiments.tensor_completion --kernels trsm,potrf --output trsm",
        "python -m experiments.tensor_completion --scheduler eager --algorithm binomial "
        "--output eager",
    ],
)
