"""Platforms and networks by name, in files of any format that has them, and of recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import path_of
from tasksim.base.errors import InputError, option
from tasksim.base.files import exists, is_file
from tasksim.platform.costs import Overheads
from tasksim.platform.description import Platform
from tasksim.platform.parts import Memory, Worker
from tasksim.run.foldernames import PLATFORM_FILE, RUN_JSON, is_run_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.network.description import Network
    from tasksim.run.record import Run

__all__ = ["load_network", "load_platform", "platform_of", "platform_of_workers"]


def load_platform(
    name_or_path: str | Path, library: str | Path | None = None, settings: Sequence[str] = ()
) -> Platform:
    """Return the platform of a name or of a file.

    Parameters
    ----------
    name_or_path : str or Path
        The name of a platform in one of the libraries, the path of a file, or that of a recorded
        run, whose platform counts.
    library : str or Path, optional
        A folder whose ``platforms/`` is searched first.
    settings : sequence of str, default ()
        Changes to a file of tasksim's own: ``"platform.workers.cpu.count=24"``;
        ``"platform.arch.cpu.speed=x1.5"`` multiplies the value; ``"platform.links.*.bandwidth=x2"``
        changes several.

    Raises
    ------
    InputError
        If there is no such platform, or the file or the settings are wrong: all problems at once, a
        line each.

    See Also
    --------
    Platform.identical : Identical workers, without a file.
    import_machine : A platform from measurements of StarPU.

    Examples
    --------
    >>> load_platform("identical-8").architectures
    ('cpu',)
    """
    path = path_of(name_or_path, "platform")
    folder = None if library is None else path_of(library, "library")
    if is_run_folder(path):
        from tasksim.run.runfolder import load as load_run

        return platform_of(load_run(path), path, folder, settings)
    if is_file(path):
        from tasksim.formats.registry import format_of, formats_that

        found = format_of(path, "reads_platform")
        reader = None if found is None else found.reads_platform
        if found is not None and reader is not None and found.suffixes != (".yaml", ".yml"):
            if settings:
                raise InputError(f"{path}: settings change only platform files (.yaml)")
            return reader(path)
        if found is None and path.suffix:
            legal = ", ".join(formats_that("reads_platform"))
            raise InputError(f"{path}: not in a format of platforms; legal: {legal}")
    elif path.suffix:
        from tasksim.formats.registry import refuse_missing

        refuse_missing(str(path))
    from tasksim.platform.load import load  # runs on this machine need no reader of YAML

    return load(name_or_path, folder, settings)


def platform_of(
    run: Run,
    where: Path,
    library: Path | None = None,
    settings: Sequence[str] = (),
    *,
    alone: bool = False,
) -> Platform:
    """Return the platform of a *run* read from *where*, with its own changes and *settings*.

    Parameters
    ----------
    run : Run
    where : Path
        A folder with a platform file in it, or any other place, for messages.
    library : Path, optional
        A folder whose ``platforms/`` is searched first for the name of the platform.
    settings : sequence of str, default ()
        Changes as for ``--set``; only platform files can be changed.
    alone : bool, default False
        Whether overheads leave out times in which other programs had the cores.

    Returns
    -------
    Platform
        The platform in the file beside the run, or the one that the run names; else its workers,
        with overheads derived from its times (:mod:`tasksim.run.account`).

    Raises
    ------
    InputError
        If the platform was made in Python, or had several memories and is no file.
    """
    from tasksim.platform.load import load

    beside = (where.parent if where.name == RUN_JSON else where) / PLATFORM_FILE
    if is_file(beside):
        return load(beside, library, settings)
    said: Any = run.config.get("platform")
    said = said if isinstance(said, dict) else {}
    # The path, if the file still exists, else the name.
    path, name = said.get("path"), said.get("name")
    if isinstance(path, str) and (not isinstance(name, str) or exists(Path(path))):
        name = path
    if isinstance(name, str):
        changes = [text for text in said.get("set") or () if isinstance(text, str)]
        own = [text for text in changes if not text.startswith(("engine.", "network."))]
        return load(name, library, [*own, *settings])
    if "object" in said or len(run.memories) > 1:
        what = "was made in Python" if "object" in said else "has several memories, and no file"
        raise InputError(
            f"{where}: the platform of this run, {run.platform}, {what}; "
            f"give {option('platform', 'NAME')}"
        )
    if settings:
        raise InputError(
            f"{option('set')} changes a platform file; {where} ran on {run.platform}, which has"
            " none"
        )
    from tasksim.formats.graphs import graph_if_any

    return platform_of_workers(run, graph_if_any(run, where), alone=alone)


def platform_of_workers(run: Run, graph: TaskGraph | None, *, alone: bool = False) -> Platform:
    """Return a platform of the workers of *run*, all on one memory.

    Its overheads are those of the native run, if the *graph* still exists; with *alone*, without
    the time that other programs took.
    """
    workers = tuple(
        Worker(number, it.name, it.architecture, 0, 0) for number, it in enumerate(run.workers)
    )
    costs = Overheads()
    if graph is not None and run.kind == "native":
        from tasksim.run.account import runtime_costs

        costs = runtime_costs(run, graph, alone=alone)
    return Platform(run.platform or "recorded", workers, (Memory(0, "ram"),), overheads=costs)


def load_network(text: str | Path, library: str | Path | None = None) -> Network:
    """Return the network that a text, a name or a file describes.

    Parameters
    ----------
    text : str or Path
        ``"switch:bandwidth=4GB/s,latency=1us"``, a topology and its fields; a YAML file with a
        section ``network:``; a platform file of SimGrid (``.xml``); the name of a network in a
        library. Fields after the name of a file change it: ``"net.xml:model=lv08"``.
    library : str or Path, optional
        A folder whose ``networks/`` is searched first.

    Raises
    ------
    InputError
        If there is no such network, or the file is wrong: all problems at once, a line each.

    See Also
    --------
    load_platform : The platform of a node.

    Examples
    --------
    >>> load_network("torus:dimensions=[4,4],bandwidth=10GB/s,latency=1us").nodes
    16
    """
    from tasksim.network.load import read_network, split_text

    folder = None if library is None else path_of(library, "library")
    head, fields = split_text(str(text))
    if head.endswith(".xml"):
        from tasksim.formats.simgrid import read_network_xml

        return read_network_xml(path_of(head, "network"), fields)
    return read_network(str(text), folder)
