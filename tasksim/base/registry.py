"""Registry: things of one sort by name, built in, of other packages, or a user's own.

Generators, schedulers, kinds of kernel models, formats, panels and executors are found alike: by
the names of a :class:`Registry`, which imports a thing when it is first asked for. Another package
adds its own by an entry point of one of the registry's groups. ``MODULE:NAME`` is imported where
the user says so, never because a file does.
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

__all__ = ["PluginWarning", "Registry", "is_own", "load_own", "where_raised"]

Thing = TypeVar("Thing")


class PluginWarning(UserWarning):
    """What another package declares cannot be used, and is left out."""


class Registry(Generic[Thing]):
    """Things of one sort, by name.

    Parameters
    ----------
    what : str
        What one of them is called in messages: ``"scheduler"``.
    groups : str or sequence of str
        The groups of entry points in which other packages declare theirs; the first one that has
        a name counts.
    built_in : mapping of str to str
        Name -> ``MODULE:ATTRIBUTE``. They come first in lists, in this order, and nobody can
        take their names.
    adopt : callable
        ``adopt(name, found)`` returns what the registry keeps of what a module has under that
        name, or raises :exc:`InputError` if that is no such thing.

    See Also
    --------
    load_own : what a user names by module and attribute.

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
        """What is built in and has been asked for, or was registered by the running program."""
        self._own: dict[str, Thing] = {}
        """What users have named by module."""

    def names(self) -> list[str]:
        """Return all names, without importing anything: built-in, the program's, other packages'.

        Returns
        -------
        list of str
            Names of entry points that turn out to be broken are among them.
        """
        return list(dict.fromkeys([*self.built_in, *self._found, *sorted(self._declared())]))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._found or name in self._declared()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def add(self, name: str, found: Any) -> Thing:
        """Register *found*, of the running program, under *name*; return what is kept of it.

        Parameters
        ----------
        name : str
            What users will call it.
        found : object
            What :attr:`adopt` takes. To register the same thing again changes nothing.

        Raises
        ------
        InputError
            If the name is taken by another thing.
        """
        home = _home(found)
        taken = self.built_in.get(name) or (name in self._found and _home(self._found[name]))
        if taken and taken != home:
            raise InputError(f"{self.what} '{name}' exists already; choose another name for {home}")
        self._found[name] = self._adopt(name, found)
        return self._found[name]

    def find(self, name: str) -> Thing:
        """Return the thing called *name*, imported now if it was not yet.

        Raises
        ------
        InputError
            If there is none, with the nearest name; if what a package declares is broken, with
            the name of the package.
        """
        expect(name, str, self.what)
        if name in self._found:
            return self._found[name]
        if name not in self.built_in:
            return self._of_package(name)
        module, _, attribute = self.built_in[name].partition(":")
        found = getattr(importlib.import_module(module), attribute)
        # The module may have registered it itself.
        return self._found.setdefault(name, self._adopt(name, found))

    def items(self) -> dict[str, Thing]:
        """Return all things by name, those of other packages that are broken left out.

        Warns
        -----
        PluginWarning
            Of each that is left out, with the name of its package.
        """
        found = {}
        for name in self.names():
            try:
                found[name] = self.find(name)
            except InputError as error:
                warnings.warn(f"{error}; it is left out", PluginWarning, stacklevel=2)
        return found

    def resolve(self, text: str) -> Thing:
        """Return the thing that a user's *text* means: a name, or ``MODULE:NAME``, imported.

        For the user's own words only: what a file says goes through :meth:`refuse_foreign` first.

        Raises
        ------
        InputError
            As :meth:`find` and :func:`load_own`.
        """
        expect(text, str, self.what)
        if text in self or not is_own(text):
            return self.find(text)
        self._own[text] = self._adopt(text, load_own(text, self.what, self._is_one))
        return self._own[text]

    def known(self, name: str) -> Thing | None:
        """Return what :meth:`find` would, or :meth:`resolve` has returned before; else None.

        Nothing is imported because of *name*, which a file may have said.
        """
        return self.find(name) if name in self else self._own.get(name)

    def refuse_foreign(self, name: str, where: str | Path) -> None:
        """Raise :exc:`InputError` if *name*, which the file *where* says, is not registered.

        Nothing is imported because a file names it: whoever wrote the file would say what runs
        here. Registered are the built-in things, those of installed packages, and those that
        the running program has registered itself.
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
        """Return whether *found* is such a thing."""
        try:
            self._adopt("", found)
        except InputError:
            return False
        return True

    def _declared(self) -> dict[str, EntryPoint]:
        """Return what other packages declare, by name."""
        return _entry_points(self.groups, tuple(sys.path))

    def _of_package(self, name: str) -> Thing:
        """Return what an installed package declares as *name*."""
        entry = self._declared().get(name)
        if entry is None:
            raise unknown(self.what, name, self.names())
        package = entry.dist.name if entry.dist else "unknown"
        where = f"{self.what} '{name}' of package '{package}' (entry point {entry.value})"
        try:
            found = entry.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an exit, too, is the module's and not ours
            raise InputError(f"{where} cannot be loaded: {_described(error)}") from error
        try:
            return self._adopt(name, found)
        except InputError as error:
            raise InputError(f"{where} cannot be used: {error}") from error


@cache
def _entry_points(groups: tuple[str, ...], path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Return the entry points of *groups* by name; of several packages' the first found."""
    found = [entry for group in groups for entry in _all_entry_points(path).select(group=group)]
    return {entry.name: entry for entry in reversed(found)}


