"""Conformance of applications: a battery of checks for the shipped ones and for a user's own.

::

    from tasksim.native.conformance import parametrize_with_checks

    @parametrize_with_checks(["stencil.py n=64 steps=3", "cholesky tiles=4 tile_size=32"])
    def test_my_application(application, check):
        check(application)

Settings are best small: the graph is executed some twenty times. What an application does not tell,
such as how its result is judged, is not checked.
"""

from __future__ import annotations

import heapq
import random
import shlex
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.applications.application import Application
from tasksim.applications.flow import TaskFlow
from tasksim.applications.program import FlowProgram
from tasksim.base.errors import CheckFailed, TasksimError
from tasksim.core.library import status
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.registry import (
    PRIORITIES,
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
from tasksim.native.describing import describing_bytes, sizes_of_data, watched_describing
from tasksim.native.execute import execute
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program

    Check = Callable[["Subject"], None]

__all__ = ["Subject", "check_application", "checks", "parametrize_with_checks"]

SCHEDULERS: Final = ("eager", "lws", "prio", "random")
"""Central, stealing, by priority, drawn: none needs models."""
ORDERS: Final = 4
"""Orders that are drawn: a dependency that is missing between two tasks shows in half of them."""


class Subject:
    """An application with settings: makes its graph, and binds it.

    Parameters
    ----------
    given : str, Application or Generator
        A name, ``MODULE:NAME`` or ``FILE.py``, also followed by settings; or the thing itself.
    **settings
        Its settings.
    """

    def __init__(self, given: str | Application | Generator, **settings: object) -> None:
        self.settings: dict[str, object] = dict(settings)
        self.application = given if isinstance(given, Application) else None
        if isinstance(given, str):
            name, *texts = shlex.split(given)
            if not names_generator(name):
                name, texts = name_and_settings(given)  # of a path with blanks
            self.generator = find(name)
            given_both = [*texts, *(f"{key}={value}" for key, value in settings.items())]
            self.settings = dict(parse_settings(name, given_both))
        else:
            self.generator = given.generator if isinstance(given, Application) else given
        self.name = self.generator.name

    def __repr__(self) -> str:
        return f"<Subject {self.name}>"

    def graph(self, **more: object) -> TaskGraph:
        """Return its graph; of *more* settings than its own, too."""
        return self.generator(**{**self.settings, **more})

    def flow(self) -> TaskFlow | None:
        """Return what it describes; None if it is a generator, which describes no data."""
        if self.application is None:
            return None
        settings = {k: v for k, v in self.graph().arguments.items() if k != PRIORITIES.name}
        flow = TaskFlow(self.name, recording=False)
        self.application.function(flow, **settings)
        return flow

    def program(self, graph: TaskGraph | None = None, workers: int = 1, seed: int = 3) -> Program:
        """Return its graph bound to data."""
        graph = self.graph() if graph is None else graph
        if self.generator.executor is not None:
            bound: Program = self.generator.executor(graph, workers, seed)
            return bound
        return bind(graph, workers, seed)


def checks() -> Iterator[Check]:
    """Yield the checks; each takes a :class:`Subject`, and raises :exc:`CheckFailed` by name."""
    for check in CHECKS:
        yield _named(check)


def check_application(application: str | Application | Generator, **settings: object) -> None:
    """Run all checks on an *application* with these *settings*.

    Parameters
    ----------
    application : str, Application or Generator
        A name, ``MODULE:NAME`` or ``FILE.py``, also followed by settings; or the thing itself.
    **settings
        Of the application; small ones do.

    Raises
    ------
    CheckFailed
        With the name of the check that does not hold.

    Examples
    --------
    >>> check_application("cholesky", tiles=3, tile_size=8)
    """
    subject = Subject(application, **settings)
    for check in checks():
        check(subject)


def parametrize_with_checks(applications: Sequence[Any]) -> Any:
    """Return a pytest decorator that gives a test each *application* with each *check*.

    They are texts or applications, as :func:`check_application` takes them, or subjects.
    """
    import pytest

    cases = [
        pytest.param(given, check, id=f"{_name(given)}-{check.__name__}")
        for given in applications
        for check in (_made(check) for check in checks())
    ]
    return pytest.mark.parametrize(("application", "check"), cases)


def _name(given: Any) -> str:
    return Path(name_and_settings(given)[0]).stem if isinstance(given, str) else str(given.name)


def _made(check: Check) -> Callable[[Any], None]:
    """Return the *check*, which makes a subject of what it is given."""

    @wraps(check)
    def checked(given: Any) -> None:
        check(given if isinstance(given, Subject) else Subject(given))

    return checked


def _named(check: Check) -> Check:
    """Return the *check*; its errors say its name, and whose they are."""

    @wraps(check)
    def checked(subject: Subject) -> None:
        try:
            check(subject)
        except TasksimError as error:
            raise CheckFailed(f"application {subject.name}, {check.__name__}: {error}") from error

    return checked


def same_settings_same_graph(subject: Subject) -> None:
    """Describing it twice, and from the arguments that a graph keeps, gives the same graph."""
    graph = subject.graph()
    _demand(subject.graph().same_as(graph), "the same settings gave two different graphs")
    again = subject.generator(**graph.arguments)
    _demand(again.same_as(graph), "the arguments that its graph keeps give another graph")


def describing_takes_no_data(subject: Subject) -> None:
    """To make the graph calls no kernel, and makes none of the data."""
    subject.graph()  # what is imported, or kept for later, is not looked at
    with watched_describing() as seen:
        graph = subject.graph()
        flow = subject.flow()
        seen.look()
    _demand(not seen.called, f"describing it calls kernel {', '.join(sorted(set(seen.called)))}")
    made = seen.sizes & sizes_of_data(graph, flow)
    _demand(
        not made,
        f"describing it makes arrays that are as large as its data, {max(made, default=0)} bytes;"
        " initial= takes a function that makes them when they are needed",
    )
    allowed, data = describing_bytes(graph), int(graph.handle_size.sum())
    _demand(
        seen.peak_bytes < max(allowed, data),
        f"describing it takes {seen.peak_bytes} bytes, its data are {data}",
    )


def keeps_priorities_and_order(subject: Subject) -> None:
    """A file of the graph, and the program, have its priorities and dependencies."""
    import tempfile

    graph = subject.graph()
    with tempfile.TemporaryDirectory() as folder:
        save(graph, Path(folder) / "graph.npz")
        _demand(load(Path(folder) / "graph.npz").same_as(graph), "a file of its graph has another")
    plain = subject.graph(priorities="none")
    _demand(not plain.priority.any(), "priorities=none leaves some")
    _demand(
        np.array_equal(plain.successors, graph.successors), "priorities change its dependencies"
    )
    bound = subject.program(graph).graph
    same = np.array_equal(bound.priority, graph.priority)
    _demand(same, "its program has other priorities than its graph")
    same = np.array_equal(bound.successors, graph.successors)
    _demand(same, "its program has other dependencies than its graph")


def program_has_the_kernels_of_the_graph(subject: Subject) -> None:
    """Each task of the graph calls the kernel that the graph says."""
    graph = subject.graph()
    program = subject.program(graph)
    bound = program.graph
    same = bound.kernels == graph.kernels and np.array_equal(bound.kernel, graph.kernel)
    _demand(same, "its program runs other kernels than its graph says")
    if isinstance(program, FlowProgram):
        called = [call.kernel.name for call in program.flow.calls]
        said = [graph.kernel_of(task) for task in range(len(graph))]
        _demand(called == said, "its tasks call other kernels than its graph says")


def same_seed_same_data(subject: Subject) -> None:
    """Bound twice with one seed, the data begin as the same bytes."""
    first, second = (_data_of(_reset(subject.program(seed=5))) for _ in range(2))
    changed = _different(first, second, _read_first(subject.graph()))
    _demand(not changed, f"the same seed gave other data: {_names(subject, changed)}")


def data_begin_anew_at_reset(subject: Subject) -> None:
    """After a run, ``reset`` gives what there was at first, and the same run the same result."""
    program = _reset(subject.program())
    before, matters = _data_of(program), _read_first(program.graph)
    ends: list[dict[int, bytes]] = []
    for _ in range(2):
        _run_in(program, range(len(program.graph)))
        ends.append(_data_of(program))
        program.reset()
        changed = _different(before, _data_of(program), matters)
        _demand(not changed, f"reset leaves changes in {_names(subject, changed)}")
    changed = _different(ends[0], ends[1], set(before))
    _demand(not changed, f"a second run in the same order changes {_names(subject, changed)}")


def accesses_are_honest(subject: Subject) -> None:
    """No task writes what it does not declare to write."""
    program = subject.program()
    if hasattr(program, "datum"):
        watched = AccessCheckedProgram(program)
        watched.reset()
        _run_in(watched, range(len(watched.graph)))


def any_order_of_the_graph_is_right(subject: Subject) -> None:
    """Tasks give the right result in whatever order the dependencies allow."""
    program = subject.program()
    for seed in range(ORDERS):
        program.reset()
        _run_in(program, _drawn_order(program.graph, random.Random(seed)))
        _judge(program, "in an order that its dependencies allow")


def runs_right_under_schedulers(subject: Subject) -> None:
    """With one worker and with two, under several schedulers, in both runtimes."""
    for runtime in ("python", *(["compiled"] if status().available else [])):
        for workers in (1, 2):
            program = subject.program(workers=workers)
            for scheduler in SCHEDULERS:
                execute(
                    program.graph, Platform.identical(workers), scheduler, program=program,
                    check=True, pin=False, runtime=runtime,  # type: ignore[arg-type]
                )  # fmt: skip


def asks_nothing_of_a_global_random_state(subject: Subject) -> None:
    """The global generators of ``random`` and NumPy are as they were."""
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    program = _reset(subject.program())
    _run_in(program, range(len(program.graph)))
    after = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    _demand(before == after, "it drew from a global random state; initial= is given a generator")


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
    asks_nothing_of_a_global_random_state,
)


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise CheckFailed(message)


