"""The ``tasksim study tree`` command, which fits a decision tree to the results of a study.

The tree is written as C, Python, text or a picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import PATH, force_option, json_option
from tasksim.cli.output import print_json, warn
from tasksim.cli.progress import stages
from tasksim.cli.tree_output import (
    growth_options,
    refuse_tree_file,
    tree_outputs_option,
    write_tree,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["tree"]


@command(
    "tree",
    examples=[
        "tasksim study tree study --choose tile_size -o choose.h",
        "tasksim study tree study --choose scheduler -o choose.json -o choose.png",
    ],
)
@click.argument("folder", type=PATH, metavar="STUDY")
@click.option(
    "--choose",
    required=True,
    metavar="AXIS",
    help="Axis whose value the tree chooses: a column of the study's table, or the last part of"
    " its name.",
)
@growth_options
@tree_outputs_option("Output file")
@force_option
@json_option
def tree(
    folder: Path,
    choose: str,
    outputs: tuple[Path, ...],
    force: bool,
    as_json: bool,
    **growth: Any,
) -> None:
    """Fit a decision tree to a study: the best choice along one axis, given the others.

    STUDY is a folder of 'tasksim study run'. The choices of the tree lose as little performance as
    possible. As a C header or a Python function, a program can include it.
    """
    for output in outputs:
        refuse_tree_file(output, force=force)
    from tasksim.study.sweep.store import read_table
    from tasksim.tuning.methods import TreeChoice, best_constant
    from tasksim.tuning.study_table import chosen_column, performance_of_study
    from tasksim.tuning.tree import StoppingCriteria, grow
    from tasksim.tuning.tree_file import ChoosingTree

    limits = StoppingCriteria(**growth)
    with stages("tree", [1, 1]) as begin:
        begin("reading the study")
        cells = read_table(folder)
        column = chosen_column(cells, choose)
        table, left_out = performance_of_study(cells, column)
        begin(f"growing over {len(table)} examples")
        made = grow(table, limits)
    found = ChoosingTree(column, made, float(TreeChoice(made).shares(table).mean()), len(table))
    if left_out:
        warn(f"{left_out} examples do not have all choices of {found.choose}, and are left out")
    if as_json:
        best = best_constant(table)  # for comparison
        print_json(
            {
                **found.to_json(),
                "nodes": len(found.tree),
                "depth": found.tree.depth,
                "left_out": left_out,
                "constant": {
                    "choice": table.choices[best.choice],
                    "msop": float(best.shares(table).mean()),
                },
                "output": outputs,
            }
        )
    else:
        from tasksim.tuning.tree_code import readable_text

        click.echo(readable_text(found), nl=False)
    for output in outputs:
        write_tree(found, output, force=force)
