"""``tasksim measure collective``: operations of the MPI library, measured between ranks."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import TasksimError
from tasksim.cli.output import note, print_json, refuse_unwritable
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.calibration.domain_campaign import MeasureOptions

__all__ = ["measure_collective"]


def measure_collective(
    settings: Sequence[str],
    where: Sequence[str],
    output: Path,
    options: MeasureOptions,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Measure collectives between all ranks; rank 0 writes the samples and the summary."""
    from tasksim.calibration.collective_campaign import configurations, measure_collectives
    from tasksim.native.cluster.launch import end_all
    from tasksim.native.cluster.ranks import world

    ranks = world("measure collective")
    # A single rank is refused first, so that the error names the cause.
    wanted = ranks.together(lambda: configurations(settings, where, max(ranks.size, 2), options))
    ranks.together(lambda: None if ranks.rank else refuse_unwritable(output))
    try:
        with nullcontext() if ranks.rank else showing("measuring") as progress:
            summary = measure_collectives(
                ranks, wanted, output, options, force=force, progress=progress
            )
        if summary is not None:
            if as_json:
                print_json(summary.to_json())
            else:
                click.echo(str(summary))
            note(f"Wrote {output}")
    except TasksimError:  # all ranks have it
        raise
    except Exception as error:
        end_all(f"rank {ranks.rank}: {type(error).__name__}: {error}")
    ranks.comm.Barrier()
