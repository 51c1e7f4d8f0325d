"""The ``tasksim predict`` command, which evaluates a kernel model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError, OutOfDomainError, unknown
from tasksim.base.numerals import decimal_number
from tasksim.cli.command import command
from tasksim.cli.options import (
    FREQUENCY,
    PATH,
    SHARE,
    force_option,
    json_option,
    output_option,
    refuse_missing,
    settings_by_name,
)
from tasksim.cli.output import note_written, print_json, print_result, refuse_file
from tasksim.models import CLOCK_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.models.files.coefficients import CoefficientFile
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["predict"]

UNSEEN_CHOICES = ("refuse", "pooled")


@command(
    "predict",
    examples=[
        "tasksim predict models/mymachine/gemm.json m=4096 n=512 k=512",
        "tasksim predict gemm.json m=256 n=256 k=256 --level 99% --json",
        "tasksim predict general.json --kernel gemm m=256 n=256 k=256",
        "tasksim predict transpose.json n=512 layout=row",
        "tasksim predict gemm.json --file configurations.csv -o predictions.csv",
        "tasksim predict gemm-counters.json m=256 n=256 k=256 --frequency 2GHz",
        "tasksim predict chunk.json Nthr=4 Ms=300 Nite=64",
    ],
)
@click.argument("file", type=PATH, metavar="MODEL")
@click.argument("settings", nargs=-1, metavar="[PARAMETER=VALUE]...")
@click.option(
    "--level",
    type=SHARE,
    default=0.9,
    show_default="90%",
    help="Share of measurements inside the prediction interval.",
)
@click.option("--kernel", metavar="NAME", help="Kernel in a model file. [default: the only one]")
@click.option(
    "--architecture", metavar="NAME", help="Architecture of the model. [default: the only one]"
)
@click.option(
    "--file",
    "table",
    type=PATH,
    metavar="CSV",
    help="CSV file of configurations to predict, one per line; PARAMETER=VALUE sets a parameter of"
    " all.",
)
@click.option(
    "--unseen",
    type=click.Choice(UNSEEN_CHOICES),
    default="refuse",
    show_default=True,
    help="Treatment of a category that was not measured: an error (refuse), or a prediction from"
    " all others (pooled).",
)
@click.option(
    "--frequency",
    type=FREQUENCY,
    metavar="HZ",
    help="Clock of the core, for models of counters: it changes computing, but not memory."
    " [default: the highest clock measured]",
)
@output_option("File for the predictions of --file, .csv. [default: printed]")
@force_option
@json_option
def predict(
    file: Path,
    settings: tuple[str, ...],
    level: float,
    kernel: str | None,
    architecture: str | None,
    table: Path | None,
    unseen: str,
    frequency: float | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Predict the duration of a kernel from a coefficient file or a model file.

    The output has a prediction interval, and how far the parameters are outside the measured
    domain. Models of counters also split the duration into computing and memory.

    MODEL may also be a decision tree ('tasksim tune table', 'tasksim study tree') with values of
    its features: the output is its choice.
    """
    from tasksim.cli.predict_tree import chosen, chosen_text, tree_in

    if not 0 < level < 1:
        raise InputError(f"--level: got {level:g}; legal: between 0% and 100%")
    if output is not None and table is None:
        raise InputError("--output is for the predictions of a --file")
    refuse_file(output, "predictions", (".csv",), force=force)
    if (tree := tree_in(file)) is not None:
        for option, value in (
            ("--kernel", kernel), ("--architecture", architecture), ("--file", table),
            ("--frequency", frequency),
        ):  # fmt: skip
            if value is not None:
                raise InputError(f"{option} is for kernel models, and {file} is a decision tree")
        choice = chosen(tree, settings, file)
        print_result(choice, chosen_text(choice), as_json=as_json)
        return
    loaded = _of_kernel(file, kernel)
    architecture, model = _model(loaded, architecture, file)
    about = {"kernel": loaded.kernel, "architecture": architecture, "kind": model.kind}
    clock_hz = _clock(model, frequency, settings)
    if table is not None:
        if frequency is not None:
            raise InputError(
                f"--frequency is for one configuration; with --file: a column {CLOCK_PARAMETER}, "
                "if the model was measured at several clocks"
            )
        from tasksim.base.files import write_text
        from tasksim.cli.predict_table import csv_text, predicted_rows

        rows = predicted_rows(model, table, _given(model, settings), level, unseen)
        if output is not None:
            write_text(output, csv_text(rows))
        if as_json:
            print_json({**about, "level": level, "rows": rows, "output": output})
        elif output is None:
            click.echo(csv_text(rows), nl=False)
        note_written(output)
        return
    values = _values(model, settings)
    if clock_hz is not None and CLOCK_PARAMETER in model.names_:
        values[CLOCK_PARAMETER] = clock_hz
    if unseen == "refuse":
        _refuse_unseen(model, values)
    outside = dict(_outside(model, values))
    row = [values[name] for name in model.names_]
    predicted = _predicted(model, row, level, unseen)
    predicted["inside"] = predicted["inside"] and not model.fixed_.keys() & outside
    predicted |= _parts(model, row, predicted, clock_hz)
    result = {**about, "parameters": values, **predicted, "outside": outside}
    print_result(result, _text(result, model), as_json=as_json)


