"""The ``tasksim import`` commands for machines, runs, task graphs and networks of other tools."""

from __future__ import annotations

import os
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.units import counted
from tasksim.cli.command import Group
from tasksim.cli.options import (
    PATH,
    force_option,
    json_option,
    library_output_option,
    output_option,
    result_options,
)
from tasksim.cli.output import (
    ResultOptions,
    note,
    note_written,
    print_json,
    print_result,
    print_run,
    refuse_unwritable,
    warn,
)
from tasksim.cli.progress import stages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.formats.hwloc.machine_import import ImportedMachine
    from tasksim.formats.starpu.machine_import import Imported

__all__ = ["importing"]

EXAMPLES = (
    "tasksim import starpu ~/.starpu/sampling -o mylibrary",
    "tasksim import starpu /usr/share/starpu/perfmodels/sampling --host mirage -o mylibrary",
)
NOTE_WIDTH = 96
"""Width of the notes in characters: it fits a terminal of 100, and lines are still easy to read."""


def _own_sampling() -> Path:
    """Return the sampling directory in which StarPU keeps what it measures."""
    return Path(os.environ.get("STARPU_HOME") or Path.home()) / ".starpu" / "sampling"


@click.group("import", cls=Group, what="format", examples=EXAMPLES)
def importing() -> None:
    """Import runs, graphs, platforms and kernel models from files of other tools."""


@importing.command(
    "starpu", examples=EXAMPLES, short_help="Import a machine that StarPU calibrated."
)
@click.argument("sampling", type=PATH, metavar="[SAMPLING_DIR]", default=_own_sampling)
@click.option(
    "--host", metavar="HOST", help="Name of the machine in StarPU's files. [default: the only one]"
)
@library_output_option("Library that gets platforms/HOST.yaml and models/HOST/.")
@click.option("--skip-bad", is_flag=True, help="Skip malformed files instead of refusing them.")
@force_option
@json_option
def starpu(
    sampling: Path, host: str | None, library: Path, skip_bad: bool, force: bool, as_json: bool
) -> None:
    """Import a machine that StarPU calibrated: its platform, and its performance models.

    SAMPLING_DIR is a sampling directory of StarPU, which contains bus/ and codelets/, or a folder
    around it. The default is where StarPU writes: .starpu/sampling in $STARPU_HOME, or in the home
    folder. If files are malformed, all of them are reported, and nothing is written.
    """
    refuse_unwritable(library / "models" / "x")
    from tasksim.formats.starpu.machine_import import import_machine

    found = import_machine(sampling, host, library, skip_bad=skip_bad, force=force)
    for problem in found.skipped:
        warn(f"skipped: {problem}")
    following = _next_command(found, library)
    if as_json:
        print_json({**found.to_json(), "next": following})
        return
    click.echo("\n".join(_text(found)))
    note(f"Wrote {found.platform_path} and {found.models_folder}")
    click.echo(f"\nNext:\n  {following}")


def _text(found: Imported) -> Iterator[str]:
    platform = found.platform
    workers = [worker.architecture for worker in platform.workers]
    counts = (f"{workers.count(name)} {name}" for name in platform.architectures)
    yield f"machine   {found.host}: {found.summary}"
    yield f"workers   {', '.join(counts)}"
    yield f"memories  {', '.join(_memories(found))}"
    yield f"links     {len(platform.links)}, in {len(platform.routes)} routes"
    groups: dict[tuple[str, ...], list[str]] = {}
    for kernel, architectures in found.kernels.items():
        groups.setdefault(architectures, []).append(kernel)
    for architectures, kernels in groups.items():
        yield f"\n{counted(len(kernels), 'kernel')} on {', '.join(architectures)}:"
        yield from textwrap.wrap(
            ", ".join(kernels), NOTE_WIDTH, initial_indent="  ", subsequent_indent="  ",
            break_on_hyphens=False,
        )  # fmt: skip
    yield from _notes(found.notes)


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield "\nnotes:"
    yield from (f"  {text}" for text in notes)


def _memories(found: Imported | ImportedMachine) -> Iterator[str]:
    from tasksim.base.units import format_size

    for memory in found.platform.memories:
        size = "" if memory.size_bytes is None else f" {format_size(memory.size_bytes)}"
        yield f"{memory.name}{size}"


def _next_command(found: Imported, library: Path) -> str:
    """Return a command that simulates the imported machine, if its kernels are known."""
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.modelnames import text_of
    from tasksim.scenario.starpu_example import suggested

    where = [] if library == Path() else ["--library", str(library)]
    example = suggested(ModelLibrary(found.models_folder), found.platform)
    if example is None:
        return shlex.join(["tasksim", "list", "models", *where])
    options = [*where, "--platform", found.host, "--model-names", text_of(example.model_names)]
    return shlex.join(["tasksim", "simulate", example.graph, *example.settings, *options])


MAX_SKIPPED_LINES = 10
"""Maximum number of skipped records that are listed: more do not fit on a screen."""


