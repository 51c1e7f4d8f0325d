"""The ``tasksim view octree`` command, which draws the octree under a fast multipole method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError
from tasksim.cli.output import note, print_json, refuse_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["OCTREE", "is_octree", "view_octree"]

OCTREE = "octree"
"""Word in place of runs that asks for the drawing of an octree."""


def is_octree(words: Sequence[Path]) -> bool:
    """Return whether the arguments of ``view`` ask for an octree; a run may have that name."""
    from tasksim.run.foldernames import is_run_folder

    return str(words[0]) == OCTREE and not is_run_folder(words[0])


def view_octree(
    words: Sequence[Path],
    output: Path | None,
    panels: str | None,
    *,
    given: Mapping[str, object],
    force: bool,
    as_json: bool,
) -> None:
    """Draw the octree of the settings in *words*, and print its numbers.

    *given* are options for runs or machines, which are refused here.
    """
    for option, value in given.items():
        if value:
            raise InputError(f"{option} is not for octrees; 'view octree' takes -o and --panels")
    target = output or Path("octree.png")
    refuse_figure(target, force=force)
    from tasksim.view.figure import save_figure
    from tasksim.view.octree import drawn, octree_settings, read_octree

    names = ["tree", "groups"] if panels is None else [n.strip() for n in panels.split(",")]
    octree = read_octree(**octree_settings([str(word) for word in words[1:]]))
    save_figure(drawn(octree, names), target, force=force)
    facts = octree.facts()
    if as_json:
        print_json({**facts, "figure": target})
    else:
        cell, lists = facts["cell"], facts["interactions"]
        click.echo(f"particles     {facts['particles']:,} in {facts['dimension']}-D")
        click.echo(f"cells         {_by_level(facts['cells'])} on levels 0 to {octree.last}")
        click.echo(f"groups        {_by_level(facts['groups'])} of {facts['group_size']} cells")
        click.echo(
            f"interactions  {lists['total']:,} of the leaves, {lists['least']} to "
            f"{lists['most']} per leaf (at most {lists['bound']})"
        )
        click.echo(
            f"cell {cell['index']:<9}{cell['interactions']} interactions, {cell['in_its_group']} "
            f"in its group {cell['group']}; that group has {cell['of_its_group_inside']} inside "
            f"(M2L_in) and {cell['of_its_group_outside']} with others (M2L_out)"
        )
    note(f"Wrote {target}")


def _by_level(counts: Sequence[int]) -> str:
    return ", ".join(f"{count:,}" for count in counts)
