"""``tasksim calibrate power``: what this machine draws, idle and with each kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError, TasksimError
from tasksim.cli.output import note, print_json, refuse_unwritable
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.calibration.power import MachinePower
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.energymeter import EnergyMeter

__all__ = ["calibrate_power"]

SIZES = {"m": 256.0, "n": 256.0, "k": 256.0}
"""A gemm where no kernel is named: to it goes most of the time of factorisations."""


def calibrate_power(
    items: Sequence[TaskGraph | KernelCall],
    library: Path,
    name: str | None,
    *,
    workers: int | None,
    as_json: bool,
) -> None:
    """Measure what kernels draw, and write it to the machine's platform file in *library*."""
    from tasksim.calibration.power import measure_power, write_power
    from tasksim.native.cores import usable_cores
    from tasksim.native.this_machine import named_machine

    path = library / "platforms" / f"{named_machine(name)}.yaml"
    refuse_unwritable(path)
    kernels, meter = _kernels(items), _meter()
    with showing("power") as progress:
        cores = workers or len(usable_cores())
        found = measure_power(kernels, cores, meter, progress=progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_power(path, found)
    if as_json:
        each = [{**vars(kernel), "joules": kernel.joules} for kernel in found.kernels]
        print_json({"idle_w": found.idle_w, "kernels": each, "notes": found.notes, "output": path})
    else:
        click.echo("\n".join(_text(found)))
    note(f"Wrote {path}")


def _kernels(items: Sequence[TaskGraph | KernelCall]) -> list[KernelCall]:
    from tasksim.calibration.kernels_under_load import KernelCall

    kernels = [
        item for item in items or [KernelCall("gemm", SIZES)] if isinstance(item, KernelCall)
    ]
    if len(kernels) < len(items):
        raise InputError("power is measured of kernels, as gemm m=256 n=256 k=256, not of graphs")
    return kernels


def _meter() -> EnergyMeter:
    """Return what counts energy; what keeps it from doing so is not the fault of what was asked."""
    from tasksim.native.energymeter import EnergyMeter

    try:
        return EnergyMeter()
    except InputError as error:
        raise TasksimError(str(error)) from None


def _text(found: MachinePower) -> Iterator[str]:
    from tasksim.base.units import format_time

    for name, watts in found.idle_w.items():
        yield f"idle {name}: {watts:.4g} W"
    for kernel in found.kernels:
        settings = ", ".join(f"{name}={value:g}" for name, value in kernel.parameters.items())
        took = format_time(kernel.duration_s)
        yield (
            f"{kernel.kernel} ({settings}): {kernel.watts:.4g} W per worker beside idleness, "
            f"{kernel.joules:.4g} J in {took}"
        )
    yield from (f"note: {text}" for text in found.notes)
