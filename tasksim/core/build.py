"""Build of the core by ``python -m tasksim.core.build``, which compiles only what has changed.

The recorder of OpenMP programs is built with it, a library by itself. ``--target wasm`` builds the
core as WebAssembly instead, for pages that replay in a browser.

It needs Python and a C++20 compiler, nothing else, and no installation. Objects are kept in
``build/core/`` of the checkout, by compiler and flags; a unit is compiled again if the contents of
its source or of an included header have changed, whatever the times of the files.

Most of the time to compile a small source goes to the headers that its neighbours include, too. So
what is not built after each edit (an installation, WebAssembly, a library with sanitizers) is
compiled by folders: the sources of each, and of those in it, are one unit. That takes a third of
the processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.files import writing
from tasksim.base.lockfile import locked
from tasksim.core.compiler import (
    EXPORT_MAP,
    FAST_FLAGS,
    LIBRARY_FLAGS,
    RECORDER_EXPORT_MAP,
    SANITIZER_FLAGS,
    STATIC_LINK_FLAGS,
    WASM_FAST_FLAGS,
    Compiler,
    NoCompiler,
    NotBuilt,
    find_compiler,
    find_wasm_compiler,
    sanitizing,
)
from tasksim.core.library import (
    BUILT_LIBRARY,
    BUILT_RECORDER,
    FOLDER,
    RECORDER_WHY_NOT,
    WASM_PATH,
    WHY_NOT,
    digest,
    units,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "SANITIZERS",
    "build",
    "build_beside",
    "build_recorder",
    "build_recorder_beside",
    "build_wasm",
    "main",
]

SANITIZERS: Final = ("address", "undefined", "thread")
TARGETS: Final = ("native", "wasm")
"""Targets of a build: this machine, or WebAssembly."""
_NOT_FOR_WASM: Final = ("models", "native", "optimization", "planning")
"""Folders of sources that are not in WebAssembly: models, runs on threads, searches, plans."""
_LINK_ATTEMPTS: Final[list[tuple[str, ...]]] = [(*LIBRARY_FLAGS, *STATIC_LINK_FLAGS), LIBRARY_FLAGS]
"""Flags to link with, tried in turn: some systems have no static library of C++."""
_DESCRIBING_UNIT: Final = "version.cpp"
"""The unit that contains the description of the library's sources and compiler."""


def build(
    target: Path = BUILT_LIBRARY,
    *,
    folder: Path = FOLDER,
    work: Path | None = None,
    compiler: Compiler | None = None,
    sanitize: Sequence[str] = (),
    by_folder: bool = False,
) -> Path:
    """Make the shared library *target* of the sources in *folder*.

    Parameters
    ----------
    target : Path
        Replaced at once when it is made, so that processes that have it loaded go on; by default
        where :func:`tasksim.core.library.library` finds it.
    folder : Path
        Its ``*.cpp``, also in folders below.
    work : Path, optional
        Where objects are kept; by default ``build/core`` in the checkout.
    compiler : Compiler, optional
        By default that of :func:`find_compiler`.
    sanitize : sequence of str
        Checks at run time: of :data:`SANITIZERS`. With any, the library is built by folder.
    by_folder : bool
        Compile the sources of a folder together: faster as a whole, slower after an edit.

    Returns
    -------
    Path
        *target*.

    Raises
    ------
    NotBuilt
        If there is no compiler, or it fails; with what it says.

    See Also
    --------
    tasksim.core.sanitizers : How Python loads a library with sanitizers.
    """
    compiler = compiler or find_compiler()
    flags: Sequence[str] = FAST_FLAGS
    ways = _LINK_ATTEMPTS
    if sanitize:
        checks = sanitizing(compiler, sanitize)
        flags, ways, by_folder = (*SANITIZER_FLAGS, *checks), [checks], True
    if not units(folder):
        raise NotBuilt(f"there are no sources in {folder}")
    work = work or _work_of(folder)
    return _make(target, work, folder, compiler, flags, ways, by_folder=by_folder)


def build_wasm(target: Path = WASM_PATH, *, compiler: Compiler | None = None) -> Path:
    """Make the core as WebAssembly, which replays and does nothing else; return *target*.

    Raises :exc:`NotBuilt` as :func:`build` does; it is
    :exc:`~tasksim.core.compiler.NoCompiler` if a compiler has to be installed.
    """
    work = _work_of(FOLDER).with_name("wasm")
    compiler = compiler or find_wasm_compiler()
    return _make(
        target, work, FOLDER, compiler, WASM_FAST_FLAGS, [()], without=_NOT_FOR_WASM, by_folder=True
    )


