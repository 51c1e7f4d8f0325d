"""``tasksim fit``: make a kernel model of measured durations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing
from tasksim.cli.command import command
from tasksim.cli.options import TIME, force_option, json_option, seed_option
from tasksim.cli.output import note, print_json, refuse_file, refuse_unwritable, warn
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.models.files.coefficients import Entry
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.models.selection import Selection

__all__ = ["fit", "latencies_of"]

WEIGHTS = ("relative", "none", "huber")
CHOSEN_BY = ("cv", "r2")
COSTS = ("cv", "two")
TENSORS = ("hybrid", "cp")
"""What ``--kind cp`` tries: a tensor does better on top of a simple law, as a rule."""
REPORTS = (".html", ".md")
LANGUAGES = {".c": "c", ".py": "python"}
MOST_LISTED = 6
"""Of parameters or terms in one line of text: more would not fit a terminal; JSON has all."""


@command(
    "fit",
    examples=[
        "tasksim fit gemm.csv -o models/mymachine/gemm.json",
        "tasksim fit gemm.csv --duration runtime_s --parameters m,n,k --test gemm-test.csv",
        "tasksim fit gemm.csv --kind mlr --terms 'm*n*k + m*n' -o gemm.json --source gemm_s.c",
        "tasksim fit gemm-counters.csv --kind counters --by r2 --costs two",
    ],
)
@click.argument("file", type=click.Path(path_type=Path), metavar="SAMPLES")
@click.option("--duration", metavar="COLUMN", help="Column of durations. [default: by its name]")
@click.option(
    "--parameters", metavar="COLUMN,...", help="Columns of parameters. [default: all other numbers]"
)
@click.option("--part", metavar="NAME", help="Samples to use, if the file holds several sets.")
@click.option(
    "--kind",
    default="auto",
    help="Kind of model: history, power, mlr, cp, hybrid, bysize, counters.",
)
@click.option("--terms", help="Terms of a linear model: 'm*n*k + m*n'. [default: searched]")
@click.option(
    "--weights", type=click.Choice(WEIGHTS), help="Weights of a linear fit. [default: relative]"
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
    type=click.Choice(COSTS),
    help="Costs in a model of counters: those that lower the cross-validated error, or two, of "
    "instructions and of memory. [default: cv]",
)
@click.option(
    "--test", "test_file", type=click.Path(path_type=Path), help="Samples to judge the model by."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A coefficient file, KERNEL.json."
)
@click.option(
    "--report", type=click.Path(path_type=Path), help="Report with figures: .html or .md."
)
@click.option(
    "--source", type=click.Path(path_type=Path), help="A linear model as a function: .c or .py."
)
@click.option("--architecture", default="cpu", help="Architecture of the samples.")
@click.option(
    "--budget",
    type=TIME,
    default=30.0,
    show_default="30s",
    help="Time after which nothing is refined, and no other kind is tried.",
)
@seed_option
@force_option
@json_option
def fit(
    file: Path,
    duration: str | None,
    parameters: str | None,
    part: str | None,
    test_file: Path | None,
    output: Path | None,
    report: Path | None,
    source: Path | None,
    architecture: str,
    budget: float,
    seed: int,
    force: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Make a kernel model of measured durations, and say how good it is.

    SAMPLES has a row per execution: its parameters and its duration. Kinds of models are
    compared on sizes that were left out of their fits. The file written is one that 'tasksim
    predict' reads; in a folder of models, 'tasksim simulate --models FOLDER' does too.
    """
    kinds, options = _wanted(**wanted)
    if source is not None:
        _refuse_source(kinds, LANGUAGES.get(source.suffix))
    _refuse_files(output, report, source, force=force)
    from tasksim.formats.samples import read_samples
    from tasksim.models.selection import select

    names = None if parameters is None else [name.strip() for name in parameters.split(",")]
    samples = read_samples(file, duration=duration, parameters=names, part=part)
    test = None
    if test_file is not None:
        test = read_samples(test_file, duration=duration, parameters=samples.names, part=part)
    try:
        with showing("fitting") as progress:
            found = select(
                samples, kinds, budget_s=budget, seed=seed, options=options, progress=progress
            )
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    result = _result(found, samples, test)
    if output is not None:
        _write(output, found, file, architecture)
    if report is not None:
        from tasksim.view.modelreport import write_report

        title = f"{_kernel(output, part, file)} on {architecture}"
        write_report(found.model, samples, test, report, title=title, force=force)
    if source is not None:
        _write_source(source, found)
    if as_json:
        print_json({**result, "output": output, "report": report, "source": source})
        return
    for message in result["warnings"]:
        warn(message)
    click.echo("\n".join(_text(result)))
    for written in filter(None, (output, report, source)):
        note(f"Wrote {written}")


