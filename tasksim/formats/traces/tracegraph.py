"""Task graph of a trace, from the order, dependencies, parameters and data of its tasks.

Tasks that ran nowhere are replaced by dependencies across them. The notes report how the edges of
the trace agree with its data.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import GraphError, InputError
from tasksim.graph.csr import cycle_text, find_cycle, from_edges, topological_order
from tasksim.graph.dependencies import Accesses, infer_dependencies, merge_repeated
from tasksim.graph.taskgraph import HandleBlock, TaskGraph
from tasksim.models.categories import MAX_CATEGORIES, coded_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.formats.traces.records import Records
    from tasksim.graph.csr import Int64

__all__ = ["Ran", "dependencies", "graph_of_trace", "submission_order", "through"]

MAX_PASSED_DEPENDENCIES = 20_000_000
"""Maximum number of dependencies across tasks that ran nowhere, eight bytes each and more
meanwhile: a barrier of thousands of tasks on both sides makes millions."""


def dependencies(found: Records) -> tuple[Int64, Int64]:
    """Return the dependencies in the trace, as pairs of tasks.

    Unknown ids are reported to *found*.
    """
    before, after = [], []
    number = found.number
    for task, text in enumerate(found.before):
        for word in text.split():
            other = number.get(word)
            if other is None:
                legal = "; legal: ids separated by spaces" if re.search("[,;]", word) else ""
                found.bad(
                    f"a task depends on {word}, which is not in the trace{legal}", found.line[task]
                )
                continue
            before.append(other)
            after.append(task)
    return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)


def submission_order(found: Records, before: Int64, after: Int64) -> Int64:
    """Return the tasks in a topological order.

    It is the order of submission, if that is topological.

    Raises
    ------
    InputError
        If the dependencies contain a cycle.
    """
    order, submitted = np.array(found.order), np.array(found.submitted_s)
    start = np.array(found.start_s)
    keys = [np.where(np.isnan(column), np.inf, column) for column in (start, submitted, order)]
    ranked = np.lexsort((np.arange(len(found)), *keys))
    place = np.empty(len(found), dtype=np.int64)
    place[ranked] = np.arange(len(found))
    if not len(before) or bool((place[before] < place[after]).all()):
        return ranked
    edges = list(zip(before.tolist(), after.tolist(), strict=True))
    topological, waiting = topological_order(len(found), edges, place.tolist())
    if len(topological) < len(found):
        names = list(found.number)
        path = cycle_text([names[task] for task in find_cycle(edges, waiting)])
        raise InputError(f"{found.path}: tasks depend on each other in a cycle: {path}")
    return np.array(topological, dtype=np.int64)


def through(
    ran: NDArray[np.bool_], order: Int64, before: Int64, after: Int64
) -> tuple[Int64, Int64]:
    """Return the dependencies between tasks that *ran*, including those across others.

    Tasks that depend on one that ran nowhere depend on its dependencies.
    """
    plain = ran[before] & ran[after]
    kept = [(before[plain] << 32) | after[plain]]
    if bool(plain.all()):
        return before, after
    rest = ~plain
    inner: dict[int, list[int]] = {}
    for one, other in zip(before[rest].tolist(), after[rest].tolist(), strict=True):
        inner.setdefault(other, []).append(one)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    did = ran.tolist()
    behind: dict[int, frozenset[int]] = {}
    total = 0
    for task in sorted(inner, key=place.tolist().__getitem__):
        direct = {one for one in inner[task] if did[one]}
        sets = [behind.get(one, frozenset()) for one in inner[task] if not did[one]]
        whole = frozenset(direct.union(*sets))
        total += len(whole)
        if total > MAX_PASSED_DEPENDENCIES:
            raise InputError(
                f"more than {MAX_PASSED_DEPENDENCIES} dependencies across tasks that ran nowhere"
            )
        if did[task]:
            sources = np.fromiter(whole, np.int64, len(whole))
            kept.append((sources << 32) | task)
        else:
            behind[task] = whole
    edges = np.unique(np.concatenate(kept))
    return edges >> 32, edges & 0xFFFFFFFF


MAX_NUMBERED_DATA: Final = 10_000_000
"""Maximum number of data that only have numbers: a file of few bytes could claim many."""


class Ran(NamedTuple):
    """Tasks that ran, in submission order, with their dependencies, by record."""

    order: Int64
    before: Int64
    after: Int64


def graph_of_trace(found: Records, ran: Ran) -> TaskGraph:
    """Return the graph of the tasks that *ran*, numbered in that order.

    Its dependencies are those in the trace and, if that has accesses to data, those that follow
    from the accesses, unless the times contradict them. If the two disagree, the notes of *found*
    count the cases, with an example.
    """
    order = ran.order
    number = np.full(len(found), -1, dtype=np.int64)
    number[order] = np.arange(len(order))
    index: dict[str, int] = {}
    kernel = np.array(
        [index.setdefault(found.kernel[task], len(index)) for task in order.tolist()],
        dtype=np.int32,
    )
    parameter_names, parameters, row, categories = _parameters(found, order, kernel, list(index))
    accesses = _accesses(found, order)
    edges = (number[ran.before] << 32) | number[ran.after]
    edges = _with_data(found, ran, np.unique(edges), accesses)
    successor_ptr, successors = from_edges(edges, len(order))
    names, size, home = _data(found)
    graph = TaskGraph(
        name=found.name,
        arguments={},
        kernels=tuple(index),
        parameter_names=parameter_names,
        parameters=parameters,
        model_names=tuple(index),
        kernel=kernel,
        row=row,
        priority=np.array(found.priority)[order].astype(np.int32),
        access_ptr=accesses.pointers(len(order)),
        access_handle=accesses.handle,
        access_mode=accesses.mode,
        successor_ptr=successor_ptr,
        successors=successors,
        handle_size=size,
        handle_home=np.array(home, dtype=np.int32),
        handle_blocks=tuple(HandleBlock(name, 0, 0, at) for at, name in enumerate(names)),
        categories=categories,
    )
    try:
        graph.validate()
    except GraphError as error:  # such as a datum accessed in two modes that exclude each other
        raise InputError(f"{found.path}: {error}") from None
    return graph


def _parameters(
    found: Records, order: Int64, kernel: NDArray[np.int32], kernels: Sequence[str]
) -> tuple[
    tuple[tuple[str, ...], ...],
    tuple[NDArray[np.float64], ...],
    NDArray[np.int32],
    dict[str, dict[str, tuple[str, ...]]],
]:
    """Return kernel -> the parameters of all its tasks, and the row of each task.

    The last result is kernel -> parameter -> names of categories.
    """
    categories: dict[str, dict[str, tuple[str, ...]]] = {}
    row = np.zeros(len(order), dtype=np.int32)
    all_names, tables = [], []
    tasks_of = np.argsort(kernel, kind="stable")
    bounds = np.searchsorted(kernel[tasks_of], np.arange(len(kernels) + 1))
    for each, name_of in enumerate(kernels):
        tasks = tasks_of[bounds[each] : bounds[each + 1]]
        values = [found.parameters[task] for task in order[tasks].tolist()]
        names = tuple(n for n in values[0] if all(n in other for other in values))
        columns, named = _columns(found, name_of, names, values)
        names = tuple(columns)
        if named:
            categories[name_of] = named
        table = np.column_stack([np.empty((len(values), 0)), *columns.values()])
        unique, inverse = np.unique(
            table.reshape(len(values), len(names)), axis=0, return_inverse=True
        )
        row[tasks] = inverse.reshape(-1) if names else 0
        all_names.append(names)
        tables.append(unique if names else np.zeros((1, 0)))
    return tuple(all_names), tuple(tables), row, categories


def _columns(
    found: Records, kernel: str, names: Sequence[str], values: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, NDArray[np.float64]], dict[str, tuple[str, ...]]]:
    """Return the columns of a kernel's parameters, and the names of categories.

    Columns of very many names, such as identifiers, are left out with a note.
    """
    columns, categories = {}, {}
    for name in names:
        column = [value[name] for value in values]
        texts = Counter(value for value in column if isinstance(value, str))
        others = len(column) - texts.total()
        if 0 < texts.total() <= others:
            found.note(
                f"column {name} is not a parameter of {kernel}: it has no number from 0 in"
                f" {texts.total()} rows"
            )
        elif len(texts) > MAX_CATEGORIES:
            found.note(
                f"column {name} is not a parameter of {kernel}: it has {len(texts)} names; legal:"
                f" at most {MAX_CATEGORIES}"
            )
        elif texts:
            columns[name], categories[name] = coded_column(column)
        else:
            columns[name] = np.array(column, dtype=np.float64)
    return columns, categories


def _data(found: Records) -> tuple[list[str], Int64, list[int]]:
    """Return the names, sizes and home memories of the data.

    If only copies name data, by numbers, these are all data, at home in the first memory.
    """
    names = list(found.handle)
    if not names and found.transfers is not None and len(found.transfers):
        copies = found.transfers
        count = int(copies.handle.max()) + 1
        if count > MAX_NUMBERED_DATA or copies.handle.min() < 0:
            raise InputError(
                f"{found.path}: a copy of datum {count - 1}; legal: 0 to {MAX_NUMBERED_DATA}"
            )
        size = np.zeros(count, dtype=np.int64)
        np.maximum.at(size, copies.handle, copies.size_bytes)
        return [f"datum{at}" for at in range(count)], size, [0] * count
    size = np.array([found.copied_size.get(name, 0) for name in names], dtype=np.int64)
    np.maximum.at(size, np.array(found.access_handle), np.array(found.access_size))
    memory = {name: at for at, name in enumerate(found.memories)}
    homes = {name: memory.get(where, 0) for name, where in found.home_memory.items()}
    places = [homes.get(name, found.home.get(name, 0)) for name in names]
    # The programs' names, followed by the trace's if they are not unique.
    called = [found.handle_name.get(name, name) for name in names]
    count_of = Counter(called)
    unique = [
        text if count_of[text] == 1 else f"{text} ({name})"
        for name, text in zip(names, called, strict=True)
    ]
    return unique, size, places


def _accesses(found: Records, order: Int64) -> Accesses:
    """Return the accesses of the tasks in *order*, one per handle and task."""
    end = np.array(found.access_end)
    begin = np.concatenate(([0], end[:-1])) if len(end) else end
    counts = (end - begin)[order]
    task = np.repeat(np.arange(len(order)), counts).astype(np.int32)
    first = np.repeat(begin[order] - np.cumsum(counts) + counts, counts)
    places = first + np.arange(len(task))
    handle = np.array(found.access_handle)[places].astype(np.int32)
    mode = np.array(found.access_mode)[places].astype(np.int8)
    return merge_repeated(Accesses(task, handle, mode), len(order))


def _with_data(found: Records, ran: Ran, edges: Int64, accesses: Accesses) -> Int64:
    """Return *edges* and those implied by accesses; note disagreements."""
    if not found.has_data:
        found.note("the trace has no accesses to data")
        if not found.has_edges:
            found.note("the trace has no dependencies: every task can run when it is submitted")
        return edges
    implied = np.unique(infer_dependencies(accesses))
    start, end = np.array(found.start_s)[ran.order], np.array(found.end_s)[ran.order]
    possible = end[implied >> 32] <= start[implied & 0xFFFFFFFF]
    kept, wrong = implied[possible], implied[~possible]
    if not found.has_edges:
        found.note("the trace has no dependencies: those implied by its data are used")
    else:
        more = np.setdiff1d(kept, edges, assume_unique=True)
        less = np.setdiff1d(edges, kept, assume_unique=True)
        found.note(
            f"{len(edges)} dependencies in the trace, {len(implied)} by its data: {len(more)} only"
            f" by data{_example(found, ran, more)}, {len(less)} only in the"
            f" trace{_example(found, ran, less)}"
        )
    if len(wrong):
        found.note(
            f"left out: {len(wrong)} dependencies by data that the times of the trace"
            f" contradict{_example(found, ran, wrong)}"
        )
    return np.union1d(edges, kept)


def _example(found: Records, ran: Ran, edges: NDArray[Any]) -> str:
    if not len(edges):
        return ""
    names = list(found.number)
    one, other = int(ran.order[edges[0] >> 32]), int(ran.order[edges[0] & 0xFFFFFFFF])
    return f" (such as {found.kernel[one]} {names[one]} -> {found.kernel[other]} {names[other]})"