def build_recorder(target: Path = BUILT_RECORDER, *, compiler: Compiler | None = None) -> Path:
    """Make the recorder of OpenMP programs, a shared library by itself; return *target*.

    Raises :exc:`NotBuilt` as :func:`build` does.
    """
    work = _work_of(FOLDER).with_name("recorder")
    compiler = compiler or find_compiler()
    return _make(
        target,
        work,
        BUILT_RECORDER.parent,
        compiler,
        FAST_FLAGS,
        _LINK_ATTEMPTS,
        offered=RECORDER_EXPORT_MAP,
    )


def build_recorder_beside() -> str | None:
    """Build the recorder where it is looked for; return why that failed, if it did.

    Without its sources, in a part of a checkout, there is nothing to build.
    """
    if not units(BUILT_RECORDER.parent):
        return None
    return _why_not(lambda: build_recorder(BUILT_RECORDER), BUILT_RECORDER, RECORDER_WHY_NOT)


def build_beside() -> str | None:
    """Build the core where it is looked for; return why that failed, if it did."""
    return _why_not(lambda: build(by_folder=True), BUILT_LIBRARY, WHY_NOT)


def _why_not(make: Callable[[], Path], library: Path, note: Path) -> str | None:
    """Return why *make* did not build *library*; None if it did.

    The reason is noted down for ``tasksim doctor``; a library of before goes.
    """
    try:
        make()
    except NotBuilt as error:
        library.unlink(missing_ok=True)
        note.write_text(f"{error}\n", encoding="utf-8")
        return str(error)
    note.unlink(missing_ok=True)
    return None


def _work_of(folder: Path) -> Path:
    """Return where the objects of the sources in *folder* are kept: outside of the package."""
    return folder.parents[1] / "build" / "core"


def _make(
    target: Path,
    work: Path,
    folder: Path,
    compiler: Compiler,
    flags: Sequence[str],
    ways: list[tuple[str, ...]],
    *,
    offered: str = EXPORT_MAP,
    without: Sequence[str] = ("wasm",),
    by_folder: bool = False,
) -> Path:
    """Make the library *target* of the sources in *folder*; return it.

    Its objects stay in a folder of *work*, by the compiler and its flags. *ways* are flags to link
    with, *offered* the symbols of the library, *without* folders to leave out.
    """
    key = sha256(repr((compiler, compiler.compile("", "", flags))).encode()).hexdigest()[:12]
    place = work / key
    with locked(place):
        started = time.time()
        objects = _compiled(compiler, flags, folder, place, without, by_folder=by_folder)
        # First what the linker would take of the library if others asked for it before.
        objects.sort(key=lambda path: path.parent.name != "wasm")
        linked = _linked(compiler, ways, objects, place / f"linked{target.suffix}", offered)
        with writing(target) as temporary:
            shutil.copyfile(linked, temporary)
            temporary.chmod(0o755)
            # As old as the sources that were read for it.
            os.utime(temporary, (started, started))
    return target