def _wanted(
    kind: str, terms: str | None, weights: str | None, **counted: str | None
) -> tuple[tuple[str, ...] | None, dict[str, dict[str, Any]]]:
    """Return the kinds to try, None for all that suit, and their options."""
    from tasksim.models.registry import model_class

    if kind != "auto" and not model_class(kind).needs_fit:
        raise InputError(f"--kind {kind}: such models are not fitted to samples")
    given = {"terms": terms, "weights": weights}
    linear = {name: value for name, value in given.items() if value is not None}
    taken = linear if kind == "auto" else model_class(kind).option_names()
    for name in linear:
        if name not in taken:
            raise InputError(f"--{name} is for linear models, got --kind {kind}")
    if options := _of_counters(kind, **counted):
        return (kind,), {kind: options}
    if kind == "auto" and terms is None:
        return None, {"mlr": linear}
    if kind == "cp":
        return TENSORS, {}
    kind = "mlr" if kind == "auto" else kind
    return (kind,), {kind: linear}


def _of_counters(kind: str, memory: str | None, **options: str | None) -> dict[str, Any]:
    """Return the options of a model of counters that were given; raise for another *kind*."""
    from tasksim.models.registry import model_class

    given = {name: value for name, value in options.items() if value is not None}
    named = [*(["memory"] if memory is not None else []), *given]
    if named and not model_class(kind if kind != "auto" else "mlr").needs_counters:
        raise InputError(f"--{named[0]} is for --kind counters, got --kind {kind}")
    return {**given, **({} if memory is None else {"latencies_s": latencies_of(memory)})}


def latencies_of(name: str) -> dict[str, float]:
    """Return level -> seconds of the machine with this *name* or path."""
    from tasksim.platform.load import load

    levels = load(name).memory_hierarchy
    if not levels:
        raise InputError(
            f"platform {name} has no memory_hierarchy: 'tasksim calibrate memory' measures it"
        )
    return {level.name: level.latency_s for level in levels}


def _refuse_source(kinds: tuple[str, ...] | None, language: str | None) -> None:
    """Raise if one of *kinds* cannot be written as source code; of which language is told later."""
    from tasksim.models.registry import model_class

    for kind in kinds or ("auto",):
        known = model_class(kind).languages if kinds else ()
        if not known:
            raise InputError(
                "--source is for linear models: give --kind mlr; models of kind "
                f"{kind} cannot be written as source code"
            )
        if language is not None and language not in known:
            raise InputError(f"--source: models of kind {kind} are written in {known[0]} only")


def _refuse_files(
    output: Path | None, report: Path | None, source: Path | None, *, force: bool
) -> None:
    """Raise for what could not be written in the end."""
    if output is not None:
        _refuse_output(output, force=force)
    if report is not None:
        refuse_file(report, "reports", REPORTS, force=force)
    if source is not None:
        refuse_file(source, "sources", tuple(LANGUAGES), force=force)


def _refuse_output(output: Path, *, force: bool) -> None:
    from tasksim.models.files.store import kernel_path, load_kernel

    if output.suffix != ".json":
        raise InputError(f"{output}: kernel models are in .json files; got '{output.suffix}'")
    kernel_path(output.parent, output.stem)
    refuse_existing(output, force=force)
    if output.exists():
        load_kernel(output)
    refuse_unwritable(output)


def _write(output: Path, found: Selection, file: Path, architecture: str) -> None:
    """Write the model; other architectures that the file has are kept."""
    from tasksim.models.files.coefficients import Machine
    from tasksim.models.files.store import save_kernel

    machine = Machine(output.absolute().parent.name or "unknown")
    save_kernel(output.parent, output.stem, {architecture: _entry(found, file)}, machine=machine)


def _kernel(output: Path | None, part: str | None, file: Path) -> str:
    """Return the name of the kernel: of the file it is written to, else of what was read."""
    return part or (output or file).name.split(".")[0]


def _write_source(path: Path, found: Selection) -> None:
    """Write the model as a function that has the name of the file."""
    from tasksim.base.files import write_text

    write_text(path, found.model.source(LANGUAGES[path.suffix], path.stem))


def _entry(found: Selection, file: Path) -> Entry:
    from datetime import UTC, datetime

    from tasksim.models.files.coefficients import Entry, Measured

    # When they were measured nobody says; not later than the file was written.
    when = datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
    return Entry(found.model, Measured(when, f"samples of {file.name}"))