def _clock(model: KernelModel, frequency: float | None, settings: Sequence[str]) -> float | None:
    """Return the clock to predict at; raise :exc:`InputError` if the model knows no clocks."""
    from tasksim.models.kinds.counted import CounterModel

    if frequency is None:
        return None
    if not isinstance(model, CounterModel):
        raise InputError(
            f"--frequency: {model.label} is a model of kind {model.kind}; legal: models of"
            " counters ('tasksim fit --kind counters'), which know the effect of the clock"
        )
    if any(text.partition("=")[0].strip() == CLOCK_PARAMETER for text in settings):
        raise InputError(f"--frequency and {CLOCK_PARAMETER}: give only one")
    return frequency


def _parts(
    model: KernelModel,
    row: Sequence[float | str],
    predicted: dict[str, Any],
    clock_hz: float | None,
) -> dict[str, Any]:
    """Return the parts of a prediction by counters, and the prediction at another clock."""
    from tasksim.models.kinds.counted import CounterModel

    if not isinstance(model, CounterModel):
        return {}
    parts = [float(part[0]) for part in model.parts([row], frequency_hz=clock_hz)]
    found: dict[str, Any] = {
        "parts": dict(zip(("computing_s", "memory_s", "messages_s"), parts, strict=True))
    }
    if clock_hz is None or CLOCK_PARAMETER in model.names_:
        return found
    # The interval's width is relative: it scales with the prediction.
    factor = sum(parts) / predicted["duration_s"]
    found["duration_s"] = sum(parts)
    for name in ("low_s", "high_s"):
        found[name] = None if predicted[name] is None else factor * predicted[name]
    return found


def _of_kernel(path: Path, kernel: str | None) -> CoefficientFile:
    """Return the models of *kernel* in the file at *path*, or of the only kernel there."""
    from tasksim.models.files.store import ModelFile, load_file, load_kernel

    found = load_file(path)
    files = found.kernels if isinstance(found, ModelFile) else {found.kernel: load_kernel(path)}
    if kernel is None and len(files) != 1:
        known = ", ".join(files) or "no kernel"
        raise InputError(f"{path} has models of {known}; choose one with --kernel NAME")
    name = next(iter(files)) if kernel is None else kernel
    if name not in files:
        raise unknown("kernel", name, files, str(path))
    return files[name]


def _model(file: CoefficientFile, architecture: str | None, path: Path) -> tuple[str, KernelModel]:
    """Return the chosen architecture, and its model."""
    known = list(file.architectures)
    if architecture is None and len(known) != 1:
        raise InputError(
            f"{path} has models for {', '.join(known) or 'nothing'}; choose one with"
            " --architecture NAME"
        )
    name = known[0] if architecture is None else architecture
    if name not in file.architectures:
        raise unknown("architecture", name, known, str(path))
    model = file.architectures[name].model
    model.label = f"{file.kernel} on {name}"
    return name, model


def _values(model: KernelModel, settings: Sequence[str]) -> dict[str, float | str]:
    """Return the value of each parameter of *model*, in its order, then those of fixed ones."""
    from tasksim.models.fitted import highest_clock

    given = _given(model, settings)
    if CLOCK_PARAMETER in model.names_:
        given.setdefault(CLOCK_PARAMETER, highest_clock(model))
    refuse_missing(model.names_, given, model.label)
    return {name: given[name] for name in (*model.names_, *model.fixed_) if name in given}


