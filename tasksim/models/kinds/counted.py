"""Counter model, with the part of memory time that computing does not hide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.counters.costs import Costs, Spent, chosen_costs, conditions, variance_over_runs
from tasksim.models.counters.families import CounterFunction, accesses, chosen_function, hits
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.quantiles import group_means, inliers
from tasksim.models.samples import HITS, MEMORY_LEVELS, REACHED, with_clock
from tasksim.models.terms.leastsquares import LEAST_S, log_normal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.counters.costs import CostsBy
    from tasksim.models.counters.families import Criterion
    from tasksim.models.quantiles import Draw
    from tasksim.models.samples import Samples

__all__ = ["CounterModel", "guessed_latencies"]

DEFAULT_LATENCY_CYCLES: Final = {"l1": 4.0, "l2": 14.0, "l3": 60.0, "memory": 250.0}
"""Typical latencies of current processors in cycles, used if those of the machine are not given."""
DEFAULT_HZ: Final = 1e9
"""Default frequency if it is unknown: cycles are then nanoseconds."""
CRITERIA: Final = ("cv", "r2")
COST_CHOICES: Final = ("cv", "two")
LINE_BYTES: Final = 64
"""Bytes per memory access: a cache line of x86 and of most ARM processors."""


def guessed_latencies(samples: Samples) -> dict[str, float]:
    """Return typical latencies of the levels that *samples* count, at their median clock."""
    counters = samples.counters or {}
    hertz = float(np.median(counters.get(CLOCK_PARAMETER, np.array([DEFAULT_HZ]))))
    if CLOCK_PARAMETER in samples.names:
        hertz = float(np.median(samples.parameters[:, samples.names.index(CLOCK_PARAMETER)]))
    levels = [level for level in MEMORY_LEVELS if HITS[level] in counters]
    return {level: DEFAULT_LATENCY_CYCLES[level] / hertz for level in levels}


class CounterModel(KernelModel):
    """Instructions and memory accesses as functions of the parameters, multiplied by their costs.

    ``T = instructions · CPI_core / f + BF_mem · sum(hits · latency) + T_comm``: cycles per
    instruction without waiting, and the part of memory time that computing does not hide. Both
    are estimated by non-negative regression of relative errors from samples with counters
    (:data:`~tasksim.models.samples.COUNTERS`); if
    ``cycles`` and ``stall_cycles`` were counted, they are means over runs instead. Samples at two
    frequencies, or two loads of the memory (``latency_factor``), determine both exactly.

    ``CounterModel(by="r2", costs="two")`` is the method of the paper. The default adds extensions
    that reduce the error on configurations left out: further families of functions, functions of
    accesses that reach a level instead of hits, cycles per call, and another ``CPI_core`` for small
    data.

    Parameters
    ----------
    latencies_s : mapping, default=None
        Level (``l1``, ``l2``, ``l3``, ``memory``) -> seconds; None: 4, 14, 60 and 250 cycles,
        which the report notes.
    frequency_hz : float, default=None
        Frequency of the core; None: that of the samples. If configurations were measured at several
        clocks, ``frequency_hz`` is a parameter of the model.
    by : {"cv", "r2"}, default="cv"
        Criterion for the families of counters: the cross-validated error, or R².
    costs : {"cv", "two"}, default="cv"
        Which costs are allowed: those chosen by the cross-validated error, or the two above.

    Attributes
    ----------
    cpi_core_, bf_mem_ : float
        Cycles per instruction (for large data, if there are two); the part of memory time
        that is not hidden.
    costs_ : Costs
        All costs.
    cpi_variance_ : float
        Variance of the cycles per instruction over runs; NaN with fewer than two.
    functions_ : dict
        Counter -> its function of the parameters; with "cv", of accesses that reach a level.

    Notes
    -----
    N. Ding, V. W. Lee, W. Xue, W. Zheng, "APMT: an automatic hardware counter-based performance
    modeling tool for HPC applications", CCF Transactions on High Performance Computing 2, 2020.

    See Also
    --------
    tasksim.LinearModel : A model without counters.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> n = np.repeat(np.array([64.0, 128, 256, 512]), 3)
    >>> counters = {"instructions": n**2, "memory_accesses": n, "frequency_hz": 0 * n + 2e9}
    >>> seconds = 0.5 * n**2 / 2e9 + 0.25 * n * 100e-9
    >>> samples = Samples(("n",), n[:, None], seconds, counters=counters)
    >>> model = CounterModel(latencies_s={"memory": 100e-9}).fit(samples)
    >>> round(model.cpi_core_, 6), round(model.bf_mem_, 6)
    (0.5, 0.25)
    """

    kind = "counters"
    automatic = False
    needs_counters = True
    takes_categories = False

    costs_: Costs
    cpi_variance_: float
    spread_: float
    frequency_hz_: float
    latencies_s_: dict[str, float]
    functions_: dict[str, CounterFunction]
    notes_: tuple[str, ...]
    _clock: int | None
    """Index of the parameter that is the clock; None if all samples have the same clock."""

    def __init__(
        self,
        *,
        latencies_s: Mapping[str, float] | None = None,
        frequency_hz: float | None = None,
        by: Criterion = "cv",
        costs: CostsBy = "cv",
    ) -> None:
        self.latencies_s = latencies_s
        self.frequency_hz = frequency_hz
        self.by = by
        self.costs = costs

    @property
    def cpi_core_(self) -> float:
        """Cycles per instruction; that for large data, if there are two."""
        return self.costs_.cpi[-1]

    @property
    def bf_mem_(self) -> float:
        """The part of memory time that computing does not hide."""
        return self.costs_.bf_mem

    def fit(self, samples: Samples) -> Self:
        """Fit the model to *samples*; the clock becomes a parameter if they have several."""
        return super().fit(with_clock(samples) if self.frequency_hz is None else samples)

    def parts(
        self, parameters: ArrayLike, *, frequency_hz: float | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return the parts of each row's duration in seconds: computing, unhidden memory, messages.

        Parameters
        ----------
        parameters : array_like, shape (n, p)
            As in :meth:`predict`.
        frequency_hz : float, optional
            Frequency of the core: computing scales with it, memory and messages do not. By default
            that of the row, or of the samples.

        Raises
        ------
        InputError
            If the frequency is not positive.
        """
        self._check_fitted("parts")
        if frequency_hz is not None and not (np.isfinite(frequency_hz) and frequency_hz > 0):
            raise self._refusal(f"a frequency must be positive, got {frequency_hz!r}")
        return self._parts(self._table(parameters), frequency_hz)

    def compute_share(self, parameters: ArrayLike) -> Floats:
        """Return the share of the duration that scales with the clock, 0 to 1, per row.

        Simulations at another frequency use it
        (:class:`~tasksim.models.contention.KnowsComputing`).
        """
        parts = self.parts(parameters)
        return np.asarray(parts[0] / np.maximum(sum(parts), LEAST_S))

    def traffic_bytes(self, parameters: ArrayLike) -> Floats:
        """Return the bytes that each row moves between the last-level cache and memory."""
        self._check_fitted("traffic_bytes")
        table = self._counted(self._table(parameters))
        found = self.functions_.get("memory_accesses")
        return LINE_BYTES * (np.zeros(len(table)) if found is None else found(table))

    def counted(self, parameters: ArrayLike) -> dict[str, Floats]:
        """Return the modelled counters of each row: instructions, and hits of each level."""
        self._check_fitted("counted")
        table = self._counted(self._table(parameters))
        levels = hits(self.functions_, list(self.latencies_s_), table)
        answered = {HITS[level]: values for level, values in levels.items()}
        return {"instructions": self.functions_["instructions"](table), **answered}

    def family(self, counter: str) -> str:
        """Return the family of functions of *counter*, as text."""
        self._check_fitted("family")
        if counter not in self.functions_:  # what a level answers: accesses that reach it
            counter = next(REACHED[level] for level in self.latencies_s_ if HITS[level] == counter)
        return self.functions_[counter].describe()

    def formula(self, digits: int = 4) -> str:
        """Return the formula of the fitted model as text."""
        self._check_fitted("formula")
        levels = " + ".join(
            f"{1e9 * latency:.{digits}g} ns*{HITS[level]}"
            for level, latency in self.latencies_s_.items()
        )
        clock = f"{self.frequency_hz_:.{digits}g} Hz" if self._clock is None else CLOCK_PARAMETER
        core = f"{self.costs_.describe(digits)}/{clock}"
        comm = " + communication" if "communication_s" in self.functions_ else ""
        return f"{core} + {self.bf_mem_:.{digits}g}*({levels}){comm}"

    def coefficient_count(self, rows: Floats) -> int:  # noqa: ARG002
        """Return the number of coefficients: those of the counters' functions, and the costs."""
        costs = 1 + len(self.costs_.cpi) + (self.costs_.call_cycles > 0)
        return costs + max(int(np.count_nonzero(found.coef)) for found in self.functions_.values())

    def _fit(self, samples: Samples) -> Bools:
        one_of(self.by, CRITERIA, "by")
        one_of(self.costs, COST_CHOICES, "costs")
        kept = inliers(samples, samples.configurations()[1], self.fence)
        samples = samples.select(kept)
        counters = self._counters(samples)
        frequency = self._frequency(samples, counters)
        self.frequency_hz_ = float(np.median(frequency))
        self._clock = None
        if CLOCK_PARAMETER in samples.names:
            self._clock = samples.names.index(CLOCK_PARAMETER)
            self.frequency_hz_ = float(samples.parameters[:, self._clock].max())
        levels = [level for level in MEMORY_LEVELS if HITS[level] in counters]
        self.latencies_s_ = self._latencies(levels)
        factor = counters.get("latency_factor", 1.0)
        memory_s = np.zeros(len(samples))
        for level in levels:
            memory_s += factor * counters[HITS[level]] * self.latencies_s_[level]
        local_s = samples.durations_s - counters.get("communication_s", 0.0)
        self._demand(local_s > 0, "communication_s is not less than its duration")
        spent = Spent(counters["instructions"], frequency, memory_s, local_s)
        self._set_costs(spent, counters, samples)
        self.functions_ = self._functions(samples, counters)
        self.notes_ = tuple(self._noted(samples, spent))
        found = self.costs_.computing_s(spent.instructions, frequency) + self.bf_mem_ * memory_s
        self.spread_ = float(np.std(local_s / np.maximum(found, LEAST_S)))
        return kept

    def _counters(self, samples: Samples) -> Mapping[str, Floats]:
        counters = samples.counters or {}
        missing = [] if "instructions" in counters else ["instructions"]
        if not any(name in counters for name in HITS.values()):
            missing.append(" or ".join(HITS.values()))
        if missing:
            raise self._refusal(
                f"samples have no column {' and none '.join(missing)}: a model of counters needs "
                "samples that were counted (tasksim counters)"
            )
        self._demand(
            counters["instructions"] > 0, "instructions 0: every execution has at least one"
        )
        return counters

    def _demand(self, holds: Bools, message: str) -> None:
        """Refuse samples with *message* about the first one for which a condition does not hold."""
        if not holds.all():
            raise self._refusal(f"sample {int(np.argmin(holds))}: {message}")

    def _frequency(self, samples: Samples, counters: Mapping[str, Floats]) -> Floats:
        if CLOCK_PARAMETER in samples.names:
            counters = {
                CLOCK_PARAMETER: samples.parameters[:, samples.names.index(CLOCK_PARAMETER)],
                **counters,
            }
        given = self.frequency_hz
        if given is not None and CLOCK_PARAMETER in samples.names:
            raise self._refusal(
                f"{CLOCK_PARAMETER} is a parameter of the samples and an option: give only one"
            )
        if given is not None and not (np.isfinite(given) and given > 0):
            raise self._refusal(f"frequency_hz must be positive, got {given!r}")
        if given is not None or "frequency_hz" not in counters:
            return np.full(len(samples), given or DEFAULT_HZ)
        self._demand(counters["frequency_hz"] > 0, "frequency_hz 0: a frequency must be positive")
        return counters["frequency_hz"]

    def _latencies(self, levels: list[str]) -> dict[str, float]:
        if self.latencies_s is None:
            return {level: DEFAULT_LATENCY_CYCLES[level] / self.frequency_hz_ for level in levels}
        missing = [level for level in levels if level not in self.latencies_s]
        wrong = [level for level in self.latencies_s if not self.latencies_s[level] >= 0]
        if missing or wrong:
            raise self._refusal(
                f"latencies_s: no latency of {', '.join(missing)}" if missing
                else f"latencies_s: {wrong[0]}: got {self.latencies_s[wrong[0]]}; legal: 0 or more"
            )  # fmt: skip
        return {level: float(self.latencies_s[level]) for level in levels}

    def _set_costs(self, spent: Spent, counters: Mapping[str, Floats], samples: Samples) -> None:
        """Set the costs: from stalls if they were counted, otherwise by regression."""
        if {"cycles", "stall_cycles"} <= set(counters) and (spent.memory_s > 0).all():
            stalls, cycles = counters["stall_cycles"], counters["cycles"]
            self._demand(stalls <= cycles, "more stall_cycles than cycles")
            bf_mem = float(np.mean(stalls / (spent.memory_s * spent.frequency_hz)))
            per_sample = (cycles - stalls) / spent.instructions
            self.costs_ = Costs((float(np.mean(per_sample)),), bf_mem)
        else:
            group = samples.without([CLOCK_PARAMETER]).configurations()[1]
            self.costs_ = chosen_costs(spent, group, self.costs)
            cycles = (spent.local_s - self.bf_mem_ * spent.memory_s) * spent.frequency_hz
            per_sample = (cycles - self.costs_.call_cycles) / spent.instructions
        self.cpi_variance_ = variance_over_runs(per_sample, samples.runs)

    def _functions(
        self, samples: Samples, counters: Mapping[str, Floats]
    ) -> dict[str, CounterFunction]:
        """Return each counter as a function of the parameters, fitted to configurations.

        With "cv", errors are weighted by the share of the duration that they may cause.
        """
        columns = {
            "instructions": counters["instructions"],
            **accesses(counters, list(self.latencies_s_), self.by),
        }
        if "communication_s" in counters:
            columns["communication_s"] = counters["communication_s"]
        rows, group = samples.without([CLOCK_PARAMETER]).configurations()
        weights = None if self.by == "r2" else 1 / group_means(samples.durations_s, group)
        return {
            name: chosen_function(rows, group_means(column, group), self.by, weights)
            for name, column in columns.items()
        }

    def _noted(self, samples: Samples, spent: Spent) -> Iterator[str]:
        """Yield notes about the fit: violated conditions, guessed numbers."""
        counters = samples.counters or {}
        if self.latencies_s is None:
            yield "latencies are guessed: 'tasksim calibrate memory' measures this machine's"
        if self.frequency_hz is None and CLOCK_PARAMETER not in {*samples.names, *counters}:
            yield "the frequency is unknown: a cycle counts as a nanosecond"
        yield from conditions(samples, spent)

    def _parts(
        self, table: Floats, frequency_hz: float | None = None
    ) -> tuple[Floats, Floats, Floats]:
        found = self.functions_
        clock: Floats | float | None = frequency_hz
        if clock is None:
            clock = self.frequency_hz_ if self._clock is None else table[:, self._clock]
        table = self._counted(table)
        compute = self.costs_.computing_s(found["instructions"](table), clock)
        memory = np.zeros(len(table))
        for level, answered in hits(found, list(self.latencies_s_), table).items():
            memory += self.bf_mem_ * self.latencies_s_[level] * answered
        comm = found.get("communication_s")
        return compute, memory, np.zeros(len(table)) if comm is None else comm(table)

    def _counted(self, table: Floats) -> Floats:
        """Return the parameters that counters depend on: all except the clock."""
        return table if self._clock is None else np.delete(table, self._clock, axis=1)

    def _predict(self, table: Floats) -> Floats:
        compute, memory, communication = self._parts(table)
        return np.maximum(compute + memory + communication, LEAST_S)

    def _sampler(self, table: Floats) -> Draw:
        mean = self._predict(table)
        spread = np.full(len(mean), self.spread_)
        return lambda rng: log_normal(mean, spread, rng)

    def _details(self) -> dict[str, Any]:
        return {
            "cpi_core": self.cpi_core_,
            "bf_mem": self.bf_mem_,
            "costs": self.costs_.to_json(),
            "cpi_variance": self.cpi_variance_,
            "families": {name: found.describe() for name, found in self.functions_.items()},
            "r2": {name: found.r2 for name, found in self.functions_.items()},
            "notes": self.notes_,
        }

    def _to_json(self) -> dict[str, Any]:
        return {
            "costs": self.costs_.to_json(),
            "cpi_variance": self.cpi_variance_,
            "spread": self.spread_,
            "frequency_hz": self.frequency_hz_,
            "latencies_s": self.latencies_s_,
            "functions": {name: found.to_json() for name, found in self.functions_.items()},
            "notes": self.notes_,
        }

    def _from_json(self, node: JsonNode) -> None:
        names = node["parameters"].texts()
        self._clock = names.index(CLOCK_PARAMETER) if CLOCK_PARAMETER in names else None
        parameters = len(names) - (CLOCK_PARAMETER in names)
        self.costs_ = Costs.from_json(node["costs"])
        self.cpi_variance_ = node["cpi_variance"].optional()
        self.spread_ = node["spread"].number()
        self.frequency_hz_ = node["frequency_hz"].positive()
        self.latencies_s_ = {n: found.number() for n, found in node["latencies_s"].items()}
        self.functions_ = {
            name: CounterFunction.from_json(found, parameters)
            for name, found in node["functions"].items()
        }
        if "instructions" not in self.functions_:
            raise node["functions"].error("'instructions' is missing")
        for level in self.latencies_s_:
            if level not in HITS:
                raise node["latencies_s"].expected(f"levels of {', '.join(MEMORY_LEVELS)}")
            if not {HITS[level], REACHED[level]} & set(self.functions_):
                raise node["functions"].error(f"'{REACHED[level]}' is missing")
        self.notes_ = node["notes"].texts()