def _reset(program: Program) -> Program:
    program.reset()
    return program


def _run_in(program: Any, order: Any) -> None:
    with single_threaded_blas():
        for task in order:
            program.run(task, 0)


def _judge(program: Program, when: str) -> None:
    residual = program.check()
    if residual is not None and not residual.ok:
        what = f"{residual.what}: {residual.value:.3g}, above {residual.tolerance:g}"
        raise CheckFailed(f"its result is wrong {when}: {what}")


def _drawn_order(graph: TaskGraph, rng: random.Random) -> Iterator[int]:
    """Yield the tasks in an order that the dependencies allow."""
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
    """Return the data by handle, as far as they are arrays."""
    if not hasattr(program, "datum"):
        return {}
    found = ((handle, program.datum(handle)) for handle in range(program.graph.handles))
    return {handle: data.tobytes() for handle, data in found if data is not None}


def _different(one: dict[int, bytes], other: dict[int, bytes], among: set[int]) -> list[int]:
    return [handle for handle in one if handle in among and one[handle] != other.get(handle)]


def _read_first(graph: TaskGraph) -> set[int]:
    """Return the handles whose beginning matters: the first task does not just overwrite them."""
    handles, first = np.unique(graph.access_handle, return_index=True)
    return set(handles[graph.access_mode[first] != AccessMode.W].tolist())


def _names(subject: Subject, handles: Sequence[int]) -> str:
    graph = subject.graph()
    return ", ".join(graph.handle_name(handle) for handle in handles[:3])
