"""``--durations potrf=1,gemm=60 ms,cuda:gemm=3 ms``: what each kernel takes, and where."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kinds.constant import ConstantLibrary
    from tasksim.platform.description import Platform

__all__ = ["constants", "parse_durations"]


def parse_durations(text: str, graph: TaskGraph) -> dict[str, float]:
    """Return seconds per kernel for ``potrf=1,trsm=3 ms``, and per ``ARCHITECTURE:KERNEL``.

    Kernels that tasksim knows but the graph happens to lack (``tiles=1`` has no gemm) are
    left out.

    Raises
    ------
    InputError
        If a kernel is unknown or missing, given twice, or its value is no duration.
    """
    seconds: dict[str, float] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        architecture, colon, kernel = name.rpartition(":")
        if not (kernel and equals and value) or (colon and not architecture):
            raise InputError(
                f"--durations: got '{item}'; legal: KERNEL=SECONDS,[ARCHITECTURE:]KERNEL=SECONDS"
            )
        if name in seconds:
            raise InputError(f"--durations: {name} is given twice")
        if kernel not in graph.kernels and not _is_dense_kernel(kernel):
            raise unknown("kernel", kernel, graph.kernels, "--durations")
        seconds[name] = _seconds(value, name)
    missing = [kernel for kernel in graph.kernels if kernel not in map(_kernel, seconds)]
    if missing:
        raise InputError(
            f"--durations: kernel {', '.join(missing)} of graph {graph.name} missing; "
            f"give {','.join(f'{kernel}=SECONDS' for kernel in missing)} as well"
        )
    ordered = [name for kernel in graph.kernels for name in seconds if _kernel(name) == kernel]
    return {name: seconds[name] for name in ordered}


def constants(
    graph: TaskGraph, platform: Platform, seconds: Mapping[str, float]
) -> ConstantLibrary:
    """Return models of the durations that :func:`parse_durations` has returned.

    What is said of an architecture comes before what is said of a kernel alone, and what is said
    of one device before what is said of its kind. A kernel that has durations on some
    architectures only can run only there.

    Raises
    ------
    InputError
        If the platform does not have the architecture.
    """
    from tasksim.models.kinds.constant import ConstantLibrary

    legal = _architectures(platform)
    where: dict[str, tuple[str, ...]] = {}
    for name in seconds:
        architecture = name.rpartition(":")[0]
        if architecture not in legal:
            raise unknown("architecture", architecture, filter(None, legal), "--durations")
        where[name] = legal[architecture]
    given: dict[str, dict[str, float]] = {name: {} for name in graph.model_names}
    model_of = dict(zip(graph.kernels, graph.model_names, strict=True))
    for name in sorted(seconds, key=lambda name: -len(where[name]) if ":" in name else -inf):
        given[model_of[_kernel(name)]] |= dict.fromkeys(where[name], seconds[name])
    return ConstantLibrary(given)


def _kernel(name: str) -> str:
    return name.rpartition(":")[2]


def _architectures(platform: Platform) -> dict[str, tuple[str, ...]]:
    """Return the architectures of models, by what can be said: all, those of a kind, one.

    Of kinds that no worker is of (any more, after ``--set``) something can be said, in vain.
    A kind of workers that shares its models with another kind cannot be told from it.
    """
    users: dict[str, set[str]] = {}
    for group in platform.classes:
        users.setdefault(group.models, set()).add(group.architecture)
    unused = [kind for kind in platform.speeds if kind not in platform.architectures]
    legal: dict[str, tuple[str, ...]] = {"": tuple(users), **dict.fromkeys(unused, ())}
    for kind in platform.architectures:
        own = tuple(models for models, kinds in users.items() if kinds == {kind})
        if own and not any(kind in kinds and len(kinds) > 1 for kinds in users.values()):
            legal[kind] = own
    return {**legal, **{models: (models,) for models in users}}


def _seconds(text: str, name: str) -> float:
    from tasksim.base.units import parse_quantity

    try:
        value = float(text)
    except ValueError:
        try:
            value = parse_quantity(text, "time")
        except InputError as error:
            raise InputError(f"--durations: {name}: {error}") from None
    if not (value >= 0 and isfinite(value)):
        raise InputError(f"--durations: {name}: got {text}; legal: a finite time from 0")
    return value


def _is_dense_kernel(name: str) -> bool:
    from tasksim.kernels.dense import kernel_names

    return name in kernel_names()