def _given(model: KernelModel, settings: Sequence[str]) -> dict[str, float | str]:
    """Return the parameters in *settings*; those with categories have names."""
    known = (*model.names_, *model.fixed_)
    given: dict[str, float | str] = {}
    for name, text in settings_by_name(settings, known, "parameter", model.label).items():
        if name in model.categories_:
            given[name] = text
            continue
        number = decimal_number(text)
        if number is None or number < 0:
            raise InputError(f"{name}: got '{text}'; legal: a finite number, not negative")
        given[name] = number
    return given


def _refuse_unseen(model: KernelModel, values: dict[str, float | str]) -> None:
    """Refuse a category that was not measured, with the nearest match."""
    from tasksim.models.categories import unseen_message

    for name, found in _outside(model, values):
        if name in model.categories_ and name in model.names_:
            lacking = model.unmeasured_.get(name, ())
            known = [of for of in model.categories_[name] if of not in lacking]
            message = unseen_message(name, str(found["value"]), known)
            raise OutOfDomainError(
                f"{model.label}: {message}; --unseen pooled predicts from all of them"
            )


def _predicted(
    model: KernelModel, row: Sequence[float | str], level: float, unseen: str
) -> dict[str, Any]:
    import numpy as np

    # Objects, so that numbers of parameters with categories are their names.
    table: Any = np.array(row, dtype=object).reshape(1, len(row))
    low_s = high_s = None
    if model.uncertainty_ is not None:
        low_s, high_s = (float(end[0]) for end in model.interval(table, level, unseen=unseen))
    return {
        "duration_s": float(model.predict(table, unseen=unseen)[0]),
        "low_s": low_s,
        "high_s": high_s,
        "level": level,
        "inside": bool(model.inside(table)[0]),
    }


def _outside(
    model: KernelModel, values: dict[str, float | str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parameters outside the measured domain, and by which factor."""
    from tasksim.models.categories import UNSEEN_CATEGORY, code_of
    from tasksim.models.fitted import bounding_parameters

    for name, value in values.items():
        if isinstance(value, str):
            known = model.categories_[name]
            code = code_of(value, known)
            if code in (
                UNSEEN_CATEGORY,
                *(known.index(c) for c in model.unmeasured_.get(name, ())),
            ):
                yield name, {"value": value, "low": None, "high": None, "factor": None}
            continue
        fixed = model.fixed_.get(name, value)
        low, high = model.domain_.get(name, (fixed, fixed))
        if name not in (*bounding_parameters(model), *model.fixed_):
            continue
        if not low <= value <= high:
            ratio = (high, value) if value > high else (value, low)
            factor = ratio[1] / ratio[0] if ratio[0] > 0 else None
            yield name, {"value": value, "low": low, "high": high, "factor": factor}


def _text(result: dict[str, Any], model: KernelModel) -> Iterator[str]:
    from tasksim.base.units import format_time

    yield f"duration  {format_time(result['duration_s'])}"
    level = f"{100 * result['level']:g} %"
    if result["low_s"] is None:
        yield "interval  not known: the model has no calibrated uncertainty"
    else:
        low, high = format_time(result["low_s"]), format_time(result["high_s"])
        yield f"interval  {low} to {high} ({level} of measurements)"
    if "parts" in result:
        total = result["duration_s"] or 1.0
        yield "parts     " + ", ".join(
            f"{name.removesuffix('_s')} {format_time(seconds)} ({100 * seconds / total:.0f} %)"
            for name, seconds in result["parts"].items()
        )
    if CLOCK_PARAMETER in result["parameters"]:
        yield f"clock     {result['parameters'][CLOCK_PARAMETER] / 1e9:.3g} GHz"
    if result["inside"]:
        yield f"domain    inside the measured domain: {model.measured()}"
    else:
        far = "; ".join(_far(name, **found) for name, found in result["outside"].items())
        yield f"domain    outside: {far or f'nothing was measured there, but {model.measured()}'}"


def _far(
    name: str, value: float | str, low: float | None, high: float | None, factor: float | None
) -> str:
    if isinstance(value, str) or low is None or high is None:
        return f"{name}={value} was not measured"
    end, bound = ("largest", high) if value > high else ("least", low)
    times = "" if factor is None else f", by a factor of {factor:.3g}"
    beyond = "above" if value > high else "below"
    return f"{name}={value:.15g} is {beyond} the {end} measured, {bound:.15g}{times}"
