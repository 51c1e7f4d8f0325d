"""The ``tasksim tune table`` command, which judges selection methods on a given table.

The table was measured elsewhere.
"""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import InputError
from tasksim.base.units import format_time
from tasksim.cli.command import command
from tasksim.cli.options import PATH, WholeNumber, force_option, json_option, seed_option
from tasksim.cli.output import print_result
from tasksim.cli.progress import counting
from tasksim.cli.tree_output import (
    growth_options,
    refuse_tree_file,
    tree_outputs_option,
    write_tree,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.tuning.judging import Score
    from tasksim.tuning.methods import Method
    from tasksim.tuning.table import PerformanceTable

__all__ = ["table"]

PRETO, POSTO = ("tree", "logistic", "neural"), ("tree", "linear", "neural")
"""Names from :mod:`tasksim.tuning.learners`, repeated here so that help does not import it."""


class Part(click.ParamType):  # type: ignore[type-arg]  # click 8.2 has no generic one
    """A part of a whole, such as ``1/3``, ``33%`` or ``0.33``."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the part as a fraction between 0 and 1."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            part = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
        except (ValueError, ZeroDivisionError):
            part = Fraction(0)
        if not 0 < part < 1:
            self.fail(f"{value!r} is not a part of a whole: write e.g. '1/3' or '25%'", param, ctx)
        return float(part)


@command(
    "table",
    examples=[
        "tasksim tune table blaze.csv --features Nthr,Ms,Mflop,Nite"
        " --choices 1,2,3,4,5,6,7,8,9,10 --limit Nite",
        "tasksim tune table times.csv --features n,workers --choices 128,256,512 --better lower",
        "tasksim tune table blaze.csv --features Nthr,Ms --choices 1,2,4 --leave-one-out benchmark",
        "tasksim tune table blaze.csv --features operation,Nthr,Ms --choices 1,2,4 -o chunk.h"
        " --choose chunk_size --timed",
    ],
)
@click.argument("file", type=PATH, metavar="TABLE")
@click.option(
    "--features",
    required=True,
    metavar="COLUMN,...",
    help="Columns with the features of an example, known before the choice: numbers or texts.",
)
@click.option(
    "--choices",
    required=True,
    metavar="COLUMN,...",
    help="Columns of the choices, each with the performance or the time of that choice.",
)
@click.option(
    "--limit",
    metavar="COLUMN",
    help="Column with the largest choice that an example allows: cells of larger ones may be"
    " empty, and a method that chooses one gets the largest allowed.",
)
@click.option(
    "--better",
    type=click.Choice(["higher", "lower"]),
    default="higher",
    help="Direction of the values: higher (performance) or lower (time) is better.",
)
@click.option("--splits", type=WholeNumber(1), default=100, help="Number of shuffled splits.")
@click.option(
    "--test", type=Part(), default="1/3", help="Share of the rows that judge in each split."
)
@click.option(
    "--leave-one-out",
    metavar="COLUMN",
    help="Column with the names of applications: methods are judged on each application after"
    " training on the others, instead of on shuffled splits.",
)
@growth_options
@click.option(
    "--preto",
    type=click.Choice(PRETO),
    help="Classifier of PreTO, which learns the best choice. [default: tree]",
)
@click.option(
    "--posto",
    type=click.Choice(POSTO),
    help="Regression of PosTO, which learns the performance of every choice. [default: tree]",
)
@click.option(
    "--threads",
    default="Nthr",
    metavar="COLUMN",
    help="Column with the number of threads, for the method equal-share.",
)
@click.option(
    "--iterations",
    default="Nite",
    metavar="COLUMN",
    help="Column with the iterations of the loop, for the method equal-share.",
)
@click.option(
    "--timed", is_flag=True, help="Measure how long each method takes to choose for one example."
)
@tree_outputs_option("File for a tree trained on all rows")
@click.option(
    "--tree-of",
    type=click.Choice(["tree", "preto", "posto"]),
    default="tree",
    help="Method whose tree is written; posto writes the best choices by its regression tree.",
)
@click.option(
    "--choose",
    default="choice",
    metavar="NAME",
    help="Name of the choice in the written tree, such as chunk_size.",
)
@force_option
@seed_option
@json_option
def table(
    file: Path,
    features: str,
    choices: str,
    limit: str | None,
    better: str,
    splits: int,
    test: float,
    leave_one_out: str | None,
    timed: bool,
    outputs: tuple[Path, ...],
    tree_of: str,
    choose: str,
    force: bool,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Judge selection methods by their losses, on measurements made elsewhere.

    TABLE has a row per example, with its features and the result of every choice. Each method
    learns from some rows and chooses for the others. MSOP, the mean share of the optimal
    performance, is the performance of the chosen values as a share of the best in the row.
    """
    from tasksim.tuning import judging, learners
    from tasksim.tuning.methods import TreeChoice
    from tasksim.tuning.table_file import read_performance
    from tasksim.tuning.tree import StoppingCriteria, grow
    from tasksim.tuning.tree_file import ChoosingTree

    for output in outputs:
        refuse_tree_file(output, force=force)
    found = read_performance(
        file, _names(features), _names(choices), limit=limit, higher=better == "higher"
    )
    if leave_one_out is None:
        plan = judging.shuffled(len(found), splits, test, seed)
    else:
        plan = judging.leave_one_out(found, leave_one_out)
    methods, left_out = _methods(found, seed, **options)
    with counting("splits") as progress:
        scores = judging.judge(found, methods, plan, seed=seed, progress=progress)
    times_s = judging.prediction_times_s(found, methods, plan) if timed else {}
    result = {
        "table": file,
        "examples": len(found),
        "features": found.features,
        "choices": found.choices,
        "better": better,
        "splits": len(plan.tests),
        "test": test if leave_one_out is None else None,
        "leave_one_out": leave_one_out,
        "seed": seed,
        "methods": {
            name: {**asdict(score), **({"prediction_s": times_s[name]} if timed else {})}
            for name, score in scores.items()
        },
        "left_out": left_out,
        "output": outputs,
    }
    print_result(result, _text(result, scores, times_s), as_json=as_json)
    if outputs:  # the tree of a method, trained on all rows
        if tree_of == "tree":
            limits = {name: options[name] for name in ("threshold", "depth", "min_samples")}
            made = grow(found, StoppingCriteria(**limits))
        else:
            made = (learners.preto_tree if tree_of == "preto" else learners.posto_tree)(found, seed)
        msop = float(TreeChoice(made).shares(found).mean())
        for output in outputs:
            write_tree(ChoosingTree(choose, made, msop, len(found)), output, force=force)


def _names(text: str) -> list[str]:
    """Return the names in a list with commas."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"got '{text}'; legal: names of columns with commas between them")
    return names


def _methods(
    found: PerformanceTable,
    seed: int,
    *,
    threshold: float,
    depth: int,
    min_samples: int,
    preto: str | None,
    posto: str | None,
    threads: str,
    iterations: str,
) -> tuple[dict[str, Method], dict[str, str]]:
    """Return the methods by name, and the reason why others are left out."""
    from tasksim.base.extras import missing
    from tasksim.tuning import learners
    from tasksim.tuning.methods import EqualShare, RandomChoice, best_constant, tree_method
    from tasksim.tuning.tree import StoppingCriteria

    methods: dict[str, Method] = {
        "tree": tree_method(StoppingCriteria(threshold, depth, min_samples))
    }
    left_out = {}
    if learners.available() or preto or posto:
        methods["preto"] = learners.preto(preto or "tree", seed)
        methods["posto"] = learners.posto(posto or "tree", seed)
    else:
        left_out = dict.fromkeys(("preto", "posto"), str(missing("sklearn", "learning")))
    equal = EqualShare(threads, iterations)
    if (reason := equal.left_out(found)) is None:
        methods["equal-share"] = lambda _: equal
    else:
        left_out["equal-share"] = reason
    methods["constant"] = best_constant
    methods["random"] = lambda _: RandomChoice()
    return methods, left_out


def _text(
    result: dict[str, Any], scores: dict[str, Score], times_s: dict[str, float]
) -> Iterator[str]:
    column = result["leave_one_out"]
    how = (
        f"{result['splits']} shuffled splits, {result['test']:.3g} of the rows judge"
        if column is None
        else f"leave one {column} out, {result['splits']} of them"
    )
    yield f"examples  {result['examples']}, {len(result['choices'])} choices"
    yield f"splits    {how}"
    yield f"\nmethod         MSOP   95 % interval    nodes{'  prediction' if times_s else ''}"
    for name, score in scores.items():
        nodes = "" if score.nodes is None else f"{score.nodes:.0f}"
        time = f"  {format_time(times_s[name]):>10}" if times_s else ""
        numbers = f"{score.msop:6.4f}   {score.low:.4f} {score.high:.4f} {nodes:>8}{time}"
        yield f"{name:12} {numbers}".rstrip()
    for name, reason in result["left_out"].items():
        yield f"{name:12} left out: {reason}"
