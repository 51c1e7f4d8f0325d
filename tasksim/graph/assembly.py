"""Assembly of a task graph from what its builder has registered: the last step of every builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

    from tasksim.graph.configuration_register import ConfigurationRegister
    from tasksim.graph.csr import Int32, Int64
    from tasksim.graph.dependencies import Accesses
    from tasksim.graph.handles import HandleRegister

__all__ = ["assembled"]


def assembled(
    name: str,
    arguments: Mapping[str, Any],
    model_names: Mapping[str, str],
    register: ConfigurationRegister,
    configuration: array[int] | Int64,
    priority: Int32,
    handles: HandleRegister,
    accesses: Accesses,
    successors: tuple[Int64, Int32],
    hints: tuple[Int32, Int32],
) -> TaskGraph:
    """Return the graph, checked.

    *configuration* and *priority* are per task; *successors* are pointers and tasks, as in a
    sparse matrix; *hints* are handles, and the tasks after which they are no longer used.
    """
    kernel, row, tables = register.tables(configuration)
    names = register.parameter_names
    sizes, homes = handles.columns()
    graph = TaskGraph(
        name=name,
        arguments=dict(arguments),
        kernels=tuple(names),
        parameter_names=tuple(names.values()),
        parameters=tables,
        model_names=tuple(model_names.get(kernel, kernel) for kernel in names),
        kernel=kernel,
        row=row,
        priority=priority,
        access_ptr=accesses.pointers(len(priority)),
        access_handle=accesses.handle,
        access_mode=accesses.mode,
        successor_ptr=successors[0],
        successors=successors[1],
        handle_size=sizes,
        handle_home=homes,
        handle_blocks=tuple(handles.blocks),
        hint_handle=hints[0],
        hint_after=hints[1],
    )
    graph.validate()
    return graph
