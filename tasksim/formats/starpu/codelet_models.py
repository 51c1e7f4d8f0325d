"""Conversion of StarPU's codelets to kernel models, and back."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, nearest
from tasksim.formats.starpu import footprint
from tasksim.formats.starpu.codelet_file import (
    DEVICE_TYPES,
    Codelet,
    Combination,
    HistoryEntry,
    Implementation,
    ModelledDevice,
    Regression,
    rounded,
)
from tasksim.kernels.dense import dense_kernel, kernel_names
from tasksim.models.kinds.bysize import MIN_TRUSTED_COUNT, SizeEntry, SizeHistory
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import MIN_SIZE_FACTOR, PowerLaw
from tasksim.models.terms.formulas import parse_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tasksim.models.forms import LinearForm, MeansForm, PowerForm
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["from_models", "to_models"]

US_PER_S: Final = 1e6
_ARCHITECTURE: Final = re.compile(r"([a-z_]+?)_?([0-9]{0,4})")


def from_models(
    symbol: str, models: Mapping[str, KernelModel], *, host: str = "", kernel: str | None = None
) -> Codelet:
    """Return the codelet of StarPU that corresponds to kernel *models*.

    ==========  ==================================================================================
    ``bysize``  history entries; a footprint that is not known is that of a codelet with a
                function ``size_base``
    ``history`` history entries, footprint and size of the matrices that the kernel works on;
                or as ``bysize`` where its one parameter is ``size_bytes``
    ``mlr``     coefficients of a multiple regression
    ``power``   a regression, non-linear with a constant
    ==========  ==================================================================================

    StarPU's models hold less. They lose outliers, quantiles and options; the extrapolation of
    ``bysize`` and ``power`` (StarPU predicts nothing outside the measurements, or beyond 10 % of
    them); intervals, spread and domain of ``mlr``; and the effect of far data (locality). They
    cannot express ``mlr`` with powers that are not whole numbers, logarithms or exponentials, nor
    constants.

    Parameters
    ----------
    symbol
        Name of the codelet's performance model.
    models
        Architecture (``cpu``, ``cuda0``, ``opencl1``, ...; without a number the first) -> model.
    host
        The machine.
    kernel
        For ``history``: tasksim's kernel (``gemm``, ``potrf_float32``), if its name is not
        *symbol*.

    Raises
    ------
    InputError
        If StarPU has no such architecture, a model cannot be expressed, or its kernel's matrices
        are unknown.
    """
    combinations: dict[ModelledDevice, Implementation] = {}
    for architecture, model in models.items():
        device = _device(architecture)
        if device in combinations:
            raise InputError(f"{symbol}: two models for {device.name} ({', '.join(models)})")
        where = f"{symbol} on {architecture}"
        combinations[device] = _implementation(model, kernel or symbol, where)
    return Codelet(
        symbol,
        host,
        tuple(Combination((device,), (found,)) for device, found in combinations.items()),
    )


def _device(architecture: str) -> ModelledDevice:
    numbers = {name: number for number, name in DEVICE_TYPES.items()}
    match = _ARCHITECTURE.fullmatch(architecture)
    if match is None or match[1] not in numbers:
        near = nearest(architecture, numbers)
        raise InputError(
            f"StarPU has no architecture '{architecture}'{near} (known: {', '.join(numbers)}, and "
            "these with a number)"
        )
    return ModelledDevice(numbers[match[1]], int(match[2] or 0), 1)


def _implementation(model: KernelModel, kernel: str, where: str) -> Implementation:
    model._check_fitted("from_models")
    means, linear, law = model.means(), model.linear(), model.power()
    if means is not None:
        return Implementation(entries=_entries(means, model.names_, kernel, where))
    if linear is not None:
        return _multiple_regression(linear, where)
    if law is not None:
        return _regression(law, model)
    raise InputError(f"{where}: StarPU has no models of kind '{model.kind}'")


def _entries(
    means: MeansForm, names: tuple[str, ...], kernel: str, where: str
) -> tuple[HistoryEntry, ...]:
    """Return history entries, by size, or by the shapes of the kernel's matrices."""
    rows = [dict(zip(names, row, strict=True)) for row in means.rows.tolist()]
    if means.by_size:
        sizes = [int(row[names[0]]) for row in rows]
        known = means.footprints or (None,) * len(sizes)
        keys = [
            (int(footprint.of_size(size)) if found is None else found, size)
            for size, found in zip(sizes, known, strict=True)
        ]
    else:
        keys = [_footprint_and_size(kernel, row, where) for row in rows]
    columns = (means.mean_s, means.deviation_s, means.count)
    measured = zip(*(column.tolist() for column in columns), strict=True)
    flops = means.flops or (None,) * len(keys)
    return tuple(
        _entry(*key, 0.0 if f is None else f, m)
        for key, f, m in zip(keys, flops, measured, strict=True)
    )