@importing.command(
    "trace",
    examples=[
        "tasksim import trace qr_mumps/ -o tf16",
        "tasksim import trace tasks.rec -o recorded --models",
    ],
    short_help="Import a run that another tool recorded.",
)
@click.argument("path", type=PATH, metavar="PATH")
@output_option("New folder for the run, its graph and its platform.", required=True)
@click.option("--models", is_flag=True, help="Write kernel models of the run's own durations, too.")
@click.option("--skip-bad", is_flag=True, help="Skip malformed records, and count them.")
@force_option
@json_option
def trace(
    path: Path, output: Path, models: bool, skip_bad: bool, force: bool, as_json: bool
) -> None:
    """Import a run that another tool recorded, with its graph and its platform.

    PATH is a folder of StarVZ, a tasks.rec of StarPU, CSV of pj_dump, a .prv of Paraver, a
    traces.otf2 of Score-P, a .sts of Charm++, Chrome's JSON, or a table (.csv) with columns
    task, kernel, worker, start, end and any others; 'tasksim list formats' names all formats.
    If records are malformed, they are reported with their lines, and nothing is written.
    """
    refuse_unwritable(output)
    from tasksim.formats.runs import read_trace
    from tasksim.formats.traces.tracefolder import save_trace

    with stages("import", [6, 1]) as begin:
        begin("reading the trace")
        found = read_trace(path, skip_bad=skip_bad)
        begin(f"writing {len(found.run)} tasks")
        notes = [*found.notes, *save_trace(found, output, models=models, force=force)]
    for text in found.skipped[:MAX_SKIPPED_LINES]:
        warn(f"skipped: {text}")
    if len(found.skipped) > MAX_SKIPPED_LINES:
        warn(f"skipped: {len(found.skipped) - MAX_SKIPPED_LINES} more")
    run = found.run
    if as_json:
        print_json(
            {
                "tasks": len(run),
                "edges": 0 if run.graph is None else run.graph.edges,
                "kernels": run.kernel_names,
                "workers": [worker.name for worker in run.workers],
                "makespan_s": run.makespan_s,
                "notes": notes,
                "skipped": len(found.skipped),
                "output": output,
            }
        )
        return
    print_run(run)
    for line in _notes(notes):
        click.echo(line)
    note_written(output)
    # Tasks of an MPI program belong to their ranks, and lws would move them.
    ranks = len({worker.node for worker in run.workers}) > 1
    scheduler = f"static:file={output}   # tasks stay on their ranks" if ranks else "lws"
    click.echo(f"\nNext:\n  tasksim simulate {output} --durations measured --scheduler {scheduler}")


@importing.command(
    "openmp",
    examples=["tasksim import openmp runs/.tasksim-openmp-x1y2z3 -o runs/omp"],
    short_help="Import the raw trace of a recording that was cut short.",
)  # fmt: skip
@click.argument("folder", type=PATH, metavar="FOLDER")
@result_options
@click.option(
    "--kernels",
    type=PATH,
    metavar="FILE",
    help="YAML file with new names for the kernels, as for 'tasksim record'.",
)
@click.option(
    "--data",
    type=PATH,
    metavar="FILE",
    help="YAML file with the data of the program, as for 'tasksim record'.",
)
def openmp(folder: Path, kernels: Path | None, data: Path | None, **where: Any) -> None:
    """Import the raw trace of a recording of an OpenMP program that was cut short.

    FOLDER is where 'tasksim record' writes while a program runs, and it prints that path. The
    folder remains if tasksim itself is killed; the program then goes on, and so does its recording.
    The import does not change the folder.
    """
    from tasksim.cli.record import keep
    from tasksim.recording.openmp.recovery import recover_openmp

    results = ResultOptions(**where)
    results.refuse_early()
    keep(recover_openmp(folder, kernels=kernels, data=data), results)


@importing.command(
    "workflow",
    examples=[
        "tasksim import workflow montage.json -o montage.npz",
        "tasksim import workflow daggen.dot --flop-rate 1e9 -o daggen.npz",
    ],
    short_help="Import a task graph of another tool.",
)
@click.argument("path", type=PATH, metavar="FILE")
@output_option("New file for the task graph, .npz.", required=True)
@click.option(
    "--flop-rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="FLOP/S",
    help="Speed of a worker in flop per second, for files that give flop instead of seconds.",
)
@force_option
@json_option
def workflow(path: Path, output: Path, flop_rate: float | None, force: bool, as_json: bool) -> None:
    """Import a task graph of another tool.

    FILE is a workflow in WfFormat (WfCommons, .json) or DAX (Pegasus, .dax), DOT as SimGrid and
    daggen have it (.dot), a graph of the Standard Task Graph set (.stg), one of Davidovic's (.td),
    one of Estee's (.json), or a report of tests in JUnit's XML. 'tasksim simulate' also reads all
    of these directly.
    """
    refuse_unwritable(output)
    from tasksim.formats.graphs import graph_in
    from tasksim.formats.workflows.jobs import with_durations
    from tasksim.graph.graph_file import save

    with stages("import", [20, 1]) as begin:
        begin("reading the graph")
        found = graph_in(path)
        graph = found.graph if flop_rate is None else with_durations(found.graph, flop_rate)
        begin(f"writing {len(graph)} tasks")
        save(graph, output, force=force)
    summary = graph.summary()
    kernels = [f"{count} {kernel}" for kernel, count in summary["kernels"].items()]
    lines = (
        f"graph    {graph.name}: {len(graph)} tasks, {graph.edges} dependencies",
        f"data     {summary['handles']}, {summary['size_bytes']} bytes",
        f"kernels  {', '.join(kernels)}",
        *_notes(found.notes),
    )
    print_result({**summary, "notes": found.notes, "output": output}, lines, as_json=as_json)
    if not as_json:
        note_written(output)