@dataclass(frozen=True)
class _Unit:
    """A source, its object file, and the command that compiles it."""

    source: Path
    target: Path
    command: list[str]
    folder: Path

    def compile(self, compiler: Compiler) -> None:
        """Compile, if anything has changed since it was done last."""
        if self._state() == self._known():
            return
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._memory().unlink(missing_ok=True)
        started = time.time()
        compiler.run(self.command, self.folder)
        if all(path.stat().st_mtime < started for path in self._needs()):
            self._memory().write_text(json.dumps(self._state()), encoding="utf-8")

    def _memory(self) -> Path:
        return self.target.with_suffix(".json")

    def _known(self) -> object:
        """Return the state when it was compiled last."""
        try:
            return json.loads(self._memory().read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _state(self) -> dict[str, str]:
        """Return what the object depends on: the command, and digests of the files."""
        state = {"command": shlex.join(self.command), "object": _digest_of(self.target)}
        return state | {str(path): _digest_of(path) for path in self._needs()}

    def _needs(self) -> list[Path]:
        """Return the source and its headers, as the compiler listed them when it read them."""
        try:
            listed = Path(f"{self.target}.d").read_text(encoding="utf-8")
        except OSError:
            return [self.source]
        words = listed.partition(": ")[2].replace("\\\n", " ").replace("\\ ", "\0").split()
        return [self.folder / word.replace("\0", " ") for word in words]


def _digest_of(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _compiled(
    compiler: Compiler,
    flags: Sequence[str],
    folder: Path,
    place: Path,
    without: Sequence[str],
    *,
    by_folder: bool,
) -> list[Path]:
    """Return the objects of all units, compiled side by side where they have to be.

    A unit is a file of sources or, *by_folder*, all those in a folder of *folder*.
    """
    name_in_c = "".join(
        c for c in compiler.name if c.isascii() and c.isprintable() and c not in '"\\'
    )
    told = (
        f'-DTASKSIM_CORE_SOURCES="{digest(folder)}"',
        f'-DTASKSIM_CORE_COMPILER="{name_in_c}"',
    )
    found = units(folder, without)
    todo = []
    for source in _folders(found, folder, place) if by_folder else found:
        # Relative paths: the same objects wherever the checkout is.
        name = os.path.relpath(source, folder)
        inside = source.relative_to(place if source.is_relative_to(place) else folder)
        target = place / inside.with_suffix(".o")
        extra = (*flags, *told) if inside == Path(_DESCRIBING_UNIT) else flags
        command = compiler.compile(name, str(target), extra)
        todo.append(_Unit(source, target, command, folder))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    with ThreadPoolExecutor(cores) as pool:
        for _ in pool.map(lambda unit: unit.compile(compiler), todo):
            pass
    return [unit.target for unit in todo]


def _folders(sources: list[Path], folder: Path, place: Path) -> list[Path]:
    """Write to *place*, per folder in *folder*, a unit that includes its sources; return the units.

    The unit that describes all sources, which every change concerns, stays by itself. The largest
    comes first: no other has to wait for it at the end.
    """
    members: dict[Path, list[Path]] = {}
    for source in sources:
        if source != folder / _DESCRIBING_UNIT:
            inside = Path(*source.parent.relative_to(folder).parts[:1])
            members.setdefault(inside, []).append(source)
    sizes = {}
    for inside, included in members.items():
        text = "".join(f'#include "{path.relative_to(folder)}"\n' for path in included)
        unit = place / inside / "all.cpp"
        unit.parent.mkdir(parents=True, exist_ok=True)
        unit.write_text(text, encoding="utf-8")
        sizes[unit] = sum(path.stat().st_size for path in included)
    alone = [path for path in sources if path == folder / _DESCRIBING_UNIT]
    return [*sorted(sizes, key=lambda unit: -sizes[unit]), *alone]


def _linked(
    compiler: Compiler,
    ways: list[tuple[str, ...]],
    objects: list[Path],
    target: Path,
    offered: str,
) -> Path:
    """Return the library *target*, linked in its folder, with the *offered* symbols."""
    place = target.parent
    # Relative paths: the same library wherever it is built.
    names = [str(path.relative_to(place)) for path in objects]
    (place / "offered.map").write_text(offered, encoding="utf-8")
    for way in ways:
        try:
            compiler.run(compiler.link(names, target.name, way), place)
        except NotBuilt:
            if way is ways[-1]:
                raise
        else:
            break
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    """Build as the command line says; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    sanitize = [name for name in options.sanitize.split(",") if name]
    if unknown := set(sanitize).difference(SANITIZERS):
        parser.error(f"--sanitize: got {', '.join(unknown)}; legal: {', '.join(SANITIZERS)}")
    if options.target == "wasm":
        if sanitize:
            parser.error("--target wasm takes no --sanitize")
        ignored = NoCompiler if options.optional else ()
        return _built(
            lambda: build_wasm(options.output or WASM_PATH), "core as WebAssembly", ignored
        )
    output = options.output or BUILT_LIBRARY
    if sanitize and output == BUILT_LIBRARY:
        parser.error("--sanitize needs --output: Python alone cannot load such a library")
    if options.optional:
        why = build_beside()
        if why is not None:
            _say(f"Note: the compiled core is not built: {why}\ntasksim works without, but slower.")
        _say_of_recorder(build_recorder_beside())
        return 0
    failed = _built(lambda: build(output, sanitize=sanitize), "compiled core")
    if not failed:
        WHY_NOT.unlink(missing_ok=True)
        if output == BUILT_LIBRARY:
            _say_of_recorder(build_recorder_beside())
    return failed


def _built(make: Callable[[], Path], what: str, ignored: type[NotBuilt] | tuple[()] = ()) -> int:
    """Print where *make* has put *what*, or why it has not; return the exit code.

    It is 0 for errors that are *ignored*.
    """
    try:
        print(make())  # noqa: T201
    except ignored as error:
        _say(f"Note: the {what} is not built: {error}")
    except NotBuilt as error:
        _say(f"Error: the {what} is not built: {error}")
        return error.exit_code
    return 0


def _say_of_recorder(why: str | None) -> None:
    if why is not None:
        _say(f"Note: OpenMP programs cannot be recorded: the recorder is not built: {why}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tasksim.core.build",
        description="Build the core, and the recorder of OpenMP programs.",
    )
    parser.add_argument(
        "--target",
        choices=TARGETS,
        default="native",
        help="this machine, or WebAssembly, for pages that replay in a browser",
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="the library; by default where tasksim looks for it"
    )
    parser.add_argument(
        "--sanitize",
        default="",
        metavar="NAMES",
        help=f"checks at run time, with commas: {', '.join(SANITIZERS)}; needs --output",
    )
    parser.add_argument(
        "--optional",
        action="store_true",
        help="where tasksim looks for it; failing is no error, of WebAssembly's a missing compiler",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
