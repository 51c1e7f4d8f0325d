"""User-defined kernels, with operands that declare the accesses of a task.

::

    @tasksim.kernel(parameters=lambda block: {"n": len(block)})
    def smooth(block: RW, left: R = None, right: R = None):
        ...

A Python or Numba function gets arrays, a C function addresses
(:mod:`tasksim.applications.foreign`).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Final, Literal

from tasksim.base.arguments import flag, one_of
from tasksim.base.errors import InputError, short, unknown
from tasksim.base.registry import raised_text
from tasksim.graph.access_codes import RW, Commute, R, Reduce, Scratch, W

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.applications.data import AnyForm
    from tasksim.applications.foreign import ForeignFunction
    from tasksim.applications.jitted import EntryPoint

    Lock = Literal["held", "released", "unknown"]

__all__ = ["REQUIRED", "Kernel", "Operand", "kernel"]

ACCESS_ANNOTATIONS: Final = (R, W, RW, Commute, Reduce, Scratch)
"""Legal annotations of operands: functions that make accesses of data."""
REQUIRED: Final = inspect.Parameter.empty
"""Placeholder for the default of a required value."""


@dataclass(frozen=True)
class Operand:
    """One operand of a kernel.

    Attributes
    ----------
    name : str
    access : callable
        One of R, W, RW, Commute, Reduce, Scratch: the function from a datum to the access.
    optional : bool
        Whether a task may omit it by None.
    many : bool
        Whether it stands for all remaining data: ``*parts: R``.
    """

    name: str
    access: Callable[[Any], int]
    optional: bool = False
    many: bool = False


class Kernel:
    """A kernel, with its function, its operands and the parameters of its model.

    Parameters
    ----------
    name : str
        Name in graphs and models.
    operands : sequence of Operand
        The operands, in the order of the function's arguments.
    function : callable or ForeignFunction
        The function.
    parameters : callable, optional
        Called with the forms of operands and with values, by name; returns the parameters of the
        kernel's model, name -> number. By default they are the numbers of elements of the operands.
    values : mapping of str to object, default {}
        Argument of a task beside data -> its default, or ``REQUIRED``.
    lock : {"held", "released", "unknown"}
        Whether it holds Python's lock while it runs, so that no other such kernel can run beside
        it.
    by_clock : bool, default False
        Whether its tasks end at a time of the clock, however slow their cores are.

    See Also
    --------
    kernel : Make a kernel from a function.
    TaskFlow.insert : Make a task of a kernel.
    """

    def __init__(
        self,
        name: str,
        operands: Sequence[Operand],
        function: Callable[..., object] | ForeignFunction,
        parameters: Callable[..., Mapping[str, float]] | None = None,
        values: Mapping[str, Any] | None = None,
        lock: Lock = "unknown",
        *,
        by_clock: bool = False,
    ) -> None:
        self.name = name
        self.operands = tuple(operands)
        self.function = function
        self.values = dict(values or {})
        self.lock: Lock = lock
        self.by_clock = by_clock
        self.entries: dict[Any, EntryPoint | None] = {}
        """Types of the arguments -> entry point for the core, for a Numba function."""
        self._parameters = parameters
        self._wanted = () if parameters is None else _names_of(parameters)
        known = {*(operand.name for operand in self.operands), *self.values}
        for wanted in self._wanted:
            if wanted not in known:
                raise InputError(
                    f"kernel {name}: parameters= asks for {wanted}, which is none of its operands"
                    f" and values, {', '.join(sorted(known))}"
                )

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(operand.name for operand in self.operands)})>"

    def __call__(self, *operands: Any, **values: Any) -> object:
        """Call the function on arrays, as a task would."""
        function: Any = self.function
        return function(*operands, **values)

    def arranged(self, given: Sequence[Any]) -> list[tuple[Operand, Any]]:
        """Return the *given* data, each with its operand; omitted ones are None.

        Raises :exc:`InputError` if there are too few or too many, or a required one is omitted.
        """
        operands = self.operands
        many = operands[-1] if operands and operands[-1].many else None
        single = operands[:-1] if many else operands
        if len(given) > len(single) and many is None:
            raise InputError(f"{self!r} takes {len(single)} data, got {len(given)}")
        pairs = list(zip(single, [*given, *[None] * len(single)], strict=False))
        for operand, datum in pairs:
            if datum is None and not operand.optional:
                raise InputError(
                    f"{self!r}: {operand.name} is missing; it is optional if the function declares"
                    f" {operand.name}: {operand.access.__name__} = None"
                )
        if many is not None:
            pairs += [(many, datum) for datum in given[len(single) :]]
        return pairs

    def completed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a task: the *given* ones, and defaults.

        Raises :exc:`InputError` for an unknown or missing value.
        """
        for name in given:
            if name not in self.values:
                raise unknown("value", name, self.values, repr(self))
        completed = {**self.values, **given}
        for name, value in completed.items():
            if value is REQUIRED:
                raise InputError(f"{self!r}: value {name} is missing")
        return completed

    def parameters_of(
        self, forms: Sequence[tuple[Operand, AnyForm | None]], values: Mapping[str, Any]
    ) -> dict[str, float]:
        """Return the parameters of a task on data of these *forms*, by name."""
        known: dict[str, Any] = {operand.name: form for operand, form in forms}
        if self.operands and self.operands[-1].many:
            last = self.operands[-1]
            known[last.name] = tuple(form for operand, form in forms if operand is last)
        if self._parameters is None:
            return {operand.name: _elements(known.get(operand.name)) for operand in self.operands}
        known.update(values)
        try:
            found = self._parameters(**{name: known.get(name) for name in self._wanted})
        except Exception as error:
            text = f"kernel {self.name}: parameters=: {raised_text(error)}"
            raise InputError(text) from error
        try:
            return dict(found)
        except (TypeError, ValueError):
            raise InputError(
                f"kernel {self.name}: parameters= returned {short(found)}; legal: a dictionary"
                " of numbers by name"
            ) from None