@cache
def _all_entry_points(path: tuple[str, ...]) -> Any:  # noqa: ARG001
    """Return all entry points of the installed packages, of whatever group.

    To look through the packages takes some 20 ms: done once per *path* of modules. Of what type
    they are depends on the version of Python.
    """
    from importlib.metadata import entry_points

    return entry_points()


# A user's own


def is_own(text: str) -> bool:
    """Return whether *text* is ``MODULE:NAME`` or ``FILE.py``, rather than a registered name.

    >>> is_own("mypolicies:Lifo"), is_own("my/stencil.py"), is_own("eager")
    (True, True, False)
    """
    return ":" in text or text.endswith(".py")


def load_own(text: str, what: str, is_one: Callable[[Any], bool] | None = None) -> Any:
    """Return what the user's *text*, ``MODULE:NAME`` or ``FILE.py:NAME``, means; import it.

    The working folder counts as a place of modules, as for ``python -m``; so does the folder of
    a file.

    Parameters
    ----------
    text : str
        Dotted name of a module, or the path of its file; colon, the name of something in it. One
        name: no dots follow the colon. Of a file, the name may be left out where only one thing
        can be meant.
    what : str
        What it shall be, for messages.
    is_one : callable, optional
        Tells whether something is such a thing.

    Raises
    ------
    InputError
        If the text is not of this form, the module cannot be imported, with the file and line
        where it failed, or it has no such name, with the nearest.

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
        raise unknown("name", name, _public(module), f"{where}, module {module.__name__}")
    return vars(module)[name]


def _of_file(path: Path, where: str) -> Any:
    """Return the module in the file at *path*, imported under the name of the file."""
    if not path.is_file():
        raise InputError(f"{where}: no such file: {path}")
    if not path.stem.isidentifier():
        raise InputError(f"{where}: '{path.stem}' is no name of a module; rename the file")
    module = _imported(path.stem, where, str(path.parent.resolve()))
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != path.resolve():
        raise InputError(
            f"{where}: another module is called '{path.stem}' ({found or 'built in'}); rename the"
            " file"
        )
    return module


def _only_one(module: Any, is_one: Callable[[Any], bool] | None, where: str) -> Any:
    """Return the only thing of its sort that is defined in *module*."""
    own = {
        key: found
        for key, found in vars(module).items()
        if getattr(found, "__module__", None) == module.__name__ and is_one and is_one(found)
    }
    if len(own) != 1:
        known = f"{where} has {', '.join(own)}" if own else f"{where} has none"
        raise InputError(f"{known}; say which: {where.partition(chr(39))[2][:-1]}:NAME")
    return next(iter(own.values()))


def _public(module: Any) -> list[str]:
    return [key for key in vars(module) if not key.startswith("_")]


def _imported(name: str, where: str, folder: str | None = None) -> Any:
    here = folder or str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module that calls sys.exit() does not end tasksim
        raise InputError(f"{where}: cannot import '{name}': {_described(error)}") from error


def where_raised(error: BaseException) -> str:
    """Return ``"FILE:LINE"`` where *error* was raised, or ``""`` where that is not known."""
    import traceback

    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and "/importlib/" not in frame.filename
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _described(error: BaseException) -> str:
    """Return what *error* is and says, and where it was raised unless tasksim looked in vain."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    place = where_raised(error)
    return f"{text} ({place})" if place and not place.startswith(__file__) else text


def _home(found: Any) -> str:
    """Return ``MODULE:NAME`` of a function or class, or of what is kept of one; else its repr."""
    own = getattr(found, "function", found)
    name = getattr(own, "__qualname__", None)
    return repr(found) if name is None else f"{own.__module__}:{name}"
