"""``tasksim import``: make a platform and kernel models of other tools' files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.cli.command import Command, Group
from tasksim.cli.options import force_option, json_option
from tasksim.cli.output import note, print_json, refuse_unwritable, warn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.formats.starpu.machine_import import Imported

__all__ = ["importing"]

EXAMPLES = (
    "tasksim import starpu ~/.starpu/sampling -o mylibrary",
    "tasksim import starpu /usr/share/starpu/perfmodels/sampling --host mirage -o mylibrary",
)
WIDTH = 96
"""Width of the notes in characters: it fits a terminal of 100, and lines are still easy to read."""


@click.group("import", cls=Group, what="format", examples=EXAMPLES)
def importing() -> None:
    """Make runs, graphs, platforms and kernel models of other tools' files."""


@importing.command(
    "starpu",
    cls=Command,
    examples=EXAMPLES,
    short_help="Import a machine that StarPU calibrated.",
)
@click.argument("sampling", type=click.Path(path_type=Path), metavar="SAMPLING_DIR")
@click.option("--host", metavar="HOST", help="Name of the machine. [default: the only one there]")
@click.option(
    "-o",
    "--output",
    "library",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    show_default="the current folder",
    help="The library where platforms/HOST.yaml and models/HOST/ are written.",
)
@click.option("--skip-bad", is_flag=True, help="Pass over malformed files instead of refusing.")
@force_option
@json_option
def starpu(
    sampling: Path, host: str | None, library: Path, skip_bad: bool, force: bool, as_json: bool
) -> None:
    """Import a machine that StarPU calibrated: its platform, and its performance models.

    SAMPLING_DIR is StarPU's sampling directory, with bus/ and codelets/ in it, or a folder
    around it. Malformed files are told all at once, and nothing is written then.
    """
    refuse_unwritable(library / "models" / "x")
    from tasksim.formats.starpu.machine_import import import_machine

    found = import_machine(sampling, host, library, skip_bad=skip_bad, force=force)
    for problem in found.skipped:
        warn(f"passed over: {problem}")
    following = _next_command(found, library)
    if as_json:
        print_json({**found.to_json(), "next": following})
        return
    click.echo("\n".join(_text(found)))
    note(f"Wrote {found.platform_path} and {found.models_folder}")
    click.echo(f"\nNext:\n  {following}")


def _text(found: Imported) -> Iterator[str]:
    platform = found.platform
    counts: dict[str, int] = dict.fromkeys(platform.architectures, 0)
    for worker in platform.workers:
        counts[worker.architecture] += 1
    workers = ", ".join(f"{count} {architecture}" for architecture, count in counts.items())
    yield f"machine   {found.host}: {found.summary}"
    yield f"workers   {workers}"
    yield f"memories  {', '.join(_memories(found))}"
    yield f"links     {len(platform.links)}, in {len(platform.routes)} routes"
    groups: dict[tuple[str, ...], list[str]] = {}
    for kernel, architectures in found.kernels.items():
        groups.setdefault(architectures, []).append(kernel)
    for architectures, kernels in groups.items():
        noun = "kernel" if len(kernels) == 1 else "kernels"
        yield f"\n{len(kernels)} {noun} on {', '.join(architectures)}:"
        yield from _wrapped(kernels)
    if found.notes:
        yield "\nnotes:"
        yield from (f"  {text}" for text in found.notes)


def _memories(found: Imported) -> Iterator[str]:
    from tasksim.base.units import format_size

    for memory in found.platform.memories:
        size = "" if memory.size_bytes is None else f" {format_size(memory.size_bytes)}"
        yield f"{memory.name}{size}"


def _wrapped(names: Sequence[str]) -> Iterator[str]:
    import textwrap

    text = ", ".join(names)
    yield from textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )


def _next_command(found: Imported, library: Path) -> str:
    """Return a command that simulates with what was imported, if its kernels are known ones."""
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.modelnames import text_of
    from tasksim.scenario.starpu_example import suggested

    where = [] if library == Path() else ["--library", str(library)]
    example = suggested(ModelLibrary(found.models_folder), found.platform)
    if example is None:
        return shlex.join(["tasksim", "list", "models", *where])
    options = [*where, "--platform", found.host, "--model-names", text_of(example.model_names)]
    return shlex.join(["tasksim", "simulate", example.graph, *example.settings, *options])
