"""Conformance checks for applications, shipped ones and a user's own.

::

    from tasksim.native.conformance import parametrize_with_checks


    @parametrize_with_checks(["stencil.py n=64 steps=3", "cholesky tiles=4 tile_size=32"])
    def test_my_application(application, check):
        check(application)

Use small settings: the graph runs some twenty times. Checks skip what an application does not
provide, such as a residual of its result.
"""

from __future__ import annotations

import heapq
import random
import shlex
import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.applications.application import Application
from tasksim.applications.flow import TaskFlow
from tasksim.applications.kernel import Kernel
from tasksim.applications.program import FlowProgram
from tasksim.base.errors import CheckFailed, TasksimError, demand
from tasksim.core.library import status
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.registry import (
    PRIORITIES_PARAMETER,
    Generator,
    find,
    name_and_settings,
    names_generator,
    parse_settings,
)
from tasksim.graph.graph_file import load, save
from tasksim.kernels.access_check import AccessCheckedProgram
from tasksim.kernels.program import bind
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.execute import execute
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program

    Check = Callable[["Subject"], None]

__all__ = ["Subject", "check_application", "checks", "parametrize_with_checks", "sizes_of_data"]


SCHEDULERS: Final = ("eager", "lws", "prio", "random")
"""Schedulers to run under (central, stealing, by priority, random): none of them needs models."""
RANDOM_ORDERS: Final = 4
"""Number of random task orders: a missing dependency between two tasks shows in half of them."""


class Subject:
    """An application with settings, which builds its graph and binds it to data.

    Parameters
    ----------
    given : str, Application or Generator
        Name, ``MODULE:NAME`` or ``FILE.py``, optionally followed by settings; or the object itself.
    **settings
        Settings of the application.
    """

    def __init__(self, given: str | Application | Generator, **settings: object) -> None:
        self.settings: dict[str, object] = dict(settings)
        self.application = given if isinstance(given, Application) else None
        if isinstance(given, str):
            name, *texts = shlex.split(given)
            if not names_generator(name):
                name, texts = name_and_settings(given)  # the path contains blanks
            self.generator = find(name)
            texts += [f"{key}={value}" for key, value in settings.items()]
            self.settings = dict(parse_settings(name, texts))
        else:
            self.generator = given.generator if isinstance(given, Application) else given
        self.name = self.generator.name

    def __repr__(self) -> str:
        return f"<Subject {self.name}>"

    def graph(self, **more: object) -> TaskGraph:
        """Return the graph; *more* overrides settings."""
        return self.generator(**{**self.settings, **more})

    def flow(self) -> TaskFlow | None:
        """Return the application's task flow; None for a generator, which describes no data."""
        if self.application is None:
            return None
        settings = {
            k: v for k, v in self.graph().arguments.items() if k != PRIORITIES_PARAMETER.name
        }
        flow = TaskFlow(self.name, recording=False)
        self.application.function(flow, **settings)
        return flow

    def program(self, graph: TaskGraph | None = None, workers: int = 1, seed: int = 3) -> Program:
        """Return the graph bound to data."""
        graph = self.graph() if graph is None else graph
        if self.generator.executor is not None:
            bound: Program = self.generator.executor(graph, workers, seed)
            return bound
        return bind(graph, workers, seed)


def checks() -> Iterator[Check]:
    """Yield the checks: each takes a :class:`Subject`, and raises a named :exc:`CheckFailed`."""
    for check in CHECKS:
        yield _named(check)


def check_application(application: str | Application | Generator, **settings: object) -> None:
    """Run all checks on *application* with *settings*.

    Parameters
    ----------
    application : str, Application or Generator
        Name, ``MODULE:NAME`` or ``FILE.py``, optionally followed by settings; or the object itself.
    **settings
        Settings of the application; small ones are enough.

    Raises
    ------
    CheckFailed
        If a check fails; with the name of the check.

    Examples
    --------
    >>> check_application("cholesky", tiles=3, tile_size=8)
    """
    subject = Subject(application, **settings)
    for check in checks():
        check(subject)


def parametrize_with_checks(applications: Sequence[Any]) -> Any:
    """Return a pytest decorator that runs a test for each of *applications* and each check.

    Each application is a text or an object, as in :func:`check_application`, or a subject.
    """
    import pytest

    cases = [
        pytest.param(given, check, id=f"{name}-{check.__name__}")
        for given in applications
        for name in [
            Path(name_and_settings(given)[0]).stem if isinstance(given, str) else str(given.name)
        ]
        for check in checks()
    ]
    return pytest.mark.parametrize(("application", "check"), cases)


def _named(check: Check) -> Check:
    """Return *check* for any application, with its and the subject's name in its errors."""

    @wraps(check)
    def checked(given: Any) -> None:
        subject = given if isinstance(given, Subject) else Subject(given)
        try:
            check(subject)
        except TasksimError as error:
            raise CheckFailed(f"application {subject.name}, {check.__name__}: {error}") from error

    return checked