def kernel(
    function: Any = None,
    *,
    name: str | None = None,
    parameters: Callable[..., Mapping[str, float]] | None = None,
    operands: Mapping[str, Callable[[Any], int]] | None = None,
    arguments: str | None = None,
    fails: str = "never",
    lock: str | None = None,
    by_clock: bool = False,
) -> Any:
    """Return the kernel of a function; also as a decorator, with or without arguments.

    Parameters
    ----------
    function : callable
        A Python function: its operands are annotated with R, W, RW, Commute, Reduce or Scratch, and
        other parameters are values. An operand with the default None is optional. A Numba function:
        the same; compiled with ``nogil=True``, it runs beside others. A C function: one of ctypes
        or cffi, or an address; or a Python function that loads and returns it, called on the first
        execution.
    name : str, optional
        Name in graphs and models; by default the name of the function.
    parameters : callable, optional
        ``parameters(block)`` returns the parameters of the kernel's model, name -> number or name
        of a category. Its arguments are any operands and values, by name; operands come as forms
        (``shape``, ``size``, ``nbytes``, ``dtype``, ``len()``), since there may be no array. By
        default, parameters are the numbers of elements of the operands.
    operands : mapping of str to callable, optional
        Operands of a C function: ``{"block": RW, "left": R}``. For a Python function, they replace
        annotations.
    arguments : str, optional
        Arguments of a C function, in order: ``"block left n:int64 alpha:float64"``. They are
        operands (addresses; NULL for an omitted one), parameters, values and sizes of operands
        (``block.size``, ``block.shape0``; 0 for an omitted one), with types int32, int64, float32
        or float64. An ``&`` after the type passes an address, as for Fortran.
    fails : {"never", "nonzero"}, default "never"
        For a C function, whether it returns a nonzero int on failure.
    lock : {"held", "released"}, optional
        Whether it holds Python's lock while it runs. Known for C and Numba functions; "unknown" by
        default for Python functions, in which NumPy may release it.
    by_clock : bool, default False
        Whether its tasks end at a time of the clock, because they wait or spin until then. Others
        on the same processor do not make them longer, so nothing is subtracted for them.

    Returns
    -------
    Kernel
        It can also be called on arrays, like the function.

    Raises
    ------
    InputError
        If an annotation or an argument is not legal.

    See Also
    --------
    application : Insert the tasks of kernels.

    Examples
    --------
    >>> from tasksim import RW, R, kernel
    >>> @kernel(parameters=lambda y: {"n": len(y)})
    ... def axpy(y: RW, x: R, alpha=1.0):
    ...     y += alpha * x
    >>> axpy
    <Kernel axpy(y, x)>
    """
    options: dict[str, Any] = {
        "name": name,
        "parameters": parameters,
        "operands": operands,
        "arguments": arguments,
        "fails": fails,
        "lock": lock,
        "by_clock": by_clock,
    }
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    if lock is not None:
        one_of(lock, ("held", "released"), "lock")
    one_of(fails, ("never", "nonzero"), "fails")
    flag(by_clock, "by_clock")
    if arguments is not None:
        return _foreign(function, options)
    return _python(function, options)


