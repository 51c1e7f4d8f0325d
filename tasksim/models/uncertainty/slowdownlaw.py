"""Law of slowdowns by other programs, predicted from recent probes of the machine.

A *slowdown* is the ratio of a duration to the duration on an idle machine. It has two factors: how
much longer work takes because others have its cores for a part of the time, and its *crowding*, by
which others on the same processor lengthen it while it has a core
(:mod:`tasksim.run.crowding`). A calibration probes all cores briefly again and again
(:mod:`tasksim.native.slowdown_probe`), and each of its runs has a slowdown of its own. A prediction
uses the calibration runs whose last few probes, as long before the run, were similar: others had as
much of the cores, and the slowdown was as restless, which is the distance between these probes. If
no such run was seen, because a load began after the calibration, the slowdown of the run is the
mean of these probes, and as much more or less as that of the calibration's runs was, with some
scatter, which reaches the calmest of them and the busiest.

The crowding changes from minute to minute: beside the same steady load, it makes runs of some
minutes 8 % longer than those of others. Probes measure it to a few percent. So a predicted run has
the crowding of the last few probes in place of that before the calibration's runs. It depends on
the kernels: runs of Cholesky are crowded 3 to 8 % more than runs of QR at the same moment. So each
probe counts as that of the run's own kernels, by their shares of its time.

Others take a core for a slice of time again and again. A short run meets few slices, many or none;
a long one meets about as many as any other of its length. And threads that have slept keep their
cores for the first milliseconds. So slowdowns of short runs are smaller than those of long ones,
and vary more; a prediction scales the slowdowns of the calibration's runs to its own length.

The load of a machine also changes slowly. The mean of the last few probes follows it better than
the latest one: by as much as the slowdowns of a calibration follow it, those of similar runs are
shifted to the present, apart from crowding, which they follow in full.

The file ``slowdown.csv`` in a machine's folder has the slowdowns of calibration runs. One line per
run: ``run``, its number as in sample files; ``probe``, the slowdown of work of its kernels on all
cores a second before the run, relative to an idle machine; ``restless``, the ratio of the largest
to the smallest of the last few probes; ``slowdown``, the slowdown of the run itself; ``alone_s``,
its makespan without other programs in seconds; ``usual``, the geometric mean of the last few
probes; and ``crowding``, that of their crowding. Files of earlier versions lack the last one, two
or three.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import read_text, write_text
from tasksim.base.numerals import plain_float, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.base.arrays import Bools, Floats

__all__ = [
    "LAG_S",
    "RECENT_PROBES",
    "UNSEEN_MINUTES_FACTOR",
    "ExpectedSlowdown",
    "Probe",
    "Probes",
    "SlowdownLaw",
    "SlowdownRow",
    "read_slowdowns",
    "slowdown_path",
    "write_slowdowns",
]

RECENT_PROBES: Final = 4
"""Number of probes that determine how restless a machine is."""
LAG_S: Final = 1.0
"""Time from the latest probe to the start of a run, in seconds: a prediction takes about that
long."""
NEAREST_RUNS: Final = 80
"""Number of nearest runs that a prediction uses: one in forty lies beyond a 95 % interval on each
side, and runs of the same second are one moment."""
SAME_DISTANCE: Final = 0.1
"""Log distance below which probes cannot distinguish two moments: they scatter by a twentieth."""
MAX_DISTANCE: Final = 0.2
"""Log distance beyond which moments are unrelated: a fifth more or less. With .35, moments beside
one process on one of two cores counted as calm."""
PRIOR_RUNS: Final = 8
"""Weight of the prior, which holds for all machines, in runs."""
CALM_SCATTER: Final = 0.02
"""Standard deviation of the log slowdown on an otherwise idle machine."""
UNSHOWN_SLOWDOWN: Final = 0.04
"""Log slowdown of a run by what probes do not show, per share of the time in which others have its
cores: beside one and two busy processes per core it was .08 and .00, and this is their mean."""
BUSY_SCATTER: Final = 0.04
"""Standard deviation of a run's log slowdown, per unit of the mean log slowdown of the probes:
beside one and two busy processes per core, runs of an application differed from what the probes
said by .04 and .06 in all."""
STEADY_RESTLESSNESS: Final = 0.16
"""Log distance between the last probes that a steady load explains, per unit of their mean log
slowdown: they meet one time slice more or less. Of 240 moments beside one and two busy processes
per core, five in six were below it."""
RESTLESS_SCATTER: Final = 0.5
"""Standard deviation of a run's log slowdown, per unit of log distance between the last probes
beyond that beside a steady load: the run may meet the calmest of these moments or the busiest, and
an interval of 95 % about their mean holds both (of four, none is farther from the mean than three
quarters of the distance)."""
CROWDING_SCATTER: Final = 0.7
"""Standard deviation of a run's log crowding about the mean of the last probes, per unit of theirs,
besides that in the same moment: of 480 runs, those after steady probes differed by .018, those
after probes that differed by .04 and .07 by .032 and .041."""
ARRIVAL_SHARE: Final = 0.02
"""Share of runs during which a further load begins."""
ARRIVAL_SLOWDOWN: Final = 0.5
"""Mean log slowdown by such a load: that of two programs on one core is ln 2 = .7, for a part of
the run."""
UNSEEN_MINUTES_FACTOR: Final = 1.3
"""Ratio of the deviations of runs in later minutes to those within a calibration of some seconds.
Without it, intervals of 95 % held 85, 85, 86, 86 and 87 % of 100 or 150 runs in calm minutes, on
two hosts, and the others were slower: as if deviations were too small by 1.3 to 1.36."""
MAX_UNSEEN_DEVIATION: Final = 0.09
"""Largest standard deviation between minutes whose crowding is unknown, of a log slowdown: a
calibration beside others that come and go has seen what they do."""
SLOWDOWN_DRAWS: Final = 50_000
"""Number of draws that stand for a distribution: a share of .025 is known to .0007."""
BANDWIDTH_FACTOR: Final = 0.9
"""Factor of the bandwidth that smooths few runs (Silverman, Density Estimation, 1986, 3.31)."""
NORMAL_IQR: Final = 1.349
"""Interquartile range of a normal distribution, in standard deviations."""
MIN_LENGTH_RATIO: Final = 1.5
"""Smallest ratio of the longest to the shortest run that shows how variation depends on length."""
MAX_EXTRAPOLATION: Final = 4.0
"""Largest length for which slowdowns are scaled, in lengths of the longest run: at most half of its
deviation is left, as a smaller part that all lengths share may not have shown. Of shorter runs than
the shortest nothing is known."""
MIN_TAKEN: Final = -0.5
"""Smallest time that others take from a run, relative to its length: probes may show more crowding
than a run had."""
MIN_RUNS_OF_LENGTHS: Final = 12
"""Smallest number of similar runs of different lengths that show it: six of each of two lengths
tell their variances to a factor of two. And of runs that show how slowdowns follow probes."""


class Probe(NamedTuple):
    """How busy the machine is at a moment.

    Parameters
    ----------
    slowdown : float
        The duration of work on all cores, relative to idle cores; 1 or more.
    crowding : float, default 0.0
        The factor of it by which others on the same processor lengthen work that has a core, 1 or
        more; 0: unknown.
    of_kernels : mapping of str to float, optional
        The crowding of work of each shipped kernel.
    """

    slowdown: float
    crowding: float = 0.0
    of_kernels: Mapping[str, float] | None = None

    def of_work(self, times_s: Mapping[str, float]) -> Probe:
        """Return the probe of work that spends *times_s* in each of its kernels."""
        whole_s = sum(times_s.values())
        if not (self.of_kernels and self.crowding and whole_s):
            return self
        crowding = sum(
            time_s / whole_s * self.of_kernels.get(kernel, self.crowding)
            for kernel, time_s in times_s.items()
        )
        return Probe(self.slowdown * crowding / self.crowding, crowding)

    @property
    def legal(self) -> bool:
        """Whether all factors that are known are finite numbers of at least 1."""
        crowdings = [*(self.of_kernels or {}).values()] + [self.crowding] * (self.crowding != 0)
        return all(1 <= factor < inf for factor in (self.slowdown, *crowdings))


Probes = float | Probe | Sequence[float] | Sequence[Probe]
"""A slowdown or a probe, or the last few, the latest last. Numbers tell no crowding."""


class SlowdownRow(NamedTuple):
    """A run of a calibration.

    Parameters
    ----------
    probe : float
        The slowdown of the latest probe, :data:`LAG_S` before the run.
    restless : float
        The ratio of the largest to the smallest slowdown of the last few probes.
    slowdown : float
        The slowdown of the run.
    alone_s : float, default 0.0
        The makespan of the run without other programs, in seconds; 0: unknown.
    usual : float, default 0.0
        The geometric mean of the last few probes; 0: unknown.
    crowding : float, default 0.0
        The geometric mean of their crowding; 0: unknown.
    """

    probe: float
    restless: float
    slowdown: float
    alone_s: float = 0.0
    usual: float = 0.0
    crowding: float = 0.0

    @classmethod
    def of(cls, probes: Sequence[Probe], slowdown: float, alone_s: float = 0.0) -> Self:
        """Return the row of a run after *probes* of its work, the latest last."""
        recent = [probe.slowdown for probe in probes[-RECENT_PROBES:]]
        restless = max(recent) / min(recent)
        factors = [probe[:2] for probe in probes[-RECENT_PROBES:]]
        means = np.prod(factors, axis=0) ** (1 / len(recent))  # 0: an unknown one
        return cls(recent[-1], restless, slowdown, alone_s, *means.tolist())


@dataclass(frozen=True, eq=False)
class SlowdownLaw:
    """The slowdown of runs on a machine, as a function of preceding probes.

    Attributes
    ----------
    probes, restless, slowdowns : ndarray
        Logarithms, for each run of the calibrations.
    alone_s : ndarray
        Makespans of these runs without other programs, in seconds; 0: unknown.
    usual : ndarray
        Means of the logarithms of the last few probes before each; of the latest, if unknown.
    crowding : ndarray
        Means of the logarithms of their crowding; NaN: unknown.
    """

    probes: Floats
    restless: Floats
    slowdowns: Floats
    alone_s: Floats
    usual: Floats
    crowding: Floats

    @classmethod
    def of(cls, rows: Sequence[SlowdownRow]) -> Self:
        """Return the law of *rows*; without rows, only the prior."""
        table = np.array(rows, dtype=np.float64).reshape(-1, len(SlowdownRow._fields))
        probes, restless, slowdowns = np.log(table[:, :3]).T
        alone_s = table[:, 3]
        usual, crowding = np.log(np.where(table[:, 4:] > 0, table[:, 4:], np.nan)).T
        usual = np.where(np.isnan(usual), probes, usual)
        return cls(probes, restless, slowdowns, alone_s, usual, crowding)

    def at(self, probes: Sequence[Probe], alone_s: float = 0.0) -> ExpectedSlowdown:
        """Return the expected slowdown of a run after *probes* of its work, the latest last.

        *alone_s* is the makespan of the run without other programs, in seconds; 0: unknown.
        """
        factors = [probe[:2] for probe in probes[-RECENT_PROBES:]]
        recent, crowdings = np.array(factors, dtype=np.float64).T
        logs = np.log(recent)
        mean, restless = float(logs.mean()), float(np.ptp(logs))
        # Crowding now, and then, before the calibration's runs: if unknown, it counts as the same.
        known = bool((crowdings > 0).all() and np.isfinite(self.crowding).all())
        of_probes = np.log(crowdings) if known else np.zeros(len(logs))
        crowding = float(of_probes.mean())
        then = self.crowding if known else np.zeros(len(self.crowding))
        apart = np.abs((self.probes - then) - (logs[-1] - crowding))
        if len(logs) > 1:  # one probe does not show how restless the machine is
            apart = np.hypot(apart, self.restless - restless)
        nearest = np.sort(apart)[:NEAREST_RUNS]
        near = apart <= np.clip(nearest[-1] if len(nearest) else 0.0, SAME_DISTANCE, MAX_DISTANCE)
        # A restless machine that is busy now may be calm a second later: the latest says no more.
        others_share = 1.0 - np.exp(-mean)
        usual = max(mean + self._offset + UNSHOWN_SLOWDOWN * others_share, 0.0)
        changed = np.sqrt(max(restless**2 - (STEADY_RESTLESSNESS * usual) ** 2, 0.0))
        parts = CALM_SCATTER, BUSY_SCATTER * usual, RESTLESS_SCATTER * changed
        scatter = np.linalg.norm(parts)
        seen = self._of_length(alone_s, near, then)
        if len(seen):
            change = (mean - crowding) - float((self.usual - then)[near].mean())
            seen = np.sort(np.maximum(seen + self._follows(then) * change + crowding, 0.0))
        unseen = CROWDING_SCATTER * float(of_probes.std()) if known else _unseen_deviation(seen)
        return ExpectedSlowdown(seen, usual, float(scatter), unseen)

    def at_any(self, alone_s: float = 0.0) -> ExpectedSlowdown:
        """Return the expected slowdown at an unknown time: that of the calibration's runs.

        *alone_s* is as for :meth:`at`.
        """
        every = np.ones(len(self.slowdowns), dtype=bool)
        then = np.nan_to_num(self.crowding)
        seen = np.sort(np.maximum(self._of_length(alone_s, every, then) + then, 0.0))
        return ExpectedSlowdown(seen, 0.0, CALM_SCATTER, _unseen_deviation(seen))

    @property
    def _offset(self) -> float:
        """Median difference of the slowdowns of the calibration's runs from the probes before."""
        return float(np.median(self.slowdowns - self.usual)) if len(self.slowdowns) else 0.0

    def _follows(self, crowding: Floats) -> float:
        """Return the part of a change of the probes' mean by which slowdowns change: 0 to 1.

        Both are without the *crowding*.
        """
        usual = self.usual - crowding
        apart = usual - usual.mean()
        if len(apart) < MIN_RUNS_OF_LENGTHS or float(apart.std()) < CALM_SCATTER:
            return 0.0
        return float(np.clip(apart @ (self.slowdowns - crowding) / (apart @ apart), 0.0, 1.0))

    def _of_length(self, alone_s: float, near: Bools, crowding: Floats) -> Floats:
        """Return the slowdowns of the runs *near*, as runs of *alone_s* would have had.

        They are without the *crowding*. The time that others take from a run, divided by its
        length, has a mean and a variance of two parts each: one of long runs, and one that is
        divided by the length.
        """
        slowdowns, lengths = (self.slowdowns - crowding)[near], self.alone_s[near]
        if alone_s <= 0 or len(lengths) < MIN_RUNS_OF_LENGTHS or lengths.min() <= 0:
            return slowdowns
        if lengths.max() < MIN_LENGTH_RATIO * lengths.min():
            return slowdowns
        taken = np.expm1(slowdowns)
        there = float(np.clip(alone_s, lengths.min(), MAX_EXTRAPOLATION * lengths.max()))
        mean, mean_there = _by_length(taken, lengths, there, positive=False)
        variance, variance_there = _by_length((taken - mean) ** 2, lengths, there, positive=True)
        if not variance.all():
            return slowdowns
        scaled = mean_there + (taken - mean) * np.sqrt(variance_there / variance)
        return np.log1p(np.maximum(scaled, MIN_TAKEN))


