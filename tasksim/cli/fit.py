"""The ``tasksim fit`` command, which fits a kernel model to measured durations."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final

import click

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import write_text
from tasksim.cli.command import command
from tasksim.cli.options import (
    PATH,
    TIME,
    for_option,
    force_option,
    graphs_for,
    json_option,
    output_option,
    seed_option,
)
from tasksim.cli.output import note_written, print_json, refuse_file, refuse_unwritable, warn
from tasksim.cli.progress import showing
from tasksim.models import FIT_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tasksim.models.samples import Samples
    from tasksim.models.selection import Selection

__all__ = ["combinations", "fit", "latencies_of"]

CHOSEN_BY = ("cv", "r2")
SELECTION_CRITERIA = ("cv", "two")
TENSOR_OPTIONS = ("rank", "cells", "spacing", "mode", "regularization")
PREDICTION_MODES = {"interpolation": "interpolation", "extrapolation": "positive"}
"""Modes by the paper's names -> methods of :class:`~tasksim.TensorModel`."""
REPORT_SUFFIXES = (".html", ".md")
LANGUAGE_OF_SUFFIX = {".c": "c", ".py": "python"}
SWEPT_OPTION_TYPES: Final = {"rank": int, "cells": int, "regularization": float}
"""Options that --over takes, all of tensors, and the type of their values."""
MAX_TRIALS: Final = 400
"""Largest number of combinations: each has a cross-validation."""


