"""Report of tuning on this machine, with the losses of choices by the simulator and by learners."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.tuning.judging import (
    CONFIDENCE_LEVEL,
    Score,
    Splits,
    judge,
    leave_one_out,
    score,
    shuffled,
)
from tasksim.tuning.methods import (
    EqualShare,
    Method,
    RandomChoice,
    best_constant,
    chosen_shares,
    tree_method,
)
from tasksim.tuning.native_questions import CHUNK_BLOCKS
from tasksim.tuning.table import PerformanceTable
from tasksim.tuning.tree import StoppingCriteria

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.tuning.methods import Taught
    from tasksim.tuning.native_answers import Answered, TrainingLoop
    from tasksim.tuning.native_questions import LoopSize

__all__ = ["NativeReport", "joined", "loop_tables", "report", "tunables_of"]


RESAMPLES: Final = 1000
"""Number of resamples of the questions: 25 of them lie beyond each end of a 95 % interval."""
SPLIT_COUNT: Final = 100
"""Number of random splits, each with a third for evaluation, so that chance averages out."""


@dataclass(frozen=True)
class NativeReport:
    """Results of the report.

    Attributes
    ----------
    answers : tuple of Answered
        Answers to all questions.
    tunables : mapping of str to Score
        Chosen quantity -> MSOP of the simulator's choices.
    splits : mapping of str to mapping of str to Score
        ``shuffled`` and ``operation`` (one left out) -> method -> its score on measured times.
    simulated : mapping of str to Score
        The same methods trained and judged on simulated loops, in shuffled splits.
    examples : tuple of TrainingLoop
        Further training loops.
    """

    answers: tuple[Answered, ...]
    tunables: dict[str, Score]
    splits: dict[str, dict[str, Score]]
    simulated: dict[str, Score]
    examples: tuple[TrainingLoop, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "tunables": {name: asdict(found) for name, found in self.tunables.items()},
            "loops": {
                split: {name: asdict(found) for name, found in scores.items()}
                for split, scores in self.splits.items()
            },
            "loops_simulated": {name: asdict(found) for name, found in self.simulated.items()},
            "questions": [answered.to_json() for answered in self.answers],
            "examples": [example.to_json() for example in self.examples],
        }


def report(
    answers: Sequence[Answered], examples: Sequence[TrainingLoop] = (), seed: int = 0
) -> NativeReport:
    """Return the report on *answers*, with loops if there are questions about them.

    Parameters
    ----------
    answers : sequence of Answered
        Answers that train and judge in turn.
    examples : sequence of TrainingLoop
        Further loops for training only.
    seed : int, default 0
        Seed of splits, learners and intervals.
    """
    tunables = tunables_of(answers, seed)
    loops = [answered for answered in answers if answered.question.loop is not None]
    if len({a.question.loop.operation for a in loops if a.question.loop is not None}) < 2:
        return NativeReport(tuple(answers), tunables, {}, {})
    measured, simulated = loop_tables(loops)
    plans = {
        "shuffled": shuffled(len(loops), SPLIT_COUNT, 1 / 3, seed),
        "operation": leave_one_out(measured, "operation"),
    }
    halves = np.array([answered.half_share for answered in loops])
    methods = _methods(measured, seed)
    if examples:
        rows = [one.question.loop for one in examples if one.question.loop is not None]
        methods = more_taught(methods, _table(rows, [one.times_s for one in examples]))
    judged = {
        name: {
            **judge(measured, methods, plan, seed=seed),
            **_simulators(measured, simulated, halves, plan, seed),
        }
        for name, plan in plans.items()
    }
    on_simulated = judge(simulated, _methods(measured, seed), plans["shuffled"], seed=seed)
    return NativeReport(tuple(answers), tunables, judged, on_simulated, tuple(examples))


def tunables_of(answers: Sequence[Answered], seed: int = 0) -> dict[str, Score]:
    """Return chosen quantity -> MSOP of the simulator's choices, over questions and rounds."""
    found = {}
    for kind in dict.fromkeys(answered.question.what for answered in answers):
        some = [answered for answered in answers if answered.question.what == kind]
        rng = np.random.default_rng(seed)
        means = [
            np.mean([some[i].resampled_share(rng) for i in rng.integers(len(some), size=len(some))])
            for _ in range(RESAMPLES)
        ]
        low, high = np.quantile(means, [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2])
        msop = np.array([answered.share for answered in some]).mean()
        found[kind] = Score(float(msop), float(low), float(high))
    return found


def loop_tables(answers: Sequence[Answered]) -> tuple[PerformanceTable, PerformanceTable]:
    """Return the performance tables of loops, as measured and as simulated."""
    rows = [answered.question.loop for answered in answers if answered.question.loop is not None]
    return (
        _table(rows, [a.medians_s for a in answers]),
        _table(rows, [a.simulated_s for a in answers]),
    )


def _table(rows: Sequence[LoopSize], times: Sequence[Mapping[str, float]]) -> PerformanceTable:
    """Return the table of inverse times; chunks that are too long for a loop are not allowed."""
    features = {
        "Nthr": [float(row.threads) for row in rows],
        "Ms": [float(row.n) for row in rows],
        "Mflop": [row.flop / 1e6 for row in rows],
        "Nite": [float(row.blocks) for row in rows],
    }
    others = {"operation": [row.operation for row in rows]}
    performance = {
        str(chunk): [1 / row.get(str(chunk), math.inf) for row in times] for chunk in CHUNK_BLOCKS
    }
    return PerformanceTable.of(features, performance, features["Nite"], others)


