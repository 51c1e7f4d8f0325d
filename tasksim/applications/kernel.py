"""User-defined kernels, with operands that declare the accesses of a task.

::

    @tasksim.kernel(parameters=lambda block: {"n": len(block)})
    def smooth(block: RW, left: R = None, right: R = None):
        ...

A function of Python, or of Numba, gets arrays; one of C, addresses
(:mod:`tasksim.applications.foreign`).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Final, Literal

from tasksim.base.arguments import one_of, short
from tasksim.base.errors import InputError, unknown
from tasksim.base.registry import where_raised
from tasksim.graph.access_codes import RW, Commute, R, Reduce, Scratch, W

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.applications.data import AnyForm
    from tasksim.applications.foreign import ForeignFunction
    from tasksim.applications.jitted import Entry

    Lock = Literal["held", "released", "unknown"]

__all__ = ["REQUIRED", "Kernel", "Operand", "kernel"]

MODES: Final = (R, W, RW, Commute, Reduce, Scratch)
"""Legal annotations of operands: functions that make accesses of data."""
REQUIRED: Final = inspect.Parameter.empty
"""Placeholder for the default of a value that has none."""


@dataclass(frozen=True)
class Operand:
    """One operand of a kernel.

    Attributes
    ----------
    name : str
    access : callable
        One of R, W, RW, Commute, Reduce, Scratch: of a datum, the access to it.
    optional : bool
        Whether a task may leave it out, with None in its place.
    many : bool
        Whether it stands for all data that are left: ``*parts: R``.
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
        What graphs and models call it.
    operands : sequence of Operand
        In the order in which the function gets them.
    function : callable or ForeignFunction
        What is called.
    parameters : callable, optional
        Called with the forms of operands, and with values, by their names; returns the parameters
        of the kernel's model, name -> number. By default: how many elements each operand has.
    values : mapping of str to object, default {}
        What a task is given besides data, with its default; ``REQUIRED`` where there is none.
    lock : {"held", "released", "unknown"}
        Whether it holds Python's lock while it works: then no other such kernel can work beside it.

    See Also
    --------
    kernel : makes one of a function.
    TaskFlow.insert : makes a task of it.
    """

    def __init__(
        self,
        name: str,
        operands: Sequence[Operand],
        function: Callable[..., object] | ForeignFunction,
        parameters: Callable[..., Mapping[str, float]] | None = None,
        values: Mapping[str, Any] | None = None,
        lock: Lock = "unknown",
    ) -> None:
        self.name = name
        self.operands = tuple(operands)
        self.function = function
        self.values = dict(values or {})
        self.lock: Lock = lock
        self.entries: dict[Any, Entry | None] = {}
        """Types of the arguments -> entry point for the core, for a function of Numba."""
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
        """Call the function, as a task would: on arrays, at once."""
        function: Any = self.function
        return function(*operands, **values)

    def arranged(self, given: Sequence[Any]) -> list[tuple[Operand, Any]]:
        """Return what is *given*, each with its operand; one that is left out is None.

        Raises :exc:`InputError` if there are too few or too many, or one cannot be left out.
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
                    f"{self!r}: {operand.name} is missing; it can be left out if the function says"
                    f" {operand.name}: {operand.access.__name__} = None"
                )
        if many is not None:
            pairs += [(many, datum) for datum in given[len(single) :]]
        return pairs

    def completed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a task, with defaults for those that are not *given*.

        Raises :exc:`InputError` for one that it does not take, or that is missing.
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
            place = where_raised(error)
            message = f"kernel {self.name}: parameters=: {type(error).__name__}: {error} ({place})"
            raise InputError(message) from error
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
) -> Any:
    """Return the kernel of a function; also as a decorator, with or without arguments.

    Parameters
    ----------
    function : callable
        Of Python: its operands are annotated with R, W, RW, Commute, Reduce or Scratch, and what
        has no such annotation is a value. An operand with the default None can be left out.
        Of Numba: the same; compiled with ``nogil=True``, it runs beside others.
        Of C: one of ctypes or cffi, or an address; or a function of Python that loads and returns
        it, called when the kernel is first to run.
    name : str, optional
        What graphs and models call it; by default the name of the function.
    parameters : callable, optional
        ``parameters(block)`` returns the parameters of the kernel's model, name -> number, or the
        name of a category. Its arguments are any operands and values, by their names; of operands
        it is told the form (``shape``, ``size``, ``nbytes``, ``dtype``, ``len()``), since there may
        be no array. By default: how many elements each operand has.
    operands : mapping of str to callable, optional
        Of a function of C, its operands: ``{"block": RW, "left": R}``. For a function of Python
        instead of annotations.
    arguments : str, optional
        Of a function of C, what it takes, in its order: ``"block left n:int64 alpha:float64"``;
        names of operands (addresses; NULL for one that is left out), of parameters, of values and
        of sizes of operands (``block.size``, ``block.shape0``; 0 of one that is left out), with
        their types, int32, int64, float32 or float64; with an ``&`` after the type if it takes
        the address of it, as Fortran does.
    fails : {"never", "nonzero"}, default "never"
        Of a function of C: whether it returns an int that is not 0 when it has failed.
    lock : {"held", "released"}, optional
        Whether it holds Python's lock while it works. Known of functions of C and of Numba; for one
        of Python, where NumPy may let it go, "unknown" if not given.

    Returns
    -------
    Kernel
        It can be called on arrays, too, as the function can.

    Raises
    ------
    InputError
        If an annotation or an argument is not legal.

    See Also
    --------
    application : what the tasks of a kernel are parts of.

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
    }
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    if lock is not None:
        one_of(lock, ("held", "released"), "lock")
    one_of(fails, ("never", "nonzero"), "fails")
    if arguments is not None:
        return _foreign(function, options)
    return _python(function, options)


def _python(function: Any, options: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a function of Python or Numba."""
    plain = getattr(function, "py_func", function)
    if not inspect.isfunction(plain):
        raise InputError(
            f"kernel: got {short(function)}; legal: a function; one of C needs its operands= and"
            " arguments="
        )
    named = options["name"] or plain.__name__
    signature = _signature(plain, named)
    accesses = options["operands"] or {
        name: found.annotation
        for name, found in signature.parameters.items()
        if found.annotation in MODES
    }
    _check_accesses(accesses, named)
    found: list[Operand] = []
    values: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if name not in accesses:
            values[name] = parameter.default
        else:
            found.append(_operand(parameter, accesses[name], named, values))
    if not found:
        raise InputError(
            f"kernel {named}: no operand; annotate them with R, W, RW, Commute, Reduce or Scratch,"
            f" as in def {named}(block: RW, left: R)"
        )
    lock = options["lock"] or _lock_of(function)
    made = Kernel(named, found, function, options["parameters"], values, lock)
    update_wrapper(made, plain, updated=())
    return made