@command(
    "fit",
    examples=[
        "tasksim fit gemm.csv -o models/mymachine/gemm.json",
        "tasksim fit gemm.csv --duration runtime_s --parameters m,n,k --test gemm-test.csv",
        "tasksim fit runs.csv --categorical nodes,algorithm -o models/mymachine/runs.json",
        "tasksim fit gemm.csv --kind mlr --terms 'm*n*k + m*n' -o gemm.json --source gemm_s.c",
        "tasksim fit gemm.csv --kind cp --rank 3 --cells m=16,n=16,k=8 --regularization 1e-5",
        "tasksim fit gemm.csv --kind cp --over rank=1,2,4,8 --over cells=8,16 --report cp.html",
        "tasksim fit gemm.csv --for 'cholesky tiles=40 tile_size=512'",
        "tasksim fit gemm-counters.csv --kind counters --by r2 --costs two",
        "tasksim fit gemm.csv --kind cp --updatable -o gemm.json",
        "tasksim fit more.csv --update gemm.json",
    ],
)
@click.argument("file", type=PATH, metavar="SAMPLES")
@click.option(
    "--duration", metavar="COLUMN", help="Column with the durations. [default: found by its name]"
)
@click.option(
    "--parameters",
    metavar="COLUMN,...",
    help="Columns with the parameters. [default: every column that can be one]",
)
@click.option(
    "--categorical",
    metavar="COLUMN,...",
    help="Numeric columns whose values are names of categories; columns of text always are.",
)
@click.option("--part", metavar="NAME", help="Samples to use, if the file holds several sets.")
@click.option(
    "--kind",
    default="auto",
    help="Kind of model: history, power, mlr, cp, hybrid, learned, bysize, counters.",
)
@click.option(
    "--terms",
    help="Terms of a linear model: 'm*n*k + m*n', "
    "'n/p + log2(p)', 'exp(level)^0.7'. [default: searched]",
)
@click.option(
    "--weights",
    type=click.Choice(FIT_WEIGHTS),
    help="Weights of a linear fit. [default: relative]",
)
@click.option(
    "--rank", type=int, metavar="N", help="Rank of a tensor (cp, hybrid). [default: searched]"
)
@click.option(
    "--cells",
    metavar="N|NAME=N,...",
    help="Cells of a tensor per parameter: 16, or m=16,n=8. [default: searched]",
)
@click.option(
    "--spacing",
    metavar="HOW|NAME=HOW,...",
    help="Spacing of the cells: log, uniform, own (a cell per value), ordinal, categorical, "
    "automatic. [default: automatic]",
)
@click.option(
    "--mode",
    type=click.Choice(tuple(PREDICTION_MODES)),
    help="Method of --kind cp: alternating least squares on logarithms (interpolation), or Newton "
    "steps with positive factors, which extrapolate better. [default: interpolation]",
)
@click.option(
    "--regularization",
    type=click.FloatRange(min=0, min_open=True),
    metavar="LAMBDA",
    help="Shrinkage of the factors of a tensor. [default: searched]",
)
@click.option(
    "--over",
    multiple=True,
    metavar="OPTION=VALUES",
    help="Values of rank, cells or regularization to compare: rank=1,2,4. If repeated, all"
    " combinations are compared. The smallest cross-validated error wins.",
)
@click.option(
    "--memory",
    metavar="PLATFORM",
    help="Platform whose memory_hierarchy has the latencies, for --kind counters.",
)
@click.option(
    "--by",
    type=click.Choice(CHOSEN_BY),
    help="Criterion for the functions of counters: cross-validated error, or R2. [default: cv]",
)
@click.option(
    "--costs",
    type=click.Choice(SELECTION_CRITERIA),
    help="Costs in a model of counters: those that lower the cross-validated error (cv), or those"
    " of instructions and of memory (two). [default: cv]",
)
@click.option(
    "--update",
    type=PATH,
    metavar="MODEL",
    help="Coefficient file whose model learns the samples, without those that it was fitted to; "
    "the file is replaced, unless -o names another.",
)
@click.option(
    "--updatable",
    is_flag=True,
    help="Keep what --update needs in the file: sums per cell (cp), normal equations (mlr). "
    "Without --kind, only kinds that can be updated are tried.",
)
@click.option("--test", "test_file", type=PATH, help="Samples to judge the model by.")
@output_option("Coefficient file to write, KERNEL.json.")
@click.option("--report", type=PATH, help="Report with figures: .html or .md.")
@click.option(
    "--source",
    type=PATH,
    help="Source file with the model as a function: .c (kinds mlr, learned) or .py (mlr).",
)
@click.option(
    "--domain",
    metavar="NAME=LOW..HIGH,...",
    help="Ranges of parameters to predict for; where they exceed the samples, extrapolation also"
    " counts in the choice of the kind.",
)
@for_option
@click.option("--architecture", default="cpu", help="Architecture of the samples.")
@click.option(
    "--budget",
    type=TIME,
    default=30.0,
    show_default="30s",
    help="Processor time for the fit: a larger one tries more models, and compares kinds on more"
    " samples.",
)
@seed_option
@force_option
@json_option
def fit(
    file: Path,
    duration: str | None,
    parameters: str | None,
    categorical: str | None,
    part: str | None,
    test_file: Path | None,
    output: Path | None,
    update: Path | None,
    updatable: bool,
    report: Path | None,
    source: Path | None,
    domain: str | None,
    predicted: tuple[str, ...],
    architecture: str,
    budget: float,
    seed: int,
    force: bool,
    as_json: bool,
    over: tuple[str, ...],
    **wanted: Any,
) -> None:
    """Fit a kernel model to measured durations, and report its errors.

    SAMPLES has a row per execution, with its parameters and its duration. Kinds of models are
    compared on configurations that were left out of their fits. 'tasksim predict' reads the file
    that is written, as does 'tasksim simulate --models FOLDER' for a folder of such files.

    With --update, the model of a file learns the samples instead.
    """
    if update is not None:
        from tasksim.cli.fit_update import update_model

        update_model(
            update, file, duration, part, output, architecture, force=force, as_json=as_json
        )
        return
    kinds, options = _wanted(**wanted)
    tried, trials = _tried(over, **wanted), []
    if domain is not None and predicted:
        raise InputError("--for gives the sizes of a graph's tasks; leave --domain out")
    asked = None if domain is None else _ranges(domain)
    if source is not None:
        kinds = _with_source(kinds, LANGUAGE_OF_SUFFIX.get(source.suffix))
    if updatable:
        kinds = _with_updates(kinds)
    _refuse_files(output, report, source, force=force)
    from tasksim.cli.fit_result import fit_result, fit_text, over_rows, over_text, unused_lines
    from tasksim.formats.samples import samples_in
    from tasksim.models.optionsweep import best_trial, sweep
    from tasksim.models.selection import select

    names, numbered = (
        None if columns is None else [name.strip() for name in columns.split(",")]
        for columns in (parameters, categorical)
    )
    samples = samples_in(
        file, duration=duration, parameters=names, part=part, categorical=numbered or ()
    )
    if predicted:
        asked = _sizes_in(predicted, _kernel(output, part, file), samples)
    test = None
    if test_file is not None:
        test = samples_in(
            test_file, duration=duration, parameters=samples.names, part=part,
            categorical=tuple(samples.categories),
        )  # fmt: skip
    try:
        with showing("fitting") as progress:
            shared: dict[str, Any] = {
                "budget_s": budget, "seed": seed, "domain": asked, "progress": progress,
            }  # fmt: skip
            if tried:
                trials = sweep(samples, wanted["kind"], tried, **shared)
                found = best_trial(trials).selection
            else:
                found = select(samples, kinds, options=options, **shared)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    found.model.updatable = updatable
    result = fit_result(found, file, test)
    swept = over_rows(trials, file, test)
    if swept:
        result["over"] = swept
    if output is not None:
        _write(output, found, file, architecture)
    if report is not None:
        from tasksim.reports.fitreport import fit_blocks, over_blocks
        from tasksim.reports.modelreport import write_report

        title = f"{_kernel(output, part, file)} on {architecture}"
        said = [result["why"], *result["notes"], *unused_lines(result)]
        with showing("report") as progress:
            further = [*over_blocks(swept), *fit_blocks(found, seed=seed, progress=progress)]
        write_report(
            found.model, found.samples, test, report, title=title, force=force,
            said=said, warned=result["warnings"], further=further,
        )  # fmt: skip
    if source is not None:
        write_text(source, found.model.source(LANGUAGE_OF_SUFFIX[source.suffix], source.stem))
    if as_json:
        print_json({**result, "output": output, "report": report, "source": source})
        return
    for message in result["warnings"]:
        warn(message)
    click.echo("\n".join(fit_text(result)))
    if swept:
        click.echo(f"\n{over_text(swept)}")
    note_written(output, report, source)


