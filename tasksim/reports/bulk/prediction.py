"""Prediction of the time of bulk-synchronous programs on many ranks, part by part.

``T(P) = sum over kernels (instructions · CPI / f + BF_mem · sum(hits · latency)) + BF_comm · T_comm
+ T_others`` (N. Ding et al., "APMT: an automatic hardware counter-based performance modeling tool
for HPC applications"). The counters of the busiest rank are functions of its work, or of the number
of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from math import inf, isfinite, log, sqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.counters.families import chosen_function
from tasksim.models.kinds.counted import CounterModel
from tasksim.models.samples import HITS, Samples
from tasksim.network.collectives.closed import closed_s
from tasksim.network.collectives.registry import ALGORITHMS
from tasksim.reports.bulk.profile import Sent
from tasksim.run.criticalkernels import AGGREGATED_NAME
from tasksim.run.messageline import Hockney

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.models.counters.families import Criterion
    from tasksim.network.description import Network
    from tasksim.reports.bulk.profile import Profile

    Table = NDArray[np.float64]

__all__ = ["TIME_PARTS", "BulkModel", "BulkPrediction", "MessageCosts", "parsed_collective"]


class OverNetwork:
    """Mean message costs over some distances, on a *network* with latencies by distance."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._sized = cache(network.sized)

    def seconds(self, ranks: int, size_bytes: float) -> float:
        """Return the duration of a message: the mean over distances 1, 2, 4, ... of ranks."""
        network, distance, taken = self._sized(max(ranks, 2)), 1, []
        while distance < max(ranks, 2):
            taken.append(network.alone_s(0, distance, size_bytes))
            distance *= 2
        return float(np.mean(taken))


Collective = tuple[tuple[str, str], ...]
"""Operations with their algorithms, one after the other."""


@dataclass(frozen=True)
class MessageCosts:
    """Durations of messages, and the data that collectives send.

    Attributes
    ----------
    network : Network or Hockney
        The cost of a message alone.
    collectives : mapping
        Name of data -> the operations that send them. All other data go from point to point, n
        messages of s bytes in ``n (a + b s)``.
    """

    network: Network | Hockney
    collectives: Mapping[str, Collective] = field(default_factory=dict)

    def seconds(self, ranks: int, sent: Mapping[str, Sent]) -> float:
        """Return the duration of all messages, one after the other."""
        if ranks < 2:
            return 0.0
        return sum(self._of(name, ranks, found) for name, found in sent.items() if found.messages)

    def alone_s(self, ranks: int, size_bytes: float) -> float:
        """Return the duration of one message from point to point."""
        return self._alone().seconds(ranks, size_bytes)

    def _of(self, name: str, ranks: int, sent: Sent) -> float:
        size_bytes = sent.size_bytes / sent.messages
        alone = self._alone()
        if name not in self.collectives:
            return sent.messages * alone.seconds(ranks, size_bytes)
        operations = self.collectives[name]
        only_from_one = all(operation == "bcast" for operation, _ in operations)
        # A broadcast sends one datum to all; in a gather or a sum each rank sends one.
        calls = sent.total / (ranks - 1) if only_from_one else sent.calls
        # The line at that size: a message of no bytes may go another way than one of eight.
        taken_s, twice_s = (alone.seconds(ranks, factor * size_bytes) for factor in (1.0, 2.0))
        beta_s = (twice_s - taken_s) / size_bytes if size_bytes else 0.0
        alpha_s = max(taken_s - beta_s * size_bytes, 0.0)
        return calls * sum(
            closed_s(*each, ranks, size_bytes, alpha_s, beta_s) for each in operations
        )

    def _alone(self) -> Hockney | OverNetwork:
        return self.network if isinstance(self.network, Hockney) else OverNetwork(self.network)


def parsed_collective(text: str) -> tuple[str, Collective]:
    """Return the name and the operations in ``pq=reduce:binomial+bcast:linear``.

    Raises
    ------
    InputError
        If an operation or its algorithm is not known, or has no formula.

    Examples
    --------
    >>> parsed_collective("pq=allreduce:ring")
    ('pq', (('allreduce', 'ring'),))
    """
    name, sign, words = text.partition("=")
    if not sign or not name or not words:
        raise InputError(f"collective: got '{text}'; legal: DATA=OPERATION:ALGORITHM[+...]")
    found = []
    for word in words.split("+"):
        operation, _, algorithm = word.partition(":")
        if operation not in ALGORITHMS:
            raise unknown("collective", operation, ALGORITHMS)
        if algorithm not in ALGORITHMS[operation]:
            raise unknown("algorithm", algorithm, ALGORITHMS[operation], operation)
        closed_s(operation, algorithm, 2, 1.0, 1.0, 1.0)  # raises InputError without a formula
        found.append((operation, algorithm))
    return name, tuple(found)


