"""How good are kernel models? On made-up kernels whose durations are known, against learners.

    python benchmarks/models.py inside                          # errors, sizes, intervals
    python benchmarks/models.py inside --peers PEERS            # and against tuned learners
    python benchmarks/models.py beyond --peers PEERS            # extrapolation
    python benchmarks/models.py monotony                        # errors of 512 to 65,536 samples
    python benchmarks/models.py monotony --figure errors.png    # and a picture of them
    python benchmarks/models.py thin --kinds learned            # intervals where samples are thin
    python benchmarks/models.py all --small                     # under a minute, to see it work
    python benchmarks/models.py inside --measured FOLDER        # measured_suites.py says how

The suites are those of model_suites.py. PEERS is a folder of results of tuned learners, which
model_peers.py computes: hours, but once. `default` is what `tasksim fit` chooses by itself; other
kinds are asked for by name (`--kind`). `asked` is what it chooses when it is told which sizes will
be asked for (`--domain`). The budget of a fit (`--budget`) counts processor time
here, not wall-clock time, so that the choice does not depend on the load of the machine.

- error: MLogQ, the mean of abs(ln(predicted / true)) over 2000 other configurations of the domain,
  where the true duration is without noise;
- measured: the same for durations with noise, which no model can predict;
- ratio: the error of the first kind by that of the best of the tuned learners (by this very error);
- regret: the error of `default` by that of the best kind asked for by name;
- fit: processor time in seconds of the choice, the fit and its intervals; of a learner, of the fit
  with the settings chosen before;
- bytes: of the model in a file, and with its intervals; of a learner, pickled;
- per s: configurations predicted in a second of processor time, 100,000 at once;
- 90 %, 95 %: the share of measured test durations in intervals of that level, for each suite the
  mean over the draws of samples (`--seeds`): that of one draw differs by the luck of the samples;
- thin, dense: those shares where a tenth as many samples were measured (the upper half of a size),
  and where they were not; `alike` are intervals that do not know where samples are thin.

With `--json FILE`, results are kept in FILE; what is in it already is not computed again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import geometric_mean, median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy loads its BLAS
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from measured_suites import MeasuredSuite, measured_suites
from model_peers import BEYOND_PEERS, PEERS, Columns, cached, cached_beyond, listed, numbers
from model_suites import EXTRAPOLATION_FACTORS, Suite, suites

from tasksim.base.errors import InputError, ModelError, TasksimError
from tasksim.models import selection
from tasksim.models.candidate import size_bytes
from tasksim.models.registry import kinds as installed
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.validation.crossvalidation import left_out
from tasksim.view.colours import PALETTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    AnySuite = Suite | MeasuredSuite

DEFAULT_KIND: Final = "default"
KIND_FOR_DOMAIN: Final = "asked"
"""Kind that is chosen if the predicted domain is known (`--domain`): beyond the samples."""
JUDGED_KINDS: Final = (DEFAULT_KIND, "learned", "hybrid", "cp", "mlr")
"""Kinds that are judged; those that are not installed are left out."""
LAW_KIND: Final = "law"
"""A product of powers and a factor per category: what extrapolation is compared with."""
SAMPLE_COUNTS: Final = (512, 2048, 16384)
MONOTONY_COUNTS: Final = (512, 2048, 8192, 32768, 65536)
BEYOND_COUNT: Final = 512
"""Number of samples to extrapolate from: there are 51 cases, and each is a fit of each kind."""
THIN_COUNT: Final = 512
"""Number of samples to judge thin regions with: of many more, none is thin."""
TABLES: Final = ("inside", "beyond", "monotony", "thin", "all")
ERROR_RISE: Final = 1.05
"""Factor between the errors of fewer and of more samples that counts as a rise."""
SMALL_SUITES: Final = ("qr", "fft")
SMALL_COUNTS: Final = {"inside": (64,), "beyond": (64,), "monotony": (64, 128), "thin": (64,)}
SMALL_KINDS: Final = (DEFAULT_KIND, "mlr")
SMALL_BUDGET_S: Final = 2.0
"""Subset that `--small` judges."""
INTERVAL_TESTS: Final = 20_000
"""Number of measurements that intervals are judged by: of 2000, the share in 95 % intervals differs
by half a percent from draw to draw."""
PREDICTED_AT_ONCE: Final = 100_000
"""Number of configurations whose predictions are timed."""
PREDICT_S: Final = 0.1
"""Processor time in seconds for which predictions are repeated, to count them."""


@dataclass(frozen=True)
class Row:
    """One model, judged inside the domain; what is not known is None."""

    suite: str
    count: int
    seed: int
    kind: str
    chosen: str = ""
    mlogq: float | None = None
    mlogq_measured: float | None = None
    fit_s: float | None = None
    size_bytes: int | None = None
    file_bytes: int | None = None
    per_s: float | None = None
    held_90: float | None = None
    held_95: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Far:
    """One model, judged beyond its samples; an error is infinite where it predicts nothing."""

    suite: str
    parameter: str
    count: int
    seed: int
    kind: str
    errors: dict[str, float]
    problem: str = ""


class Law:
    """A product of powers of the parameters and a factor per category, by least squares."""

    def __init__(self, suite: AnySuite, samples: Samples) -> None:
        self._columns = Columns.of(suite)
        table = self._features(samples.parameters)
        self._weights = np.linalg.lstsq(table, np.log(samples.durations_s), rcond=None)[0]

    def _features(self, rows: Floats) -> Floats:
        hot = self._columns.hot(self._columns.numbered(rows))
        return np.column_stack([hot, np.ones(len(hot))])

    def predict(self, rows: Floats) -> Floats:
        """Return durations in seconds."""
        found: Floats = np.exp(self._features(rows) @ self._weights)
        return found


def fitted(
    samples: Samples,
    kind: str,
    budget_s: float,
    seed: int,
    domain: Mapping[str, tuple[float, float]] | None = None,
) -> KernelModel:
    """Return what `tasksim fit` makes of *samples*."""
    kinds = None if kind in (DEFAULT_KIND, KIND_FOR_DOMAIN) else (kind,)
    clock = SimpleNamespace(**{**vars(time), "monotonic": time.process_time})
    with warnings.catch_warnings(), patch.object(selection, "time", clock):
        warnings.simplefilter("ignore")
        found = selection.select(samples, kinds, budget_s=budget_s, seed=seed, domain=domain)
    return found.model


def asked_of(model: KernelModel, suite: AnySuite, rows: Floats) -> tuple[Floats, Bools]:
    """Return *rows* as *model* numbers parameters and categories, and which it can be asked.

    A parameter with a single value in all samples is no column of the model, and a category
    without samples has no number.
    """
    known = np.ones(len(rows), dtype=bool)
    table = np.empty((len(rows), len(model.names_)))
    for place, name in enumerate(model.names_):
        column = rows[:, suite.names.index(name)]
        if name in suite.categories:
            measured = list(model.categories_[name])
            numbers = [measured.index(c) if c in measured else -1 for c in suite.categories[name]]
            column = np.array(numbers, dtype=np.float64)[column.astype(int)]
            known &= column >= 0
        table[:, place] = column
    return table, known


def error_of(predict: Callable[[Floats], Floats], rows: Floats, durations_s: Floats) -> float:
    """Return the MLogQ of predictions, infinite if there are none."""
    try:
        predicted_s = predict(rows)
    except TasksimError:
        return float("inf")
    return float(np.abs(np.log(predicted_s / durations_s)).mean())


def judged(suite: AnySuite, count: int, seed: int, kind: str, budget_s: float) -> Row:
    """Return how good a *kind* is inside the domain."""
    try:
        samples = suite.samples(count, seed)
        begun = time.process_time()
        model = fitted(samples, kind, budget_s, seed)
        fit_s = time.process_time() - begun
    except TasksimError as error:
        return Row(suite.name, count, seed, kind, problem=str(error))
    rows, true_s = suite.test(seed)
    measured_s = suite.test(seed, noisy=True)[1]
    rows, known = asked_of(model, suite, rows)
    rows, true_s, measured_s = rows[known], true_s[known], measured_s[known]
    many, of_many_s = suite.test(seed, INTERVAL_TESTS, noisy=True)
    many, known = asked_of(model, suite, many)
    many, of_many_s = many[known], of_many_s[known]
    return Row(
        suite=suite.name,
        count=count,
        seed=seed,
        kind=kind,
        chosen=model.kind,
        mlogq=error_of(model.predict, rows, true_s),
        mlogq_measured=error_of(model.predict, rows, measured_s),
        fit_s=fit_s,
        size_bytes=size_bytes(model),
        file_bytes=len(json.dumps(model.to_json(), separators=(",", ":"))),
        per_s=predictions_per_s(model, np.resize(many, (PREDICTED_AT_ONCE, many.shape[1]))),
        held_90=share_inside(model, many, of_many_s, 0.9),
        held_95=share_inside(model, many, of_many_s, 0.95),
    )


def predictions_per_s(model: KernelModel, rows: Floats) -> float:
    """Return how many configurations are predicted in a second of processor time, all at once."""
    begun, done = time.process_time(), 0
    while (passed := time.process_time() - begun) < PREDICT_S:
        try:
            model.predict(rows)
        except TasksimError:
            return 0.0
        done += len(rows)
    return done / passed


def share_inside(
    model: KernelModel, rows: Floats, measured_s: Floats, level: float
) -> float | None:
    """Return the share of measurements in intervals of that *level*; None without intervals."""
    try:
        low, high = model.interval(rows, level)
    except ModelError:
        return None
    return float(((low <= measured_s) & (measured_s <= high)).mean())


def judged_beyond(
    suite: AnySuite, parameter: str | None, count: int, seed: int, kind: str, budget_s: float
) -> Far:
    """Return how good a *kind* is beyond its samples, in one *parameter* or in all."""
    place = (suite.name, parameter or "all", count, seed, kind)
    samples = suite.below(count, parameter, seed)
    try:
        domain = domain_beyond(suite, parameter, samples, seed) if kind == KIND_FOR_DOMAIN else None
        model = (
            Law(suite, samples)
            if kind == LAW_KIND
            else fitted(samples, kind, budget_s, seed, domain)
        )
    except TasksimError as error:
        return Far(
            *place, {str(factor): float("inf") for factor in EXTRAPOLATION_FACTORS}, str(error)
        )
    errors = {}
    for factor in EXTRAPOLATION_FACTORS:
        rows, true_s = suite.beyond(parameter, factor, seed)
        if not isinstance(model, Law):
            rows, known = asked_of(model, suite, rows)
            rows, true_s = rows[known], true_s[known]
        if len(rows):
            errors[str(factor)] = error_of(model.predict, rows, true_s)
    return Far(*place, errors)


def domain_beyond(
    suite: AnySuite, parameter: str | None, samples: Samples, seed: int
) -> dict[str, tuple[float, float]]:
    """Return the ranges from the least size of *samples* to the largest that is judged."""
    rows = suite.beyond(parameter, max(EXTRAPOLATION_FACTORS), seed)[0]
    found = {}
    for name in suite.extrapolable if parameter is None else (parameter,):
        own = samples.parameters[:, samples.names.index(name)]
        if own.min() < own.max():
            found[name] = float(own.min()), float(rows[:, suite.names.index(name)].max())
    return found


class Kept:
    """Results in a file, so that each is computed once."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.rows: list[Row] = []
        self.far: list[Far] = []
        if path is not None and path.exists():
            found = json.loads(path.read_text())
            self.rows = [Row(**row) for row in found["inside"]]
            self.far = [Far(**row) for row in found["beyond"]]
            held = len(self.rows) + len(self.far)
            print(f"{path}: {held} results; delete it to judge anew", file=sys.stderr)

    def row(self, suite: AnySuite, count: int, seed: int, kind: str, budget_s: float) -> Row:
        """Return a result inside the domain."""
        place = (suite.name, count, seed, kind)
        for row in self.rows:
            if (row.suite, row.count, row.seed, row.kind) == place:
                return row
        found = judged(suite, count, seed, kind, budget_s)
        self.rows.append(found)
        self._write(f"{suite.name} {count} {kind}: {shown(found.mlogq)} {found.problem}")
        return found

    def beyond(
        self,
        suite: AnySuite,
        parameter: str | None,
        count: int,
        seed: int,
        kind: str,
        budget: float,
    ) -> Far:
        """Return a result beyond the samples."""
        place = (suite.name, parameter or "all", count, seed, kind)
        for row in self.far:
            if (row.suite, row.parameter, row.count, row.seed, row.kind) == place:
                return row
        found = judged_beyond(suite, parameter, count, seed, kind, budget)
        self.far.append(found)
        errors = ", ".join(shown(error) for error in found.errors.values())
        self._write(f"{suite.name} beyond {parameter or 'all'} {kind}: {errors} {found.problem}")
        return found

    def _write(self, line: str) -> None:
        print(line, file=sys.stderr)
        if self._path is not None:
            half = self._path.with_name(self._path.name + ".part")
            half.write_text(json.dumps(self.plain(), indent=1) + "\n")
            half.replace(self._path)

    def plain(self) -> dict[str, Any]:
        """Return all results as plain data."""
        return {"inside": [asdict(r) for r in self.rows], "beyond": [asdict(r) for r in self.far]}