def _footprint_and_size(kernel: str, row: Mapping[str, float], where: str) -> tuple[int, int]:
    """Return footprint and bytes of the matrices of one of tasksim's kernels."""
    if kernel not in kernel_names():
        raise InputError(
            f"{where}: the matrices of '{kernel}' are unknown{nearest(kernel, kernel_names())}"
            f" (known: {', '.join(kernel_names())}); name its kernel"
        )
    found, real = dense_kernel(kernel)
    shapes = list(found.shapes(found.sizes(row, where)).values())
    key = footprint.task([footprint.matrix(rows, columns) for rows, columns in shapes])
    return int(key), sum(rows * columns for rows, columns in shapes) * real.size_bytes


def _entry(key: int, size: int, flops: float, measured: tuple[float, float, int]) -> HistoryEntry:
    mean, deviation, count = _us(measured[0]), _us(measured[1]), measured[2]
    # StarPU continues from the sums, so they have as many digits as it writes.
    total, squares = (float(f"{count * v:e}") for v in (mean, mean**2 + deviation**2))
    return HistoryEntry(key, size, flops, mean, deviation, total, squares, count)


def _multiple_regression(linear: LinearForm, where: str) -> Implementation:
    coefficients = dict(zip(linear.terms.terms, linear.coef.tolist(), strict=True))
    constant = next((c for term, c in coefficients.items() if not term.factors), 0.0)
    others = {term: c for term, c in coefficients.items() if term.factors}
    for term in others:
        if not all(
            not factor.function and factor.exponent > 0 and float(factor.exponent).is_integer()
            for factor in term.factors
        ):
            raise InputError(
                f"{where}: got the term {term}; legal in StarPU's multiple regressions: products"
                " of whole powers"
            )
    return Implementation(
        coefficients=tuple(map(_us, (constant, *others.values()))),
        coefficient_names=tuple(map(str, others)),
    )


def _regression(law: PowerForm, model: KernelModel) -> Implementation:
    """Return the law, and sums that give StarPU the same: half of the samples at each end."""
    low, high = (int(value) for value in model.domain_[model.names_[0]])
    n = int(model.report()["samples"])
    ends = np.log(np.maximum([low, high], 1))
    with np.errstate(all="ignore"):
        times = np.log(law.a_s * US_PER_S) + law.b * ends
    sums = (ends.sum(), (ends**2).sum(), times.sum(), (ends * times).sum())
    lnx, lnx2, lny, lnxlny = (rounded(n / 2 * float(total)) for total in sums)
    if not law.constant:
        sizes = (_us(law.a_s), law.b)
        return Implementation(regression=Regression(lnx, lnx2, lny, lnxlny, *sizes, n, low, high))
    return Implementation(
        regression=Regression(n=n, min_size=low, max_size=high),
        nonlinear=(_us(law.a_s), law.b, _us(law.c_s)),
    )


def _us(seconds: float) -> float:
    return rounded(seconds * US_PER_S)


def to_models(
    codelet: Codelet, samples: Samples | None = None
) -> tuple[dict[str, KernelModel], list[str]]:
    """Return the kernel models of *codelet*, and notes on what they leave out.

    ===========================  ===========================================================
    type of the codelet's model  kind of kernel model
    ===========================  ===========================================================
    history                      ``bysize``, the mean of each size exactly
    regression, where valid      ``power``, a·size^b
    nl, where valid              ``power``, a·size^b + c
    mlr                          ``mlr``, the terms from the comment above the coefficients
    ===========================  ===========================================================

    If a regression is not valid (fewer than 10 samples, or sizes that hardly differ), the history
    counts. Of several implementations the fastest counts: for histories, per entry; for laws, at
    the middle of their sizes. For multiple regressions the first counts.

    Parameters
    ----------
    codelet
        As :func:`~tasksim.formats.starpu.codelet_file.read_codelet` returns it.
    samples
        The samples of a multiple regression, as :mod:`~tasksim.formats.samples.starpufiles` reads
        them, for the domain and the spread of the model.

    Returns
    -------
    models : dict
        Architecture (``cpu``, ``cuda0``, ``cuda1``, ``opencl0``, ...) -> model, durations in
        seconds. CPU cores share one model, other devices each have their own.
    notes : list of str
        Combinations of several devices or cores, which are left out; entries without samples, or
        with few; sizes that several entries have.
    """
    found: dict[str, list[Implementation]] = {}
    notes: list[str] = []
    for combination in codelet.combinations:
        if len(combination.devices) > 1 or combination.devices[0].ncores > 1:
            notes.append(f"{combination.name}: tasks on several cores or devices, left out")
        else:
            found.setdefault(combination.name, []).extend(combination.implementations)
    models: dict[str, KernelModel] = {}
    for architecture, implementations in found.items():
        model, said = _model(implementations, samples)
        notes += [f"{architecture}: {text}" for text in said]
        if model is not None:
            models[architecture] = model
    return models, notes