def same_settings_same_graph(subject: Subject) -> None:
    """Building the graph twice, also from its recorded arguments, gives the same graph."""
    graph = subject.graph()
    demand(subject.graph().same_as(graph), "the same settings gave two different graphs")
    again = subject.generator(**graph.arguments)
    demand(again.same_as(graph), "the arguments recorded in its graph give another graph")


def describing_takes_no_data(subject: Subject) -> None:
    """Building the graph calls no kernel and creates no data."""
    subject.graph()  # warm up: imports and caches do not count
    with watched_describing() as seen:
        graph = subject.graph()
        flow = subject.flow()
        seen.look()
    demand(not seen.called, f"its description calls kernel {', '.join(sorted(set(seen.called)))}")
    made = seen.sizes & sizes_of_data(graph, flow)
    demand(
        not made,
        f"its description creates arrays as large as its data, {max(made, default=0)} bytes;"
        " pass initial= a function that creates them when they are needed",
    )
    allowed, data = describing_bytes(graph), int(graph.handle_size.sum())
    demand(
        seen.peak_bytes < max(allowed, data),
        f"its description needs {seen.peak_bytes} bytes of memory; its data have {data}",
    )


def keeps_priorities_and_order(subject: Subject) -> None:
    """A saved graph and the program keep priorities and dependencies."""
    import tempfile

    graph = subject.graph()
    with tempfile.TemporaryDirectory() as folder:
        save(graph, Path(folder) / "graph.npz")
        demand(load(Path(folder) / "graph.npz").same_as(graph), "saving changes its graph")
    plain = subject.graph(priorities="none")
    demand(not plain.priority.any(), "priorities=none leaves some priorities")
    demand(np.array_equal(plain.successors, graph.successors), "priorities change its dependencies")
    bound = subject.program(graph).graph
    same = np.array_equal(bound.priority, graph.priority)
    demand(same, "its program has other priorities than its graph")
    same = np.array_equal(bound.successors, graph.successors)
    demand(same, "its program has other dependencies than its graph")


def program_has_the_kernels_of_the_graph(subject: Subject) -> None:
    """Each task of the graph calls the kernel that the graph names."""
    graph = subject.graph()
    program = subject.program(graph)
    bound = program.graph
    same = bound.kernels == graph.kernels and np.array_equal(bound.kernel, graph.kernel)
    demand(same, "its program runs other kernels than its graph names")
    if isinstance(program, FlowProgram):
        called = [call.kernel.name for call in program.flow.calls]
        said = [graph.kernel_of(task) for task in range(len(graph))]
        demand(called == said, "its tasks call other kernels than its graph names")


def same_seed_same_data(subject: Subject) -> None:
    """Two programs bound with the same seed start with the same bytes."""
    first, second = (_data_of(_reset(subject.program(seed=5))) for _ in range(2))
    changed = _different(first, second, _read_first(subject.graph()))
    demand(not changed, f"the same seed gives other data: {_names(subject, changed)}")


def data_begin_anew_at_reset(subject: Subject) -> None:
    """After a run, ``reset`` restores the initial data, and the same run gives the same result."""
    program = _reset(subject.program())
    before, matters = _data_of(program), _read_first(program.graph)
    ends: list[dict[int, bytes]] = []
    for _ in range(2):
        _run_in(program, range(len(program.graph)))
        ends.append(_data_of(program))
        program.reset()
        changed = _different(before, _data_of(program), matters)
        demand(not changed, f"reset leaves changes in {_names(subject, changed)}")
    changed = _different(ends[0], ends[1], set(before))
    demand(not changed, f"a second run in the same order changes {_names(subject, changed)}")


def accesses_are_honest(subject: Subject) -> None:
    """No task writes data that it does not declare as written."""
    program = subject.program()
    if hasattr(program, "datum"):
        watched = AccessCheckedProgram(program)
        watched.reset()
        _run_in(watched, range(len(watched.graph)))


def any_order_of_the_graph_is_right(subject: Subject) -> None:
    """Any order that the dependencies allow gives the right result."""
    program = subject.program()
    for seed in range(RANDOM_ORDERS):
        program.reset()
        _run_in(program, _drawn_order(program.graph, random.Random(seed)))
        residual = program.check()
        if residual is not None and not residual.ok:
            what = f"{residual.what}: {residual.value:.3g}, above {residual.tolerance:g}"
            raise CheckFailed(
                f"its result is wrong in an order that its dependencies allow: {what}"
            )


def runs_right_under_schedulers(subject: Subject) -> None:
    """Runs with one and two workers, several schedulers and both runtimes give the right result."""
    for runtime in ("python", *(["compiled"] if status().available else [])):
        for workers in (1, 2):
            program = subject.program(workers=workers)
            for scheduler in SCHEDULERS:
                execute(
                    program.graph, Platform.identical(workers), scheduler, program=program,
                    check=True, pin=False, runtime=runtime,  # type: ignore[arg-type]
                )  # fmt: skip


