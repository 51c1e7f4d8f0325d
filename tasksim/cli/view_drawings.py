"""The ``tasksim view machine`` and ``view octree`` commands, which draw no runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.cli.output import (
    note_written,
    open_page,
    print_result,
    refuse_figure,
    refuse_html,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["asks_for", "view_machine", "view_octree"]


def asks_for(word: str, words: Sequence[Path]) -> bool:
    """Return whether the first of the *words* after ``view`` is *word*, ``machine`` or ``octree``.

    A recorded run in a folder of that name is still a run, alone or beside others.
    """
    from tasksim.run.foldernames import is_run_folder

    return str(words[0]) == word and not is_run_folder(words[0])


def view_machine(
    words: Sequence[Path],
    output: Path | None,
    html: Path | None,
    library: Path | None,
    *,
    in_browser: bool,
    given: Mapping[str, object],
    force: bool,
    as_json: bool,
) -> None:
    """Draw the machine that *words* name after the word ``machine``.

    *given* are options for runs, which are refused here.
    """
    if len(words) != 2:
        got = f"got {len(words) - 1} machines"
        raise InputError(f"view machine: {got}; legal: one platform or file of hwloc (.xml)")
    for option, value in given.items():
        if value:
            raise InputError(f"{option} is for runs; 'view machine' takes -o, --html and --library")
    target, page = _targets(words[1], output, html)
    refuse_figure(target, force=force)
    refuse_html(page, 1, force=force)
    from tasksim.view.machine import drawn, read_machine, write_machine_page

    machine = read_machine(words[1], library)
    if target is not None:
        from tasksim.view.figure import save_figure

        save_figure(drawn(machine), target, force=force)
    if page is not None:
        write_machine_page(machine, page, force=force)
    parts = {plural: count for (_, plural), count in machine.facts}
    texts = [f"{count} {nouns[count != 1]}" for nouns, count in machine.facts]
    print_result(
        {"machine": machine.name, "summary": machine.summary, "parts": parts,
         "figure": target, "html": page},
        f"machine   {machine.summary}\nparts     {', '.join(texts)}", as_json=as_json,
    )  # fmt: skip
    note_written(target, page)
    if in_browser and page is not None:
        open_page(page)


def _targets(
    machine: Path, output: Path | None, html: Path | None
) -> tuple[Path | None, Path | None]:
    """Return where the figure and the page go; by default a figure in the current folder."""
    if output is not None and output.suffix.lower() in (".html", ".htm"):
        if html is not None:
            raise InputError(f"-o and --html are both pages, {output} and {html}; give one")
        return None, output
    if output is None and html is None:
        stem = machine.stem if machine.suffix in (".xml", ".yaml", ".yml") else machine.name
        return Path(f"{stem}.png"), None
    return output, html


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
    cell, lists = facts["cell"], facts["interactions"]
    lines = (
        f"particles     {facts['particles']:,} in {facts['dimension']}-D",
        f"cells         {_by_level(facts['cells'])} on levels 0 to {octree.last}",
        f"groups        {_by_level(facts['groups'])} of {facts['group_size']} cells",
        f"interactions  {lists['total']:,} of the leaves, {lists['least']} to "
        f"{lists['most']} per leaf (at most {lists['bound']})",
        f"cell {cell['index']:<9}{cell['interactions']} interactions, {cell['in_its_group']} "
        f"in its group {cell['group']}; that group has {cell['of_its_group_inside']} inside "
        f"(M2L_in) and {cell['of_its_group_outside']} with others (M2L_out)",
    )
    print_result({**facts, "figure": target}, lines, as_json=as_json)
    note_written(target)


def _by_level(counts: Sequence[int]) -> str:
    return ", ".join(f"{count:,}" for count in counts)