# --- tables --------------------------------------------------------------------------------------


def shown(value: float | None, form: str = ".4f") -> str:
    """Return a figure as text."""
    return "-" if value is None else format(value, form)


def print_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: names to the left, figures to the right."""
    table = [list(head), *map(list, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]))
    print()


@dataclass(frozen=True)
class Asked:
    """Judged suites and kinds, from the command line."""

    suites: list[AnySuite]
    counts: list[int]
    seeds: list[int]
    kinds: list[str]
    budget_s: float
    peers: Path | None
    kept: Kept
    figure: Path | None = None

    def peers_of(self, suite: AnySuite, count: int, seed: int) -> dict[str, dict[str, Any]]:
        """Return results of the learners, as far as the folder has them."""
        if self.peers is None:
            return {}
        try:
            return cached(self.peers, suite, count, seed)
        except InputError:  # fewer were measured: the row of each kind says so
            return {}


def inside(asked: Asked) -> None:
    """Print errors against the best learner, and then costs and intervals."""
    for count in asked.counts:
        ratios: dict[str, list[float]] = {}
        regrets: list[float] = []
        lines = []
        for suite in asked.suites:
            found = {
                kind: [asked.kept.row(suite, count, seed, kind, asked.budget_s)
                       for seed in asked.seeds]
                for kind in asked.kinds
            }  # fmt: skip
            errors = {kind: mean_of(rows, "mlogq") for kind, rows in found.items()}
            best, best_error = best_peer(asked, suite, count)
            line = [suite.name, *(shown(errors[kind]) for kind in asked.kinds)]
            for kind, error in errors.items():
                if error is not None and best_error is not None:
                    ratios.setdefault(kind, []).append(error / best_error)
            line += [shown(best_error), best, ratio_of(errors[asked.kinds[0]], best_error)]
            named = [e for kind, e in errors.items() if kind != DEFAULT_KIND and e is not None]
            least = min(named, default=None)
            regret = ratio_of(errors.get(DEFAULT_KIND), least)
            if regret != "-":
                regrets.append(float(regret))
            chosen = [row.chosen for row in found.get(DEFAULT_KIND, [])]
            lines.append([*line, regret, ",".join(sorted(set(chosen)))])
        print(f"Error inside the domain, {count} samples")
        head = ["suite", *asked.kinds, "best peer", "", "ratio", "regret", "chosen"]
        print_rows(head, lines)
        for kind, of in ratios.items():
            print(
                f"{kind} by the best peer: geometric mean {geometric_mean(of):.2f}, "
                f"worst {max(of):.2f}, better or equal on {sum(r <= 1 for r in of)} of {len(of)}"
            )
        if regrets:
            print(
                f"regret of the default: geometric mean {geometric_mean(regrets):.2f}, "
                f"worst {max(regrets):.2f}"
            )
        print()
    costs(asked)


def ratio_of(error: float | None, other: float | None) -> str:
    """Return a quotient as text."""
    return "-" if error is None or other is None else f"{error / other:.3f}"


def mean_of(rows: Sequence[Row], figure: str) -> float | None:
    """Return the mean over seeds; None if one is unknown."""
    values = [getattr(row, figure) for row in rows]
    return None if not values or None in values else float(np.mean(values))


def best_peer(asked: Asked, suite: AnySuite, count: int) -> tuple[str, float | None]:
    """Return the learner with the least error, over all seeds, and that error."""
    by_seed = [asked.peers_of(suite, count, seed) for seed in asked.seeds]
    common = set.intersection(*(set(found) for found in by_seed))
    errors = {name: float(np.mean([of[name]["mlogq"] for of in by_seed])) for name in common}
    if not errors:
        return "", None
    best = min(sorted(errors), key=lambda name: errors[name])
    return best, errors[best]


def costs(asked: Asked) -> None:
    """Print medians over suites: errors as measured, time, bytes, speed, coverage."""
    print("Medians over the suites; of intervals also the least and the largest share of a suite")
    lines = []
    for count, kind in product(asked.counts, asked.kinds):
        rows = [
            asked.kept.row(suite, count, seed, kind, asked.budget_s)
            for suite, seed in product(asked.suites, asked.seeds)
        ]
        known = [row for row in rows if not row.problem]
        line = cost_line(kind, count, [asdict(row) for row in known])
        by_suite = [[row for row in known if row.suite == suite.name] for suite in asked.suites]
        held = [
            [mean_of(rows, level) for rows in by_suite if rows] for level in ("held_90", "held_95")
        ]
        lines.append([*line, *map(spread, held)])
    for count in asked.counts:
        by_case = [
            asked.peers_of(suite, count, seed) for suite, seed in product(asked.suites, asked.seeds)
        ]
        for peer in PEERS:
            results = [found[peer] for found in by_case if peer in found]
            if results:
                lines.append([*cost_line(peer, count, results), "-", "-"])
    head = ["kind", "samples", "cases", "error", "measured", "fit s", "bytes", "with intervals"]
    print_rows([*head, "per s", "90 %", "95 %"], lines)
    problems(asked)


def cost_line(name: str, count: int, results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the medians of *results* as cells of a table."""

    def middle(figure: str, form: str) -> str:
        values = [of[figure] for of in results if of.get(figure) is not None]
        return shown(median(values) if values else None, form)

    return [
        name, str(count), str(len(results)), middle("mlogq", ".4f"),
        middle("mlogq_measured", ".4f"), middle("fit_s", ".1f"), middle("size_bytes", ".0f"),
        middle("file_bytes", ".0f"), middle("per_s", ".2g"),
    ]  # fmt: skip


