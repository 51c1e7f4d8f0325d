"""``tasksim export``: write kernel models as other tools read them."""

from __future__ import annotations

from pathlib import Path

import click

from tasksim.cli.command import Command, Group
from tasksim.cli.options import force_option, json_option, library_option
from tasksim.cli.output import note, print_json, refuse_unwritable

__all__ = ["exporting"]


EXAMPLES = (
    "tasksim export starpu xeon-2c --host myhost -o ~/.starpu/sampling",
    "tasksim export starpu mylibrary/models/mirage --host mirage -o sampling",
)


@click.group("export", cls=Group, what="format", examples=EXAMPLES)
def exporting() -> None:
    """Write kernel models as other tools read them."""


@exporting.command("starpu", cls=Command, examples=EXAMPLES)
@click.argument("models", metavar="MODELS_DIR|NAME")
@click.option(
    "--host", metavar="HOST", help="What StarPU calls the machine. [default: the folder's name]"
)
@click.option(
    "-o",
    "--output",
    "sampling",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="StarPU's sampling directory: codelets/45/KERNEL.HOST are written there.",
)
@click.option(
    "--model-names",
    default="{kernel}",
    metavar="TEMPLATE",
    help="How StarPU's performance models are called: 'chol_model_{kernel}'.",
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
    """Write a folder of coefficient files as performance models of StarPU.

    Durations become the history of StarPU's codelets, of regressions their coefficients.
    """
    refuse_unwritable(sampling / "codelets" / "x")
    from tasksim.base.library import find
    from tasksim.formats.starpu.deliver import export_models

    folder = find("models", models, library=library)
    machine = host or folder.resolve().name
    found = export_models(folder, machine, sampling, names=model_names, force=force)
    if as_json:
        print_json(found.to_json())
        return
    for path in found.paths:
        click.echo(path)
    for text in found.notes:
        click.echo(f"note: {text}")
    note(f"Wrote {len(found.paths)} files of {found.host}")
