"""The ``tasksim tune report`` command, for the loss of the simulator's choices in real runs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.cli.command import command
from tasksim.cli.options import TIME, WORKERS, WholeNumber, force_option, json_option, output_option
from tasksim.cli.output import note, note_written, print_result, refuse_file, warn
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.tuning.judging import Score
    from tasksim.tuning.native_answers import Answered
    from tasksim.tuning.native_campaign import NativeCampaign
    from tasksim.tuning.native_report import NativeReport

__all__ = ["FEW_EXAMPLES", "TRAINING_LOOPS", "reporting", "text_of"]

REPORT_PARTS = ("all", "graphs", "loops")
TRAINING_LOOPS: Final = 30
"""Number of training loops per operation and number of workers. With 75, 150, 300 and 600 in all,
the tree reached .953, .969, .972 and .974 of the performance; its authors had 288."""
FEW_EXAMPLES: Final = 2
"""Number of examples with ``--quick``."""


@command(
    "report",
    examples=[
        "tasksim tune report --native",
        "tasksim tune report --native --quick --part loops",
        "tasksim tune report --native --repetitions 9 --patience 60s -o tuning.json",
        "tasksim tune report --native --repetitions 9 --patience 60s -o tuning.json --resume",
        "tasksim tune report --native --part loops --examples 60 --seed 1",
    ],
)
@click.option(
    "--native", is_flag=True, required=True, help="Run every choice for real, on this machine."
)
@click.option(
    "--part",
    type=click.Choice(REPORT_PARTS),
    default="all",
    help="Choices to judge: those for graphs (tile sizes, schedulers, group sizes), chunk sizes of"
    " loops, or all.",
)
@click.option(
    "--quick", is_flag=True, help="Ask fewer and smaller questions, for a minute instead of ten."
)
@click.option("--workers", type=WORKERS, help="Number of threads. [default: all usable cores]")
@click.option(
    "--repetitions",
    type=WholeNumber(1),
    default=5,
    help="Number of runs of each choice, interleaved with those of others; medians count.",
)
@click.option(
    "--patience",
    type=TIME,
    default=5.0,
    show_default="5s",
    help="Longest time that a question waits for calm moments.",
)
@click.option(
    "--examples",
    type=WholeNumber(0),
    help="Number of further loops to learn from, per operation and number of threads. [default:"
    f" {TRAINING_LOOPS}; quick: {FEW_EXAMPLES}]",
)
@click.option(
    "--seed", type=WholeNumber(0), help="Seed of the sizes of loops. [default: the usual sizes]"
)
@output_option("File for all measurements, .json.")
@click.option("--resume", is_flag=True, help="Continue with the answers in the output.")
@force_option
@json_option
@click.pass_context
def reporting(
    ctx: click.Context,
    native: bool,  # noqa: ARG001 - it is required: nothing else is there yet, and it takes minutes
    part: str,
    quick: bool,
    workers: int | None,
    repetitions: int,
    patience: float,
    examples: int | None,
    seed: int | None,
    output: Path | None,
    resume: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Judge the simulator's choices, and those of learners, by real runs on this machine.

    For each question, kernels are calibrated on other graphs, and all choices are simulated and
    then run for real, interleaved and in calm moments, if there are any. MSOP, the mean share of
    the optimal performance, is the performance of the chosen values as a share of the best one
    measured. Learners are trained on further loops, which are only run.

    It takes some ten minutes. With -o, each answer is kept at once: after Ctrl-C, or a crash,
    --resume goes on.
    """
    from tasksim.native.calm_moments import run_gate
    from tasksim.native.this_machine import usable_cores
    from tasksim.tuning.native_answers import MeasurementEffort
    from tasksim.tuning.native_campaign import NativeCampaign
    from tasksim.tuning.native_questions import (
        graph_questions,
        loop_questions,
        teaching_questions,
    )

    refuse_file(output, "results of tuning", (".json",), force=force or resume)
    count = workers or len(usable_cores())
    graphs = graph_questions(count, quick=quick) if part != "loops" else []
    loops = loop_questions(count, quick=quick, seed=seed) if part != "graphs" else []
    each = examples if examples is not None else FEW_EXAMPLES if quick else TRAINING_LOOPS
    effort = MeasurementEffort(repetitions, 2.0 if quick else 3.0, patience)
    asked = {
        "part": part,
        "quick": quick,
        "workers": count,
        "repetitions": repetitions,
        "patience_s": patience,
        "examples": each,
        "seed": seed,
    }
    teaching = teaching_questions(count, each, loops) if loops else []
    campaign = NativeCampaign([*graphs, *loops], teaching, effort, asked, output)
    campaign.open(resume=resume, force=force)
    with suppress(KeyboardInterrupt):
        with showing("tuning") as progress:
            campaign.answer(run_gate, progress)
        with showing("teaching") as progress:
            campaign.teach(progress)
    _tell(campaign, count, as_json=as_json)
    if not campaign.complete:
        ctx.exit(INTERRUPTED_EXIT_CODE)