def problems(asked: Asked) -> None:
    """Print why models are missing."""
    for row in asked.kept.rows:
        wanted = row.kind in asked.kinds and row.count in asked.counts
        if row.problem and wanted:
            print(f"{row.kind} has no model of {row.suite}, {row.count} samples: {row.problem}")


def spread(shares: Sequence[float | None]) -> str:
    """Return median, least and largest share of intervals in percent, as text."""
    known = [100 * share for share in shares if share is not None]
    if not known:
        return "-"
    return f"{median(known):.1f} ({min(known):.0f} to {max(known):.0f})"


def beyond(asked: Asked) -> None:
    """Print errors of extrapolation: medians over suites and parameters."""
    for count in asked.counts:
        errors: dict[str, dict[tuple[str, str], list[float]]] = {}
        for suite in asked.suites:
            for seed in asked.seeds:
                for parameter in suite.extrapolations:
                    where = "all" if parameter is None else "one"
                    for kind in (LAW_KIND, *asked.kinds):
                        found = asked.kept.beyond(
                            suite, parameter, count, seed, kind, asked.budget_s
                        )
                        for factor, error in found.errors.items():
                            errors.setdefault(kind, {}).setdefault((where, factor), []).append(
                                error
                            )
                    for peer, of in peers_beyond(asked, suite, parameter, count, seed).items():
                        for factor, error in of.items():
                            errors.setdefault(peer, {}).setdefault((where, factor), []).append(
                                error
                            )
        places = [
            (where, str(factor)) for where in ("one", "all") for factor in EXTRAPOLATION_FACTORS
        ]
        print(f"Error beyond the samples, {count} of them: median (nine tenths are no larger)")
        head = ["model", *(f"{where}, {factor} times" for where, factor in places), "cases"]
        print_rows(
            head,
            (
                [kind, *(quantiles(of.get(place, [])) for place in places),
                 str(len(of.get(places[0], [])))]
                for kind, of in errors.items()
            ),
        )  # fmt: skip
        regrets(errors)