def _python(function: Any, options: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a Python or Numba function."""
    plain = getattr(function, "py_func", function)
    if not inspect.isfunction(plain):
        raise InputError(
            f"kernel: got {short(function)}; legal: a function; one of C needs its operands= and"
            " arguments="
        )
    named = options["name"] or plain.__name__
    try:
        signature = inspect.signature(plain, eval_str=True)
    except (NameError, SyntaxError, TypeError) as error:
        raise InputError(f"kernel {named}: its annotations cannot be read: {error}") from None
    accesses = options["operands"] or {
        name: found.annotation
        for name, found in signature.parameters.items()
        if found.annotation in ACCESS_ANNOTATIONS
    }
    _check_accesses(accesses, named)
    found: list[Operand] = []
    values: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if name not in accesses:
            values[name] = parameter.default
            continue
        if values or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            raise InputError(
                f"kernel {named}: operand {name} comes after values; operands come first"
            )
        optional, many = parameter.default is None, parameter.kind is parameter.VAR_POSITIONAL
        found.append(Operand(name, accesses[name], optional, many))
    if not found:
        raise InputError(
            f"kernel {named}: has no operand; annotate operands with R, W, RW, Commute, Reduce or"
            f" Scratch, as in def {named}(block: RW, left: R)"
        )
    lock: Lock = options["lock"] or "unknown"
    compiled = getattr(function, "targetoptions", None)
    if lock == "unknown" and isinstance(compiled, dict):  # Numba's functions declare it
        lock = "released" if compiled.get("nogil") else "held"
    made = Kernel(
        named, found, function, options["parameters"], values, lock, by_clock=options["by_clock"]
    )
    update_wrapper(made, plain, updated=())
    return made


def _foreign(function: Any, options: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a C function."""
    from tasksim.applications.foreign import ForeignFunction

    name = options["name"] or getattr(function, "__name__", None)
    if name is None:
        raise InputError("kernel: a function of C needs a name=")
    accesses = options["operands"] or {}
    _check_accesses(accesses, name)
    if not accesses:
        raise InputError(f"kernel {name}: a function of C needs its operands=, as in"
                         " {'block': RW, 'left': R}")  # fmt: skip
    made = ForeignFunction(function, name, list(accesses), options["arguments"], options["fails"])
    operands = [Operand(key, access, optional=True) for key, access in accesses.items()]
    parameters = options["parameters"]
    known = _names_of(parameters) if parameters else ()
    numbers = [
        argument.name
        for argument in made.arguments
        if argument.kind is not None and "." not in argument.name
    ]
    values = {key: None for key in (*known, *numbers) if key not in accesses}
    return Kernel(
        name, operands, made, parameters, values, options["lock"] or "released",
        by_clock=options["by_clock"],
    )  # fmt: skip


def _check_accesses(accesses: Mapping[str, Any], name: str) -> None:
    for operand, access in accesses.items():
        if access not in ACCESS_ANNOTATIONS:
            legal = ", ".join(mode.__name__ for mode in ACCESS_ANNOTATIONS)
            raise InputError(f"kernel {name}: {operand}: {short(access)}; legal: {legal}")


def _names_of(function: Callable[..., object]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _elements(form: Any) -> float:
    """Return the number of elements, in total for several data."""
    if form is None:
        return 0
    return float(sum(part.size for part in form) if isinstance(form, tuple) else form.size)
