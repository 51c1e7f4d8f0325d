"""Durations in place of models, as ``potrf=1,gemm=60 ms,cuda:gemm=3 ms`` or of a recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from tasksim.base.errors import InputError, option, short, unknown
from tasksim.base.numerals import decimal_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tasksim.engine.durations import Models
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.kinds.given import ConstantLibrary
    from tasksim.models.locality import Locality
    from tasksim.platform.description import Platform
    from tasksim.run.measured import DurationWord

__all__ = [
    "Durations",
    "SecondsByKernel",
    "durations_of",
    "kernels_without",
    "known_durations",
    "seconds_by_name",
    "seconds_of_graph",
]

SecondsByKernel = tuple[tuple[str, float], ...]
"""Seconds per kernel, or per ``ARCHITECTURE:KERNEL``."""

EVERY_OTHER: Final = "*"
"""Name in place of a kernel that stands for all kernels without a name of their own."""

Durations: TypeAlias = "SecondsByKernel | DurationWord"
"""Seconds by name, or a word for the durations of a recorded run."""


def durations_of(given: Any) -> Durations:
    """Return *given* if it is a word for durations of a recorded run, else its seconds by name.

    >>> durations_of("measured"), durations_of({"potrf": 1})
    ('measured', (('potrf', 1.0),))
    """
    if isinstance(given, str) and "=" not in given:
        from tasksim.run.measured import DURATION_WORDS

        if given.strip() in DURATION_WORDS:
            return cast("DurationWord", given.strip())
    return seconds_by_name(given)


def seconds_by_name(given: Any) -> SecondsByKernel:
    """Return seconds per name, in the order in which they are given.

    Parameters
    ----------
    given : str, mapping or sequence of pairs
        ``"potrf=1,cuda:gemm=3 ms"``, of which each item ends in ``=SECONDS``: names of kernels may
        have commas and equals signs; or name -> seconds, or a text with a unit; or kernel -> a
        mapping, architecture -> seconds.

    Raises
    ------
    InputError
        If a name is given twice, or a value is no duration.

    Examples
    --------
    >>> seconds_by_name("potrf=1,cuda:gemm=3 ms")
    (('potrf', 1.0), ('cuda:gemm', 0.003))
    >>> seconds_by_name({"potrf": 1, "gemm": {"cpu": 0.06, "cuda": "3 ms"}})
    (('potrf', 1.0), ('cpu:gemm', 0.06), ('cuda:gemm', 0.003))
    """
    pairs: list[tuple[Any, Any]] = []
    if isinstance(given, str):
        for item in _items(given):
            name, equals, value = (part.strip() for part in item.rpartition("="))
            architecture, colon, kernel = name.rpartition(":")
            if not (kernel and equals and value) or (colon and not architecture):
                from tasksim.run.measured import DURATION_WORDS

                raise InputError(
                    f"{option('durations')}: got '{item}'; "
                    "legal: KERNEL=SECONDS,[ARCHITECTURE:]KERNEL=SECONDS; or, for a recorded run, "
                    f"{' or '.join(DURATION_WORDS)}"
                )
            pairs.append((name, value))
    elif isinstance(given, Mapping):
        for name, value in given.items():
            if isinstance(value, Mapping):
                pairs += [(f"{architecture}:{name}", s) for architecture, s in value.items()]
            else:
                pairs.append((name, value))
    else:
        try:
            pairs = [(name, value) for name, value in given]
        except (TypeError, ValueError):
            raise InputError(
                f"{option('durations')}: got {short(given)}; legal: seconds per kernel"
            ) from None
    seconds: dict[str, float] = {}
    for name, value in pairs:
        if not (isinstance(name, str) and name.rpartition(":")[2]):
            raise InputError(
                f"{option('durations')}: got {short(name)}; legal: the name of a kernel, or "
                "ARCHITECTURE:KERNEL"
            )
        if name in seconds:
            raise InputError(f"{option('durations')}: {name} is given twice")
        seconds[name] = _seconds(value, name)
    return tuple(seconds.items())


def _items(text: str) -> Iterator[str]:
    """Yield the items ``NAME=SECONDS`` of *text*; a comma before the equals sign is the name's."""
    begun = ""
    for part in text.split(","):
        begun += part
        if "=" in part:
            yield begun
            begun = ""
        else:
            begun += ","
    if begun:
        yield begun.removesuffix(",")


def seconds_of_graph(given: SecondsByKernel, graph: TaskGraph) -> dict[str, float]:
    """Return the seconds of the kernels of *graph*, in the order of its kernels.

    ``*`` stands for each kernel that is not named. Kernels that tasksim knows but the graph happens
    to lack (``tiles=1`` has no gemm) are left out.

    Raises
    ------
    InputError
        If a kernel is unknown.
    """
    known = set(graph.kernels)
    of_kernel: dict[str, dict[str, float]] = {kernel: {} for kernel in graph.kernels}
    of_others: dict[str, float] = {}
    for name, seconds in given:
        architecture, kernel = _split(name, known)
        if kernel == EVERY_OTHER and EVERY_OTHER not in known:
            of_others[architecture] = seconds
        elif kernel in known:
            of_kernel[kernel][name] = seconds
        elif not _is_dense_kernel(kernel):
            raise unknown("kernel", kernel, graph.kernels, option("durations"))
    found: dict[str, float] = {}
    for kernel, named in of_kernel.items():
        others = of_others.items()
        found |= named or {f"{a}:{kernel}" if a else kernel: seconds for a, seconds in others}
    return found


