"""Report of an installation and its machine, as text to paste into an issue.

Nothing in it tells who the user is: names of the user and of the machine, and paths below the home
folder, are replaced.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["anonymous", "issue_report"]

COMPILERS: Final = ("c++", "g++", "clang++", "gcc")
COMPILER_TIMEOUT_S: Final = 5.0
VARIABLES: Final = re.compile(
    r"(TASKSIM|OMP|KMP|GOMP|OPENBLAS|MKL|BLIS|NUMBA|STARPU|SLURM)_\w+"
    r"|CXX|CC|PYTHON\w+|LD_PRELOAD|LD_LIBRARY_PATH|XDG_DATA_HOME|VIRTUAL_ENV|CONDA_PREFIX|CI"
)
"""Variables of the environment that change what tasksim does, finds or measures."""
SHORT_NAME_CHARACTERS: Final = 3
"""Longest name of a user that is not replaced: 'ci' or 'pi' is in many other words."""


def issue_report(found: Mapping[str, Any], known: Sequence[tuple[str, str]]) -> str:
    """Return the report of what ``tasksim doctor`` *found*, with the rows that it prints itself."""
    rows = [(name, anonymous(text)) for name, text in _rows(found, known)]
    width = max(len(name) for name, _ in rows)
    lines = (f"{name:{width}}  {text}".rstrip() for name, text in rows)
    return "\n".join(["```text", *lines, "```"])


def anonymous(text: str) -> str:
    """Return *text* without the home folder, and the names of the user and of the machine."""
    home = str(Path.home())
    if home != os.sep:
        text = re.sub(rf"{re.escape(home)}(?=/|$|[\s,:;)'\"])", "~", text)
    text = re.sub(r"/(home|Users)/[^/\s,:;]+", "~", text)
    users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
    names = {user: "USER" for user in users if user != "root"}
    names[platform.node()] = "HOST"
    for name, word in names.items():
        if len(name) > SHORT_NAME_CHARACTERS:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", word, text)
    return text


def _rows(found: Mapping[str, Any], known: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    yield "tasksim", f"{found['tasksim']}, {_installed()}"
    implementation = platform.python_implementation()
    lock = "on" if found["gil"] else "off"
    yield "python", f"{implementation} {platform.python_version()}, GIL {lock}, {_environment()}"
    libc = " ".join(platform.libc_ver()).strip() or "unknown C library"
    yield "system", f"{platform.system()} {platform.release()}, {platform.machine()}, {libc}"
    packages = {**found["packages"], **found.get("optional_packages", {})}
    yield "packages", ", ".join(f"{name} {text or 'MISSING'}" for name, text in packages.items())
    for name in COMPILERS:
        yield name, _compiler(name)
    if "processor" in found:
        yield "processor", found["processor"]
    yield "caches", _caches()
    yield from (row for row in known if row[0] != "machine")
    yield "libraries", ", ".join(found["libraries"])
    variables = {name: os.environ[name] for name in sorted(os.environ) if VARIABLES.fullmatch(name)}
    yield "variables", ", ".join(f"{name}={value}" for name, value in variables.items()) or "none"


def _caches() -> str:
    """Return the data caches of the first core, and the size of the main memory."""
    from tasksim.base.units import format_size
    from tasksim.calibration.machine import memory_bytes
    from tasksim.native.caches import data_caches

    caches = (f"L{cache.level} {format_size(cache.size_bytes)}" for cache in data_caches())
    memory = memory_bytes()
    return ", ".join([*caches, f"memory {format_size(memory) if memory else 'of unknown size'}"])


def _installed() -> str:
    """Return the tool that installed tasksim, and the folder or file that it was installed from."""
    try:
        metadata = distribution("tasksim")
    except PackageNotFoundError:
        return "not installed: imported from a folder"
    tool = (metadata.read_text("INSTALLER") or "an unknown tool").strip()
    try:
        direct = json.loads(metadata.read_text("direct_url.json") or "{}")
    except ValueError:
        direct = {}
    if direct.get("dir_info", {}).get("editable"):
        return f"installed by {tool}, editable"
    if "dir_info" in direct:
        return f"installed by {tool} from a folder"
    return f"installed by {tool} from {'a file' if direct else 'an index'}"


def _environment() -> str:
    if os.environ.get("CONDA_PREFIX"):
        return "conda environment"
    return "virtual environment" if sys.prefix != sys.base_prefix else "no virtual environment"


def _compiler(name: str) -> str:
    """Return the first line that a compiler prints of its version, or that there is none."""
    path = shutil.which(name)
    if path is None:
        return "not found"
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=COMPILER_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {type(error).__name__}"
    lines = done.stdout.splitlines()
    return lines[0] if lines else f"exits with {done.returncode}"