def _result(found: Selection, samples: Samples, test: Samples | None) -> dict[str, Any]:
    """Return what to print."""
    chosen, model = found.chosen, found.model
    linear = model.linear()
    warnings = list(found.warnings)
    tested = {} if test is None else _tested(found, test, warnings)
    return {
        "kind": model.kind,
        "why": found.why,
        "terms": [] if linear is None else list(linear.term_names),
        "formula": model.formula(),
        "notes": list(model.report().get("notes", [])) if model.needs_counters else [],
        "counters": _counters(model),
        "alternatives": model.report().get("alternatives", []),
        "mlogq_cv": chosen.mlogq_cv,
        **tested,
        "size_bytes": chosen.size_bytes,
        "fit_seconds": chosen.fit_seconds,
        "samples": len(samples),
        "configurations": len(samples.configurations()[0]),
        "domain": {name: list(box) for name, box in model.domain_.items()},
        "candidates": [row.row() for row in found.table],
        "warnings": warnings,
    }


def _counters(model: KernelModel) -> dict[str, str]:
    """Return of which family the counters of a model are; none of models without."""
    families: dict[str, str] = model.report().get("families", {}) if model.needs_counters else {}
    return families


def _tested(found: Selection, test: Samples, warnings: list[str]) -> dict[str, Any]:
    """Return how good the model is on *test*; each configuration counts once."""
    import numpy as np

    from tasksim.models.groups import group_means
    from tasksim.models.validation.crossvalidation import predicted_where_possible
    from tasksim.models.validation.metrics import METRICS, all_metrics

    model = found.model
    rows, group = test.configurations()
    predicted = predicted_where_possible(model, rows)
    known = np.isfinite(predicted)
    if not known.all():
        warnings.append(
            f"{int((~known).sum())} of {len(rows)} configurations of the test cannot be predicted "
            f"by {model.kind}: they do not count"
        )
    if not known.any():
        nothing = dict.fromkeys(METRICS)
        return {"mlogq_test": None, "bias_test": None, "errors_test": nothing, "coverage": None}
    found_errors = all_metrics(predicted[known], group_means(test.durations_s, group)[known])
    return {
        "mlogq_test": found_errors["mlogq"],
        "bias_test": found_errors["bias"],
        "errors_test": found_errors,
        "coverage": _coverage(found, test.select(known[group])),
    }


def _coverage(found: Selection, test: Samples) -> float | None:
    """Return the share of the samples that are in their 90 % intervals."""
    if found.model.uncertainty_ is None:
        return None
    low, high = found.model.interval(test.parameters, 0.9)
    return float(((low <= test.durations_s) & (test.durations_s <= high)).mean())


def _text(result: dict[str, Any]) -> Iterator[str]:
    yield f"chosen    {result['why']}"
    if result["formula"]:
        yield f"formula   {result['formula']}"
    for name, family in result["counters"].items():
        yield f"counter   {name}: {family}"
    for said in result["notes"]:
        yield f"note      {said}"
    for alternative in result["alternatives"]:
        yield f"or        {_alternative_text(alternative)}"
    yield f"samples   {result['samples']} of {result['configurations']} configurations"
    if result.get("mlogq_test") is not None:
        yield f"test      {_tested_text(result)}"
    yield f"size      {result['size_bytes']} bytes"
    yield "\nkind     mlogq     bytes"
    for row in result["candidates"]:
        error = "-" if row["mlogq_cv"] is None else f"{row['mlogq_cv']:.4f}"
        size = "-" if row["size_bytes"] is None else row["size_bytes"]
        yield f"{row['kind']:8} {error:>6} {size:>8}  {row['reason']}"


def _alternative_text(alternative: dict[str, Any]) -> str:
    """Return which terms the samples cannot tell from one of the model."""
    found = [entry["term"] for entry in alternative["instead"]]
    listed = ", ".join(found[:MOST_LISTED])
    if len(found) > MOST_LISTED:
        listed += f" and {len(found) - MOST_LISTED} more"
    if alternative["term"] is None:
        return f"with one more term, the samples do not tell which: {listed}"
    others = [listed] if listed else []
    if alternative["without"] is not None:
        others.append("none")
    return f"instead of {alternative['term']}: {' or '.join(others)} (within one standard error)"


def _tested_text(result: dict[str, Any]) -> str:
    import math

    text = (
        f"errs by {100 * math.expm1(result['mlogq_test']):.3g} % "
        f"(mlogq {result['mlogq_test']:.4f}, bias {result['bias_test']:+.4f})"
    )
    if result["coverage"] is None:
        return text
    return f"{text}; {result['coverage']:.0%} of the samples are in their 90 % intervals"