def kernels_without(graph: TaskGraph, seconds: Mapping[str, float]) -> list[str]:
    """Return the kernels of *graph* without a duration, in *seconds* or in their tasks."""
    from tasksim.models.kinds.given import kernels_without_duration

    known = set(graph.kernels)
    given = {_split(name, known)[1] for name in seconds}
    return [kernel for kernel in kernels_without_duration(graph) if kernel not in given]


def known_durations(
    graph: TaskGraph, platform: Platform, seconds: Mapping[str, float], models: Models | None = None
) -> Models:
    """Return models of the durations that :func:`seconds_of_graph` returned.

    A duration on an architecture takes precedence over one of the kernel alone, and one on a single
    device over one on its kind. A kernel with durations on some architectures only can run only
    there. Other kernels get their durations from *models*.

    Raises
    ------
    InputError
        If the platform does not have the architecture.
    """
    from tasksim.models.kinds.given import ConstantLibrary, ConstantModel

    # The architectures of models by the names that users may give: all, those of a kind, a single
    # one. Kinds without a worker (any more, after --set) are legal, without effect. A kind of
    # workers that shares its models with another kind cannot be told from it.
    users: dict[str, set[str]] = {}
    for group in platform.classes:
        users.setdefault(group.models, set()).add(group.architecture)
    unused = [kind for kind in platform.speeds if kind not in platform.architectures]
    legal: dict[str, tuple[str, ...]] = {"": tuple(users), **dict.fromkeys(unused, ())}
    for kind in platform.architectures:
        own = tuple(name for name, kinds in users.items() if kinds == {kind})
        if own and not any(kind in kinds and len(kinds) > 1 for kinds in users.values()):
            legal[kind] = own
    legal |= {name: (name,) for name in users}
    where: dict[str, tuple[str, ...]] = {}
    kernels = set(graph.kernels)
    split = {name: _split(name, kernels) for name in seconds}
    for name, (architecture, _) in split.items():
        if architecture not in legal:
            raise unknown("architecture", architecture, filter(None, legal), option("durations"))
        where[name] = legal[architecture]
    model_of = dict(zip(graph.kernels, graph.model_names, strict=True))
    given: dict[str, dict[str, float]] = {model_of[kernel]: {} for _, kernel in split.values()}
    # Names of fewer architectures come later, and so take precedence.
    for name in sorted(seconds, key=lambda name: -len(where[name]) if split[name][0] else -inf):
        given[model_of[split[name][1]]] |= dict.fromkeys(where[name], seconds[name])
    if models is None:
        return ConstantLibrary(given)
    from tasksim.models.files.store import ModelLibrary  # already imported if there are models

    if isinstance(models, ModelLibrary):
        return models.with_models(
            {
                name: {where: ConstantModel(taken) for where, taken in by_architecture.items()}
                for name, by_architecture in given.items()
            }
        )
    return _Completed(ConstantLibrary(given), models)


class _Completed:
    """Constant durations, with the models of *others* for kernels without one."""

    def __init__(self, constants: ConstantLibrary, others: Models) -> None:
        self._constants, self._others = constants, others

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel* on *architecture*; :exc:`InputError` if there is none."""
        return self._of(kernel).model(kernel, architecture)

    def locality(self, kernel: str, architecture: str) -> Locality | None:
        """Return the cost of far data for *kernel*; None if it is unknown."""
        return self._of(kernel).locality(kernel, architecture)

    def _of(self, kernel: str) -> Models:
        return self._constants if kernel in self._constants.kernels() else self._others


def _split(name: str, kernels: Collection[str]) -> tuple[str, str]:
    """Return architecture, or nothing, and kernel of *name*; *kernels* may have colons: ``a::f``.

    >>> _split("cuda:a::f", {"a::f"}), _split("cuda:gemm", {"a::f"})
    (('cuda', 'a::f'), ('cuda', 'gemm'))
    """
    architecture, rest = "", name
    while rest not in kernels and ":" in rest:
        rest = rest.partition(":")[2]
        architecture = name[: len(name) - len(rest) - 1]
    if rest in kernels:
        return architecture, rest
    architecture, _, kernel = name.rpartition(":")
    return architecture, kernel


def _seconds(given: Any, name: str) -> float:
    from tasksim.base.units import parse_quantity

    try:
        value = None if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        value = None
    if value is None:
        try:
            value = parse_quantity(given, "time")
        except InputError as error:
            raise InputError(f"{option('durations')}: {name}: {error}") from None
    elif isinstance(given, str) and decimal_number(given.strip()) is None:
        value = nan  # not a plain number: 1_000, infinity
    if not (value >= 0 and isfinite(value)):
        raise InputError(f"{option('durations')}: {name}: got {given}; legal: a finite time from 0")
    return value


def _is_dense_kernel(name: str) -> bool:
    from tasksim.graph.flop import flop_kernels

    if name in flop_kernels():
        return True
    from tasksim.kernels.dense import kernel_names  # imported late: it can execute them, too

    return name in kernel_names()
