"""``tasksim report kernels --critical``: which kernels matter, and the rest as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.base.files import refuse_existing
from tasksim.cli.output import note, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.run.criticalkernels import CriticalKernels
    from tasksim.run.samples import RecordedRun

__all__ = ["report_critical"]


def report_critical(
    runs: Sequence[RecordedRun],
    threshold: float,
    output: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Print which kernels of *runs* are critical; write a graph and models to *output*."""
    from tasksim.run.criticalkernels import critical_kernels

    found = critical_kernels(runs, threshold)
    if output is not None:
        from tasksim.reports.aggregated import GRAPH, MODELS, write_aggregated

        for name in (GRAPH, MODELS):
            refuse_existing(output / name, force=force)
        write_aggregated(output, found, runs, force=force)
    if as_json:
        kernels = [vars(kernel) for kernel in found.kernels]
        more = {"critical": found.critical, "rest": found.rest, "covered": found.covered}
        print_json({"workers": found.workers, "kernels": kernels, **more, "output": output})
        return
    click.echo("\n".join(_text(found)))
    if output is not None:
        note(f"Wrote {output / GRAPH} and {output / MODELS}")


def _text(found: CriticalKernels) -> Iterator[str]:
    from tasksim.base.units import duration_text
    from tasksim.view.texttables import table

    header = (
        "kernel",
        "share",
        *(f"on {count}" for count in found.workers),
        "exponent",
        "critical",
    )
    cells = [
        (
            kernel.name,
            f"{max(kernel.shares):.1%}",
            *map(duration_text, kernel.times_s),
            f"{kernel.exponent:+.2f}",
            kernel.reason or "no: part of other",
        )
        for kernel in found.kernels
    ]
    yield table(header, cells, left=1)
    count = len(found.critical)
    yield f"\n{count} of {len(found.kernels)} kernels are critical; they take {found.covered:.1%}"