@dataclass(frozen=True, eq=False)
class ExpectedSlowdown:
    """The distribution of a run's slowdown, a mixture of those of similar runs and the prior.

    Attributes
    ----------
    seen : ndarray
        Logarithms of the slowdowns of similar runs, ascending.
    usual, scatter : float
        Mean and standard deviation of the logarithm in the prior.
    unseen : float
        Standard deviation by which the run may differ from such runs.
    """

    seen: Floats
    usual: float
    scatter: float
    unseen: float

    @property
    def expected(self) -> float:
        """The central logarithm of the slowdown."""
        share = self._share_seen
        middle = float(np.median(self.seen)) if len(self.seen) else 0.0
        return share * middle + (1 - share) * self.usual

    def quantiles(self, shares: Floats) -> Floats:
        """Return the logarithms of the slowdowns that these *shares* of all runs do not exceed."""
        return np.asarray(np.quantile(self._draws, shares))

    @cached_property
    def _draws(self) -> Floats:
        """Logarithms of random slowdowns, at least 0."""
        rng = np.random.default_rng(0)
        normal = rng.standard_normal(SLOWDOWN_DRAWS)
        arrives = rng.random(SLOWDOWN_DRAWS) < ARRIVAL_SHARE
        arrivals = arrives * rng.exponential(ARRIVAL_SLOWDOWN, SLOWDOWN_DRAWS)
        prior = np.maximum(self.usual + self.scatter * normal, 0.0) + arrivals
        if not len(self.seen):
            return prior
        deviation = np.hypot(self._bandwidth, self.unseen)
        levels = np.quantile(self.seen, rng.random(SLOWDOWN_DRAWS)) + deviation * normal
        similar = np.maximum(levels, 0.0)
        return np.where(rng.random(SLOWDOWN_DRAWS) < self._share_seen, similar, prior)

    @property
    def _share_seen(self) -> float:
        return len(self.seen) / (len(self.seen) + PRIOR_RUNS)

    @property
    def _bandwidth(self) -> float:
        low, high = np.quantile(self.seen, (0.25, 0.75))
        scale = float(high - low) / NORMAL_IQR
        return float(BANDWIDTH_FACTOR * scale * len(self.seen) ** -0.2)


