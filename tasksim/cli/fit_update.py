"""Updates of models by ``tasksim fit --update``, and their results."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from tasksim.base.errors import InputError, nearest
from tasksim.base.files import write_text
from tasksim.base.lockfile import locked
from tasksim.base.units import counted
from tasksim.cli.fit_result import date_of, domain_of, refuse_model
from tasksim.cli.options import given_parameters
from tasksim.cli.output import note_written, print_json, refuse_unwritable
from tasksim.formats.samples import samples_in
from tasksim.models.candidate import size_bytes
from tasksim.models.files.store import load_kernel
from tasksim.models.quantiles import group_means
from tasksim.models.validation.crossvalidation import predicted_where_possible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["update_model"]

UPDATE_PARAMETERS: Final = (
    "file", "duration", "part", "update", "output", "architecture", "force", "as_json",
    "log", "debug", "help",
)  # fmt: skip
"""Parameters of the command that --update takes; the model decides the others."""


def update_model(
    path: Path,
    file: Path,
    duration: str | None,
    part: str | None,
    output: Path | None,
    architecture: str,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Let the model in the coefficient file *path* learn the samples in *file*, and write it."""
    for parameter in given_parameters(click.get_current_context()):
        if parameter.name not in UPDATE_PARAMETERS:
            raise InputError(
                f"--update keeps the model's kind, options and grid: leave {parameter.opts[0]} out"
            )
    written = path if output is None else output
    if output is not None:
        refuse_model(output, force=force)
    refuse_unwritable(written)
    with locked(written):  # another process may update the same file
        found = load_kernel(path)
        if architecture not in found.architectures:
            known = ", ".join(found.architectures) or "none"
            raise InputError(
                f"{path}: no model for architecture '{architecture}'"
                f"{nearest(architecture, found.architectures)} (known: {known})"
            )
        entry = found.architectures[architecture]
        model = entry.model
        before = model.report()
        samples = samples_in(file, duration=duration, part=part)
        try:
            erred = None if not model.updates() else _error(model, samples)
            model.partial_fit(samples)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        after = model.report()
        measured = replace(
            entry.measured,
            when=max(date_of(file), entry.measured.when),
            how=f"{entry.measured.how}; updated by {file.name}",
        )
        entries = {**found.architectures, architecture: replace(entry, measured=measured)}
        whole = replace(found, kernel=written.stem, architectures=entries)
        write_text(written, whole.text(), force=True)
    result = {
        "kind": model.kind,
        "formula": model.formula(),
        "samples": after["samples"],
        "domain": domain_of(model),
        "size_bytes": size_bytes(model),
        "update": {
            "samples": len(samples),
            "dropped": after["dropped"] - before["dropped"],
            "mlogq_before": erred,
            "mlogq_after": _error(model, samples),
        },
        "warnings": list(samples.notes),
        "output": written,
    }
    if as_json:
        print_json(result)
        return
    click.echo("\n".join(_text(result)))
    note_written(written)


def _error(model: KernelModel, samples: Samples) -> float | None:
    """Return the MLogQ of *model* on *samples*; None where it cannot predict any."""
    used = model._in_columns(samples)
    rows, group = used.configurations()
    predicted = predicted_where_possible(model, rows)
    known = np.isfinite(predicted)
    if not known.any():
        return None
    ratio = predicted[known] / group_means(used.durations_s, group)[known]
    return float(np.abs(np.log(ratio)).mean())


def _text(result: dict[str, Any]) -> Iterator[str]:
    update = result["update"]
    dropped = f", {update['dropped']} of them outliers" if update["dropped"] else ""
    yield f"updated   {result['kind']} model, {counted(update['samples'], 'sample')} more{dropped}"
    for word, key in (("before", "mlogq_before"), ("now", "mlogq_after")):
        if update[key] is not None:
            yield f"{word:9} errs by {100 * math.expm1(update[key]):.3g} % on them"
    if result["formula"]:
        yield f"formula   {result['formula']}"
    yield f"samples   {result['samples']} in all"
    yield f"size      {result['size_bytes']} bytes"