def _model(
    implementations: Sequence[Implementation], samples: Samples | None
) -> tuple[KernelModel | None, list[str]]:
    """Return the model of one architecture, and notes on it."""
    notes: list[str] = []
    linear = [i for i in implementations if i.type == "mlr"]
    if linear:
        if len(linear) > 1:
            notes.append(f"the first of {len(linear)} implementations counts")
        try:
            return _linear(linear[0], samples), notes
        except InputError as error:
            notes.append(str(error))
    laws = [law for i in implementations if (law := _law(i)) is not None]
    if laws:
        if len(laws) > 1:
            notes.append(f"the fastest of {len(laws)} implementations for middle sizes counts")
        return min(laws, key=_middle), notes
    if any(i.type in ("nl", "regression") for i in implementations):
        notes.append("the regression is not valid, the history counts")
    return _history(implementations, notes), notes


def _linear(implementation: Implementation, samples: Samples | None) -> LinearModel:
    intercept, *others = (value / US_PER_S for value in implementation.coefficients)
    names = implementation.coefficient_names
    if any(map(math.isnan, (intercept, *others))):
        raise InputError("the multiple regression has no coefficients yet")
    if len(names) != len(others):
        raise InputError("the file does not name the terms of the multiple regression")
    terms = parse_terms(" + ".join(["0", "1", *names]))
    texts = [str(term) for term in terms.terms]
    return LinearModel.from_coefficients(
        terms.names, dict(zip(texts, (intercept, *others), strict=True)), samples
    )


def _law(implementation: Implementation) -> PowerLaw | None:
    """Return the law of a regression, or None if it is invalid for StarPU."""
    regression = implementation.regression
    low, high = regression.min_size, regression.max_size
    if implementation.type not in ("nl", "regression"):
        return None
    if regression.n < MIN_TRUSTED_COUNT or not low < MIN_SIZE_FACTOR * high:
        return None
    a, b, c = implementation.nonlinear
    if implementation.type == "regression":
        a, b = regression.alpha, regression.beta
    constant = c / US_PER_S if implementation.type == "nl" else None
    try:
        return PowerLaw.from_coefficients(
            a / US_PER_S, b, constant, low=low, high=high,
            spread=_spread(implementation.entries), count=regression.n,
        )  # fmt: skip
    except InputError:  # such as a negative factor
        return None


def _middle(law: PowerLaw) -> float:
    (low, high) = law.domain_[law.names_[0]]
    return float(law.predict([[math.sqrt(max(low, 1.0) * high)]])[0])


def _spread(entries: Iterable[HistoryEntry]) -> float:
    """Return the relative standard deviation of the samples of all sizes."""
    known = [e for e in entries if e.n and e.mean_us > 0 and e.deviation_us >= 0]
    total = sum(e.n for e in known)
    squares = sum(e.n * (e.deviation_us / e.mean_us) ** 2 for e in known)
    return math.sqrt(squares / total) if total else 0.0


def _history(implementations: Sequence[Implementation], notes: list[str]) -> SizeHistory | None:
    entries = sorted((e for i in implementations for e in i.entries), key=_key)
    best = [min(same, key=_order) for _, same in groupby(entries, _key)]
    used = [e for e in best if e.n > 0 and e.mean_us > 0]
    if not used:
        notes.append("no measurements, left out; a run with STARPU_CALIBRATE=1 adds some")
        return None
    if len(used) < len(best):
        notes.append(f"left out: entries without samples ({len(best) - len(used)} of {len(best)})")
    model = SizeHistory.from_entries(
        SizeEntry(
            float(entry.size_bytes),
            entry.mean_us / US_PER_S,
            0.0 if math.isnan(entry.deviation_us) else entry.deviation_us / US_PER_S,
            entry.n,
            entry.hash,
            None if math.isnan(entry.flops) else entry.flops,
        )
        for entry in used
    )
    report = model.report()
    for key, text in (
        ("few", f"fewer than {MIN_TRUSTED_COUNT} samples"),
        ("ambiguous", "several footprints, of which the one with most samples counts"),
    ):
        if report[key]:
            notes.append(f"{text}: size {', '.join(map(str, report[key]))}")
    return model


def _key(entry: HistoryEntry) -> tuple[int, int]:
    return entry.size_bytes, entry.hash


def _order(entry: HistoryEntry) -> tuple[bool, float]:
    """Return the sort key of an entry: smallest for the fastest one with samples."""
    measured = entry.n > 0 and entry.mean_us > 0
    return (not measured, entry.mean_us if measured else 0.0)