def _unseen_deviation(seen: Floats) -> float:
    """Return by how much the minutes of the runs *seen* differ from others, as a deviation."""
    if not len(seen):
        return 0.0
    return min(float(np.sqrt(UNSEEN_MINUTES_FACTOR**2 - 1) * seen.std()), MAX_UNSEEN_DEVIATION)


def _by_length(
    values: Floats, lengths: Floats, there: float, *, positive: bool
) -> tuple[Floats, float]:
    """Return *values* as fitted by ``a + b / length``, and the fit at the length *there*.

    If *positive*, neither a nor b is negative.
    """
    parts = np.column_stack([np.ones(len(lengths)), 1.0 / lengths])
    found = np.linalg.lstsq(parts, values, rcond=None)[0]
    if positive and (found < 0).any():
        kept = int(np.argmax(found))
        one = parts[:, kept]
        found = np.zeros(2)
        found[kept] = one @ values / (one @ one)
    return parts @ found, float(found[0] + found[1] / there)


CSV_COLUMNS: Final = ["run", *SlowdownRow._fields]
EARLIER_COLUMNS: Final = (CSV_COLUMNS[:-3], CSV_COLUMNS[:-2], CSV_COLUMNS[:-1])
"""Columns of files from before the length of a run counted, the mean of the probes, and their
crowding."""
MAX_SLOWDOWN: Final = 1e6
"""Largest slowdown accepted: no user waits for a run that is slowed a million times."""


