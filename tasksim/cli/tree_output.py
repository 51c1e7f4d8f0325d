"""Options of commands that grow decision trees, and the trees' files: code, text, pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.cli.options import PATH, Decorator, WholeNumber
from tasksim.cli.output import note_written, refuse_figure, refuse_unwritable

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.tuning.tree_file import ChoosingTree

__all__ = ["growth_options", "refuse_tree_file", "tree_outputs_option", "write_tree"]

TEXT_SUFFIXES: Final = (".h", ".py", ".txt", ".json")
PICTURE_SUFFIXES: Final = (".png", ".pdf", ".svg")


def refuse_tree_file(path: Path, *, force: bool) -> None:
    """Raise if no tree can be written to *path*."""
    suffix = path.suffix.lower()
    if suffix in PICTURE_SUFFIXES:
        refuse_figure(path, force=force)
        return
    if suffix not in TEXT_SUFFIXES:
        legal = ", ".join([*TEXT_SUFFIXES, *PICTURE_SUFFIXES])
        raise InputError(f"{path}: trees are written to files that end in {legal}")
    refuse_existing(path, force=force)
    refuse_unwritable(path)


def write_tree(found: ChoosingTree, path: Path, *, force: bool) -> None:
    """Write a tree in the format of the suffix of *path*."""
    from tasksim.tuning.tree_code import c_header, python_function, readable_text

    suffix = path.suffix.lower()
    if suffix in PICTURE_SUFFIXES:
        from tasksim.tuning.tree_picture import picture
        from tasksim.view.figure import save_figure

        save_figure(picture(found), path, force=force)
    else:
        made = {".h": c_header, ".py": python_function, ".txt": readable_text}
        text = found.text() if suffix == ".json" else made[suffix](found)
        write_text(path, text, force=force)
    note_written(path)


def tree_outputs_option(what: str) -> Decorator:
    """Return the option ``--output`` for the files of a tree; *what* begins its help."""
    return click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        type=PATH,
        help=f"{what}: .h (a C header), .py (a function), .txt, .json (for --auto), or a"
        " picture, .png, .pdf or .svg; may be repeated.",
    )


def growth_options(function: Any) -> Any:
    """Add the options that stop the growth of a tree."""
    for option in (
        click.option(
            "--min-samples",
            type=WholeNumber(1),
            default=1,
            help="Number of examples up to which a node of the tree is not split.",
        ),
        click.option(
            "--depth",
            type=WholeNumber(0),
            default=10,
            help="Largest depth of the tree, in splits on a path.",
        ),
        click.option(
            "--threshold",
            type=float,
            default=0.99,
            help="Mean share of the optimal performance (MSOP) from which a node of the tree is not"
            " split.",
        ),
    ):
        function = option(function)
    return function
