"""Steering: what the makespan of a graph needs decides which kernel is measured next.

The graph is simulated with what is known so far, its tasks' noise and what is unknown of their
means drawn anew each time, and its practical critical path is traced: near-critical paths are
critical in some of these. A kernel's mean matters as much as the seconds on the path that are its
own: with g_c of them, a relative deviation s_c of n_c bursts, and seconds t_c a burst,

    Var(makespan) = sum of g_c^2 s_c^2 / n_c
    next: the largest g_c^2 s_c^2 / (n_c (n_c + 1) t_c)

Measuring ends when Student's interval of that, with Welch and Satterthwaite's degrees of freedom,
is as narrow as asked. Critter's idea (E. Hutter and E. Solomonik, "Accelerating distributed-memory
autotuning via statistical analysis of execution paths", IPDPS 2021), but for errors of means, which
all uses of a kernel share: its intervals divide by how often the path has it, which is right for
the noise of tasks.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.engine.batch import Item, task_tables
from tasksim.models.groups import group_means
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.quantiles import within_fence
from tasksim.models.samples import Samples
from tasksim.run.critical import tasks_on_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

    Array = NDArray[np.float64]

__all__ = ["Configuration", "Known", "Steering", "configurations_of"]

LEAST_BURSTS: Final = 5
"""Of each configuration, on the path or not. With 3, of made-up kernels some look known by luck: of
nine makespans three were off by 3 to 4 % that were to be known to 2 %; with 5 none was."""
TRACED: Final = 8
"""Simulations whose paths are traced each time: a path that is critical in one of eight counts."""
SHARE_BETWEEN: Final = 0.1
"""Bursts between two looks at the paths, of those made so far: paths change as means do, by less
and less."""
TOGETHER: Final = 4
"""Bursts that follow each other may be slow together: their means, by fours, are then further apart
than half of what single ones are."""
LEAST_FOURS: Final = 4
"""Of fewer their spread is chance."""
EXECUTIONS: Final = 6
"""At least so many executions a burst has, with those that warm up."""
MOST_DEVIATION: Final = 1.0
"""Bursts that differ by more than their mean: stalls, of which a simulation need not see more."""


class Configuration(NamedTuple):
    """A kernel with exact parameters."""

    kernel: str
    names: tuple[str, ...]
    row: tuple[float, ...]

    @property
    def parameters(self) -> dict[str, float]:
        """Its parameters by name."""
        return dict(zip(self.names, self.row, strict=True))

    def __str__(self) -> str:
        pairs = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.kernel} ({pairs})"


def configurations_of(graph: TaskGraph) -> tuple[list[Configuration], NDArray[np.intp]]:
    """Return the configurations of a graph's tasks, and which of these each task is."""
    found: list[Configuration] = []
    of_task = np.zeros(len(graph), dtype=np.intp)
    known: dict[Configuration, int] = {}
    for kernel, name in enumerate(graph.model_names):
        tasks = np.flatnonzero(graph.kernel == kernel)
        rows, which = np.unique(
            graph.parameters[kernel][graph.row[tasks]], axis=0, return_inverse=True
        )
        numbers = []
        for row in rows.tolist():
            one = Configuration(name, graph.parameter_names[kernel], tuple(row))
            if one not in known:
                known[one] = len(found)
                found.append(one)
            numbers.append(known[one])
        of_task[tasks] = np.array(numbers, dtype=np.intp)[which.ravel()]
    return found, of_task


class Known(NamedTuple):
    """What is known of each configuration.

    Parameters
    ----------
    bursts : ndarray
        How many there are, which are independent of each other as samples of one are not.
    mean_s : ndarray
        Of their means.
    deviation : ndarray
        How far these are apart, relative to the mean.
    noise : ndarray
        How far samples are apart, relative to the mean.
    """

    bursts: NDArray[np.int64]
    mean_s: Array
    deviation: Array
    noise: Array