def slowdown_path(folder: Path) -> Path:
    """Return the slowdown file in a machine's *folder* of coefficient files."""
    return folder / "slowdown.csv"


def read_slowdowns(path: Path) -> dict[int, SlowdownRow]:
    """Return the row of each run; nothing if the file does not exist.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    if not path.is_file():
        return {}
    lines = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    columns = next(lines, [])
    if columns not in (CSV_COLUMNS, *EARLIER_COLUMNS):
        raise InputError(f"{path}:1: expected the columns {','.join(CSV_COLUMNS)}")
    found: dict[int, SlowdownRow] = {}
    for fields in lines:
        try:
            number, *told = fields
            run, row = whole_number(number), SlowdownRow(*map(plain_float, told))
        except (ValueError, TypeError):
            run, row = None, SlowdownRow(0.0, 0.0, 0.0)
        legal = all(1 <= each <= MAX_SLOWDOWN for each in row[:3]) and 0 <= row.alone_s < inf
        legal = legal and all(not each or 1 <= each <= MAX_SLOWDOWN for each in row[4:])
        if run is None or not legal or len(fields) != len(columns):
            raise InputError(
                f"{path}:{lines.line_num}: expected a run, numbers of at least 1, and a time: "
                f"{', '.join(columns)}; got '{','.join(fields)[:80]}'"
            )
        found[run] = row
    return found


def write_slowdowns(folder: Path, rows: Mapping[int, SlowdownRow]) -> None:
    """Write *rows*, by run, to the slowdown file in a machine's *folder*."""
    lines = [",".join(map(repr, (run, *row))) for run, row in sorted(rows.items())]
    write_text(slowdown_path(folder), "\n".join([",".join(CSV_COLUMNS), *lines]) + "\n", force=True)
