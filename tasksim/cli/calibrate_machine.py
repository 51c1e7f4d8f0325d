"""The ``tasksim calibrate memory``, ``network``, ``openmp`` and ``power`` commands."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError, TasksimError
from tasksim.cli.output import (
    note,
    note_written,
    print_json,
    print_result,
    refuse_unwritable,
    warn,
)
from tasksim.cli.over_ranks import ending_together
from tasksim.cli.progress import showing, stages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.calibration.memory import MemoryReport
    from tasksim.calibration.network import Calibration
    from tasksim.calibration.power import MachinePower
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["calibrate_memory", "calibrate_network", "calibrate_openmp", "calibrate_power"]


def calibrate_memory(
    library: Path, name: str | None, *, workers: int | None, as_json: bool
) -> None:
    """Measure the memory, and write it to the machine's platform file in *library*."""
    from tasksim.calibration.memory import measure_memory, write_memory
    from tasksim.native.this_machine import named_machine, usable_cores

    path = library / "platforms" / f"{named_machine(name)}.yaml"
    refuse_unwritable(path)
    with showing("memory") as progress:
        cores = workers or len(usable_cores())
        found = measure_memory(cores=cores, progress=progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_memory(path, found.levels, found.warnings)
    result = {
        "levels": [vars(level) for level in found.levels],
        "disturbed": [one._asdict() for one in found.disturbed],
        "notes": found.notes,
        "output": path,
    }
    print_result(result, _memory_text(found), as_json=as_json)
    for text in found.warnings:
        warn(text)
    note_written(path)


def _memory_text(found: MemoryReport) -> Iterator[str]:
    from tasksim.base.units import format_size

    yield "level        size   shared by    latency   bandwidth of 1, 2, ... cores"
    for level in found.levels:
        size = "" if level.size_bytes is None else format_size(level.size_bytes)
        rates = ", ".join(f"{rate / 1e9:.3g}" for rate in level.bandwidth_bytes_per_s)
        latency = f"{1e9 * level.latency_s:.3g} ns"
        yield f"{level.name:6} {size:>10}  {level.cores:10}  {latency:>9}   {rates} GB/s"
    yield from (f"note: {text}" for text in found.notes)


def calibrate_openmp(library: Path, name: str | None, *, as_json: bool) -> None:
    """Measure the OpenMP runtime, and write its costs to a platform file in *library*."""
    from tasksim.base.units import format_time
    from tasksim.native.this_machine import machine_name, named_machine
    from tasksim.recording.openmp.runtime_costs import measure_runtime, write_runtime

    path = library / "platforms" / f"{named_machine(name or f'{machine_name()}-openmp')}.yaml"
    refuse_unwritable(path)
    with showing("openmp") as progress:
        found = measure_runtime(progress=progress)
    replaced = write_runtime(path, found)
    costs = {
        field: seconds
        for field, seconds in asdict(found.overheads).items()
        if field in OPENMP_COSTS
    }
    lines = [
        f"on two threads of {found.runtime}, in addition to the time on one:",
        *(
            f"{field.removesuffix('_s'):10} {format_time(costs[field]):>8}  {text}"
            for field, text in OPENMP_COSTS.items()
        ),
    ]
    result = {"runtime": found.runtime, **costs, "notes": list(found.notes), "output": path}
    print_result(result, lines, as_json=as_json)
    for text in found.notes:
        note(f"Note: {text}")
    if replaced:
        before = ", ".join(f"{name} {seconds}" for name, seconds in replaced.items())
        note(f"Note: {path} had overheads of another runtime, which are replaced: {before}")
    note_written(path)


OPENMP_COSTS = {
    "creation_s": "to create a task",
    "dependence_s": "per datum in its depend clauses",
    "task_s": "to fetch a task",
    "fetch_s": "per datum in its depend clauses, to fetch it and to release others",
    "wakeup_s": "until a waiting thread notices a task",
    "start_s": "to start the second thread, once",
}
"""Costs of an OpenMP runtime, with their descriptions in the output."""

QUICK_S = 4.0
"""Duration of a quick calibration in seconds: ten rounds of each size on a quiet machine."""


def calibrate_network(
    library: Path, name: str | None, *, max_time: float, quick: bool, as_json: bool
) -> None:
    """Measure the network between all ranks, and write it to *library*; rank 0 prints it."""
    from tasksim.native.cluster.launch import watch_over_rank

    watch_over_rank()  # it forks, which has to be before NumPy starts threads
    from tasksim.calibration.network import PATTERN_COUNT
    from tasksim.calibration.network import calibrate_network as measure
    from tasksim.native.cluster.ranks import world
    from tasksim.native.this_machine import named_machine

    ranks = world("calibrate network")
    machine = ranks.together(lambda: named_machine(name))
    path = library / "networks" / f"{machine}.yaml"
    ranks.together(lambda: None if ranks.rank else refuse_unwritable(path))
    if ranks.size == 1:
        measure(ranks, seconds=0.0)
    with ending_together(ranks):
        seconds = min(QUICK_S, max_time) if quick else max_time / 2
        # Rank 0 alone shows the progress.
        silent = nullcontext(lambda _pattern: None)
        with (
            silent if ranks.rank else stages("network", [1] * PATTERN_COUNT, ticking=False) as begin
        ):
            found = measure(ranks, seconds=seconds, quick=quick, begin=begin)
        written = ranks.together(lambda: None if found is None else found.write(library, machine))
        if found is not None and written is not None:
            _print_network(found, written, as_json=as_json)


def _print_network(found: Calibration, path: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({**found.to_json(), "output": path})
        return
    from tasksim.native.cluster.mpi_library import loaded_mpi

    click.echo(f"mpi            {loaded_mpi()}")
    click.echo("messages of more than   latency  bandwidth")
    for line in found.lines():
        rate = 1e-9 / line.per_byte_s
        click.echo(f"{line.above_bytes:20.0f} B  {1e6 * line.latency_s:5.2f} us  {rate:.3g} GB/s")
    fixed_s, per_byte_s = found.receiving()
    median, worst = found.errors()
    click.echo(f"fit            median error {100 * median:.1f} %, worst {100 * worst:.1f} %")
    click.echo(f"posting        {1e6 * found.posting_s():.1f} us of the runtime per message")
    click.echo(f"receiving      {1e6 * fixed_s:.1f} us, and {1e9 * per_byte_s:.3g} s per GB")
    click.echo(f"both ways      {found.duplex_ratio():.2f} times as long as one")
    if found.fan_in is not None:
        click.echo(f"all to one     {found.to_json()['fan_in_ratio']:.2f} times as long as one")
    if found.pairs is not None:
        click.echo(f"pairs at once  {found.to_json()['pairs_ratio']:.2f} times as long as one")
    click.echo(f"unrest         medians are {found.noise():.2f} times the least")
    note(f"Wrote {path}")


DEFAULT_PARAMETERS = {"m": 256.0, "n": 256.0, "k": 256.0}
"""Parameters of the default kernel, gemm: factorisations spend most of their time in it."""


def calibrate_power(
    items: Sequence[TaskGraph | KernelCall],
    library: Path,
    name: str | None,
    *,
    workers: int | None,
    as_json: bool,
) -> None:
    """Measure the power of kernels, and write it to the machine's platform file in *library*."""
    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.calibration.power import measure_power, write_power
    from tasksim.native.energymeter import EnergyMeter
    from tasksim.native.this_machine import named_machine, usable_cores

    path = library / "platforms" / f"{named_machine(name)}.yaml"
    refuse_unwritable(path)
    wanted = items or [KernelCall("gemm", DEFAULT_PARAMETERS)]
    kernels = [item for item in wanted if isinstance(item, KernelCall)]
    if len(kernels) < len(wanted):
        raise InputError(
            "power is measured for kernels, such as gemm m=256 n=256 k=256, not for graphs"
        )
    try:
        meter = EnergyMeter()
    except InputError as error:  # a machine without one is a failure, not bad input
        raise TasksimError(str(error)) from None
    with showing("power") as progress:
        cores = workers or len(usable_cores())
        found = measure_power(kernels, cores, meter, progress=progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_power(path, found)
    each = [{**vars(kernel), "joules": kernel.joules} for kernel in found.kernels]
    result = {"idle_w": found.idle_w, "kernels": each, "notes": found.notes, "output": path}
    print_result(result, _power_text(found), as_json=as_json)
    note_written(path)


def _power_text(found: MachinePower) -> Iterator[str]:
    from tasksim.base.units import format_time

    for name, watts in found.idle_w.items():
        yield f"idle {name}: {watts:.4g} W"
    for kernel in found.kernels:
        settings = ", ".join(f"{name}={value:g}" for name, value in kernel.parameters.items())
        took = format_time(kernel.duration_s)
        yield (
            f"{kernel.kernel} ({settings}): {kernel.watts:.4g} W per worker above idle, "
            f"{kernel.joules:.4g} J in {took}"
        )
    yield from (f"note: {text}" for text in found.notes)