def _wanted(
    kind: str, terms: str | None, weights: str | None, **others: Any
) -> tuple[tuple[str, ...] | None, dict[str, dict[str, Any]]]:
    """Return the kinds to try, or None for every suitable kind, and their options."""
    from tasksim.models.registry import model_class

    if kind != "auto" and not model_class(kind).needs_fit:
        raise InputError(f"--kind {kind}: models of this kind are not fitted to samples")
    linear = _given(terms=terms, weights=weights)
    taken = linear if kind == "auto" else model_class(kind).option_names()
    for name in linear:
        if name not in taken:
            raise InputError(f"--{name} is for linear models, got --kind {kind}")
    tensor = {name: others.pop(name) for name in TENSOR_OPTIONS}
    if options := _of_tensors(kind, **tensor) or _of_counters(kind, **others):
        return (kind,), {kind: options}
    if kind == "auto" and terms is None:
        return None, {"mlr": linear}
    kind = "mlr" if kind == "auto" else kind
    return (kind,), {kind: linear}


def _tried(
    over: tuple[str, ...], kind: str, **given: Any
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the combinations of --over, with the other options of the model; none without it."""
    if not over:
        return []
    fixed = {name: given[name] for name in TENSOR_OPTIONS}
    found = []
    for values in combinations(over, fixed):
        texts = {n: str(v) if n == "cells" else v for n, v in values.items()}
        found.append((values, _of_tensors(kind, **{**fixed, **texts})))
    return found


def combinations(texts: Sequence[str], given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all combinations of the values in texts such as ``rank=1,2,4``.

    *given* are the options that already have a value.

    Raises
    ------
    InputError
        For an unknown option, one that is given twice, or a wrong value.

    Examples
    --------
    >>> combinations(["rank=1,2", "cells=4,8"], {})[:2]
    [{'rank': 1, 'cells': 4}, {'rank': 1, 'cells': 8}]
    """
    axes: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = (word.strip() for word in text.partition("="))
        if name not in SWEPT_OPTION_TYPES:
            raise unknown("option of --over", name, list(SWEPT_OPTION_TYPES))
        if name in axes or given.get(name) is not None:
            raise InputError(f"--over {text}: {name} is given twice")
        axes[name] = [_swept(name, part.strip(), text) for part in values.split(",") if equals]
        if not axes[name] or len(set(axes[name])) < len(axes[name]):
            raise InputError(f"--over {text}: legal: {name}=VALUE,..., each value once")
    count = prod(map(len, axes.values()))
    if count > MAX_TRIALS:
        raise InputError(f"--over: {count} combinations; legal: {MAX_TRIALS} at most")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _swept(name: str, text: str, whole: str) -> Any:
    kind = SWEPT_OPTION_TYPES[name]
    with suppress(ValueError):
        if 0 < (value := kind(text)) < float("inf"):
            return value
    what = "whole numbers" if kind is int else "numbers"
    raise InputError(f"--over {whole}: got '{text}'; legal: {what} above 0")


def _of_tensors(kind: str, **options: Any) -> dict[str, Any]:
    """Return the given options of tensors; raise if models of *kind* do not have them."""
    from tasksim.models.registry import kinds, model_class

    readers = {
        "cells": lambda text: _per_parameter(text, "cells", int, "a whole number"),
        "spacing": lambda text: _per_parameter(text, "spacing", str, "log, uniform, own, ..."),
        "mode": PREDICTION_MODES.__getitem__,
    }
    found = {}
    for name, value in _given(**options).items():
        option = "ridge" if name == "regularization" else name
        if kind == "auto" or option not in model_class(kind).option_names():
            legal = [k for k in kinds() if option in model_class(k).option_names()]
            raise InputError(f"--{name} is for --kind {' or '.join(legal)}, got --kind {kind}")
        found[option] = readers[name](value) if name in readers else value
    return found


def _per_parameter(text: str, option: str, read: Callable[[str], Any], what: str) -> Any:
    """Return the value for all parameters, or parameter -> its value: ``16``, ``m=16,n=8``."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.rpartition("="))
        try:
            if not value or bool(equals) != bool(name) or name in found:
                raise ValueError(part)
            found[name] = read(value)
        except ValueError:
            raise InputError(
                f"--{option}: got '{part}' in '{text}'; legal: {what} for all parameters, or "
                f"NAME=VALUE,..., each once"
            ) from None
    if "" in found and len(found) > 1:
        raise InputError(f"--{option}: '{text}' has a value for all parameters beside others")
    return found.get("", found)


def _ranges(text: str) -> dict[str, tuple[float, float]]:
    """Return parameter -> its range: ``m=32..4096,n=64..4096``."""
    found: dict[str, tuple[float, float]] = {}
    for part in text.split(","):
        name, _, bounds = (word.strip() for word in part.partition("="))
        low, dots, high = bounds.partition("..")
        try:
            if not name or not dots or name in found:
                raise ValueError(part)
            found[name] = (float(low), float(high))
        except ValueError:
            within = "" if part == text else f" in '{text}'"
            raise InputError(
                f"--domain: got '{part}'{within}; legal: NAME=LOW..HIGH,..., each once"
            ) from None
    return found


def _sizes_in(
    texts: tuple[str, ...], kernel: str, samples: Samples
) -> dict[str, tuple[float, float]]:
    """Return parameter -> its range in the tasks of *kernel* in the graphs that *texts* name."""
    from tasksim.models.validation.outside import sizes_in

    graphs = graphs_for(texts)
    known = dict.fromkeys(name for graph in graphs for name in graph.model_names)
    if kernel not in known:
        error = unknown("kernel", kernel, known, ", ".join(texts))
        raise InputError(f"--for: {error}; the name of -o KERNEL.json says which")
    return sizes_in(graphs, kernel, samples)


def _of_counters(kind: str, **options: str | None) -> dict[str, Any]:
    """Return the given options of models of counters; raise for another *kind*."""
    from tasksim.models.registry import model_class

    given = _given(**options)
    if given and not model_class(kind if kind != "auto" else "mlr").needs_counters:
        raise InputError(f"--{next(iter(given))} is for --kind counters, got --kind {kind}")
    if "memory" in given:
        given["latencies_s"] = latencies_of(given.pop("memory"))
    return given


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def latencies_of(name: str) -> dict[str, float]:
    """Return level -> seconds of the machine with this *name* or path."""
    from tasksim.platform.load import load

    levels = load(name).memory_hierarchy
    if not levels:
        raise InputError(
            f"platform {name} has no memory_hierarchy: 'tasksim calibrate memory' measures it"
        )
    known = {level.name: level.latency_s for level in levels if level.latency_s is not None}
    missing = [level.name for level in levels if level.latency_s is None]
    if missing:
        raise InputError(
            f"platform {name}: memory_hierarchy has no latency of {', '.join(missing)}: 'tasksim "
            "calibrate memory' measures it"
        )
    return known


def _with_source(kinds: tuple[str, ...] | None, language: str | None) -> tuple[str, ...] | None:
    """Return the *kinds* to try that can be written as source code in *language*.

    Kinds that the user named must all support it. An unknown language is refused later.
    """
    from tasksim.models.registry import model_class
    from tasksim.models.selection import automatic_kinds

    if kinds is None:
        able = [
            k for k in automatic_kinds() if not language or language in model_class(k).languages
        ]
        return tuple(able)
    for kind in kinds:
        known = model_class(kind).languages
        if not known:
            raise InputError(
                f"--source: models of kind {kind} cannot be written as source code; give --kind "
                "mlr (C, Python) or learned (C)"
            )
        if language is not None and language not in known:
            raise InputError(f"--source: models of kind {kind} are written in {known[0]} only")
    return kinds


def _with_updates(kinds: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the *kinds* to try that can be updated; those that the user named must all."""
    from tasksim.models.registry import model_class
    from tasksim.models.selection import automatic_kinds

    able = tuple(kind for kind in kinds or automatic_kinds() if model_class(kind).updates())
    for kind in kinds or ():
        if kind not in able:
            raise InputError(
                f"--updatable: models of kind {kind} cannot be updated; legal: kinds that can "
                "(history, mlr, cp)"
            )
    return able


def _refuse_files(
    output: Path | None, report: Path | None, source: Path | None, *, force: bool
) -> None:
    """Refuse outputs that could not be written in the end."""
    if output is not None:
        from tasksim.cli.fit_result import refuse_model
        from tasksim.models.files.store import load_kernel

        refuse_model(output, force=force)
        if output.exists():
            load_kernel(output)
        refuse_unwritable(output)
    refuse_file(report, "reports", REPORT_SUFFIXES, force=force)
    refuse_file(source, "sources", tuple(LANGUAGE_OF_SUFFIX), force=force)


def _write(output: Path, found: Selection, file: Path, architecture: str) -> None:
    """Write the model; other architectures that the file has are kept."""
    from tasksim.cli.fit_result import date_of
    from tasksim.models.files.coefficients import Entry, Machine, Measured
    from tasksim.models.files.store import save_kernel

    entry = Entry(found.model, Measured(date_of(file), f"samples of {file.name}"))
    machine = Machine(output.absolute().parent.name or "unknown")
    save_kernel(output.parent, output.stem, {architecture: entry}, machine=machine)


def _kernel(output: Path | None, part: str | None, file: Path) -> str:
    """Return the kernel's name: that of the part, the output file or the samples."""
    return part or (output or file).name.split(".")[0]
