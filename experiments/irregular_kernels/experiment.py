"""Experiment, from the first run to the report.

::

    results = experiment(Path("irregular"), Setting())      # measures: minutes
    results = again(Path("irregular"))                       # from what was measured: seconds
"""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from experiments.irregular_kernels.inputs import DISTRIBUTIONS
from experiments.irregular_kernels.measuring import measure, read, write
from experiments.irregular_kernels.modelling import (
    DIRECT_TERMS,
    TERMS,
    compare_m2l,
    judged,
)
from experiments.irregular_kernels.page import write_page
from experiments.irregular_kernels.predicting import Predictor
from experiments.irregular_kernels.reports import write_reports
from experiments.irregular_kernels.results import GENERAL, Fit, Outcome, Results
from tasksim.base.files import new_folder, write_text
from tasksim.calibration.machine import fingerprint
from tasksim.calibration.write_library import ARCHITECTURE, Destination, write_platform
from tasksim.models.files.store import Entry, Machine, Measured, save_kernel, save_models
from tasksim.native.calm_moments import run_gate
from tasksim.scenario.resolved import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from experiments.irregular_kernels.measuring import Measurements, Setting
    from experiments.irregular_kernels.modelling import MeasuredInput, ModelSet
    from tasksim.native.calm_moments import Calmness

__all__ = ["again", "experiment"]

RESULTS: Final = "results.json"
PREDICTIONS: Final = "predictions.json"


def experiment(
    output: Path,
    setting: Setting,
    *,
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> Results:
    """Measure, fit, predict, compare; leave everything in the new folder *output*.

    The spheres are predicted, and the predictions written, before they are run for the first
    time. *progress* is called with what goes on and the share of the whole that is done.

    Raises
    ------
    InputError
        If *output* exists and *force* is not given.
    CheckFailed
        If a native run computes something wrong.
    """
    setting = setting.resolved()
    inputs, tell = setting.inputs, progress or (lambda _what, _share: None)
    gate, resolver = run_gate(setting.workers), Resolver()
    with new_folder(output, force=force) as folder:
        first = measure(
            {"fitted": inputs.fitted, "predicted": inputs.predicted},
            setting,
            gate,
            lambda what, share: tell(f"cubes and ellipsoids, {what}", 0.6 * share),
            resolver,
        )
        _write_predictions(first, folder, resolver)
        second = measure(
            {"unseen": inputs.unseen},
            setting,
            gate,
            lambda what, share: tell(f"spheres, {what}", 0.6 + 0.3 * share),
            resolver,
        )
        measurements = replace(
            first, parts={**first.parts, **second.parts}, calm=(*first.calm, *second.calm)
        )
        write(measurements, folder)
        return _report(
            measurements,
            folder,
            lambda done, total: tell("reports", 0.9 + 0.1 * done / total),
            resolver,
        )


def again(folder: Path, progress: Callable[[str, float], None] | None = None) -> Results:
    """Fit, predict, compare and report once more, from the runs that are in *folder*.

    Raises
    ------
    InputError
        If *folder* is not one that :func:`experiment` wrote.
    """
    tell = progress or (lambda _what, _share: None)
    resolver = Resolver()
    measured = read(folder, resolver)
    return _report(measured, folder, lambda done, total: tell("reports", done / total), resolver)


def _write_predictions(measurements: Measurements, folder: Path, resolver: Resolver) -> None:
    """Write what the spheres will take, before they are run."""
    setting, predictor = measurements.setting, _predictor(measurements, resolver)
    predictions = {}
    for given in setting.inputs.unseen:
        asked = setting.scenario(given, "unseen")
        predictions[given.text] = predictor.predict(given, asked, GENERAL).median_s
    write_text(folder / PREDICTIONS, json.dumps(predictions, indent=2) + "\n")


def _predictor(measurements: Measurements, resolver: Resolver | None) -> Predictor:
    return Predictor(
        measurements.parts["fitted"],
        workers=measurements.setting.workers,
        machine=measurements.machine,
        resolver=resolver,
    )


def _report(
    measurements: Measurements,
    folder: Path,
    progress: Callable[[int, int], None] | None = None,
    resolver: Resolver | None = None,
) -> Results:
    """Write the models, results and pages; return the results."""
    predictor = _predictor(measurements, resolver)
    results = _results(measurements, predictor)
    _write_models(measurements, predictor, folder)
    write_text(folder / RESULTS, json.dumps(results.to_json(), indent=2) + "\n")
    write_page(results, folder)
    write_reports(measurements.parts["fitted"], folder / "reports", progress)
    return results


def _results(measurements: Measurements, predictor: Predictor) -> Results:
    setting, parts = measurements.setting, measurements.parts
    seen, unseen = (
        tuple(_outcome(measured, predictor) for measured in parts[part])
        for part in ("predicted", "unseen")
    )
    return Results(
        machine=measurements.machine,
        workers=setting.workers,
        scheduler=setting.scheduler,
        order=setting.order,
        repetitions=setting.repetitions,
        seconds=sum(calm.seconds for calm in measurements.calm),
        seen=seen,
        unseen=unseen,
        fits=_fits(parts["fitted"]),
        m2l=compare_m2l(parts["fitted"]),
        calm=_together(measurements.calm),
    )


def _outcome(measured: MeasuredInput, predictor: Predictor) -> Outcome:
    predicted = predictor.predictions(measured.input, measured.native.scenario)
    return Outcome(measured.input, measured.native, predicted)


def _fits(fitted: Sequence[MeasuredInput]) -> tuple[Fit, ...]:
    """Return how well each set of models explains what it was fitted to."""
    found = []
    for name in DISTRIBUTIONS:
        found += judged([m for m in fitted if m.input.distribution == name], name, TERMS)
    found += judged(fitted, "general", TERMS)
    found += judged(fitted, "general, direct parameters only", DIRECT_TERMS)
    return tuple(found)


def _together(calm: Sequence[Calmness]) -> dict[str, Any]:
    """Return how calm the machine was in all."""
    sums = {name: sum(getattr(c, name) for c in calm) for name in ("kept", "repeated", "disturbed")}
    return {**sums, "worst": "; ".join(c.worst for c in calm)}


def _write_models(measurements: Measurements, predictor: Predictor, folder: Path) -> None:
    """Write each set of models to a file, and the general ones as a library with its platform."""
    workers, name = measurements.setting.workers, measurements.machine
    machine = Machine(name, fingerprint(workers))
    how = Measured(
        datetime.date.today().isoformat(),
        f"in situ, {workers} workers busy; one sample per task, its mean over"
        f" {measurements.setting.repetitions} runs",
    )
    for title, models in {"general": predictor.general, **predictor.specific}.items():
        save_models(folder / f"{title}.json", _entries(models, how), machine=machine)
    for kernel, entries in _entries(predictor.general, how).items():
        save_kernel(folder / "models" / name, kernel, entries, machine=machine)
    write_platform(Destination(folder, name, workers), predictor.platform.overheads)


def _entries(models: ModelSet, how: Measured) -> dict[str, dict[str, Entry]]:
    return {kernel: {ARCHITECTURE: Entry(model, how)} for kernel, model in models.models.items()}
