"""Inputs of readers: files, and texts of the command line, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LARGEST", "Input", "in_folder", "put"]

Input: TypeAlias = dict[str, bytes]
"""Input of a reader: the content of files by their paths in a folder."""

LARGEST = 200_000
"""The bytes of an input, at most: what takes time or memory beyond its size is what is sought."""


def put(given: Input, folder: Path) -> None:
    """Write the files of an input to an empty *folder*."""
    for name, content in given.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def in_folder(folder: Path) -> Input:
    """Return the input whose files are in a *folder*."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
