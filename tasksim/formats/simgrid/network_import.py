"""Import of a network of SimGrid's into a library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from tasksim.base.files import write_text
from tasksim.formats.simgrid.network_xml import MODEL, network_fields
from tasksim.network.load import read_network

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.network.description import Network

__all__ = ["import_network"]


def import_network(
    path: Path, library: Path, name: str | None = None, *, force: bool = False
) -> tuple[Path, Network]:
    """Write the network in SimGrid's file at *path* to ``networks/`` of a *library*.

    Parameters
    ----------
    path : Path
        A platform file of SimGrid, XML.
    library : Path
        A folder.
    name : str, optional
        Default: that of the file.
    force : bool, default False
        Whether a network of that name is replaced.

    Returns
    -------
    Path, Network
        The file written, and what it describes.

    Raises
    ------
    InputError
        All that is wrong with the file, by line and column; nothing is written.
    """
    fields = {"name": name or path.stem, **network_fields(path), "model": MODEL}
    head = f"# Imported by tasksim from {path.name}.\n"
    data = {"version": 1, "network": fields}
    text = head + yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)
    target = library / "networks" / f"{name or path.stem}.yaml"
    write_text(target, text, force=force)
    return target, read_network(target)
