"""Platforms and networks by name, or in files of any format that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.arguments import path_of
from tasksim.base.errors import InputError
from tasksim.base.files import exists, is_file
from tasksim.platform.load import load
from tasksim.run.foldernames import is_run_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.network.description import Network
    from tasksim.platform.description import Platform

__all__ = ["load_network", "load_platform"]


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
        from tasksim.formats.recorded import platform_of
        from tasksim.run.runfolder import load as load_run

        return platform_of(load_run(path), path, folder, settings)
    if path.suffix and not exists(path):
        from tasksim.formats.registry import refuse_missing

        refuse_missing(str(path))
    if not is_file(path):
        return load(name_or_path, folder, settings)
    from tasksim.formats.registry import format_of

    found = format_of(path, "reads_platform")
    if found is None or found.reads_platform is None or found.suffixes == (".yaml", ".yml"):
        return load(name_or_path, folder, settings)
    if settings:
        raise InputError(f"{path}: settings change only platform files (.yaml)")
    return found.reads_platform(path)


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
