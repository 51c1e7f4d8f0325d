"""The folder of an adversary's search: the worst instances, drawn and explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.units import format_time
from tasksim.study.adversary.judge import schedulers_of
from tasksim.view.pages import Heading, Image, Listing, Table, Text, html_page, markdown_page, png

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.study.adversary.instance import Instance
    from tasksim.study.adversary.judge import Judge
    from tasksim.study.adversary.question import AdversaryQuestion, WorstInstance
    from tasksim.view.pages import PageBlock

__all__ = ["MissedPlacement", "costly_decisions", "write_report"]

INSTANCE_FILES: Final = ("costs.csv", "edges.csv", "links.csv")
"""Files of an instance."""
MAX_DECISIONS: Final = 3
"""Number of decisions that the page explains: the first is most of the loss."""
MIN_SAVING_SHARE: Final = 0.005
"""Least share of the makespan that another place must save to be listed: less prints as 0 %."""
MAX_EXPLAINED_TASKS: Final = 200
"""Largest number of tasks of an instance whose decisions are tried one by one."""


class MissedPlacement(NamedTuple):
    """One placement of a scheduler that another one would have improved.

    Attributes
    ----------
    task
        The number of the task.
    place, other
        Names of the processor or architecture where it ran, and of the better one.
    makespan_s
        Makespan of the scheduler if the task could run on the better one alone.
    """

    task: int
    place: str
    other: str
    makespan_s: float


def costly_decisions(judge: Judge, instance: Instance, scheduler: str) -> list[MissedPlacement]:
    """Return the best other place of each task for which there is a better one, best first.

    The scheduler plans again with the task confined to the other place, and decides about all other
    tasks as it likes.
    """
    names, costs = instance.costs(judge.space)
    run = judge.run(instance, scheduler)
    whole = run.makespan_s
    found = []
    ran = dict(zip(run.tasks.task.tolist(), run.tasks.worker.tolist(), strict=True))
    for task, worker in sorted(ran.items()):
        place = names.index(run.workers[worker].architecture)
        tried = [
            (judge.makespans_s(instance, (scheduler,), pin=(task, other))[0], other)
            for other in range(len(costs[task]))
            if other != place
        ]
        if tried and min(tried)[0] < whole * (1 - MIN_SAVING_SHARE):
            makespan_s, other = min(tried)
            found.append(MissedPlacement(task, names[place], names[other], makespan_s))
    return sorted(found, key=lambda each: (each.makespan_s, each.task))


def write_report(
    folder: Path,
    question: AdversaryQuestion,
    judge: Judge,
    found: Sequence[WorstInstance],
    keep: int,
) -> None:
    """Write the *keep* worst instances below *folder*, and a page about them."""
    platform = question.platform or f"{question.workers} processors"
    blocks: list[PageBlock] = [
        Text(
            f"{len(found)} runs of {question.steps} instances of {question.tasks} tasks on "
            f"{platform}. In the worst, {question.first} takes {found[0].ratio:.3f} times as long "
            f"as {question.second}."
        )
    ]
    rows = [
        [str(each.run), f"{each.ratio:.3f}", *map(format_time, each.makespans_s)] for each in found
    ]
    header = ["run", "ratio", question.first, question.second]
    blocks += [Heading("Worst instance of each run"), Table(header, rows)]
    images: dict[str, str] = {}
    for place, each in enumerate(found[:keep], 1):
        where = folder / str(place)
        where.mkdir(parents=True, exist_ok=True)
        own = judge.platform is None
        scale = (1.0, 1.0) if own else (judge.duration_s, judge.size_bytes)
        each.instance.write(where, judge.space, *scale)
        blocks += _about(question, judge, each, place)
        image = next(block for block in reversed(blocks) if isinstance(block, Image))
        images[image.name] = f"{place}/gantt.png"
        (where / "gantt.png").write_bytes(png(image.figure))
    _remove_others(folder, len(found[:keep]))
    title = f"{question.first} against {question.second}"
    (folder / "index.html").write_text(html_page(title, blocks), encoding="utf-8")
    (folder / "report.md").write_text(markdown_page(title, blocks, images), encoding="utf-8")


def _remove_others(folder: Path, kept: int) -> None:
    """Remove the instances that an earlier search wrote beyond the *kept* ones."""
    place = kept + 1
    while (folder / str(place) / "gantt.png").is_file():
        for name in (*INSTANCE_FILES, "gantt.png"):
            (folder / str(place) / name).unlink(missing_ok=True)
        if not any((folder / str(place)).iterdir()):
            (folder / str(place)).rmdir()
        place += 1


def _about(
    question: AdversaryQuestion, judge: Judge, found: WorstInstance, place: int
) -> list[PageBlock]:
    """Return the part of the page about one instance."""
    from tasksim.view.figure import figure

    others = schedulers_of(question.second, but=question.first)
    second = min(others, key=lambda name: judge.makespans_s(found.instance, (name,))[0])
    runs = [judge.run(found.instance, name) for name in (question.first, second)]
    platform = f" --platform {question.platform}" if question.platform else ""
    commands = [
        f"tasksim simulate {place}/costs.csv{platform} --scheduler {name}"
        for name in (question.first, second)
    ]
    blocks: list[PageBlock] = [
        Heading(f"{place}: {found.ratio:.3f} times as long, run {found.run}"),
        Image(f"gantt-{place}", figure(runs, ["gantt"]), f"{question.first} and {second}"),
        Text(f"Above: {question.first}. Below: {second}."),
    ]
    if question.tasks <= MAX_EXPLAINED_TASKS:
        blocks.append(Text(explanation(judge, found.instance, question.first)))
    return [*blocks, Listing(commands)]


def explanation(judge: Judge, instance: Instance, scheduler: str) -> str:
    """Return in words which single decisions cost *scheduler* most."""
    (whole,) = judge.makespans_s(instance, (scheduler,))
    told = costly_decisions(judge, instance, scheduler)[:MAX_DECISIONS]
    if not told:
        return (
            f"No single placement of {scheduler} is to blame: with any one task elsewhere, it "
            "takes as long or longer."
        )
    texts = [
        f"T{each.task} on {each.other} instead of {each.place}: {format_time(each.makespan_s)} "
        f"({100 * (1 - each.makespan_s / whole):.0f} % less)"
        for each in told
    ]
    return f"Decisions of {scheduler} that cost most, of {format_time(whole)}: {'; '.join(texts)}."
