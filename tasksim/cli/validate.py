"""The ``tasksim validate`` command, which checks files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import CheckFailed, InputError, TasksimError
from tasksim.base.files import near_file, read_text
from tasksim.base.units import counted
from tasksim.cli.command import command
from tasksim.cli.options import PATH, json_option, library_option
from tasksim.cli.output import note, print_json
from tasksim.cli.progress import counting
from tasksim.formats.registry import HEAD_BYTES, format_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tasksim.formats.registry import Format, Verb
    from tasksim.models.files.coefficients import CoefficientFile

__all__ = ["validate"]

RUN_FILES = ("run.json", "tasks.parquet")
FILE_PATTERNS = ("*.yaml", "*.yml", "*.json", "*.samples.csv", "*.npz", *RUN_FILES)
"""Patterns of the files that are checked in a folder."""
OTHER_JSON = (".schema.json", "demo.json")
"""Endings of JSON files that are no kernel models."""


@command(
    "validate",
    examples=[
        "tasksim validate platforms/mymachine.yaml models/mymachine/gemm.json",
        "tasksim validate runs/dm graph.npz",
        "tasksim validate mylibrary",
    ],
)
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@library_option
@json_option
@click.pass_context
def validate(
    ctx: click.Context, files: tuple[Path, ...], library: Path | None, as_json: bool
) -> None:
    """Check files: platforms, networks, studies (.yaml), models (.json), graphs (.npz), runs.

    In a folder that is no run, all such files are checked, and the samples beside kernel models. An
    error in one file does not keep others from being checked.
    """
    paths = [path for file in files for path in _expanded(file)]
    results = []
    with counting("validate") as progress:
        for path in paths:
            results.append(_check(path, library))
            progress(len(results), len(paths))
    if as_json:
        print_json({"files": results})
    else:
        for result in results:
            for message in result["errors"]:
                # Errors in files begin with file:line:column already.
                named = message.startswith(str(result["path"]))
                note(f"Error: {message}" if named else f"Error: {result['path']}: {message}")
            if not result["errors"]:
                click.echo(f"{result['path']}: ok, {result['what']}")
    codes = {result["exit_code"] for result in results}
    # An invalid file weighs more than a broken invariant: its run says nothing.
    ctx.exit(next((code for code in (1, 2, 3) if code in codes), 0))


def _expanded(path: Path) -> list[Path]:
    """Return the files that *path* stands for."""
    if not path.is_dir() or _is_run(path) or format_of(path, "reads_trace") is not None:
        return [path]
    found = [file for pattern in FILE_PATTERNS for file in path.rglob(pattern) if not file.is_dir()]
    chosen = [
        file
        for file in found
        if not file.name.endswith(OTHER_JSON)
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    # The folders of runs are checked as runs.
    runs = {p.parent for p in chosen if _is_run(p.parent)}
    files = sorted({p for p in chosen if p.parent not in runs} | runs)
    if not files:
        raise InputError(
            f"{path}: nothing to check: no run, and no {', '.join(FILE_PATTERNS)} in it"
        )
    return files


def _is_run(folder: Path) -> bool:
    """Return whether *folder* is that of a run, complete or not."""
    return any((folder / name).exists() for name in RUN_FILES)


def _check(path: Path, library: Path | None) -> dict[str, Any]:
    """Return the kind of file at *path*, and its errors."""
    result: dict[str, Any] = {"path": path, "what": None, "errors": [], "exit_code": 0}
    try:
        result["what"] = _checked(path, library)
    except TasksimError as error:
        result["errors"] = str(error).splitlines()
        result["exit_code"] = error.exit_code
    return result


def _checked(path: Path, library: Path | None) -> str:
    """Check the file at *path* and return a description of it; raise an error if it is invalid."""
    if not path.exists():
        raise InputError(f"{path}: no such file{near_file(path)}")
    if path.is_dir() or path.name == "run.json":
        return _run(path) if _is_run(path) or not path.is_dir() else _trace(path)
    verbs: tuple[Verb, ...] = ("reads_trace", "reads_graph")
    for verb in verbs:
        found = format_of(path, verb)
        if found is not None and not found.brings_platform and _recognised(found, path):
            return _trace(path) if verb == "reads_trace" else _graph(path)
    checks: dict[str, Callable[[Path], str]] = {
        ".yaml": partial(_yaml, library=library),
        ".yml": partial(_yaml, library=library),
        ".json": _model,
        ".csv": _table,
        ".npz": _graph,
    }
    if path.suffix in checks:
        return checks[path.suffix](path)
    of_formats: dict[Verb, Callable[[Path], str]] = {
        "reads_graph": _graph,
        "reads_trace": _trace,
        "reads_run": _run,
        "reads_platform": partial(_platform, library=library),
        "reads_samples": _measured,
    }
    for verb, check in of_formats.items():
        if format_of(path, verb) is not None:
            return check(path)
    raise InputError(
        f"{path}: not a kind of file that can be checked (legal: {', '.join(checks)}, "
        "folders of runs, and what 'tasksim list formats' shows)"
    )


def _yaml(path: Path, library: Path | None) -> str:
    """Check a platform, a network, a cluster or a study, which its sections identify."""
    from tasksim.base.documents.yaml_document import YamlDocument

    sections = YamlDocument.read(path).data
    if "graphs" in sections:
        from tasksim.study.sweep.study_file import read_study

        return f"study {read_study(path).name}"
    if "network" not in sections or "workers" in sections:
        return _platform(path, library)
    from tasksim.network.clusterfile import read_cluster_file
    from tasksim.network.load import read_network

    network = read_network(path, library)
    cluster = read_cluster_file(path)
    many = "" if cluster is None else f"cluster of {cluster.count} nodes, "
    return f"{many}network {network.name}: {network.topology}, {network.model.name}"


def _platform(path: Path, library: Path | None) -> str:
    from tasksim.formats.platforms import load_platform

    return f"platform {load_platform(path, library).summary()}"


def _model(path: Path) -> str:
    from tasksim.models.files.store import ModelFile, load_file, load_kernel

    file = load_file(path)
    if isinstance(file, ModelFile):
        texts = [f"{kernel} {_kinds(found)}" for kernel, found in file.kernels.items()]
        return f"kernel models: {'; '.join(texts) or 'none'}"
    file = load_kernel(path)
    return f"kernel model {file.kernel}: {_kinds(file)}"


def _kinds(file: CoefficientFile) -> str:
    """Return the kinds of the models of one kernel."""
    return ", ".join(f"{entry.model.kind} on {name}" for name, entry in file.architectures.items())


def _table(path: Path) -> str:
    """Check samples, costs or a schedule, which the first columns identify."""
    first, second = (*read_text(path).partition("\n")[0].split(","), "", "")[:2]
    if first.strip() != "task":
        from tasksim.models.files.store import read_samples

        texts = [f"{len(samples)} on {name}" for name, samples in read_samples(path).items()]
        return f"samples: {', '.join(texts)}"
    if second.strip() == "worker":
        from tasksim.schedulers.static.schedule_file import read_schedule

        entries = read_schedule(path)
        return f"schedule of {len(entries)} tasks on {len({e.worker for e in entries})} workers"
    from tasksim.formats.costs_csv import read_costs

    graph, platform, _ = read_costs(path)
    count = len(platform.workers)
    return f"costs of {len(graph)} tasks, {graph.edges} edges, on {count} processors"


def _graph(path: Path) -> str:
    from tasksim.formats.graphs import graph_in

    graph = graph_in(path).graph
    return f"task graph {graph.name}: {len(graph)} tasks, {graph.edges} edges"


def _recognised(found: Format, path: Path) -> bool:
    """Return whether a format recognises the content of a file, or is the only candidate."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return found.recognises(path, head) or path.suffix in (".stg", ".td")


def _trace(path: Path) -> str:
    from tasksim.formats.runs import read_trace

    run = read_trace(path).run
    return f"trace of {len(run)} tasks on {len(run.workers)} workers"


def _measured(path: Path) -> str:
    from tasksim.formats.samples import samples_in
    from tasksim.models.samples import unused_text

    samples = samples_in(path)
    unused = f"; not used: {unused_text(samples.unused)}" if samples.unused else ""
    return f"samples: {len(samples)}{unused}"


def _run(path: Path) -> str:
    from tasksim.formats.runs import load_run
    from tasksim.graph.apps.registry import generate, names
    from tasksim.run.header import check_header
    from tasksim.run.runchecks import check_run

    run = load_run(path)
    known = run.graph is None and run.graph_name in names()
    graph = generate(run.graph_name, **run.graph_arguments) if known else run.graph
    try:
        check_run(run, graph)
    except CheckFailed as error:
        raise CheckFailed(f"{path}: {error}") from error
    header = path / "run.json" if path.is_dir() else path
    if header.name == "run.json":
        check_header(run, header)
    return f"{run.kind} run of {run.graph_label}, {counted(len(run), 'task')}"
