"""Predicted makespans and their differences, with the uncertainty found by replications."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.base.units import duration_text
from tasksim.run.replicated import Replicates, components, contributions, errors, summary, swings

if TYPE_CHECKING:
    from tasksim.engine.replications import Replicator

__all__ = ["Difference", "KernelShare", "Prediction", "difference", "predicted"]

MAX_KERNELS_IN_LINE: Final = 4
"""Maximum number of kernels in a line: all of a factorisation."""
ROUNDING_SHARE: Final = 1e-9
"""Share of the mean below which differences of makespans are rounding errors."""
_WORDS: Final = {"models": "models", "runs": "run to run", "tasks": "tasks"}


@dataclass(frozen=True, slots=True)
class KernelShare:
    """Contribution of one kernel on one architecture to the spread of the makespan.

    Parameters
    ----------
    kernel, architecture : str
        Names.
    share : float
        Share of the variance of makespans that is explained by its mean duration.
    mean_s : float
        Mean duration of its tasks, predicted by the model.
    run_low_s, run_high_s : float
        Prediction interval of the mean duration of its tasks in one run, without the time of other
        programs.
    deviation : float
        Standard deviation of that mean from run to run, relative to it.
    swing_s : float
        Increase of the makespan if its tasks take one such deviation longer.
    """

    kernel: str
    architecture: str
    share: float
    mean_s: float
    run_low_s: float
    run_high_s: float
    deviation: float
    swing_s: float


@dataclass(frozen=True, repr=False)
class Prediction:
    """A predicted makespan and its uncertainty.

    Parameters
    ----------
    label : str
        Label of the scenario.
    sources : tuple of str
        Sources of uncertainty that were drawn, of ``models``, ``runs`` and ``tasks``.
    level : float
        Confidence level of the intervals.
    seed : int
        Seed of all draws.
    replications : int
        Number of replications.
    mean_s : float
        Mean makespan over all replications, in seconds.
    median_s : float
        Median makespan.
    mean_low_s : float
        Lower end of the confidence interval of the mean of many runs.
    mean_high_s : float
        Upper end of it.
    run_low_s : float
        Lower end of the prediction interval of the next run.
    run_high_s : float
        Upper end of it.
    means_s : float
        Makespan of a run in which every task takes its mean duration.
    error_s : float
        Half width of the confidence interval of *mean_s*, due to the number of replications.
    largest_error_s : float
        Largest such half width of all numbers.
    shares : dict
        Source -> its share of the variance of makespans.
    kernels : tuple of KernelShare
        Contribution of each kernel to the variance, the largest first.
    found : Replicates
        The replications themselves.
    until : float or None
        The requested precision.
    interrupted : bool
        Whether Ctrl-C ended the replications early.
    notes : tuple of str
        Uncertainties that are unknown, and so left out.

    See Also
    --------
    how_sure : Makes them.

    Examples
    --------
    >>> import tasksim
    >>> scenario = tasksim.Scenario("cholesky tiles=8", platform="xeon-2c", scheduler="lws")
    >>> sure = tasksim.how_sure(scenario, replications=200)
    >>> sure.run_low_s < sure.mean_low_s < sure.mean_s < sure.mean_high_s < sure.run_high_s
    True
    """

    label: str
    sources: tuple[str, ...]
    level: float
    seed: int
    replications: int
    mean_s: float
    median_s: float
    mean_low_s: float
    mean_high_s: float
    run_low_s: float
    run_high_s: float
    means_s: float
    error_s: float
    largest_error_s: float
    shares: dict[str, float]
    kernels: tuple[KernelShare, ...]
    found: Replicates = field(compare=False)
    until: float | None = None
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Prediction {self.label}: {self}>"

    def __str__(self) -> str:
        level = f"{100 * self.level:g} %"
        shares = ", ".join(f"{_WORDS[name]} {100 * s:.0f} %" for name, s in self.shares.items())
        return (
            f"makespan {duration_text(self.mean_s)}; mean of runs: "
            f"{_between(self.mean_low_s, self.mean_high_s)} ({level}); one run: "
            f"{_between(self.run_low_s, self.run_high_s)}; shares: {shares}"
        )

    @property
    def bias_s(self) -> float:
        """Mean makespan of runs minus the makespan with every task at its mean duration.

        A makespan is a maximum: a late task delays others, an early task speeds up none.
        """
        return self.mean_s - self.means_s

    @property
    def converged(self) -> bool | None:
        """Whether the requested precision was reached; None if none was requested."""
        return None if self.until is None else self.largest_error_s <= self.until * self.mean_s

    def text(self) -> str:
        """Return the prediction as a few lines of text."""
        bias = 100 * self.bias_s / self.means_s if self.means_s else 0.0
        differ = "shorter" if bias < 0.0 else "longer"
        lines = [
            str(self),
            f"{self.replications} replications: the mean is known to "
            f"{_percent(self.error_s, self.mean_s)}, all numbers to "
            f"{_percent(self.largest_error_s, self.mean_s)}; runs are {abs(bias):.2f} % {differ} "
            "on average than a run with mean durations",
        ]
        named = ", ".join(
            f"{k.kernel} on {k.architecture} {100 * k.share:.0f} %"
            for k in self.kernels[:MAX_KERNELS_IN_LINE]
        )
        return "\n".join([*lines, f"spread explained by kernels: {named}"])

    def warnings(self) -> list[str]:
        """Return warnings: unknown uncertainties, an interruption, a precision not reached."""
        said = list(self.notes)
        if self.interrupted:
            said.append(f"interrupted after {self.replications} replications")
        if self.converged is False:
            said.append(
                f"after {self.replications} replications the numbers are known to "
                f"{_percent(self.largest_error_s, self.mean_s)}, not to {100 * self.until:g} %"  # type: ignore[operator]
            )
        return said

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as plain data, without the replications."""
        names = (
            "mean_s", "median_s", "mean_low_s", "mean_high_s", "run_low_s", "run_high_s", "level",
            "shares", "sources", "replications", "seed", "means_s", "bias_s", "error_s",
            "largest_error_s", "until", "converged", "interrupted",
        )  # fmt: skip
        data = {name: getattr(self, name) for name in names}
        finite = None if np.isinf(self.largest_error_s) else self.largest_error_s
        return {
            **data,
            "sources": list(self.sources),
            "largest_error_s": finite,
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "notes": list(self.notes),
        }


