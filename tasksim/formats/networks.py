"""Networks by text or name, or in files of any format that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.arguments import path_of
from tasksim.network.load import read_network, split_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.network.description import Network

__all__ = ["load_network"]


def load_network(text: str | Path, library: str | Path | None = None) -> Network:
    """Return the network of a text, a name or a file.

    Parameters
    ----------
    text : str or Path
        ``"switch:bandwidth=4GB/s,latency=1us"``, a topology and its fields; a YAML file with a
        section ``network:``; a platform file of SimGrid (``.xml``); the name of a network in a
        library. After the name of a file, fields that are changed: ``"net.xml:model=lv08"``.
    library : str or Path, optional
        A folder whose ``networks/`` is searched first.

    Raises
    ------
    InputError
        No such network, or anything wrong with the file: all of it at once, one line each.

    See Also
    --------
    load_platform : what a node is.

    Examples
    --------
    >>> load_network("torus:dimensions=[4,4],bandwidth=10GB/s,latency=1us").nodes
    16
    """
    folder = None if library is None else path_of(library, "library")
    head, fields = split_text(str(text))
    if head.endswith(".xml"):
        from tasksim.formats.simgrid.network_xml import read_network_xml

        return read_network_xml(path_of(head, "network"), fields)
    return read_network(str(text), folder)