def _tell(campaign: NativeCampaign, workers: int, *, as_json: bool) -> None:
    """Print the report on the questions answered so far, and the file that keeps it."""
    found, output = campaign.report(), campaign.path
    told = {"workers": workers, "output": output, "complete": campaign.complete}
    print_result({**told, **found.to_json()}, text_of(found), as_json=as_json)
    if campaign.answers or campaign.complete:
        note_written(output)
    if disturbed := sum(answered.disturbed for answered in campaign.answers):
        measured = sum(len(answered.measured_s) for answered in campaign.answers)
        warn(
            f"the machine was not calm: in {disturbed} of {measured * campaign.effort.repetitions}"
            " runs other programs took more than 2 % of a worker's time, so that losses are the"
            " machine's as much as the choices'"
        )
    if not campaign.complete:
        done = f"{len(campaign.answers)} of {len(campaign.questions)} questions are answered"
        if campaign.teaching:
            done += f", {len(campaign.examples)} of {len(campaign.teaching)} training loops are run"
        kept = "without -o nothing is kept" if output is None else "--resume goes on"
        note(f"Interrupted: {done}; {kept}.")


def text_of(found: NativeReport) -> Iterator[str]:
    """Yield the lines of the report."""
    from tasksim.view.texttables import table

    rows = [_question(answered) for answered in found.answers if answered.question.loop is None]
    if rows:
        headers = ["question", "workers", "best", "time", "chosen", "time", "share"]
        yield table(headers, rows)
        yield ""
    yield "simulator's choice of   MSOP   95 % interval"
    for name, score in found.tunables.items():
        yield f"{name:22} {_numbers(score)}"
    for split, scores in found.splits.items():
        yield ""
        how = "shuffled splits" if split == "shuffled" else "each operation judged by the others"
        yield f"chunk sizes, {how}"
        yield "method                  MSOP   95 % interval   nodes   on simulated loops"
        for name, score in sorted(scores.items(), key=lambda item: -item[1].msop):
            nodes = "" if score.nodes is None else f"{score.nodes:.0f}"
            simulated = found.simulated.get(name) if split == "shuffled" else None
            beside = "" if simulated is None else f"{simulated.msop:.4f}"
            yield f"{name:22} {_numbers(score)} {nodes:>7}   {beside}".rstrip()


def _numbers(score: Score) -> str:
    return f"{score.msop:.4f}   {score.low:.4f} {score.high:.4f}"


def _question(answered: Answered) -> list[Any]:
    from tasksim.base.units import format_time

    medians = answered.medians_s
    return [
        f"{answered.question.what}: {answered.question.label}",
        str(answered.question.workers),
        answered.best,
        format_time(medians[answered.best]),
        answered.chosen,
        format_time(medians[answered.chosen]),
        f"{answered.share:.3f}",
    ]
