"""Registries of named objects, from tasksim, other packages and the user.

Generators, schedulers, kinds of kernel models, formats, panels and executors each have a
:class:`Registry`, which imports an object when its name is first used. Another package adds its
own objects by an entry point of one of the registry's groups. ``MODULE:NAME`` is imported only if
the user gives it, never because a file names it.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tasksim.base.errors import InputError, expect, option, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

__all__ = ["PluginWarning", "Registry", "is_own", "load_own", "raised_text"]

Thing = TypeVar("Thing")


class PluginWarning(UserWarning):
    """Warning about an unusable object of another package, which is left out."""


class Registry(Generic[Thing]):
    """Objects of one kind, by name.

    Parameters
    ----------
    what : str
        The kind, as messages call it: ``"scheduler"``.
    groups : str or sequence of str
        The groups of entry points in which other packages declare their objects; if several groups
        have a name, the first one counts.
    built_in : mapping of str to str
        ``MODULE:ATTRIBUTE`` of the built-in objects, by name. They come first in lists, in this
        order, and their names cannot be taken.
    adopt : callable
        ``adopt(name, found)`` converts an imported object into the form that the registry keeps,
        or raises :exc:`InputError` if it is of another kind.

    See Also
    --------
    load_own : Import an object that a user names by module and attribute.

    Examples
    --------
    >>> colours = Registry("colour", "example.colours", {"pi": "math:pi"}, lambda name, it: it)
    >>> colours.find("pi")
    3.141592653589793
    >>> colours.find("pie")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: unknown colour 'pie', did you mean 'pi'? (known: pi)
    """

    def __init__(
        self,
        what: str,
        groups: str | Sequence[str],
        built_in: Mapping[str, str],
        adopt: Callable[[str, Any], Thing],
    ) -> None:
        self.what = what
        self.groups = (groups,) if isinstance(groups, str) else tuple(groups)
        self.built_in = dict(built_in)
        self._adopt = adopt
        self._found: dict[str, Thing] = {}
        """Built-in objects that have been imported, and those that the running program added."""
        self._own: dict[str, Thing] = {}
        """Objects that users have named as ``MODULE:NAME``."""

    def names(self) -> list[str]:
        """Return all names, without importing anything.

        Returns
        -------
        list of str
            Names of built-in objects, then those that the running program added, then those of
            other packages, broken ones included.
        """
        return list(dict.fromkeys([*self.built_in, *self._found, *sorted(self._declared())]))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._found or name in self._declared()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def add(self, name: str, found: Any) -> Thing:
        """Register *found*, an object of the running program, under *name*; return its kept form.

        Parameters
        ----------
        name : str
            Name for users.
        found : object
            An object that :attr:`adopt` accepts. Registering it twice has no further effect.

        Raises
        ------
        InputError
            If another object has the name.
        """
        home = _home(found)
        taken = self.built_in.get(name) or (name in self._found and _home(self._found[name]))
        if taken and taken != home:
            raise InputError(f"{self.what} '{name}' exists already; choose another name for {home}")
        self._found[name] = self._adopt(name, found)
        return self._found[name]

    def find(self, name: str) -> Thing:
        """Return the object called *name*; import it if that has not happened yet.

        Raises
        ------
        InputError
            If there is none (the message has the nearest name), if it needs a package of an extra
            that is not installed, or if the object of another package is broken (the message names
            the package).
        """
        expect(name, str, self.what)
        if name in self._found:
            return self._found[name]
        if name not in self.built_in:
            return self._of_package(name)
        module, _, attribute = self.built_in[name].partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            from tasksim.base.extras import without_package  # only errors need it

            raise without_package(error, f"{self.what} '{name}'") or error from None
        # setdefault: the module may have registered the object itself while it was imported.
        return self._found.setdefault(name, self._adopt(name, found))

    def items(self) -> dict[str, Thing]:
        """Return all objects by name, without the broken ones of other packages.

        Warns
        -----
        PluginWarning
            For each object that is left out; the warning names its package.
        """
        found = {}
        for name in self.names():
            try:
                found[name] = self.find(name)
            except InputError as error:
                warnings.warn(f"{error}; it is left out", PluginWarning, stacklevel=2)
        return found

    def summaries(self) -> dict[str, str]:
        """Return the first line of each object's docstring, by name; as :meth:`items`."""
        return {
            name: (found.__doc__ or "").strip().partition("\n")[0]
            for name, found in self.items().items()
        }

    def resolve(self, text: str) -> Thing:
        """Return the object for a user's *text*: a name, or ``MODULE:NAME``, which is imported.

        Use it only for text that the user gave; check a name from a file by
        :meth:`refuse_foreign` first.

        Raises
        ------
        InputError
            As for :meth:`find` and :func:`load_own`.
        """
        expect(text, str, self.what)
        if text in self or not is_own(text):
            return self.find(text)
        self._own[text] = self._adopt(text, load_own(text, self.what, self._is_one))
        return self._own[text]

    def known(self, name: str) -> Thing | None:
        """Return a registered object, or one that :meth:`resolve` has returned before; else None.

        The name may come from a file: it is never imported as ``MODULE:NAME``.
        """
        return self.find(name) if name in self else self._own.get(name)

    def refuse_foreign(self, name: str, where: str | Path) -> None:
        """Raise :exc:`InputError` if *name*, found in the file *where*, is not registered.

        Nothing is imported because a file names it: the author of the file would decide what code
        runs here. The registered objects are the built-in ones, those of installed packages, and
        those that the running program has added.
        """
        if name in self:
            return
        if not is_own(name):
            raise unknown(self.what, name, self.names(), str(where))
        raise InputError(
            f"{where}: it names the {self.what} '{name}', which no installed package has "
            "registered: nothing is imported because a file names it. If you trust the file, say "
            f"{option('trust', 'True')}"
        )

    def _is_one(self, found: Any) -> bool:
        """Return whether *found* is an object of this kind."""
        try:
            self._adopt("", found)
        except InputError:
            return False
        return True

    def _declared(self) -> dict[str, EntryPoint]:
        """Return the entry points of other packages, by name."""
        return _entry_points(self.groups, tuple(sys.path))

    def _of_package(self, name: str) -> Thing:
        """Return the object that an installed package declares as *name*."""
        entry = self._declared().get(name)
        if entry is None:
            from tasksim.base.files import is_file  # only errors need it

            if is_file(Path(f"{name}.py")):
                raise InputError(f"unknown {self.what} '{name}'; the file is '{name}.py'")
            raise unknown(self.what, name, self.names())
        package = entry.dist.name if entry.dist else "unknown"
        where = f"{self.what} '{name}' of package '{package}' (entry point {entry.value})"
        try:
            found = entry.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a package that calls sys.exit() must not end tasksim
            raise InputError(f"{where} cannot be loaded: {_described(error)}") from error
        try:
            return self._adopt(name, found)
        except InputError as error:
            raise InputError(f"{where} cannot be used: {error}") from error