def regrets(errors: Mapping[str, Mapping[tuple[str, str], Sequence[float]]]) -> None:
    """Print what a choice among kinds costs: its errors by those of the best kind of each case."""
    named = [kind for kind in errors if kind in JUDGED_KINDS and kind != DEFAULT_KIND]
    for chosen in (DEFAULT_KIND, KIND_FOR_DOMAIN):
        if chosen not in errors or not named:
            continue
        found = [
            error / min(errors[kind][place][case] for kind in named)
            for place, of in errors[chosen].items()
            for case, error in enumerate(of)
        ]
        print(
            f"regret of {chosen} beyond the samples: geometric mean {geometric_mean(found):.2f}, "
            f"nine tenths are at most {sorted(found)[math.ceil(0.9 * len(found)) - 1]:.2f}, worst "
            f"{max(found):.2f}, of {len(found)}"
        )
    print()


def quantiles(errors: Sequence[float]) -> str:
    """Return the median and the 90 % quantile, as text."""
    if not errors:
        return "-"
    ordered = sorted(errors)
    return f"{median(ordered):.3f} ({ordered[math.ceil(0.9 * len(ordered)) - 1]:.2f})"


def peers_beyond(
    asked: Asked, suite: AnySuite, parameter: str | None, count: int, seed: int
) -> dict[str, dict[str, float]]:
    """Return errors of learners beyond the samples, as far as the folder has them."""
    if asked.peers is None:
        return {}
    found = cached_beyond(asked.peers, suite, parameter, count, seed)
    return {peer: found[peer] for peer in BEYOND_PEERS if peer in found}