class Steering:
    """Which configuration is measured next, and whether the makespan is known well enough.

    Parameters
    ----------
    graph : TaskGraph
        The graph whose makespan is asked for.
    platform : Platform
        Where it is simulated: cores.
    until : float
        How well to know the mean makespan: half the width of its interval, relative.
    confidence : float, default 0.95
        Of that interval.
    scheduler : str, default "lws"
        Under which it is simulated.
    seed : int, default 0
        Of what is drawn.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("cholesky", tiles=4)
    >>> steering = Steering(graph, tasksim.load_platform("xeon-2c"), until=0.02)
    >>> steering.next().kernel
    'potrf'
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        until: float,
        *,
        confidence: float = 0.95,
        scheduler: str = "lws",
        seed: int = 0,
    ) -> None:
        self.graph, self.until = graph, until
        self.configurations, self._of_task = configurations_of(graph)
        self._platform, self._scheduler = platform, scheduler
        self._confidence, self._seed = confidence, seed
        size = len(self.configurations)
        self._bursts: list[list[Array]] = [[] for _ in range(size)]
        self._seconds, self._timed = np.zeros(size), np.zeros(size)
        self._looks, self._look_at = 0, 0
        self.path_s = np.zeros(size)
        """Of the makespan, the seconds that are each configuration's."""
        self.makespan_s = 0.0
        self.half_width = float("inf")
        """Of the interval of the mean makespan, relative."""
        self._known: Known | None = None

    def add(self, which: Configuration, durations_s: Array, seconds: float) -> None:
        """Note a burst of a configuration, and how long measuring it took."""
        index = self._note(which, durations_s)
        self._seconds[index] += seconds
        self._timed[index] += 1

    def add_earlier(self, samples: Mapping[str, Samples]) -> None:
        """Note what earlier measurements say of the configurations; their runs count as bursts."""
        for one in self.configurations:
            of = samples.get(one.kernel)
            if of is None or of.names != one.names:
                continue
            mine = of.select((of.parameters == np.array(one.row)).all(axis=1))
            runs = np.arange(len(mine)) if mine.runs is None else mine.runs
            for run in np.unique(runs):
                self._note(one, mine.durations_s[runs == run])

    def _note(self, which: Configuration, durations_s: Array) -> int:
        index = self.configurations.index(which)
        self._bursts[index].append(np.asarray(durations_s, dtype=np.float64))
        self._known = None
        return index

    @property
    def counts(self) -> list[int]:
        """How many bursts there are of each configuration."""
        return [len(bursts) for bursts in self._bursts]

    @property
    def seconds(self) -> float:
        """How long all measuring took."""
        return float(self._seconds.sum())

    def next(self) -> Configuration | None:
        """Return what to measure next; None if the makespan is known as well as was asked."""
        counts = np.array(self.counts)
        if counts.min() < LEAST_BURSTS:
            return self.configurations[int(counts.argmin())]
        if counts.sum() >= self._look_at:
            self._look(counts)
        self._judge()
        if self.half_width <= self.until:
            self.judge()  # what the paths were some bursts ago is not what they are
            if self.half_width <= self.until:
                return None
        known = self.known()
        worth = (self.path_s * known.deviation) ** 2 / (counts * (counts + 1) * self._burst_s)
        return self.configurations[int(worth.argmax())]

    def judge(self) -> None:
        """Say how well the makespan is known now."""
        self._look(np.array(self.counts))
        self._judge()

    def known(self) -> Known:
        """Return what is known of each configuration, outliers left out as in models."""
        if self._known is None:
            columns = [_of_bursts(bursts) for bursts in self._bursts]
            count, *rest = zip(*columns, strict=True)
            self._known = Known(np.array(count), *map(np.array, rest))
        return self._known

    def shares(self) -> Array:
        """Return of what is unknown of the makespan the share that is each configuration's."""
        variances = self._variances()
        return np.asarray(variances / variances.sum() if variances.sum() else variances)

    def seconds_to_go(self) -> float:
        """Return how long measuring would take until the makespan is known, noise as it is.

        With the best allocation, n_c as g_c s_c / sqrt(t_c), all of it takes
        (sum of g_c s_c sqrt(t_c))^2 / Var.
        """
        known, quantile = self.known(), self._quantile()
        if not np.isfinite(quantile):
            return float("inf")
        wanted = (self.until * self.makespan_s / quantile) ** 2
        cost = (self.path_s * known.deviation * np.sqrt(self._burst_s)).sum() ** 2 / wanted
        return max(float(cost) - self.seconds, float(self._burst_s.min()))

    @property
    def _burst_s(self) -> Array:
        """Return how long a burst takes; of what was only measured earlier, a few executions."""
        timed = self._seconds / np.maximum(self._timed, 1)
        return np.where(self._timed > 0, timed, EXECUTIONS * self.known().mean_s)

    def _variances(self) -> Array:
        known = self.known()
        return np.asarray((self.path_s * known.deviation) ** 2 / known.bursts)

    def _judge(self) -> None:
        width = self._quantile() * float(np.sqrt(self._variances().sum()))
        self.half_width = width / self.makespan_s if self.makespan_s else float("inf")

    def _quantile(self) -> float:
        """Return Student's quantile, with Welch and Satterthwaite's degrees of freedom."""
        from scipy.special import stdtrit

        variances, counts = self._variances(), self.known().bursts
        whole = float(variances.sum())
        if not whole:
            return 0.0
        freedom = whole**2 / float((variances**2 / np.maximum(counts - 1, 1)).sum())
        return float(stdtrit(freedom, 0.5 + self._confidence / 2))

    def _look(self, counts: NDArray[np.int64]) -> None:
        """Trace the practical critical paths of simulations of what is known now."""
        known = self.known()
        rng = np.random.default_rng([self._seed, self._looks])
        self._looks += 1
        luck = rng.standard_normal((TRACED // 2, len(known.bursts)))
        # Each luck of means and its opposite: the mean makespan is not moved by it.
        drawn = [self._drawn(known, of, rng) for of in (*luck, *-luck)]
        models = self._models()
        items = [
            Item(
                self.graph, self._platform, models, self._scheduler, drawn=partial(np.asarray, one)
            )
            for one in drawn
        ]
        size = len(self.configurations)
        path_s, spans = np.zeros(size), []
        for table in task_tables(items):
            tasks = [task for task, _ in tasks_on_path(table)]
            path_s += np.bincount(self._of_task[tasks], table.duration_s[tasks], size)
            spans.append(float(table.end_s.max(initial=0.0)))
        self.path_s, self.makespan_s = path_s / TRACED, float(np.mean(spans))
        self._look_at = int(counts.sum()) + max(1, int(SHARE_BETWEEN * counts.sum()))

    def _drawn(self, known: Known, luck: Array, rng: np.random.Generator) -> Array:
        """Return what tasks take with means off by *luck* and noise, shape (classes, tasks)."""
        means = known.mean_s * np.exp(luck * known.deviation / np.sqrt(known.bursts))
        spread = np.sqrt(np.log1p(known.noise**2))[self._of_task]
        noise = np.exp(spread * rng.standard_normal(len(spread)) - spread**2 / 2)
        classes = len(self._platform.classes)
        return np.tile(means[self._of_task] * noise, (classes, 1))

    def _models(self) -> _Histories:
        return _Histories(self.samples())

    def samples(self) -> dict[str, Samples]:
        """Return all that was noted, by kernel; each burst is a run."""
        parts: dict[str, list[Samples]] = {}
        run = 0
        for one, bursts in zip(self.configurations, self._bursts, strict=True):
            for durations in bursts:
                table = np.repeat([one.row], len(durations), axis=0)
                table = table.reshape(len(durations), len(one.names))
                runs = np.full(len(durations), run)
                parts.setdefault(one.kernel, []).append(Samples(one.names, table, durations, runs))
                run += 1
        return {kernel: Samples.concat(mine) for kernel, mine in parts.items()}


class _Histories:
    """Histories of samples, as a simulation asks for models."""

    def __init__(self, samples: Mapping[str, Samples]) -> None:
        self._models = {kernel: HistoryModel().fit(of) for kernel, of in samples.items()}

    def model(self, kernel: str, architecture: str) -> HistoryModel:  # noqa: ARG002
        """Return the model of *kernel*."""
        return self._models[kernel]

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: kernels by themselves have all data near."""


def _of_bursts(bursts: list[Array]) -> tuple[int, float, float, float]:
    """Return the count of bursts, mean, and the relative deviations of bursts and of samples."""
    if not bursts:
        return 0, 0.0, 0.0, 0.0
    durations = np.concatenate(bursts)
    of = np.repeat(np.arange(len(bursts)), [len(burst) for burst in bursts])
    kept = within_fence(durations)
    _, which = np.unique(of[kept], return_inverse=True)
    means = group_means(durations[kept], which)
    mean = float(means.mean())
    apart = _apart(means) / mean
    noise = min(float(durations[kept].std() / mean), MOST_DEVIATION)
    return len(means), mean, apart, noise


def _apart(means: Array) -> float:
    """Return how far bursts are apart, or more where those that follow each other are alike."""
    if len(means) < 2:
        return MOST_DEVIATION * float(means.mean())
    single = float(means.std(ddof=1))
    if len(means) < TOGETHER * LEAST_FOURS:
        return single
    fours = means[: len(means) // TOGETHER * TOGETHER].reshape(-1, TOGETHER).mean(axis=1)
    return max(single, float(fours.std(ddof=1)) * TOGETHER**0.5)