def _operand(
    parameter: inspect.Parameter,
    access: Callable[[Any], int],
    named: str,
    values: Mapping[str, Any],
) -> Operand:
    if values or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
        raise InputError(
            f"kernel {named}: operand {parameter.name} comes after values; operands come first"
        )
    optional = parameter.default is None
    return Operand(parameter.name, access, optional, parameter.kind is parameter.VAR_POSITIONAL)


def _foreign(function: Any, options: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a function of C."""
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
    return Kernel(name, operands, made, parameters, values, options["lock"] or "released")


def _check_accesses(accesses: Mapping[str, Any], name: str) -> None:
    for operand, access in accesses.items():
        if access not in MODES:
            legal = ", ".join(mode.__name__ for mode in MODES)
            raise InputError(f"kernel {name}: {operand}: {short(access)}; legal: {legal}")


def _signature(function: Callable[..., object], name: str) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, SyntaxError, TypeError) as error:
        raise InputError(f"kernel {name}: its annotations cannot be read: {error}") from None


def _names_of(function: Callable[..., object]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _lock_of(function: Any) -> Lock:
    """Return what is known of a function without running it: Numba's say whether they let go."""
    options = getattr(function, "targetoptions", None)
    if not isinstance(options, dict):
        return "unknown"
    return "released" if options.get("nogil") else "held"


def _elements(form: Any) -> float:
    """Return how many elements there are, together where there are several."""
    if form is None:
        return 0
    return float(sum(part.size for part in form) if isinstance(form, tuple) else form.size)
