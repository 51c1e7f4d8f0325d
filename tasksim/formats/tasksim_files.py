"""Formats of tasksim's own files: graphs, runs, platforms, kernel models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.formats.registry import Format, GraphInput

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.models.files.store import ModelLibrary
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

__all__ = ["GRAPH", "MODELS", "PLATFORM", "RUN"]


def _is_run(path: Path, head: bytes) -> bool:  # noqa: ARG001
    return path.name == "run.json" or path.is_dir()


def _run_files(path: Path) -> list[Path]:
    from tasksim.run.runfolder import files_of

    return files_of(path)


def _read_graph_of_run(path: Path) -> GraphInput:
    from tasksim.formats.graphs import graph_of
    from tasksim.run.runfolder import load

    return GraphInput(graph_of(load(path), path))


def _read_graph(path: Path) -> GraphInput:
    from tasksim.graph.graph_file import load

    return GraphInput(load(path))


def _read_run(path: Path) -> Run:
    from tasksim.run.runfolder import load

    return load(path)


def _write_run(run: Run, path: Path, force: bool) -> None:
    from tasksim.run.runfolder import save

    save(run, path, force)


def _read_platform(path: Path) -> Platform:
    from tasksim.platform.load import load

    return load(path)


def _write_models(models: ModelLibrary, path: Path, force: bool) -> list[str]:
    from tasksim.base.files import refuse_existing
    from tasksim.models.files.store import common_machine, save_models

    refuse_existing(path, force=force)
    files = [models.file(kernel) for kernel in models.kernels()]
    machine, differing = common_machine(files)
    save_models(path, {file.kernel: file.architectures for file in files}, machine=machine)
    return [f"{name} is not in the fingerprint: the files differ in it" for name in differing]


GRAPH = Format(
    summary="A task graph, its columns as NumPy's arrays.",
    suffixes=(".npz",),
    reads_graph=_read_graph,
)
RUN = Format(
    summary="A run: a folder with run.json and the tables of its tasks, copies and memory.",
    recognises=_is_run,
    reads_graph=_read_graph_of_run,
    files_of=_run_files,
    reads_run=_read_run,
    writes_run=_write_run,
)
PLATFORM = Format(
    summary="A platform, typed by hand or calibrated.",
    suffixes=(".yaml", ".yml"),
    reads_platform=_read_platform,
)
MODELS = Format(
    summary="Kernel models of several kernels of one machine.",
    suffixes=(".json",),
    writes_models=_write_models,
)
