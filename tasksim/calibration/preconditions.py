"""Preconditions of a calibration: errors that can be found before the measurement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tasksim.base.arguments import short
from tasksim.base.errors import InputError, unknown
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.formats.graphs import load_graph
from tasksim.graph.apps.registry import name_and_settings
from tasksim.graph.taskgraph import TaskGraph
from tasksim.kernels.dense import dense_kernel
from tasksim.models.files.store import kernel_path, load_kernel, read_samples, samples_path
from tasksim.models.terms.candidates import AUTO
from tasksim.models.terms.formulas import parse_terms
from tasksim.native.execute import refuse_without_estimates
from tasksim.native.this_machine import named_machine
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.calibration.write_library import Destination

__all__ = ["check_preconditions", "check_schedulers", "named_items"]


def named_items(items: object) -> list[TaskGraph | KernelCall]:
    """Return the items to calibrate, with graphs generated from their names.

    Raises
    ------
    InputError
        If *items* is not a list of names, graphs and kernels.
    """
    legal = "a list of graphs, by name or made, and of kernels"
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InputError(f"items: got {short(items)}; legal: {legal}")
    found: list[TaskGraph | KernelCall] = []
    for item in items:
        if isinstance(item, str):
            found.append(load_graph(*name_and_settings(item)))
        elif isinstance(item, TaskGraph | KernelCall):
            found.append(item)
        else:
            raise InputError(f"items: got {short(item)}; legal: {legal}")
    return found


def check_schedulers(names: Iterable[str]) -> None:
    """Raise :exc:`InputError` unless graphs can run under each scheduler without models."""
    for name in names:
        refuse_without_estimates(create(name))


def check_preconditions(items: Sequence[TaskGraph | KernelCall], destination: Destination) -> None:
    """Raise :exc:`InputError` for errors that would otherwise show only after the measurement.

    These are: no items, unknown kernels, a machine name that is no file name, terms of unmeasured
    kernels or unknown parameters, damaged files of an earlier calibration.
    """
    if not items:
        raise InputError("nothing to calibrate: name a graph or a kernel")
    named_machine(destination.machine)
    kernels = _parameter_names(items)
    for kernel, text in destination.choice.terms.items():
        if kernel not in kernels:
            raise unknown("kernel", kernel, kernels, "terms")
        if text != AUTO:
            parse_terms(text, kernels[kernel])
    for kernel in kernels:
        _check_files(destination, kernel)


def _parameter_names(items: Sequence[TaskGraph | KernelCall]) -> Mapping[str, tuple[str, ...]]:
    """Return the kernels that *items* measure, with the names of their parameters."""
    names: dict[str, tuple[str, ...]] = {}
    for item in items:
        if isinstance(item, KernelCall):
            dense_kernel(item.name)[0].sizes(item.parameters)
            names[item.name] = tuple(item.parameters)
        else:
            names.update(zip(item.model_names, item.parameter_names, strict=True))
    return names


def _check_files(destination: Destination, kernel: str) -> None:
    coefficients = kernel_path(destination.models_folder, kernel)
    samples = samples_path(destination.models_folder, kernel)
    if coefficients.exists():
        load_kernel(coefficients)
    if samples.exists():
        read_samples(samples)
