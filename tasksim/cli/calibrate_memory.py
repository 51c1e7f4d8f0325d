"""``tasksim calibrate memory``: latency and bandwidth of each level of this machine's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.cli.output import note, print_json, refuse_unwritable, warn
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.calibration.memory import Level

__all__ = ["calibrate_memory"]


def calibrate_memory(
    library: Path, name: str | None, *, workers: int | None, as_json: bool
) -> None:
    """Measure the memory, and write it to the machine's platform file in *library*."""
    from tasksim.calibration.memory import measure_memory, write_memory
    from tasksim.native.cores import usable_cores
    from tasksim.native.this_machine import named_machine

    path = library / "platforms" / f"{named_machine(name)}.yaml"
    refuse_unwritable(path)
    with showing("memory") as progress:
        cores = workers or len(usable_cores())
        found = measure_memory(cores=cores, progress=progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_memory(path, found.levels, found.warnings)
    if as_json:
        levels = [vars(level) for level in found.levels]
        disturbed = [one._asdict() for one in found.disturbed]
        told = {"levels": levels, "disturbed": disturbed, "notes": found.notes, "output": path}
        print_json(told)
    else:
        click.echo("\n".join(_text(found.levels)))
        for text in found.notes:
            click.echo(f"note: {text}")
    for text in found.warnings:
        warn(text)
    note(f"Wrote {path}")


def _text(levels: Sequence[Level]) -> Iterator[str]:
    from tasksim.base.units import format_size

    yield "level        size   shared by    latency   bandwidth of 1, 2, ... cores"
    for level in levels:
        size = "" if level.size_bytes is None else format_size(level.size_bytes)
        rates = ", ".join(f"{rate / 1e9:.3g}" for rate in level.bandwidth_bytes_per_s)
        latency = f"{1e9 * level.latency_s:.3g} ns"
        yield f"{level.name:6} {size:>10}  {level.cores:10}  {latency:>9}   {rates} GB/s"