def predicted(
    found: Replicates,
    replicator: Replicator,
    *,
    label: str,
    level: float,
    means_s: float,
    until: float | None,
    interrupted: bool,
    seed: int,
) -> Prediction:
    """Return the prediction from the replications *found*."""
    models = "models" in replicator.sources
    said = summary(found, level, models=models)
    of_groups = summary(found, level, models=False)
    off = errors(found, level, models=models)
    variances = components(found.makespans_s)
    whole = sum(variances)
    least = (ROUNDING_SHARE * said.mean_s) ** 2
    shares = [variance / whole if whole > least else 0.0 for variance in variances]
    return Prediction(
        label=label,
        sources=replicator.sources,
        level=level,
        seed=seed,
        replications=found.makespans_s.size,
        **said._asdict(),
        means_s=means_s,
        # The half width of the interval of the mean, over independent groups.
        error_s=(of_groups.mean_high_s - of_groups.mean_low_s) / 2,
        largest_error_s=max(off),
        shares=dict(zip(replicator.sources, shares, strict=True)),
        kernels=_kernels(found, replicator, level),
        found=found,
        until=until,
        interrupted=interrupted,
        notes=tuple(replicator.notes),
    )


def _kernels(found: Replicates, replicator: Replicator, level: float) -> tuple[KernelShare, ...]:
    tails = (1 - level) / 2, (1 + level) / 2
    ratios = found.ratios.reshape(found.makespans_s.size, -1)
    alone = found.alone_ratios.reshape(ratios.shape)
    bounds = np.quantile(alone, tails, axis=0, method="weibull") * replicator.expected_s
    rows = zip(
        replicator.kernels,
        contributions(found).tolist(),
        replicator.expected_s.tolist(),
        *bounds.tolist(),
        (ratios.std(axis=0) / ratios.mean(axis=0)).tolist(),
        swings(found).tolist(),
        strict=True,
    )
    shares = [KernelShare(*names, *numbers) for names, *numbers in rows]
    return tuple(sorted(shares, key=lambda kernel: -kernel.share))


@dataclass(frozen=True)
class Difference:
    """Difference of two predictions with the same draws, the second minus the first.

    Parameters
    ----------
    mean_s : float
        Mean difference of the makespans in seconds; negative if the second is faster.
    mean_low_s : float
        Lower end of the confidence interval of the mean difference over many runs.
    mean_high_s : float
        Upper end of it.
    run_low_s : float
        Lower end of the prediction interval of the difference of two runs with the same draws.
    run_high_s : float
        Upper end of it.
    level : float
        Confidence level of the intervals.
    first_wins : float
        Probability that the first is faster in a run with the same draws; ties count half.

    See Also
    --------
    difference : Makes them.

    Examples
    --------
    >>> import tasksim
    >>> base = tasksim.Scenario("cholesky tiles=8", platform="xeon-2c")
    >>> lws, eager = (
    ...     tasksim.how_sure(base.vary(scheduler=name), replications=200)
    ...     for name in ("lws", "eager")
    ... )
    >>> 0 <= tasksim.difference(lws, eager).first_wins <= 1
    True
    """

    mean_s: float
    mean_low_s: float
    mean_high_s: float
    run_low_s: float
    run_high_s: float
    level: float
    first_wins: float

    def to_json(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        return asdict(self)


def difference(first: Prediction, second: Prediction) -> Difference:
    """Return the difference of two predictions with the same draws, as of two schedulers.

    Parameters
    ----------
    first : Prediction
        A prediction, whose makespans are subtracted.
    second : Prediction
        A prediction with the same seed and sources of uncertainty, from which they are subtracted.

    Returns
    -------
    Difference

    Raises
    ------
    InputError
        If their draws are not the same.

    See Also
    --------
    how_sure : Makes predictions.

    Examples
    --------
    >>> import tasksim
    >>> base = tasksim.Scenario("cholesky tiles=8", platform="xeon-2c")
    >>> sure = tasksim.how_sure(base, replications=100)
    >>> difference(sure, sure).first_wins
    0.5
    """
    for name, given in (("first", first), ("second", second)):
        expect(given, Prediction, name)
    for what in ("seed", "sources"):
        a, b = getattr(first, what), getattr(second, what)
        if a != b:
            raise InputError(f"{what}: {a} and {b}; legal: predictions with the same draws")
    groups = min(len(p.found.makespans_s) for p in (first, second))
    mine, other = (p.found.part(slice(groups)) for p in (first, second))
    apart = other.makespans_s - mine.makespans_s
    said = summary(
        mine._replace(makespans_s=apart),
        first.level,
        models="models" in first.sources,
    )
    return Difference(
        said.mean_s,
        said.mean_low_s,
        said.mean_high_s,
        said.run_low_s,
        said.run_high_s,
        first.level,
        float((apart > 0).mean() + (apart == 0).mean() / 2),
    )


def _between(low_s: float, high_s: float) -> str:
    return f"{duration_text(low_s)} to {duration_text(high_s)}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2g} %" if whole and np.isfinite(part) else "an unknown error"