ABSCISSAS: Final[dict[str, Callable[[Profile], tuple[float, ...]]]] = {
    "work per rank": lambda profile: (profile.size / profile.ranks,),
    "ranks": lambda profile: (float(profile.ranks),),
    "work per rank, ranks": lambda profile: (profile.size / profile.ranks, float(profile.ranks)),
}
"""Variables that a counter may depend on; the first one wins a tie."""
ABSCISSA_ERROR_FACTOR: Final = 1.02
"""Ratio of two errors up to which the abscissas count as equally good."""
SMALL_ERROR: Final = 1e-6
"""Relative error of two equally good abscissas: the rest is rounding."""
ERROR_FACTOR_OF_ONE_SIZE: Final = 3.0
"""Ratio of two errors from which on the ranks replace the work per rank, if all problems have one
size: both explain them, but the ranks do not tell what a larger problem takes."""
MIN_RANKS_TO_JUDGE: Final = 3
"""Minimum number of numbers of ranks from which a model predicts the next one."""
DEVIATIONS_OF_95_PERCENT: Final = 1.96
"""Half-width of a normal 95 % interval, in standard deviations."""


TIME_PARTS: Final = {
    "computing": "computing",
    "memory": "memory that computing does not hide",
    "messages": "messages that show",
    "others": "other kernels",
}
"""Parts of a predicted time, with their descriptions."""


@dataclass(frozen=True)
class BulkPrediction:
    """A predicted time and its parts, in seconds, with a 95 % interval from low to high.

    The interval has the scatter of the profiles, and what the model errs when it predicts the most
    ranks that were measured from the fewer ones, for each such step that is asked beyond them.
    """

    ranks: int
    size: float
    computing_s: float
    memory_s: float
    messages_s: float
    others_s: float
    low_s: float
    high_s: float

    @property
    def seconds(self) -> float:
        """The sum of the parts."""
        return sum(self.parts_s().values())

    def parts_s(self) -> dict[str, float]:
        """Return each part, by the names in :data:`TIME_PARTS`."""
        return {name: getattr(self, f"{name}_s") for name in TIME_PARTS}


