"""Summary of the experiment, in words and in a few tables: for the terminal, and for the page."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Final

from experiments.irregular_kernels.figures import by_distribution, variants
from experiments.irregular_kernels.results import GENERAL, NAIVE, SPECIFIC, VARIANTS
from tasksim.base.units import time_unit
from tasksim.view.texttables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from experiments.irregular_kernels.results import Fit, Outcome, Results

__all__ = [
    "BADLY_CHOSEN_SAID",
    "GENERAL_FIT",
    "NONE",
    "TARGET_HEADER",
    "Target",
    "counted",
    "input_cells",
    "median",
    "paragraphs",
    "signed",
    "size",
    "summary_text",
    "targets",
    "times",
]

MOST_ERROR: Final = {SPECIFIC: 0.03, GENERAL: 0.05}
"""Of the makespan, in the median over the inputs. Targets: the report says where one is missed."""
MOST_UNSEEN_ERROR: Final = 0.08
"""Likewise of spheres: no model has seen their distributions, so more is granted."""
LEAST_RSQUARED: Final = 0.97
"""Of every kernel: a model that leaves more of the variance misses a parameter, as those with
direct parameters only do."""
CLEARLY: Final = 2.0
"""How many times worse what is to be clearly worse is at least."""
GENERAL_FIT, DIRECT_FIT = "general", "general, direct parameters only"
WIDTH: Final = 96
"""Of the words in characters: a terminal of 100 has room, and lines are still read with ease."""
BADLY_CHOSEN: Final = " †"
BADLY_CHOSEN_SAID: Final = "† The group size is badly chosen: there are too few tasks."
NONE: Final = "–"


@dataclass(frozen=True)
class Target:
    """Something that was to be reached: what, how far it was, and whether that is enough."""

    what: str
    found: str
    wanted: str
    met: bool

    @property
    def cells(self) -> list[str]:
        """The row of a table."""
        return [self.what, self.found, self.wanted, "yes" if self.met else "no"]


TARGET_HEADER: Final = ["what", "found", "target", "met"]


def summary_text(results: Results) -> str:
    """Return the errors of all inputs, what was to be reached and how it was done, as text.

    Lines have fewer than 100 characters.
    """
    parts = [table(*_error_table(results.seen))]
    if results.unseen:
        parts.append(table(*_error_table(results.unseen)))
    if any(outcome.input.badly_chosen for outcome in (*results.seen, *results.unseen)):
        parts[-1] += f"\n{BADLY_CHOSEN_SAID}"
    parts.append(table(TARGET_HEADER, [target.cells for target in targets(results)]))
    parts += [fill(paragraph, WIDTH) for paragraph in paragraphs(results)]
    return "\n\n".join(parts)


def paragraphs(results: Results) -> list[str]:
    """Return the paragraphs that say in words what was found, and how."""
    return [_errors_in_words(results), _done(results), _calm(results)]


def _errors_in_words(results: Results) -> str:
    reached = targets(results)
    missed = [target.what for target in reached if not target.met]
    verdict = f"{len(reached) - len(missed)} of {len(reached)} targets are met"
    verdict += f"; not met: {'; '.join(missed)}." if missed else "."
    typical = {name: size(median(results.errors(name))) for name in VARIANTS}
    said = (
        f"In the median over {counted(results.seen)}, linear regressions of the tasks' parameters "
        f"predict the makespan to {typical[SPECIFIC]} (fitted to runs of the same distribution) "
        f"and {typical[GENERAL]} (one model for all); naive models, whose tasks of one kernel all "
        f"take the same time, are {typical[NAIVE]} off."
    )
    if results.unseen:
        unseen = size(median(results.errors(GENERAL, unseen=True)))
        said += (
            f" Distributions that no model was fitted to ({counted(results.unseen)}) were "
            f"predicted before they were run, to {unseen}."
        )
    return f"{said} {verdict}"


def _done(results: Results) -> str:
    spreads = [outcome.spread for outcome in (*results.seen, *results.unseen)]
    return (
        f"Machine {results.machine}, {results.workers} workers, scheduler {results.scheduler}, "
        f"interpolation of order {results.order}, {results.repetitions} interleaved repetitions "
        f"of each native run; {long(results.seconds)} of measuring. The native "
        f"makespans of one input are {size(statistics.median(spreads))} apart in the median, "
        f"{size(max(spreads))} at most (longest minus shortest, relative to the median)."
    )


def _calm(results: Results) -> str:
    """Say how calm the machine was: numbers of :class:`tasksim.native.calm_moments.Calmness`."""
    calm = results.calm
    return (
        f"A run counts if others had hardly any of its workers' time. {calm['kept']} runs are "
        f"kept, {calm['repeated']} were repeated because the machine was not calm, and "
        f"{calm['disturbed']} of those kept never had a calm moment ({calm['worst']})."
    )


def targets(results: Results) -> list[Target]:
    """Return what was to be reached, and how far it was."""
    found = [
        _error_target(f"{name}: median |error|", results.errors(name), most)
        for name, most in MOST_ERROR.items()
    ]
    if results.unseen:
        errors = results.errors(GENERAL, unseen=True)
        found.append(_error_target("spheres (unseen): median |error|", errors, MOST_UNSEEN_ERROR))
    fits = [fit for fit in results.fits if fit.models == GENERAL_FIT]
    return [*found, _naive_target(results), *_fit_targets(fits), *_indirect_target(results.fits)]


def _error_target(what: str, errors: Sequence[float], most: float) -> Target:
    typical = median(errors)
    return Target(what, size(typical), f"at most {100 * most:.0f} %", typical <= most)


def _naive_target(results: Results) -> Target:
    naive, general = (median(results.errors(name)) for name in (NAIVE, GENERAL))
    times = f" ({naive / general:.0f} ×)" if general else ""
    wanted = f"at least {CLEARLY:.0f} × general"
    met = naive >= CLEARLY * general
    return Target("naive: median |error|", f"{size(naive)}{times}", wanted, met)


def _fit_targets(fits: Sequence[Fit]) -> list[Target]:
    if not fits:
        return []
    lowest = min(fits, key=lambda fit: fit.rsquared_adj)
    found = f"{lowest.rsquared_adj:.4f} ({lowest.kernel})"
    met = lowest.rsquared_adj >= LEAST_RSQUARED
    return [Target("MLR general: lowest adjusted R²", found, f"at least {LEAST_RSQUARED}", met)]


def _indirect_target(fits: Sequence[Fit]) -> list[Target]:
    """Say how much poorer M2L_in is explained without NbInteractions.

    By MLogQ: in R², which the longest tasks decide, many direct terms may hide it.
    """
    by_models = {fit.models: fit for fit in fits if fit.kernel == "M2L_in"}
    if GENERAL_FIT not in by_models or DIRECT_FIT not in by_models:
        return []
    with_, without = by_models[GENERAL_FIT], by_models[DIRECT_FIT]
    return [
        Target(
            "M2L_in without NbInteractions: MLogQ",
            f"{without.mlogq:.3f} (with: {with_.mlogq:.3f})",
            f"at least {CLEARLY:.0f} × with",
            without.mlogq >= CLEARLY * with_.mlogq,
        ),
    ]


# Tables


def _error_table(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the errors only, narrow enough for a terminal."""
    names = variants(outcomes)
    unit, shown = times(outcomes)
    rows = [
        [
            *input_cells(outcome),
            shown(outcome.median_s),
            size(outcome.spread),
            *(signed(outcome.error(n)) if n in outcome.simulated else NONE for n in names),
        ]
        for outcome in outcomes
    ]
    return ["input", "tasks", f"native ({unit})", "spread", *names], rows


