"""Kernel models made of StarPU's codelets.

The way back is :mod:`~tasksim.formats.starpu.codelet_export`.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.formats.starpu.codelet_export import from_models
from tasksim.formats.starpu.codelet_file import (
    Codelet,
    Combination,
    HistoryEntry,
    Implementation,
    ModelledDevice,
    Regression,
    read_codelet,
    write_codelet,
)
from tasksim.models.kinds.bysize import MIN_TRUSTED_COUNT, SizeEntry, SizeHistory
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import MIN_SIZE_FACTOR, PowerLaw
from tasksim.models.terms.formulas import parse_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = [
    "Codelet",
    "Combination",
    "HistoryEntry",
    "Implementation",
    "ModelledDevice",
    "Regression",
    "from_models",
    "read_codelet",
    "to_models",
    "write_codelet",
]

US_PER_S = 1e6


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

    Where a regression is not valid (fewer than 10 samples, or sizes that hardly differ), the
    history is taken. Of several implementations the fastest counts: for histories, of each
    entry; for laws, in the middle of their sizes; for multiple regressions, the first.

    Parameters
    ----------
    codelet
        As :func:`read_codelet` returns it.
    samples
        What a multiple regression was fitted to, as
        :mod:`~tasksim.formats.starpu.regression_samples` reads it: tells where the model is
        inside, and its spread.

    Returns
    -------
    models : dict
        Architecture (``cpu``, ``cuda0``, ``cuda1``, ``opencl0``, ...) -> model, durations in
        seconds. CPU cores are alike, other devices each have their own.
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
    """Return the model of one architecture, and what is to be said of it."""
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
            notes.append(f"of {len(laws)} implementations the fastest for middle sizes counts")
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
        raise InputError("the file does not say what the terms of the multiple regression are")
    terms = parse_terms(" + ".join(["0", "1", *names]))
    texts = [str(term) for term in terms.terms]
    return LinearModel.from_coefficients(
        terms.names, dict(zip(texts, (intercept, *others), strict=True)), samples
    )


def _law(implementation: Implementation) -> PowerLaw | None:
    """Return the law of a regression that StarPU takes for valid, or None."""
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
    """Return the relative standard deviation of the samples, of all sizes together."""
    known = [e for e in entries if e.n and e.mean_us > 0 and e.deviation_us >= 0]
    total = sum(e.n for e in known)
    squares = sum(e.n * (e.deviation_us / e.mean_us) ** 2 for e in known)
    return math.sqrt(squares / total) if total else 0.0


def _history(implementations: Sequence[Implementation], notes: list[str]) -> SizeHistory | None:
    entries = sorted((e for i in implementations for e in i.entries), key=_key)
    best = [min(same, key=_order) for _, same in groupby(entries, _key)]
    used = [e for e in best if e.n > 0 and e.mean_us > 0]
    if len(used) < len(best):
        notes.append(f"{len(best) - len(used)} entries without samples, left out")
    if not used:
        notes.append("nothing measured, left out")
        return None
    model = SizeHistory.from_entries(map(_size_entry, used))
    notes.extend(_remarks(model))
    return model


def _remarks(model: SizeHistory) -> Iterator[str]:
    report = model.report()
    for key, text in (
        ("few", f"fewer than {MIN_TRUSTED_COUNT} samples"),
        ("ambiguous", "several footprints, of which the one with most samples counts"),
    ):
        if report[key]:
            yield f"{text}: size {', '.join(map(str, report[key]))}"


def _key(entry: HistoryEntry) -> tuple[int, int]:
    return entry.size_bytes, entry.hash


def _order(entry: HistoryEntry) -> tuple[bool, float]:
    """Return what is least for the fastest entry that has samples."""
    measured = entry.n > 0 and entry.mean_us > 0
    return (not measured, entry.mean_us if measured else 0.0)


def _size_entry(entry: HistoryEntry) -> SizeEntry:
    deviation = 0.0 if math.isnan(entry.deviation_us) else entry.deviation_us
    return SizeEntry(
        float(entry.size_bytes),
        entry.mean_us / US_PER_S,
        deviation / US_PER_S,
        entry.n,
        entry.hash,
        None if math.isnan(entry.flops) else entry.flops,
    )
