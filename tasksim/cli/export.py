"""The ``tasksim export`` command, which writes runs and kernel models for other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing
from tasksim.cli.command import Group
from tasksim.cli.options import (
    FOLDER,
    PATH,
    force_option,
    json_option,
    library_option,
    output_option,
)
from tasksim.cli.output import note, note_written, print_json, refuse_unwritable
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.chrome import Arrows

__all__ = ["exporting"]

EXAMPLES = (
    "tasksim export models models/mymachine -o general.json",
    "tasksim export starpu xeon-2c --host myhost -o ~/.starpu/sampling",
    "tasksim export starpu mylibrary/models/mirage --host mirage -o sampling",
)


@click.group("export", cls=Group, what="format", examples=EXAMPLES)
def exporting() -> None:
    """Write runs and kernel models as other tools read them."""


@exporting.command("models", examples=EXAMPLES[:1])
@click.argument("models", metavar="MODELS_DIR|NAME")
@output_option("Model file to write, .json, or one of another format of models.", required=True)
@library_option
@force_option
@json_option
def model_file(models: str, output: Path, library: Path | None, force: bool, as_json: bool) -> None:
    """Write the models of a folder of coefficient files to one file.

    'tasksim simulate --models FILE' reads it, as does every other command that takes models.
    """
    refuse_existing(output, force=force)
    refuse_unwritable(output)
    from tasksim.base.library import find
    from tasksim.formats.registry import FORMATS, format_of
    from tasksim.models.files.store import ModelLibrary, common_machine

    known = ModelLibrary(find("models", models, library=library))
    files = [known.file(kernel) for kernel in known.kernels()]
    if not files:
        raise InputError(f"{known.path}: no coefficient files in this folder, nothing to export")
    machine, _ = common_machine(files)
    writer = (format_of(output, "writes_models") or FORMATS.find("models")).writes_models
    assert writer is not None  # chosen for this ability
    notes = writer(known, output, force)
    if as_json:
        kernels = {file.kernel: sorted(file.architectures) for file in files}
        found = {"machine": machine.name, "kernels": kernels, "notes": notes, "output": output}
        print_json(found)
        return
    for file in files:
        click.echo(file.summary())
    for text in notes:
        click.echo(f"note: {text}")
    note_written(output)


@exporting.command("starpu", examples=EXAMPLES[1:])
@click.argument("models", metavar="MODELS_DIR|NAME")
@click.option(
    "--host", metavar="HOST", help="Name of the machine in StarPU. [default: the models' name]"
)
@click.option(
    "-o",
    "--output",
    "sampling",
    type=FOLDER,
    required=True,
    help="StarPU's sampling directory, which gets files codelets/45/KERNEL.HOST.",
)
@click.option(
    "--model-names",
    default="{kernel}",
    metavar="NAMES",
    help="Names of StarPU's performance models: 'chol_model_{kernel}', KERNEL=MODEL,..., or a "
    "YAML file.",
)
@library_option
@force_option
@json_option
def starpu(
    models: str,
    host: str | None,
    sampling: Path,
    model_names: str,
    library: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write kernel models as performance models of StarPU.

    Measured durations become histories of StarPU's codelets; coefficients of regressions are kept.
    """
    refuse_unwritable(sampling / "codelets" / "x")
    from tasksim.base.library import find
    from tasksim.formats.starpu.sampling import export_models

    found_at = find("models", models, library=library)
    machine = host or found_at.resolve().name.removesuffix(".json")
    found = export_models(found_at, machine, sampling, names=model_names, force=force)
    if as_json:
        print_json(found.to_json())
        return
    for path in found.paths:
        click.echo(path)
    for text in found.notes:
        click.echo(f"note: {text}")
    note(f"Wrote {len(found.paths)} files of {found.host}")


WRITERS = {
    "paje": (
        "paje",
        "run.trace",
        "Write a run as a Paje trace, which ViTE, PajeNG and StarVZ open.",
    ),
    "starvz": ("starvz", "starvz/", "Write a run as the Parquet tables of StarVZ, in a folder."),
    "csv": ("task-table", "run.csv", "Write a run as a table of tasks."),
    "dot": ("dot", "run.dot", "Write the graph of a run in DOT, in SimGrid's form."),
    "wfformat": ("wfformat", "flow.json", "Write the graph of a run as a workflow of WfCommons."),
    "tasks.rec": ("tasks.rec", "tasks.rec", "Write a run as the records of StarPU's trace tool."),
}
"""Commands, each with the format that writes, an example's name, and a summary."""

WRITING_TIME_FACTORS = {"perfetto": 5, "starvz": 30}
"""Usual time of writing in a format, as a multiple of that of reading: of a million tasks."""
OTHER_WRITING_TIME_FACTOR = 12
"""The same for other formats."""

_output = output_option("File or folder to write.", required=True)


@exporting.command(
    "perfetto",
    examples=[
        "tasksim export perfetto runs/dm -o dm.json.gz",
        "tasksim export perfetto runs/a runs/b -o ab.json.gz",
    ],
    short_help="Write runs for Perfetto: Chrome's JSON.",
)
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN...")
@_output
@click.option(
    "--arrows",
    type=click.Choice(["none", "critical", "all"]),
    default="none",
    help="Dependencies to draw as arrows: those of the practical critical path, or all.",
)
@force_option
def perfetto(runs: tuple[Path, ...], output: Path, arrows: Arrows, force: bool) -> None:
    """Write runs to one file that ui.perfetto.dev and chrome://tracing open, each run a process.

    With --arrows all, the file holds the whole graph, which tasksim reads back.
    """
    from tasksim.formats.runs import load_checked_run
    from tasksim.formats.traces.chrome import write_chrome

    refuse_unwritable(output)
    with stages("export", [1, WRITING_TIME_FACTORS["perfetto"]]) as begin:
        begin("reading runs")
        found = [load_checked_run(run) for run in runs]
        begin("writing")
        write_chrome(found, output, arrows=arrows, force=force)
    note_written(output)


def _add(name: str, form: str, example: str, summary: str) -> None:
    """Add the command that writes one format."""

    def write(run: Path, output: Path, force: bool) -> None:
        from tasksim.formats.registry import FORMATS
        from tasksim.formats.runs import load_checked_run

        refuse_unwritable(output)
        writer: Any = FORMATS.find(form).writes_run
        factor = WRITING_TIME_FACTORS.get(name, OTHER_WRITING_TIME_FACTOR)
        with stages("export", [1, factor]) as begin:
            begin("reading the run")
            found = load_checked_run(run)
            begin("writing")
            writer(found, output, force)
        note_written(output)

    write.__doc__ = summary
    command: Any = force_option(_output(write))
    command = click.argument("run", type=PATH, metavar="RUN")(command)
    examples = [f"tasksim export {name} runs/dm -o {example}"]
    exporting.command(name, examples=examples, short_help=summary)(command)


for _name, _writer in WRITERS.items():
    _add(_name, *_writer)
