"""``mpiexec -n N tasksim calibrate network``: measure what messages take between ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.base.errors import TasksimError
from tasksim.cli.output import note, print_json, refuse_unwritable

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.calibration.network import Calibration

__all__ = ["calibrate_network"]

QUICK_S = 4.0
"""Seconds of a quick calibration: ten rounds of each size on a quiet machine."""


def calibrate_network(
    library: Path, name: str | None, *, max_time: float, quick: bool, as_json: bool
) -> None:
    """Measure the network between all ranks, and write it to *library*; rank 0 says what it is."""
    from tasksim.calibration.network import calibrate_network as measure
    from tasksim.native.cluster.launch import end_all
    from tasksim.native.cluster.ranks import world
    from tasksim.native.this_machine import named_machine

    ranks = world("calibrate network")
    machine = ranks.together(lambda: named_machine(name))
    path = library / "networks" / f"{machine}.yaml"
    ranks.together(lambda: None if ranks.rank else refuse_unwritable(path))
    if ranks.size == 1:
        measure(ranks, seconds=0.0)
    try:
        seconds = min(QUICK_S, max_time) if quick else max_time / 2
        found = measure(ranks, seconds=seconds, quick=quick)
        written = ranks.together(lambda: None if found is None else found.write(library, machine))
        if found is not None and written is not None:
            _print(found, written, as_json=as_json)
    except TasksimError:  # all ranks have it
        raise
    except Exception as error:
        end_all(f"rank {ranks.rank}: {type(error).__name__}: {error}")
    ranks.comm.Barrier()


def _print(found: Calibration, path: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({**found.to_json(), "output": path})
        return
    click.echo("messages of more than   latency  bandwidth")
    for line in found.lines():
        rate = 1e-9 / line.per_byte_s
        click.echo(f"{line.above_bytes:20.0f} B  {1e6 * line.latency_s:5.2f} us  {rate:.3g} GB/s")
    fixed_s, per_byte_s = found.receiving()
    median, worst = found.errors()
    click.echo(f"fit            median error {median:.1%}, worst {worst:.1%}")
    click.echo(f"posting        {1e6 * found.posting_s():.1f} us per message of the runtime")
    click.echo(f"receiving      {1e6 * fixed_s:.1f} us, and {1e9 * per_byte_s:.3g} s per GB")
    click.echo(f"both ways      {found.duplex_ratio():.2f} times as long as one")
    if found.fan_in is not None:
        click.echo(f"all to one     {found.to_json()['fan_in_ratio']:.2f} times as long as one")
    if found.pairs is not None:
        click.echo(f"pairs at once  {found.to_json()['pairs_ratio']:.2f} times as long as one")
    click.echo(f"unrest         medians are {found.noise():.2f} times the least")
    note(f"Wrote {path}")