@dataclass(frozen=True, eq=False)
class _Simulator:
    """Choices of the simulator, the best of each row in simulations without training."""

    table: PerformanceTable
    nodes: None = None

    def shares(self, table: PerformanceTable) -> Floats:
        return chosen_shares(table, self.table.shares.argmax(axis=1))


def _methods(table: PerformanceTable, seed: int) -> dict[str, Method]:
    from tasksim.tuning import learners

    found: dict[str, Method] = {"tree": tree_method(StoppingCriteria())}
    if learners.available():
        found["preto"] = learners.preto("tree", seed)
        found["posto"] = learners.posto("tree", seed)
    equal = EqualShare("Nthr", "Nite")
    assert equal.left_out(table) is None
    found["equal-share"] = lambda _: equal
    found["constant"] = best_constant
    found["random"] = lambda _: RandomChoice()
    return found


def _simulators(
    measured: PerformanceTable, simulated: PerformanceTable, halves: Floats, plan: Splits, seed: int
) -> dict[str, Score]:
    """Return the scores of the simulator, a tree trained on it, and half of the runs."""
    counts = np.zeros(len(measured))
    own, taught = np.zeros(len(measured)), np.zeros(len(measured))
    nodes = []
    simulator = _Simulator(simulated).shares(measured)
    for test in plan.tests:
        tree = tree_method(StoppingCriteria())(plan.training(simulated, test))
        counts[test] += 1
        own[test] += simulator[test]
        taught[test] += tree.shares(measured.select(test))
        nodes.append(tree.nodes or 0)
    return {
        "simulator": score(own, counts, plan.groups, seed),
        "half of the runs": score(counts * halves, counts, plan.groups, seed),
        "tree of simulated": score(taught, counts, plan.groups, seed, nodes),
    }


SHARE_THRESHOLDS: Final = (0.99, 0.98, 0.97, 0.95)
LEAST_SAMPLES: Final = (1, 2, 4, 8, 16)
"""Settings of :class:`~tasksim.tuning.tree.StoppingCriteria` to try; depths are not needed, as
these two limit a tree."""
FOLDS: Final = 5
"""Number of folds: each example is evaluated once, and four fifths train nearly as well as all."""


def joined(first: PerformanceTable, second: PerformanceTable) -> PerformanceTable:
    """Return the rows of both tables, which have the same columns."""
    assert (first.features, first.choices) == (second.features, second.choices)
    limits = [table.limit for table in (first, second) if table.limit is not None]
    return PerformanceTable(
        first.features,
        np.vstack([first.values, second.values]),
        first.choices,
        np.vstack([first.performance, second.performance]),
        np.concatenate(limits) if len(limits) == 2 else None,
        {name: [*first.others[name], *second.others[name]] for name in first.others},
    )


def best_growth(table: PerformanceTable) -> StoppingCriteria:
    """Return the growth whose trees choose best by cross-validation; the first in a tie.

    Parameters
    ----------
    table : PerformanceTable
        Training examples.

    Examples
    --------
    >>> from tasksim.tuning.table import PerformanceTable
    >>> sizes = range(20)
    >>> low, high = [2 if n < 10 else 1 for n in sizes], [1 if n < 10 else 2 for n in sizes]
    >>> best_growth(PerformanceTable.of({"n": sizes}, {"a": low, "b": high})).threshold
    0.99
    """
    if len(table) < FOLDS:
        return StoppingCriteria()
    folds = np.random.default_rng(0).permutation(len(table)) % FOLDS
    tried = [
        StoppingCriteria(threshold, min_samples=least)
        for threshold, least in product(SHARE_THRESHOLDS, LEAST_SAMPLES)
    ]
    scores = [_kept(table, folds, growth) for growth in tried]
    return tried[int(np.argmax(scores))]


def _kept(table: PerformanceTable, folds: NDArray[np.int_], growth: StoppingCriteria) -> float:
    """Return the sum of the shares in each fold by a tree trained on the others."""
    method = tree_method(growth)
    return sum(
        float(method(table.select(folds != fold)).shares(table.select(folds == fold)).sum())
        for fold in range(FOLDS)
    )


def more_taught(methods: Mapping[str, Method], more: PerformanceTable) -> dict[str, Method]:
    """Return the *methods*, also trained on *more* examples of their training operations.

    A method that is judged on an unknown operation gets no examples of it.

    Parameters
    ----------
    methods : mapping of str to Method
        The method ``tree`` grows by the settings that are best for the added examples.
    more : PerformanceTable
        Examples for training only.
    """
    growths: dict[frozenset[str], StoppingCriteria] = {}

    def chosen(table: PerformanceTable) -> PerformanceTable:
        known = frozenset(table.others["operation"])
        return more.select(np.array([text in known for text in more.others["operation"]], bool))

    def with_more(method: Method) -> Method:
        return lambda table: method(joined(table, chosen(table)))

    def tree(table: PerformanceTable) -> Taught:
        added = chosen(table)
        key = frozenset(added.others["operation"])
        if key not in growths:
            growths[key] = best_growth(added)
        return tree_method(growths[key])(joined(table, added))

    return {name: tree if name == "tree" else with_more(method) for name, method in methods.items()}