class BulkModel:
    """A bulk-synchronous program, known from profiles on few ranks.

    Parameters
    ----------
    profiles : sequence of Profile
        Measurements on at least two numbers of ranks or sizes; better three.
    costs : MessageCosts
        The costs of messages.
    latencies_s : mapping, optional
        The latency of each level of memory; guessed if missing.
    critical : collection of str, optional
        The kernels that get models; by default all that were counted. The others are aggregated.
    bf_comm : float, optional
        Share of the messages' time that is not hidden; by default fitted to the profiles.
    cores : int, optional
        Number of cores that all ranks share; more ranks than cores compute in turns.
    by : {"cv", "r2"}, default "cv"
        Criterion for the choice of the counters' families.

    Attributes
    ----------
    kernels : dict
        Critical kernel -> its model of counters, over the abscissa of the counters.
    bf_comm : float

    Raises
    ------
    InputError
        If there are too few profiles, or no kernel was counted.
    """

    def __init__(
        self,
        profiles: Sequence[Profile],
        costs: MessageCosts,
        *,
        latencies_s: Mapping[str, float] | None = None,
        critical: Sequence[str] | None = None,
        bf_comm: float | None = None,
        cores: int | None = None,
        by: Criterion = "cv",
    ) -> None:
        if len({(p.ranks, p.size) for p in profiles}) < 2:
            raise InputError(
                "a program's scaling needs profiles on two numbers of ranks or sizes, got "
                f"{len(profiles)} profile(s)"
            )
        self._profiles, self.costs, self._cores, self._by = tuple(profiles), costs, cores, by
        self._options: dict[str, Any] = {
            "latencies_s": latencies_s, "critical": critical, "bf_comm": bf_comm, "cores": cores,
            "by": by,
        }  # fmt: skip
        counted = [
            name
            for name in dict.fromkeys(n for p in profiles for n in p.kernels)
            if (critical is None or name in critical)
            and all(p.kernels[name].counters for p in profiles if name in p.kernels)
        ]
        if not counted:
            raise InputError("no kernel has counters: 'tasksim counters' counts them")
        self.abscissa: dict[str, str] = {}
        self.kernels = {name: self._kernel(name, latencies_s) for name in counted}
        self._rest = self._function(AGGREGATED_NAME, self._profiles, self._others)
        data = dict.fromkeys(name for p in profiles for name in p.sent)
        self._sent = {name: self._sent_functions(name) for name in data}
        self.bf_comm, self._bf_deviation = self._fitted_bf(bf_comm)

    def predict(self, profile: Profile, *, counted: bool = False) -> BulkPrediction:
        """Return the time of the program with the ranks and the size of *profile*.

        With *counted*, the counters and messages of the busiest rank are those of the profile,
        which the program determines. By default all of them are functions of work and ranks.
        """
        told, variance = self._told(profile, counted=counted)
        total = sum(told)
        variance += (self._error_per_step * self._steps(profile) * total) ** 2
        margin = DEVIATIONS_OF_95_PERCENT * sqrt(variance)
        return BulkPrediction(
            profile.ranks, profile.size, *told, max(total - margin, 0.0), total + margin
        )

    def _told(
        self, profile: Profile, *, counted: bool
    ) -> tuple[tuple[float, float, float, float], float]:
        """Return the :data:`TIME_PARTS`, and the variance of their sum, by scattered profiles."""
        computing = memory = variance = 0.0
        for name, model in self.kernels.items():
            parts = self._parts(model, name, profile, counted=counted)
            computing, memory = computing + parts[0], memory + parts[1]
            variance += (model.spread_ * sum(parts)) ** 2
        turns = self._turns(profile.ranks)
        alone = self._messages(profile, counted=counted)
        variance = variance * turns**2 + (self._bf_deviation * alone) ** 2
        others = turns * self._rest(profile)
        return (turns * computing, turns * memory, self.bf_comm * alone, others), variance

    @cached_property
    def _error_per_step(self) -> float:
        """The relative error that a model without the profiles on most ranks makes on these.

        A model of fewer than three numbers of ranks judges nothing; then it is 0.
        """
        most = max(p.ranks for p in self._profiles)
        before = [p for p in self._profiles if p.ranks < most]
        last = [p for p in self._profiles if p.ranks == most and p.seconds > 0]
        if len({p.ranks for p in before}) < MIN_RANKS_TO_JUDGE or not last:
            return 0.0
        try:
            model = BulkModel(before, self.costs, **self._options)
        except InputError:  # only the most ranks have a kernel with counters
            return 0.0
        told = [sum(model._told(profile, counted=False)[0]) for profile in last]
        return float(np.mean([abs(t / p.seconds - 1) for t, p in zip(told, last, strict=True)]))

    def _steps(self, profile: Profile) -> float:
        """Return by how many steps *profile* exceeds the known profiles.

        A step is as long as the last one between them, in the logarithm of the ranks or of the work
        per rank; the longer way counts.
        """
        found = 0.0
        for values, asked in (
            ([p.ranks for p in self._profiles], profile.ranks),
            ([p.size / p.ranks for p in self._profiles], profile.size / profile.ranks),
        ):
            known = np.unique(values)
            if len(known) > 1 and known[-2] > 0 and asked > known[-1]:
                found = max(found, log(asked / known[-1]) / log(known[-1] / known[-2]))
        return found

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The profiles that the model was fitted to."""
        return self._profiles

    def row(self, kernel: str, profile: Profile) -> tuple[float, ...]:
        """Return the variables that the counters of a critical *kernel* depend on."""
        return ABSCISSAS[self.abscissa[kernel]](profile)

    def sent(self, profile: Profile) -> dict[str, Sent]:
        """Return the modelled messages of the busiest rank, by the name of their data."""
        return {name: Sent(*(f(profile) for f in of)) for name, of in self._sent.items()}

    def _turns(self, ranks: int) -> float:
        return max(1.0, ranks / self._cores) if self._cores else 1.0

    def _parts(
        self, model: CounterModel, name: str, profile: Profile, *, counted: bool
    ) -> tuple[float, float]:
        if not counted:
            found = model.parts([self.row(name, profile)])
            return float(found[0][0]), float(found[1][0])
        share = profile.kernels.get(name)
        if share is None:
            return 0.0, 0.0
        levels = model.latencies_s_.items()
        waited = sum(latency_s * share.counters[HITS[level]] for level, latency_s in levels)
        computed = share.counters["instructions"] / model.frequency_hz_
        return model.cpi_core_ * computed, model.bf_mem_ * waited

    def _kernel(self, name: str, latencies_s: Mapping[str, float] | None) -> CounterModel:
        mine = [p for p in self._profiles if name in p.kernels]
        values = [p.kernels[name].counters["instructions"] for p in mine]
        self.abscissa[name] = chosen_abscissa(mine, values, self._by)
        rows = np.array([ABSCISSAS[self.abscissa[name]](p) for p in mine])
        counters: dict[str, Any] = {
            counter: np.array([p.kernels[name].counters[counter] for p in mine])
            for counter in mine[0].kernels[name].counters
        }
        seconds = np.array([p.kernels[name].seconds for p in mine])
        names = ("work", "ranks")[: rows.shape[1]]
        samples = Samples(names, rows, seconds, np.arange(len(mine)), counters)
        # Sums over executions cannot tell the cost of a call, or another cost of small data.
        return CounterModel(latencies_s=latencies_s, by=self._by, costs="two").fit(samples)

    def _others(self, profile: Profile) -> float:
        return sum(s.seconds for name, s in profile.kernels.items() if name not in self.kernels)

    def _function(
        self, name: str, profiles: Sequence[Profile], of: Callable[[Profile], float]
    ) -> Callable[[Profile], float]:
        """Fit a function to the value *of* each of the *profiles*; store its abscissa as *name*."""
        values = [of(profile) for profile in profiles]
        if not any(values):
            return lambda _: 0.0
        chosen = self.abscissa[name] = chosen_abscissa(profiles, values, self._by)
        rows = np.array([ABSCISSAS[chosen](p) for p in profiles])
        function = chosen_function(rows, np.array(values), self._by)
        return lambda profile: float(function(np.array([ABSCISSAS[chosen](profile)]))[0])

    def _sent_functions(self, name: str) -> tuple[Callable[[Profile], float], ...]:
        """Fit a function to each field of :class:`Sent`, from runs on several ranks."""
        several = [profile for profile in self._profiles if profile.ranks > 1]
        nothing = Sent(0.0, 0.0, 0.0, 0.0)

        def column(field: str) -> Callable[[Profile], float]:
            return lambda profile: float(getattr(profile.sent.get(name, nothing), field))

        fields = ("messages", "size_bytes", "total", "calls")
        return tuple(
            self._function(f"{field} of {name}", several, column(field)) for field in fields
        )

    def _messages(self, profile: Profile, *, counted: bool) -> float:
        if profile.ranks < 2:
            return 0.0
        return self.costs.seconds(profile.ranks, profile.sent if counted else self.sent(profile))

    def _fitted_bf(self, given: float | None) -> tuple[float, float]:
        """Return the share of messages' time that is not hidden, and its standard deviation."""
        if given is not None and not (isfinite(given) and given >= 0):
            raise InputError(f"bf_comm: got {given!r}; legal: 0 or more")
        self.bf_comm, self._bf_deviation = 1.0, 0.0
        left, sent = [], []
        for profile in self._profiles:
            alone = self._messages(profile, counted=True)
            if alone > 0 and 0 < profile.seconds < inf:
                without = self.predict(profile, counted=True)
                rest = profile.seconds - without.computing_s - without.memory_s - without.others_s
                left.append(rest / profile.seconds)
                sent.append(alone / profile.seconds)
        if given is not None or not left:
            return (1.0 if given is None else given), 0.0
        x, y = np.array(sent), np.array(left)
        factor = max(float(x @ y / (x @ x)), 0.0)
        if len(x) < 2:
            return factor, 0.0
        deviation = float(np.sqrt(((y - factor * x) ** 2).sum() / (len(x) - 1) / (x @ x)))
        return factor, deviation