def keeps_the_global_random_state(subject: Subject) -> None:
    """The global random generators of Python and NumPy keep their state."""
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    program = _reset(subject.program())
    _run_in(program, range(len(program.graph)))
    after = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    demand(before == after, "it uses a global random state; initial= receives a generator")


CHECKS: Final[tuple[Check, ...]] = (
    same_settings_same_graph,
    describing_takes_no_data,
    keeps_priorities_and_order,
    program_has_the_kernels_of_the_graph,
    same_seed_same_data,
    accesses_are_honest,
    data_begin_anew_at_reset,
    any_order_of_the_graph_is_right,
    runs_right_under_schedulers,
    keeps_the_global_random_state,
)


def _reset(program: Program) -> Program:
    program.reset()
    return program


def _run_in(program: Any, order: Any) -> None:
    with single_threaded_blas():
        for task in order:
            program.run(task, 0)


def _drawn_order(graph: TaskGraph, rng: random.Random) -> Iterator[int]:
    """Yield the tasks in a random order that the dependencies allow."""
    left = graph.predecessor_count.tolist()
    ready = [(rng.random(), task) for task, count in enumerate(left) if count == 0]
    heapq.heapify(ready)
    while ready:
        _, task = heapq.heappop(ready)
        yield task
        for successor in graph.successors_of(task):
            left[successor] -= 1
            if left[successor] == 0:
                heapq.heappush(ready, (rng.random(), successor))


def _data_of(program: Any) -> dict[int, bytes]:
    """Return the data that are arrays, by handle."""
    if not hasattr(program, "datum"):
        return {}
    found = ((handle, program.datum(handle)) for handle in range(program.graph.handles))
    return {handle: data.tobytes() for handle, data in found if data is not None}


def _different(one: dict[int, bytes], other: dict[int, bytes], among: set[int]) -> list[int]:
    return [handle for handle in one if handle in among and one[handle] != other.get(handle)]


def _read_first(graph: TaskGraph) -> set[int]:
    """Return the handles whose initial value matters: their first task does not overwrite it."""
    handles, first = np.unique(graph.access_handle, return_index=True)
    return set(handles[graph.access_mode[first] != AccessMode.W].tolist())


def _names(subject: Subject, handles: Sequence[int]) -> str:
    graph = subject.graph()
    return ", ".join(graph.handle_name(handle) for handle in handles[:3])


MAX_BYTES_PER_TASK: Final = 8192
"""Maximum memory per described task with its accesses, in bytes: 1.5 kB were measured, the rest is
room for long lists. Smaller data cannot be told from other arrays by their size."""
EXTRA_TASKS: Final = 64
"""Number of tasks added to a graph's for its limit of memory: room for parts of any size."""


@dataclass
class Described:
    """Observations during an application's description.

    Attributes
    ----------
    called : list of str
        Kernels that were called.
    sizes : set of int
        Sizes of NumPy arrays that were created outside of tasksim and existed at :meth:`look`.
    peak_bytes : int
        Peak of the traced memory in bytes.
    """

    called: list[str] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)
    peak_bytes: int = 0

    def look(self) -> None:
        """Record the existing arrays and the peak of memory."""
        self.peak_bytes = tracemalloc.get_traced_memory()[1]
        own = str(Path(__file__).resolve().parents[1] / "*")
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        elsewhere = tracemalloc.Filter(False, own)
        snapshot = tracemalloc.take_snapshot().filter_traces((arrays, elsewhere))
        self.sizes = {trace.size for trace in snapshot.traces}


def describing_bytes(graph: TaskGraph) -> int:
    """Return the memory that the construction of *graph* may need, whatever its data."""
    return MAX_BYTES_PER_TASK * (len(graph) + graph.handles + EXTRA_TASKS)


def sizes_of_data(graph: TaskGraph, flow: TaskFlow | None) -> set[int]:
    """Return the sizes of arrays of the data, with arrays that *flow* cuts into blocks."""
    sizes = set(graph.handle_size.tolist())
    if flow is not None:
        sizes |= {block.whole.nbytes for block in flow.blocks if block.whole is not None}
    return {size for size in sizes if size >= MAX_BYTES_PER_TASK}


@contextmanager
def watched_describing() -> Iterator[Described]:
    """Yield a record of kernel calls and memory inside the block."""
    seen = Described()
    before = Kernel.__call__

    def call(self: Kernel, *operands: Any, **values: Any) -> object:
        seen.called.append(self.name)
        return before(self, *operands, **values)

    Kernel.__call__ = call  # type: ignore[method-assign]
    tracemalloc.start()
    try:
        yield seen
    finally:
        tracemalloc.stop()
        Kernel.__call__ = before  # type: ignore[method-assign]
