"""Cost of the indirect parameters of tasks, beside the run that they are to explain."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import flag, path_of, whole_number
from tasksim.base.errors import InputError
from tasksim.graph.counting import counted_times
from tasksim.run.record import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.base.progress import CountProgress

__all__ = ["CountedPart", "ParameterCosts", "parameter_costs", "text_of"]


@dataclass(frozen=True)
class CountedPart:
    """Indirect parameters that are counted together, with the time that it takes.

    Attributes
    ----------
    tasks
        Number of tasks of the kernels.
    counting_s
        Time of counting for all of them: the median over the repetitions.
    busy_s
        Time that these tasks took in the run, on all workers together.
    """

    kernels: tuple[str, ...]
    parameters: tuple[str, ...]
    tasks: int
    counting_s: float
    busy_s: float


@dataclass(frozen=True)
class ParameterCosts:
    """Cost of the indirect parameters of a graph.

    Attributes
    ----------
    tasks
        Number of tasks of the graph.
    graph_s
        Time to make the graph, counting included: the median over the repetitions.
    makespan_s
        Makespan of the run.
    parts
        Counted parts of the program.
    """

    tasks: int
    graph_s: float
    makespan_s: float
    repetitions: int
    parts: tuple[CountedPart, ...]

    @property
    def counting_s(self) -> float:
        """The time of counting, all parts together."""
        return sum(part.counting_s for part in self.parts)

    @property
    def per_task_s(self) -> float:
        """The time of counting per task of the graph."""
        return self.counting_s / self.tasks

    @property
    def share_of_makespan(self) -> float:
        """The time of counting, relative to the makespan."""
        return self.counting_s / self.makespan_s

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "tasks": self.tasks,
            "graph_s": self.graph_s,
            "counting_s": self.counting_s,
            "per_task_s": self.per_task_s,
            "makespan_s": self.makespan_s,
            "share_of_makespan": self.share_of_makespan,
            "share_of_graph": self.counting_s / self.graph_s,
            "repetitions": self.repetitions,
            "parts": [vars(part) for part in self.parts],
        }


def parameter_costs(
    run: Run | str | Path,
    repetitions: int = 5,
    *,
    trust: bool = False,
    progress: CountProgress | None = None,
) -> ParameterCosts:
    """Measure how long the indirect parameters of a run's tasks take to count.

    The graph of the run is made again, several times; its generator or application marks what it
    counts with :func:`~tasksim.graph.counting.counting`.

    Parameters
    ----------
    run : Run, str or Path
        A native or simulated run, or its folder.
    repetitions : int, default 5
        How often the graph is made; medians are returned.
    trust : bool, default False
        Whether a generator is imported because the run's folder names it as ``MODULE:NAME``.
    progress : callable, optional
        Called with the number of graphs that were made, and that of all.

    Raises
    ------
    InputError
        If the graph was not generated, or nothing is marked as counted.

    See Also
    --------
    counting : Mark the code that counts.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("fmm", particles=500, height=3, group_size=8, order=2)
    >>> seconds = dict.fromkeys(graph.kernels, 1e-3)
    >>> run = tasksim.simulate(graph, workers=2, durations=seconds)
    >>> costs = tasksim.parameter_costs(run)
    >>> costs.parts[0].kernels, 0 < costs.counting_s < costs.graph_s
    (('P2P_in', 'P2P_out'), True)
    """
    whole_number(repetitions, "repetitions", 1)
    flag(trust, "trust")
    where = Path("run") if isinstance(run, Run) else path_of(run, "run")
    if not isinstance(run, Run):
        from tasksim.formats.runs import load_run

        run = load_run(where)
    from tasksim.formats.graphs import graph_of

    if run.graph is not None:
        raise InputError(f"{where}: its graph is kept with it, and not generated; nothing counts")
    observed, made_s = [], []
    for _ in range(repetitions):
        with counted_times() as times:
            begin_s = perf_counter()
            graph_of(run, where, trust=trust)
            made_s.append(perf_counter() - begin_s)
        observed.append(times)
        if progress is not None:
            progress(len(observed), repetitions)
    if not observed[0]:
        raise InputError(
            f"{where}: '{run.graph_name}' marks no parameter as counted; mark the code that counts "
            "with tasksim.counting(PARAMETER, kernels=[KERNEL])"
        )
    from tasksim.run.metrics import kernel_durations

    durations = kernel_durations(run)
    parts = []
    for kernels, parameters in observed[0]:
        counting_s = statistics.median(times[kernels, parameters] for times in observed)
        taken_s = [durations[kernel] for kernel in kernels if kernel in durations]
        tasks, busy_s = sum(map(len, taken_s)), float(sum(one.sum() for one in taken_s))
        parts.append(CountedPart(kernels, parameters, tasks, counting_s, busy_s))
    return ParameterCosts(
        len(run.tasks), statistics.median(made_s), run.makespan_s, repetitions, tuple(parts)
    )


def text_of(costs: ParameterCosts) -> Iterator[str]:
    """Yield the lines that a terminal shows of *costs*."""
    from tasksim.base.units import duration_text
    from tasksim.view.texttables import table

    cells = [
        (
            ", ".join(part.kernels), ", ".join(part.parameters), f"{part.tasks:,}",
            duration_text(part.counting_s), duration_text(part.counting_s / (part.tasks or 1)),
            f"{100 * part.counting_s / part.busy_s:.2f} %" if part.busy_s else "-",
        )
        for part in costs.parts
    ]  # fmt: skip
    header = ("kernels", "counted", "tasks", "counting", "per task", "of their time")
    yield table(header, cells, left=2)
    yield ""
    yield (
        f"counting {duration_text(costs.counting_s)}, {duration_text(costs.per_task_s)} per task: "
        f"{100 * costs.counting_s / costs.graph_s:.1f} % of making the graph "
        f"({duration_text(costs.graph_s)}), {100 * costs.share_of_makespan:.2f} % of the makespan "
        f"({duration_text(costs.makespan_s)})"
    )
    if costs.share_of_makespan > 1:
        yield "counting takes longer than the run: it would be the bottleneck of submission"
