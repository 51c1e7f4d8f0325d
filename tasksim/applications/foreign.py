"""Foreign functions: kernels in C, Fortran or Numba, called by their addresses.

::

    smooth = tasksim.kernel(
        library.smooth, operands={"block": RW, "left": R, "right": R},
        arguments="block left right n:int64", parameters=lambda block: {"n": len(block)},
    )

They run without Python's lock, and in the compiled core without Python at all.
"""

from __future__ import annotations

import ctypes
import inspect
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.errors import InputError, short, unknown
from tasksim.base.registry import raised_text
from tasksim.kernels.calls import MAX_REALS, NativeFunction, Tells, address_of, bits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["ForeignFunction", "compiled_in"]


def compiled_in(module: str, name: str) -> Callable[[], Any]:
    """Return a function that loads the function *name* of a *module*, compiled on first use.

    So applications are described and simulated without the compiler.
    """

    def load() -> Any:
        from importlib import import_module

        from tasksim.base.extras import needed_for

        with needed_for(f"the compiled function '{name}'"):
            return getattr(import_module(module), name)()

    return load


NUMBER_TYPES: Final[dict[str, Any]] = {
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
"""Types of numbers by NumPy's names."""

SIZE_PROPERTIES: Final = ("size", "nbytes", "shape0", "shape1", "shape2", "shape3")
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
        A function of ctypes, cffi or Numba's ``cfunc``, or its address; or a Python function that
        returns one of these, called on the first execution, so that simulations need no compiler.
    name : str
        For messages.
    operands : sequence of str
        The names of its operands.
    arguments : str
        Its arguments; see :func:`tasksim.applications.kernel.kernel`.
    fails : {"never", "nonzero"}
        Way in which it reports a failure.

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
            _address(function, name)  # refuse anything else at once

    @cached_property
    def function(self) -> NativeFunction:
        """The function in the form of call tables."""
        reals = sum(map(_is_real, self.arguments))
        return NativeFunction(_address(self._loaded, self.name), self.tells, reals=reals)

    def load(self) -> None:
        """Load it now; raise :exc:`InputError` on failure."""
        _ = self._call

    @cached_property
    def _loaded(self) -> Any:
        """The function itself, kept alive by this object."""
        if not inspect.isfunction(self._given):
            return self._given
        try:
            return self._given()
        except Exception as error:
            text = raised_text(error)
            raise InputError(f"kernel {self.name} cannot be loaded: {text}") from error

    @cached_property
    def _call(self) -> Any:
        result = ctypes.c_int32 if self.tells else None
        kinds = [
            ctypes.c_void_p if argument.kind is None or argument.by_address else argument.kind
            for argument in self.arguments
        ]
        return ctypes.CFUNCTYPE(result, *kinds)(self.function.address)

    @property
    def without_python(self) -> bool:
        """Whether the core can call it, which passes few real numbers by value."""
        return sum(map(_is_real, self.arguments)) <= MAX_REALS

    def __call__(self, *operands: Any, **numbers: Any) -> int | None:
        """Call it on arrays; *numbers* are its other arguments."""
        addresses = [0 if array is None else array.ctypes.data for array in operands]
        told: int | None = self._call(*self.passed(addresses, numbers))
        return told

    def call(self, passed: Iterable[Any]) -> int:
        """Call it with the result of :meth:`passed`; return its status, 0 for success."""
        return self._call(*passed) or 0

    def passed(self, addresses: Sequence[int], numbers: Mapping[str, float]) -> list[Any]:
        """Return its arguments, from the *addresses* of its operands and *numbers*."""
        known = dict(zip(self.operands, addresses, strict=True))
        return [self._value(argument, known, numbers) for argument in self.arguments]

    def sizes(self, forms: Mapping[str, Any]) -> dict[str, int]:
        """Return the sizes of operands that it takes, such as ``block.size``, by name."""
        return {
            argument.name: _size(forms.get(operand), size)
            for argument in self.arguments
            for operand, dot, size in [argument.name.partition(".")]
            if dot
        }

    def row(self, passed: Iterable[Any]) -> list[int]:
        """Return the result of :meth:`passed` as a row of a call table, real numbers last."""
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
                f"kernel {self.name}: the function takes {argument.name}, but its tasks only have"
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
    if dot and (operand not in operands or size not in SIZE_PROPERTIES):
        raise InputError(
            f"kernel {name}: argument {text}: legal: OPERAND.SIZE with an operand"
            f" ({', '.join(operands)}) and a size ({', '.join(SIZE_PROPERTIES)})"
        )
    by_address = kind.endswith("&")
    if (found := kind.removesuffix("&")) not in NUMBER_TYPES:
        raise unknown("type", found, NUMBER_TYPES, f"kernel {name}: argument {text}")
    return Argument(key, NUMBER_TYPES[found], by_address)


def _size(form: Any, size: str) -> int:
    """Return one of :data:`SIZE_PROPERTIES`; 0 for omitted operands and missing axes."""
    if form is None:
        return 0
    if size in ("size", "nbytes"):
        return int(getattr(form, size))
    axis = SIZE_PROPERTIES.index(size) - SIZE_PROPERTIES.index("shape0")
    return int(form.shape[axis]) if axis < len(form.shape) else 0


def _is_real(argument: Argument) -> bool:
    """Return whether an argument is a real number passed by value."""
    return argument.kind in (ctypes.c_float, ctypes.c_double) and not argument.by_address


def _address(function: Any, name: str) -> int:
    """Return the address of *function*."""
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
