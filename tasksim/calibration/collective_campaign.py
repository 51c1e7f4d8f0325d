"""Campaign over a domain of collective operations, executed by the MPI library between ranks.

Rank 0 decides when a configuration is known well enough; all ranks draw the same configurations.
An operation begins on all ranks at once, after a barrier, and ends where it ends last.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import refuse_too_large
from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.units import format_time
from tasksim.calibration.application_campaign import parse_settings_domain
from tasksim.calibration.campaign import shuffled
from tasksim.calibration.network import warn_of_shared_cores
from tasksim.calibration.precision import relative_half_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.domain_campaign import MeasureOptions
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["CollectiveConfiguration", "CollectiveSummary", "configurations", "measure_collectives"]

MEASURED_SETTINGS: Final = ("operation", "ranks", "size_bytes")
"""Settings that are measured: the MPI library chooses the algorithm by itself."""
DEFAULT_SIZE_BYTES: Final = 8
"""Size of what a rank has, as of the generator: one double."""
PER_RANK: Final = ("allgather", "alltoall", "gather", "scatter")
"""Operations in which a rank has data of each other one."""
DOUBLE_BYTES: Final = 8
"""Size of a number that is added up, in bytes."""
SAVE_INTERVAL_S: Final = 1.0
"""Time between two writes of the samples in seconds."""


@dataclass(frozen=True, order=True)
class CollectiveConfiguration:
    """A collective operation, the number of its ranks, and the size of its data.

    Attributes
    ----------
    operation : str
    ranks : int
    size_bytes : int
        Bytes that one rank has; of bcast, reduce and allreduce all of the data.
    """

    operation: str
    ranks: int
    size_bytes: int

    @property
    def memory_bytes(self) -> int:
        """Bytes that a rank needs: what it sends and what it receives."""
        return 2 * self.size_bytes * (self.ranks if self.operation in PER_RANK else 1)


@dataclass(frozen=True)
class CollectiveSummary:
    """Results of a campaign over collective operations.

    Attributes
    ----------
    output : Path
    wanted, measured : int
        Number of configurations, and of those with samples.
    samples : int
    half_width : float
        Median of the relative half-widths of the means' intervals.
    seconds : float
    library : str
        The MPI library and its version.
    """

    output: Path
    wanted: int
    measured: int
    samples: int
    half_width: float
    seconds: float
    library: str

    def __str__(self) -> str:
        return "\n".join(
            [
                "kernel          collective",
                f"configurations  {self.measured} of {self.wanted}",
                f"samples         {self.samples}",
                f"precision       +- {100 * self.half_width:.2g} % (median, 95 % of the mean)",
                f"library         {self.library}",
                f"time            {format_time(self.seconds)}",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return {**vars(self), "output": str(self.output), "interrupted": False}


def configurations(
    settings: Sequence[str], where: Sequence[str], size: int, options: MeasureOptions
) -> list[CollectiveConfiguration]:
    """Return the distinct configurations that *settings* ask for, with *size* ranks at hand.

    Raises
    ------
    InputError
        If a setting is none that can be measured, or asks for too many ranks.

    Examples
    --------
    >>> from tasksim.calibration.domain_campaign import MeasureOptions
    >>> given = ["operation=bcast", "ranks=2,4", "size_bytes=8,64"]
    >>> found = configurations(given, (), 4, MeasureOptions(samples=4, design="grid"))
    >>> [(one.ranks, one.size_bytes) for one in found]
    [(2, 8), (2, 64), (4, 8), (4, 64)]
    """
    for setting in settings:
        name = setting.partition("=")[0]
        if name in ("algorithm", "repeat", "per_byte", "priorities"):
            raise InputError(
                f"collective: {name} is for simulations; "
                f"measured are {', '.join(MEASURED_SETTINGS)}: the "
                "MPI library chooses its algorithm by itself"
            )
    domain = parse_settings_domain("collective", settings, where)
    drawn = () if domain.drawn is None else domain.drawn.names
    if "operation" not in {*domain.fixed, *drawn}:
        raise InputError("collective: operation is missing; legal: operation=bcast, allreduce, ...")
    found = {_configuration(each, size) for each in domain.settings(options)}
    return sorted(found)


def _configuration(drawn: dict[str, Any], size: int) -> CollectiveConfiguration:
    from tasksim.graph.apps.registry import find

    known = {parameter.name: parameter for parameter in find("collective").parameters}
    defaults = {"ranks": size, "size_bytes": DEFAULT_SIZE_BYTES}
    operation, ranks, size_bytes = (
        known[name].convert(str(drawn.get(name, defaults.get(name))), "collective")
        for name in MEASURED_SETTINGS
    )
    assert isinstance(ranks, int)
    assert isinstance(size_bytes, int)
    if not 2 <= ranks <= size:
        raise InputError(
            f"collective: ranks={ranks}, where mpiexec started {size}; legal: 2 to {size}"
        )
    return CollectiveConfiguration(str(operation), ranks, size_bytes)


def measure_collectives(
    ranks: Ranks,
    wanted: Sequence[CollectiveConfiguration],
    output: Path,
    options: MeasureOptions,
    *,
    force: bool = False,
    progress: ShareProgress | None = None,
) -> CollectiveSummary | None:
    """Measure collective operations between *ranks*; write the samples to *output* on rank 0.

    Parameters
    ----------
    ranks : Ranks
        All ranks, which call this together.
    wanted : sequence of CollectiveConfiguration
        The same on all ranks.
    output : Path
        A CSV file with the columns run, operation, ranks, size_bytes and duration_s.
    options : MeasureOptions
        When to stop; each round is a run of its own in the file.
    force : bool
        Whether to replace *output*.
    progress : callable, optional
        Called on rank 0 with the current activity and the share that is done.

    Returns
    -------
    CollectiveSummary or None
        None on other ranks than 0.

    Raises
    ------
    InputError
        If there is one rank, *output* exists, or the largest operation does not fit into memory.
    OutputError
        If the file cannot be written.
    """
    if ranks.size < 2:
        raise InputError(
            "measure collective: one rank has no partner; start it with: mpiexec -n 2 tasksim "
            "measure collective ..."
        )
    ranks.together(lambda: None if ranks.rank else refuse_existing(output, force=force))
    most = max(one.memory_bytes for one in wanted)
    ranks.together(lambda: refuse_too_large(most, f"operands of {most} bytes per rank"))
    warn_of_shared_cores(ranks, "as that of the operation; measure with")
    return _Campaign(ranks, wanted, output, options, progress).run()


class _Campaign:
    """A running campaign, on one rank."""

    def __init__(
        self,
        ranks: Ranks,
        wanted: Sequence[CollectiveConfiguration],
        output: Path,
        options: MeasureOptions,
        progress: ShareProgress | None,
    ) -> None:
        self._ranks, self._wanted, self._output = ranks, wanted, output
        self._options, self._progress = options, progress
        self._began_s = self._saved_s = perf_counter()
        self._rows: list[tuple[int, CollectiveConfiguration, float]] = []
        self._widths: dict[CollectiveConfiguration, float] = {}
        # Operations on some ranks need a communicator of these.
        self._groups = {
            count: ranks.comm.Split(0 if ranks.rank < count else 1, ranks.rank)
            for count in sorted({one.ranks for one in wanted})
        }

    def run(self) -> CollectiveSummary | None:
        """Measure all configurations, once per round, while the budget lasts."""
        rounds = self._options.rounds
        for number in range(rounds):
            for done, index in enumerate(shuffled(len(self._wanted), self._options.seed, number)):
                # Rank 0 decides for all.
                if self._ranks.comm.bcast(self._over() and bool(self._rows)):
                    return self._ended()
                self._visit(self._wanted[index], number)
                self._after((number + (done + 1) / len(self._wanted)) / rounds)
        return self._ended()

    def _visit(self, one: CollectiveConfiguration, run: int) -> None:
        """Measure a configuration until its mean is precise enough."""
        from mpi4py import MPI

        group, inside = self._groups[one.ranks], self._ranks.rank < one.ranks
        if inside:
            play = _operation(group, one)
            play()  # the first is longer: it opens connections and touches memory
            seconds: list[float] = []
            more = True
            while more:
                group.Barrier()
                begun_s = perf_counter()
                play()
                mine_s = perf_counter() - begun_s
                seconds.append(group.allreduce(mine_s, op=MPI.MAX))
                # The ranks have the same durations, but not the same clocks for the budget.
                stop = self._options.reason_to_stop(seconds) is not None or self._over()
                more = not group.bcast(stop)
            if not self._ranks.rank:
                self._rows += [(run, one, s) for s in seconds]
                self._widths[one] = relative_half_width(seconds)
        self._ranks.wait_for_all()

    def _over(self) -> bool:
        budget_s = self._options.budget_s
        return budget_s is not None and perf_counter() - self._began_s >= budget_s

    def _after(self, share: float) -> None:
        if self._ranks.rank:
            return
        if self._progress is not None:
            self._progress(f"{len(self._widths)}/{len(self._wanted)} configurations", share)
        if perf_counter() - self._saved_s > SAVE_INTERVAL_S:
            self._save()

    def _save(self) -> None:
        lines = [f"{run},{one.operation},{one.ranks},{one.size_bytes},{seconds!r}"
                 for run, one, seconds in self._rows]  # fmt: skip
        head = "run,operation,ranks,size_bytes,duration_s"
        write_text(self._output, "\n".join([head, *lines, ""]))
        self._saved_s = perf_counter()

    def _ended(self) -> CollectiveSummary | None:
        self._ranks.together(lambda: None if self._ranks.rank else self._save())
        if self._ranks.rank:
            return None
        from mpi4py import MPI

        widths = [width for width in self._widths.values() if np.isfinite(width)]
        return CollectiveSummary(
            self._output, len(self._wanted), len(self._widths), len(self._rows),
            float(np.median(widths)) if widths else float("inf"),
            perf_counter() - self._began_s, MPI.Get_library_version().split("\n")[0].strip("\0 "),
        )  # fmt: skip


def _operation(comm: Any, one: CollectiveConfiguration) -> Callable[[], object]:
    """Return the operation on memory of its own; numbers that are added up are doubles."""
    if one.operation == "barrier":
        return lambda: comm.Barrier()
    size, root = one.size_bytes, comm.Get_rank() == 0
    many = one.operation in PER_RANK
    own = np.ones(size, np.uint8)
    if one.operation in ("reduce", "allreduce"):
        numbers = np.ones(max(1, size // DOUBLE_BYTES))
        sums = np.ones_like(numbers)
    both = np.ones((2, size * one.ranks if many else 0), np.uint8)
    operations: dict[str, Callable[[], object]] = {
        "bcast": lambda: comm.Bcast(own),
        "reduce": lambda: comm.Reduce(numbers, sums if root else None),
        "allreduce": lambda: comm.Allreduce(numbers, sums),
        "allgather": lambda: comm.Allgather(own, both[0]),
        "alltoall": lambda: comm.Alltoall(both[0], both[1]),
        "gather": lambda: comm.Gather(own, both[0] if root else None),
        "scatter": lambda: comm.Scatter(both[0] if root else None, own),
    }
    return operations[one.operation]