def input_cells(outcome: Outcome) -> list[str]:
    """Return an input's name, marked if it is badly chosen, and its tasks, as cells of a table."""
    return [
        f"{outcome.input.text}{BADLY_CHOSEN if outcome.input.badly_chosen else ''}",
        f"{len(outcome.median_run):,}",
    ]


def times(outcomes: Sequence[Outcome]) -> tuple[str, Callable[[float], str]]:
    """Return a unit for the makespans of *outcomes*, and how they are written in it."""
    factor, unit = time_unit(max(outcome.median_s for outcome in outcomes))
    digits = 3 if factor == 1.0 else 1
    return unit, lambda seconds: f"{factor * seconds:.{digits}f}"


# Numbers and names


def counted(outcomes: Sequence[Outcome]) -> str:
    """Return how many inputs there are of each distribution: ``6 cube and 6 ellipsoid inputs``."""
    parts = [f"{len(group)} {name}" for name, group in by_distribution(outcomes).items()]
    return f"{' and '.join(parts)} inputs"


def long(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def median(errors: Sequence[float]) -> float:
    """Return the median of the errors without their signs."""
    return statistics.median(map(abs, errors))


def size(share: float) -> str:
    """Return a share in percent: ``3.2 %``."""
    return f"{100 * share:.1f} %"


def signed(share: float) -> str:
    """Return a share in percent with its sign: ``+3.2 %``."""
    # Rounding may leave -0.0 %.
    return f"{round(100 * share, 1) + 0.0:+.1f} %"
