"""Experiment: its settings, steps and exhibits."""

from __future__ import annotations

from typing import Any, Final

from experiments.frame import Exhibit, Experiment, Headline, Setting, Step
from experiments.irregular_kernels import exhibits, measuring, modelling, predicting, trees
from experiments.irregular_kernels.inputs import FULL_INPUTS, QUICK_INPUTS

__all__ = ["IRREGULAR_KERNELS"]

_FORM = "as DISTRIBUTION:PARTICLES:HEIGHT:GROUP_SIZE."


def _headline(found: Any, _: Any) -> Headline:
    return Headline(
        "error of the makespan, one regression per kernel for all distributions (median)",
        "a few percent",
        f"{100 * exhibits.median_error(found):.1f} %, and "
        f"{100 * exhibits.median_error(found, 'unseen'):.1f} % for distributions that it has not "
        "seen",
    )


def _exhibit(name: str, title: str, show: Any) -> Exhibit:
    return Exhibit(name, title, exhibits.REPORTED[name], show)


IRREGULAR_KERNELS: Final = Experiment(
    name="irregular_kernels",
    title="Irregular kernels: the fast multipole method, predicted and run",
    paper=(
        "E. Agullo, B. Bramas, O. Coulaud, L. Stanisic and S. Thibault, \"Modeling irregular "
        'kernels of task-based codes: illustration with the fast multipole method" (Inria '
        "research report 9036, 2017)"
    ),
    question=(
        "The tasks of a fast multipole method differ: each has its own cells, particles and "
        "neighbours. Do linear regressions of their parameters, some of which have to be counted, "
        "predict its makespan? Native runs on cubes and ellipsoids of particles give models of the "
        "eight kernels: naive ones, regressions of one distribution (specific), and of both "
        "(general). They predict other inputs, and spheres, which they have never seen; then these "
        "are run, too."
    ),
    settings=[
        Setting("fitted", f"Inputs that models are fitted to, {_FORM}", QUICK_INPUTS["fitted"],
                FULL_INPUTS["fitted"]),
        Setting("predicted", f"Inputs of the same distributions that are predicted, {_FORM}",
                QUICK_INPUTS["predicted"], FULL_INPUTS["predicted"]),
        Setting("unseen", "Inputs of other distributions (ball, plummer, ...), predicted before "
                f"they are run, {_FORM}", QUICK_INPUTS["unseen"], FULL_INPUTS["unseen"]),
        Setting("rounds", "Rounds of native runs of all inputs.", 3, 5, least=1),
        Setting("repetitions", "Runs of each input in a round.", 2, 3, least=1),
        Setting("order", "Nodes per axis of the interpolation.", 5, 5, least=2),
        Setting("workers", "Threads; 0: all usable cores.", 0, 0, least=0),
        Setting("scheduler", "Scheduler of native and simulated runs.", "prio", "prio"),
        Setting("patience_s", "Longest wait for calm moments, per input and round, in seconds.",
                2.0, 10.0, least=0.0),
        Setting("reports", "Models on which pages are written, in the folder work/models/reports.",
                "all", "all", choices=("all", "regressions", "none")),
    ],
    steps=[
        Step("trees", "octrees of the paper", trees.trees, (0.1, 0.1)),
        Step("fitted", "native runs that models are fitted to", measuring.fitted, (0.7, 8)),
        Step("models", "models and their reports", modelling.models, (1.5, 1)),
        Step("promises", "spheres predicted", predicting.promises, (0.1, 0.5)),
        Step("predicted", "native runs of other inputs", measuring.predicted, (0.7, 8)),
        Step("unseen", "native runs of spheres", measuring.unseen, (0.7, 8)),
        Step("simulated", "simulated runs", predicting.simulated, (0.3, 0.5)),
        Step("costs", "counting of indirect parameters", measuring.parameter_costs, (0.3, 0.5)),
    ],
    exhibits=[
        _exhibit("figure-1", "Quadtree: grid and hierarchy", exhibits.octree),
        _exhibit("figure-1-3d", "Octree in three dimensions", exhibits.octree_3d),
        _exhibit("figure-2", "Passes of the method", exhibits.passes),
        _exhibit("figure-3", "Groups and interaction lists", exhibits.groups),
        _exhibit("figure-4", "Workflow", exhibits.workflow),
        _exhibit("figure-5", "M2L_in by its direct parameters", exhibits.direct),
        _exhibit("figure-6", "M2L_in with the number of interactions", exhibits.indirect),
        _exhibit("figure-7", "Makespans, native and predicted", exhibits.makespans),
        _exhibit("figure-8", "Gantt charts, native and simulated", exhibits.charts),
        _exhibit("figure-9", "Total time per kernel", exhibits.totals),
        _exhibit("figure-10", "Durations of tasks", exhibits.distributions),
        _exhibit("figure-11", "Spheres, predicted before they were run", exhibits.unseen),
        _exhibit("beyond-1", "Cost of counting indirect parameters", exhibits.costs),
        _exhibit("beyond-2", "Fits of all kernels and sets of models", exhibits.all_fits),
        _exhibit("beyond-3", "Targets", exhibits.targets),
    ],
    headline=_headline,
    examples=[
        "python -m experiments.irregular_kernels --scheduler lws"
        " --unseen plummer:40000:6:100,ball:40000:5:64 --output variation",
    ],
)  # fmt: skip