def chosen_abscissa(profiles: Sequence[Profile], values: Sequence[float], by: Criterion) -> str:
    """Return the abscissa that explains *values* best.

    The profiles on most ranks are left out of the fit and judge it, since the models are asked
    about more ranks than were measured. With three profiles or less, it is the work per rank. Only
    problems of several sizes tell the work from the ranks: those of one size have one abscissa,
    which is the work, unless the ranks are much better.
    """
    most = max(p.ranks for p in profiles)
    out = np.array([p.ranks == most for p in profiles])
    best, error = next(iter(ABSCISSAS)), np.inf
    if (~out).sum() < 3:
        return best
    target = np.array(values)
    several = len({p.size for p in profiles}) > 1
    factor = ABSCISSA_ERROR_FACTOR if several else ERROR_FACTOR_OF_ONE_SIZE
    for name, abscissa in ABSCISSAS.items():
        rows = np.array([abscissa(p) for p in profiles])
        if rows.shape[1] > 1 and not several:
            continue
        told = chosen_function(rows[~out], target[~out], by)(rows[out])
        found = float(np.mean(np.abs(told - target[out]) / np.maximum(target[out], 1e-12)))
        if max(found, SMALL_ERROR) * factor < error:
            best, error = name, max(found, SMALL_ERROR)
    return best