@cache
def _entry_points(groups: tuple[str, ...], path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Return the entry points of *groups* by name; the first one found counts."""
    found = [entry for group in groups for entry in _all_entry_points(path).select(group=group)]
    # Reversed: in a dict, the last entry of a name wins.
    return {entry.name: entry for entry in reversed(found)}


@cache
def _all_entry_points(path: tuple[str, ...]) -> Any:  # noqa: ARG001
    """Return the entry points of all installed packages, in all groups.

    The search takes about 20 ms, so its result is cached for each *path* of modules. The type of
    the result depends on the version of Python.
    """
    from importlib.metadata import entry_points

    return entry_points()


# Objects of a user's own module or file


def is_own(text: str) -> bool:
    """Return whether *text* is ``MODULE:NAME`` or ``FILE.py``, rather than a registered name.

    >>> is_own("mypolicies:Lifo"), is_own("my/stencil.py"), is_own("eager")
    (True, True, False)
    """
    return ":" in text or text.endswith(".py")


def load_own(text: str, what: str, is_one: Callable[[Any], bool] | None = None) -> Any:
    """Import and return the object for a user's *text*, ``MODULE:NAME`` or ``FILE.py:NAME``.

    Modules are also searched in the working directory, as for ``python -m``, and in the folder of
    the file.

    Parameters
    ----------
    text : str
        Dotted name of a module, or the path of its file; a colon; the name of an object in it,
        without dots. For a file, the name may be left out if the file defines only one object of
        the kind.
    what : str
        Kind of the object, for messages.
    is_one : callable, optional
        Returns whether an object is of the kind.

    Raises
    ------
    InputError
        If the text has another form; if the module cannot be imported (the message has the file
        and the line of the failure); if it has no such name (the message has the nearest).

    Examples
    --------
    >>> load_own("collections:deque", "queue")
    <class 'collections.deque'>
    """
    where = f"{what} '{text}'"
    head, colon, name = text.rpartition(":") if ":" in text else (text, "", "")
    if head.endswith(".py"):
        module = _of_file(Path(head), where)
        if not colon:
            return _only_one(module, is_one, where)
    elif name.isidentifier() and all(map(str.isidentifier, head.split("."))):
        module = _imported(head, where)
    else:
        raise InputError(f"{where}: legal: a name, MODULE:NAME or FILE.py:NAME")
    if name not in vars(module):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise unknown("name", name, public, f"{where}, module {module.__name__}")
    return vars(module)[name]


def _of_file(path: Path, where: str) -> Any:
    """Return the module in the file at *path*, imported under the name of the file."""
    if not path.is_file():
        raise InputError(f"{where}: no such file: {path}")
    if not path.stem.isidentifier():
        raise InputError(f"{where}: '{path.stem}' is not a legal module name; rename the file")
    module = _imported(path.stem, where, str(path.parent.resolve()))
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != path.resolve():
        raise InputError(
            f"{where}: another module is called '{path.stem}' ({found or 'built in'}); rename the"
            " file"
        )
    return module


def _only_one(module: Any, is_one: Callable[[Any], bool] | None, where: str) -> Any:
    """Return the only object of its kind that *module* itself defines."""
    own = {
        key: found
        for key, found in vars(module).items()
        if getattr(found, "__module__", None) == module.__name__ and is_one and is_one(found)
    }
    if len(own) != 1:
        what, _, file = where[:-1].partition(" '")
        if own:
            raise InputError(f"{where} has {', '.join(own)}; say which: {file}:NAME")
        recorded = (
            f", and no application; 'tasksim record -o RUN {file}' runs a script as it is and "
            "records its tasks"
        )
        raise InputError(f"{file} defines no {what}{recorded if what == 'generator' else ''}")
    return next(iter(own.values()))


def _imported(name: str, where: str, folder: str | None = None) -> Any:
    here = folder or str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module that calls sys.exit() must not end tasksim
        raise InputError(f"{where}: cannot import '{name}': {_described(error)}") from error


def raised_text(error: BaseException) -> str:
    """Return type, message and place of an *error* that a user's code raised."""
    return f"{type(error).__name__}: {error} ({_where_raised(error)})"


def _where_raised(error: BaseException) -> str:
    """Return ``"FILE:LINE"`` of the place that raised *error*; ``""`` if it is unknown."""
    import traceback

    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and "/importlib/" not in frame.filename
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _described(error: BaseException) -> str:
    """Return type, message and place of *error*; no place if this module raised it."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    place = _where_raised(error)
    return f"{text} ({place})" if place and not place.startswith(__file__) else text


def _home(found: Any) -> str:
    """Return ``MODULE:NAME`` of a function or class, or of its kept form; else the ``repr``."""
    own = getattr(found, "function", found)
    name = getattr(own, "__qualname__", None)
    return repr(found) if name is None else f"{own.__module__}:{name}"
