"""Foreign functions, that is kernels of C, Fortran or Numba, called by their addresses.

::

    smooth = tasksim.kernel(
        library.smooth, operands={"block": RW, "left": R, "right": R},
        arguments="block left right n:int64", parameters=lambda block: {"n": len(block)},
    )

They run without Python's lock; natively in the compiled core, without Python at all.
"""

from __future__ import annotations

import ctypes
import inspect
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.arguments import short
from tasksim.base.errors import InputError, unknown
from tasksim.base.registry import where_raised
from tasksim.kernels.calls import MOST_REALS, Function, Tells, address_of, bits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["ForeignFunction", "compiled_in"]


def compiled_in(module: str, name: str) -> Callable[[], Any]:
    """Return a function that loads the function *name* of a *module*, compiled when it first runs.

    So an application is described, and simulated, without the compiler.
    """

    def load() -> Any:
        from importlib import import_module

        return getattr(import_module(module), name)()

    return load


TYPES: Final[dict[str, Any]] = {
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
"""Types of numbers by NumPy's names."""

SIZES: Final = ("size", "nbytes", "shape0", "shape1", "shape2", "shape3")
"""Properties of an operand, besides its address, that a function may take:
``block.shape0:int64``."""


class Argument(NamedTuple):
    """An argument of a foreign function; ``kind`` is None for an operand, passed by its address."""

    name: str
    kind: Any = None
    by_address: bool = False


class ForeignFunction:
    """A function in memory, with its arguments for the data and numbers of a task.

    Parameters
    ----------
    function : object
        Of ctypes or cffi, of Numba's ``cfunc``, or its address; or a function of Python that
        returns one of these, and is called when the kernel is first to run: to simulate takes no
        compiler.
    name : str
        For messages.
    operands : sequence of str
        The names of its operands.
    arguments : str
        What it takes; see :func:`tasksim.applications.kernel.kernel`.
    fails : {"never", "nonzero"}
        Whether it tells that it has failed.

    Attributes
    ----------
    arguments : list of Argument
    """

    def __init__(
        self, function: Any, name: str, operands: Sequence[str], arguments: str, fails: str
    ) -> None:
        self._given = function
        self.name = name
        self.tells = Tells.RESULT if fails == "nonzero" else Tells.NOTHING
        self.operands = list(operands)
        self.arguments = [_argument(text, name, operands) for text in arguments.split()]
        for operand in operands:
            if operand not in [argument.name for argument in self.arguments]:
                raise InputError(f"kernel {name}: arguments= lacks its operand {operand}")
        if not inspect.isfunction(function):
            _address(function, name)  # what is none is refused at once

    @cached_property
    def function(self) -> Function:
        """It, as tables of calls have it."""
        reals = sum(map(_is_real, self.arguments))
        return Function(_address(self._loaded, self.name), self.tells, reals=reals)

    def load(self) -> None:
        """Load it now; :exc:`InputError` if that fails."""
        _ = self._call

    @cached_property
    def _loaded(self) -> Any:
        """The function itself, which lives as long as this does."""
        if not inspect.isfunction(self._given):
            return self._given
        try:
            return self._given()
        except Exception as error:
            message = f"{type(error).__name__}: {error} ({where_raised(error)})"
            raise InputError(f"kernel {self.name} cannot be loaded: {message}") from error

    @cached_property
    def _call(self) -> Any:
        result = ctypes.c_int32 if self.tells else None
        return ctypes.CFUNCTYPE(result, *map(_passed, self.arguments))(self.function.address)

    @property
    def without_python(self) -> bool:
        """Whether the core can call it: it passes so many real numbers by value, and no more."""
        return sum(map(_is_real, self.arguments)) <= MOST_REALS

    def __call__(self, *operands: Any, **numbers: Any) -> int | None:
        """Call it on arrays, at once; *numbers* are its other arguments."""
        addresses = [0 if array is None else array.ctypes.data for array in operands]
        told: int | None = self._call(*self.passed(addresses, numbers))
        return told

    def call(self, passed: Iterable[Any]) -> int:
        """Call it with what :meth:`passed` returned; return what it tells, 0 if all went well."""
        return self._call(*passed) or 0

    def passed(self, addresses: Sequence[int], numbers: Mapping[str, float]) -> list[Any]:
        """Return what it is called with, of the *addresses* of its operands and of *numbers*."""
        known = dict(zip(self.operands, addresses, strict=True))
        return [self._value(argument, known, numbers) for argument in self.arguments]

    def sizes(self, forms: Mapping[str, Any]) -> dict[str, int]:
        """Return the sizes that it takes of its operands, ``block.len`` and the like, by name."""
        return {
            argument.name: _size(forms.get(operand), size)
            for argument in self.arguments
            for operand, dot, size in [argument.name.partition(".")]
            if dot
        }

    def row(self, passed: Iterable[Any]) -> list[int]:
        """Return what :meth:`passed` returned as a row of a table of calls: real numbers last."""
        pairs = list(zip(self.arguments, passed, strict=True))
        others = [part for argument, part in pairs if not _is_real(argument)]
        return [
            *(part if isinstance(part, int) else address_of(part) for part in others),
            *(
                bits_of(part, single=argument.kind is ctypes.c_float)
                for argument, part in pairs
                if _is_real(argument)
            ),
        ]

    def _value(
        self, argument: Argument, known: Mapping[str, int], numbers: Mapping[str, float]
    ) -> Any:
        if argument.kind is None:
            return known[argument.name]
        if argument.name not in numbers:
            raise InputError(
                f"kernel {self.name}: no {argument.name}, which the function takes; its tasks have"
                f" {', '.join(numbers) or 'no numbers'}"
            )
        number = numbers[argument.name]
        whole = argument.kind in (ctypes.c_int32, ctypes.c_int64)
        if whole and number != int(number):
            raise InputError(f"kernel {self.name}: {argument.name}={number!r}: not an integer")
        value = argument.kind(int(number) if whole else float(number))
        return ctypes.pointer(value) if argument.by_address else value.value


def _argument(text: str, name: str, operands: Sequence[str]) -> Argument:
    key, _, kind = text.partition(":")
    if not kind:
        if key not in operands:
            raise unknown("operand", key, operands, f"kernel {name}: arguments= (numbers: n:int64)")
        return Argument(key)
    operand, dot, size = key.partition(".")
    if dot and (operand not in operands or size not in SIZES):
        raise InputError(
            f"kernel {name}: argument {text}: legal: OPERAND.SIZE with an operand"
            f" ({', '.join(operands)}) and a size ({', '.join(SIZES)})"
        )
    by_address = kind.endswith("&")
    if (found := kind.removesuffix("&")) not in TYPES:
        raise unknown("type", found, TYPES, f"kernel {name}: argument {text}")
    return Argument(key, TYPES[found], by_address)


def _size(form: Any, size: str) -> int:
    """Return one of :data:`SIZES`; 0 of what was left out, and of axes that are not there."""
    if form is None:
        return 0
    if size in ("size", "nbytes"):
        return int(getattr(form, size))
    axis = SIZES.index(size) - SIZES.index("shape0")
    return int(form.shape[axis]) if axis < len(form.shape) else 0


def _is_real(argument: Argument) -> bool:
    """Return whether it is a real number that is passed by value."""
    return argument.kind in (ctypes.c_float, ctypes.c_double) and not argument.by_address


def _passed(argument: Argument) -> Any:
    return ctypes.c_void_p if argument.kind is None or argument.by_address else argument.kind


def _address(function: Any, name: str) -> int:
    """Return where *function* is."""
    if isinstance(function, int) and not isinstance(function, bool):
        address: int | None = function
    elif isinstance(getattr(function, "address", None), int):  # Numba's cfunc
        address = function.address
    elif type(function).__module__ == "_cffi_backend":
        from cffi import FFI

        address = int(FFI().cast("intptr_t", function))
    else:
        try:
            address = ctypes.cast(function, ctypes.c_void_p).value
        except (TypeError, ctypes.ArgumentError):
            address = None
    if not address or address < 0:
        raise InputError(
            f"kernel {name}: got {short(function)}; legal: a function of ctypes or cffi, or its"
            " address"
        )
    return address