def monotony(asked: Asked) -> None:
    """Print errors by number of samples, and where more samples make them larger."""
    for kind in asked.kinds:
        print(f"Error of {kind} by number of samples; * where it is more than 5 % above fewer's")
        lines = []
        curves: dict[str, list[float | None]] = {}
        for suite in asked.suites:
            least, line = float("inf"), [suite.name]
            curve = curves.setdefault(suite.name, [])
            for count in asked.counts:
                rows = [
                    asked.kept.row(suite, count, seed, kind, asked.budget_s) for seed in asked.seeds
                ]
                error = mean_of(rows, "mlogq")
                rises = error is not None and error > ERROR_RISE * least
                line.append(shown(error) + ("*" if rises else " "))
                least = least if error is None else min(least, error)
                curve.append(error)
            lines.append(line)
        print_rows(["suite", *map(str, asked.counts)], lines)
        if asked.figure is not None:
            draw_curves(kind, asked.counts, curves, asked.figure)


def draw_curves(
    kind: str, counts: Sequence[int], curves: Mapping[str, Sequence[float | None]], path: Path
) -> None:
    """Write a figure of the error of each suite by the number of samples."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.subplots()
    ends = {}
    for place, (name, curve) in enumerate(curves.items()):
        known = [(count, error) for count, error in zip(counts, curve, strict=True) if error]
        if known:
            colour = PALETTE[place % len(PALETTE)]
            axes.plot(*zip(*known, strict=True), color=colour, marker="o", markersize=3, lw=1.2)
            ends[name] = known[-1]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda error, _: f"{error:g}")
    axes.set_xlabel("samples")
    axes.set_ylabel("error (MLogQ)")
    axes.set_title(f"Errors of {kind} by the number of samples")
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
    low, high = axes.get_ylim()
    height = 0.036 * math.log(high / low)  # of a line of text
    at = float("inf")
    for name, (count, error) in sorted(ends.items(), key=lambda one: -one[1][1]):
        at = min(math.log(error), at - height)
        axes.annotate(
            name, (count, error), (1.01, (at - math.log(low)) / math.log(high / low)),
            textcoords="axes fraction", va="center", fontsize=8,
        )  # fmt: skip
    figure.savefig(path, dpi=110)


def thin(asked: Asked) -> None:
    """Print what 95 % intervals hold where samples are thin and where they are dense."""
    for count, kind in product(asked.counts, asked.kinds):
        lines, shares = [], []
        for suite, seed in product(asked.suites, asked.seeds):
            found = judged_thin(suite, count, seed, kind, asked.budget_s)
            if found:
                shares.append(found)
                lines.append([suite.name, *(f"{100 * share:.1f}" for share in found)])
        print(f"Shares in 95 % intervals of {kind}, {count} samples, few of them in half of a size")
        means = np.mean(shares, axis=0) if shares else ()
        lines.append(["mean", *(f"{100 * share:.1f}" for share in means)])
        print_rows(
            ["suite", "dense", "thin", "thinnest", "alike: dense", "thin", "thinnest"], lines
        )


def judged_thin(
    suite: AnySuite, count: int, seed: int, kind: str, budget_s: float
) -> tuple[float, ...]:
    """Return shares in intervals where samples are dense, thin, and in the thinnest fifth.

    First of intervals as they are, then of such that are alike wherever samples are; none of
    suites that were measured, which are as dense as they are, and of models without intervals.
    """
    if isinstance(suite, MeasuredSuite):
        return ()
    try:
        samples = suite.thinned(count, seed)
        model = fitted(samples, kind, budget_s, seed)
        out = left_out(model, samples, seed=seed)
    except TasksimError:
        return ()
    rows, measured_s = suite.test(seed, INTERVAL_TESTS, noisy=True)
    table, known = asked_of(model, suite, rows)
    table, measured_s, upper = table[known], measured_s[known], suite.upper(rows)[known]
    unknown = model._unknown_share(table)
    fifth = upper if unknown is None else unknown >= np.quantile(unknown, 0.8)
    shares = []
    for alike in (False, True):
        with (
            nullcontext()
            if not alike
            else patch.object(type(model), "_unknown_share", lambda *_, **__: None)
        ):
            calibrate(model, samples, out, seed=seed)
            low, high = model.interval(table, 0.95)
        held = (low <= measured_s) & (measured_s <= high)
        shares += [float(held[where].mean()) for where in (~upper, upper, fifth)]
    return tuple(shares)


def main() -> None:
    """Judge, and print tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = suites()
    parser.add_argument("table", choices=TABLES, help="which tables to print")
    parser.add_argument("--suites", help="names of suites, separated by commas [all]")
    parser.add_argument("--counts", help="numbers of samples [512,2048,16384; beyond: 512]")
    parser.add_argument("--seeds", default="0", help="seeds of the samples [0]")
    parser.add_argument("--kinds", help=f"kinds of models [{','.join(JUDGED_KINDS)}]")
    parser.add_argument("--budget", type=float, help="budget of a fit in seconds [30]")
    parser.add_argument("--peers", type=Path, help="folder of the results of model_peers.py")
    parser.add_argument("--measured", type=Path, help="judge on samples in this folder instead")
    parser.add_argument("--json", type=Path, help="file that keeps the results")
    parser.add_argument("--figure", type=Path, help="picture of the errors of monotony: .png, .svg")
    parser.add_argument("--small", action="store_true", help="judge a little, in a minute")
    arguments = parser.parse_args()
    if arguments.budget is not None and not arguments.budget > 0:
        parser.error(f"argument --budget: {arguments.budget:g} s; legal: more than 0")
    if arguments.peers is not None and not arguments.peers.is_dir():
        parser.error(f"argument --peers: no folder '{arguments.peers}'; make it by model_peers.py")
    small = arguments.small
    legal = [kind for kind in JUDGED_KINDS if kind == DEFAULT_KIND or kind in installed()]
    kinds = arguments.kinds or ",".join(SMALL_KINDS if small else legal)
    try:
        candidates: dict[str, AnySuite] = (
            dict(known) if arguments.measured is None else dict(measured_suites(arguments.measured))
        )
    except TasksimError as error:
        parser.error(str(error))
    wanted = arguments.suites or ",".join(
        SMALL_SUITES if small and arguments.measured is None else candidates
    )
    chosen = [candidates[name] for name in listed(parser, "--suites", wanted, candidates)]
    kept = Kept(arguments.json)
    for table, counts, print_table in (
        ("inside", SAMPLE_COUNTS, inside),
        ("beyond", (BEYOND_COUNT,), beyond),
        ("monotony", MONOTONY_COUNTS, monotony),
        ("thin", (THIN_COUNT,), thin),
    ):
        if arguments.table not in (table, "all"):
            continue
        texts = arguments.counts or ",".join(map(str, SMALL_COUNTS[table] if small else counts))
        print_table(
            Asked(
                chosen, numbers(parser, "--counts", texts),
                numbers(parser, "--seeds", arguments.seeds),
                listed(parser, "--kinds", kinds,
                       dict.fromkeys((DEFAULT_KIND, KIND_FOR_DOMAIN, *installed()))),
                arguments.budget or (SMALL_BUDGET_S if small else 30.0), arguments.peers, kept,
                arguments.figure,
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