@importing.command(
    "network",
    examples=["tasksim import network simgrid-platform.xml -o lib"],
    short_help="Import a network of SimGrid's.",
)
@click.argument("path", type=PATH, metavar="FILE")
@library_output_option("Library that gets networks/NAME.yaml.")
@click.option("--name", help="Name of the network. [default: the name of the file]")
@force_option
@json_option
def network(path: Path, library: Path, name: str | None, force: bool, as_json: bool) -> None:
    """Import a network of SimGrid's.

    FILE is a platform file of SimGrid, .xml: a cluster (flat, with a backbone, a fat tree, a torus
    or a dragonfly), hosts, links and routes, or zones in zones.
    """
    refuse_unwritable(library / "networks" / "x")
    from tasksim.formats.simgrid import import_network

    target, found = import_network(path, library, name, force=force)
    links, model = found.topology.link_count, found.model.name
    print_result(
        {"network": found.name, "hosts": found.nodes, "links": links,
         "topology": str(found.topology), "model": model, "output": target},
        (f"network   {found.name}: {found.topology}", f"hosts     {found.nodes}",
         f"links     {links}", f"model     {model}"),
        as_json=as_json,
    )  # fmt: skip
    if not as_json:
        note_written(target)


@importing.command(
    "hwloc",
    examples=[
        "tasksim import hwloc machine.xml -o lib",
        "tasksim import hwloc machine.xml --name big --hyper-threads -o lib",
    ],
    short_help="Import a machine that hwloc describes.",
)
@click.argument("path", type=PATH, metavar="FILE")
@library_output_option("Library that gets platforms/NAME.yaml.")
@click.option("--name", help="Name of the machine. [default: the name of the file]")
@click.option(
    "--hyper-threads", is_flag=True, help="Make a worker per hyper-thread instead of one per core."
)
@force_option
@json_option
def hwloc(
    path: Path, library: Path, name: str | None, hyper_threads: bool, force: bool, as_json: bool
) -> None:
    """Import a machine that hwloc describes: cores, NUMA nodes, caches, GPUs.

    FILE is the output of 'lstopo --of xml' on the machine, of hwloc 1, 2 or 3. The platform has a
    worker per core, memory domains, the caches, and co-processors with their memories and links.
    Notes name everything that a platform has no place for.
    """
    refuse_unwritable(library / "platforms" / "x")
    from tasksim.formats.hwloc.machine_import import import_hwloc

    found = import_hwloc(path, library, name, hyper_threads=hyper_threads, force=force)
    where = [] if library == Path() else ["--library", str(library)]
    following = shlex.join(["tasksim", "view", "machine", found.name, *where])
    if as_json:
        print_json({**found.to_json(), "next": following})
        return
    click.echo("\n".join(_hwloc_text(found)))
    note_written(found.path)
    click.echo(f"\nNext:\n  {following}")


def _hwloc_text(found: ImportedMachine) -> Iterator[str]:
    from tasksim.base.units import format_size

    platform = found.platform
    yield f"machine   {found.name}: {found.summary}"
    counts = found.to_json()["workers"]
    yield f"workers   {', '.join(f'{count} {name}' for name, count in counts.items())}"
    yield f"memories  {', '.join(_memories(found))}"
    sizes: dict[int, list[str]] = {}
    for domain in platform.memory_domains:
        sizes.setdefault(len(domain.workers), []).append(domain.name)
    domains = [f"{len(names)} of {size} workers" for size, names in sizes.items()]
    yield f"domains   {', '.join(domains)}"
    levels = [
        f"{level.name} {format_size(level.size_bytes)}"
        + (f" for {level.cores} cores" if level.cores > 1 else "")
        for level in platform.memory_hierarchy
        if level.size_bytes is not None
    ]
    if levels:
        yield f"caches    {', '.join(levels)}"
    if platform.links:
        yield f"links     {len(platform.links)}, in {len(platform.routes)} routes"
    yield from _notes(found.notes)
