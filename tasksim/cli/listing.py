"""The ``tasksim list`` commands, which list everything that has a name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError, shortened_names, unknown
from tasksim.cli.command import command
from tasksim.cli.options import json_option, library_option
from tasksim.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tasksim.base.documents.sections import Section

__all__ = ["listing"]

LISTS: dict[str, Callable[[Path | None], dict[str, str]]] = {
    "generators": lambda _: _generators(),
    "schedulers": lambda _: _schedulers(),
    "platforms": lambda library: _platforms(library),
    "networks": lambda library: _networks(library),
    "topologies": lambda _: _topologies(),
    "models": lambda library: _models(library),
    "kernels": lambda _: _kernels(),
    "traces": lambda library: _traces(library),
    "kinds": lambda _: _kinds(),
    "formats": lambda _: _formats(),
    "panels": lambda _: _panels(),
    "executors": lambda _: _executors(),
    "study-executors": lambda _: _study_executors(),
}
"""Kinds of things, each with the function that returns their names and descriptions."""


@command("list", examples=["tasksim list", "tasksim list schedulers"])
@click.argument(
    "kind",
    required=False,
    metavar=f"[{'|'.join(LISTS)}]",
    shell_complete=lambda _ctx, _param, word: [kind for kind in LISTS if kind.startswith(word)],
)
@library_option
@json_option
def listing(kind: str | None, library: Path | None, as_json: bool) -> None:
    """List generators, schedulers, platforms and so on, with a description of each."""
    if kind is not None and kind not in LISTS:
        raise unknown("kind of thing", kind, LISTS)
    found = {name: LISTS[name](library) for name in ([kind] if kind else LISTS)}
    if as_json:
        print_json({name.replace("-", "_"): entries for name, entries in found.items()})
        return
    if "models" in found:  # a file per kernel: StarPU's machines have dozens
        found["models"] = {
            name: shortened_names(kernels.split(", ")) for name, kernels in found["models"].items()
        }
    click.echo("\n\n".join(_text(name, entries) for name, entries in found.items()))


def _text(kind: str, entries: dict[str, str]) -> str:
    width = max(map(len, entries), default=0)
    below = "\n" + " " * (width + 4)
    lines = [
        f"  {name:{width}}  {text.replace(chr(10), below)}".rstrip()
        for name, text in entries.items()
    ]
    return "\n".join([f"{kind}:", *(lines or ["  none"])])


def _generators() -> dict[str, str]:
    """Return a summary, the settings, and whether the graphs run for real, a line each."""
    from tasksim.graph.apps.registry import generators
    from tasksim.kernels.program import EXECUTORS

    found = {}
    for generator in generators():
        settings = [
            f"{p.name}=..."
            if p.required
            else f"[{p.name}]"
            if p.default is None
            else f"[{p.name}={p.default}]"
            for p in generator.parameters
        ]
        lines = [generator.summary, " ".join(settings)]
        if generator.executor is not None or generator.name in EXECUTORS:
            lines.append("executes: tasksim run")
        found[generator.name] = "\n".join(lines)
    return found


def _schedulers() -> dict[str, str]:
    from tasksim.schedulers.registry import SCHEDULERS

    return {name: text.replace("``", "'") for name, text in SCHEDULERS.summaries().items()}


def _files(kind: str, library: Path | None, describe: Callable[[Path], str]) -> dict[str, str]:
    """Return the YAML files of a *kind* in the libraries; an invalid one is described as such."""
    from tasksim.base.library import names

    found = {}
    for name, path in names(kind, ".yaml", library).items():
        if path.is_file():
            try:
                found[name] = describe(path)
            except InputError as error:
                found[name] = f"invalid: {str(error).splitlines()[0]}"
    return found


def _platforms(library: Path | None) -> dict[str, str]:
    from tasksim.platform.load import load

    def text(path: Path) -> str:
        platform = load(path, library)
        return platform.description or platform.summary().partition(": ")[2]

    return _files("platforms", library, text)


def _networks(library: Path | None) -> dict[str, str]:
    from tasksim.network.load import read_network

    return _files(
        "networks",
        library,
        lambda path: read_network(path, library).summary().partition(": ")[2],
    )


def _topologies() -> dict[str, str]:
    from tasksim.base.documents.sections import fields_of
    from tasksim.network.topologies.registry import TOPOLOGIES

    def text(section: type[Section]) -> str:
        summary = (sys.modules[section.__module__].__doc__ or "").partition("\n")[0]
        return f"{summary}\n{', '.join(fields_of(section))}"

    return {name: text(section) for name, section in TOPOLOGIES.items().items()}


def _models(library: Path | None) -> dict[str, str]:
    from tasksim.base.library import names

    folders = {n: p for n, p in names("models", library=library).items() if p.is_dir()}
    return {
        name: ", ".join(sorted(file.stem for file in path.glob("*.json"))) or "empty"
        for name, path in folders.items()
    }


def _kernels() -> dict[str, str]:
    from tasksim.kernels.dense import kernel_names

    return {name: " ".join(f"{p}=..." for p in p_names) for name, p_names in kernel_names().items()}


def _traces(library: Path | None) -> dict[str, str]:
    from tasksim.base.library import names

    return {name: str(path) for name, path in names("traces", library=library).items()}


def _kinds() -> dict[str, str]:
    from tasksim.models.registry import KINDS

    return KINDS.summaries()


def _formats() -> dict[str, str]:
    from tasksim.formats.registry import FORMATS

    return {name: found.describe() for name, found in FORMATS.items().items()}


def _panels() -> dict[str, str]:
    from tasksim.view.registry import PANELS

    return {name: panel.summary for name, panel in PANELS.items().items()}


def _executors() -> dict[str, str]:
    from tasksim.graph.apps.registry import generators
    from tasksim.kernels.program import EXECUTORS

    applications = {g.name: g.summary for g in generators() if g.executor is not None}
    return {**EXECUTORS.summaries(), **applications}


def _study_executors() -> dict[str, str]:
    from tasksim.study.executors.registry import EXECUTORS

    return EXECUTORS.summaries()
