"""Experiment on hardware counters: its settings, its steps, what it shows."""

from __future__ import annotations

from typing import Final

from experiments.frame import Experiment, Setting, Step
from experiments.hardware_counters.exhibits import PAPER_EXHIBITS, headline
from experiments.hardware_counters.measuring import count, predict, run
from experiments.hardware_counters.profiling import profile, refine
from experiments.hardware_counters.programs import PROGRAMS

__all__ = ["HARDWARE_COUNTERS"]

NETWORK: Final = (
    "fat-tree:children=[16,16],parents=[1,8],cables=[1,1],bandwidth=5GB/s,latency=1us,model=smpi"
)
"""Network of the runs: two levels of switches, messages as SimGrid's MPI sends them."""

QUICK_PROGRAMS: Final = ("jacobi", "cg", "mg", "ssor", "ep", "summa")
FULL_PROGRAMS: Final = (*QUICK_PROGRAMS, "adi")

DESIGN_SETTINGS: Final = (
    Setting("programs", "Programs.", QUICK_PROGRAMS, FULL_PROGRAMS, choices=tuple(PROGRAMS)),
    Setting("points", "Points in a row of the square that is learned from.", 960, 960, least=1),
    Setting("large_points", "Points in a row of the larger square.", 1920, 3840, least=1),
    Setting("few", "Ranks to learn from: squares that divide the points.", (4, 9, 16, 25),
            (4, 9, 16, 25), least=1),
    Setting("many", "Ranks to predict.", (36, 64, 144), (36, 64, 100, 144, 256), least=2),
    Setting("iterations", "Steps of the programs.", 4, 10, least=1),
    Setting("timings", "Timings of each kernel, at different times.", 3, 9, least=3),
    Setting("refined", "Kernels timed beside a load of the memory.", ("lacpy", "gemm"),
            ("lacpy", "gemm", "potrf")),
    Setting("refined_sizes", "Rows, and columns, of their matrices.", (128, 256, 512),
            (128, 256, 512, 768), least=8),
    Setting("network", "Network between the ranks.", NETWORK, NETWORK),
    Setting("scheduler", "Scheduler of each rank.", "prio", "prio"),
)  # fmt: skip

HARDWARE_COUNTERS: Final = Experiment(
    "hardware_counters",
    "Programs on many ranks, predicted from counters on few",
    'N. Ding, V. W. Lee, W. Xue, W. Zheng, "APMT: an automatic hardware counter-based performance '
    'modeling tool for HPC applications", CCF Transactions on High Performance Computing 2, 2020',
    "How long does a program take on more processes, if its counters and messages are known on "
    "few? The paper asks that of CICE, HOMME and the NAS benchmarks on two clusters. Here kernels "
    "are counted by Valgrind, whose processor is simulated, and timed on this machine; runs on "
    "4 to 144 ranks put these times on a simulated network, and are what is measured. A model of "
    "the runs on few ranks predicts those on many.",
    DESIGN_SETTINGS,
    (
        Step("count", "counting and timing kernels", count, (4, 30)),
        Step("run", "running on all ranks", run, (2, 20)),
        Step("predict", "predicting", predict, (2, 10)),
        Step("profile", "profiling a program", profile, (0.7, 1)),
        Step("refine", "timing beside a load", refine, (1, 3)),
    ),
    PAPER_EXHIBITS,
    headline,
    examples=(
        "python -m experiments.hardware_counters --programs cg --network "
        "torus:dimensions=[12,12],bandwidth=1GB/s,latency=5us --output cg-on-a-torus",
    ),
)
