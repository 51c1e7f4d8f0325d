"""Simulated annealing over instances, for the worst ratio of two makespans.

The idea is PISA's: J. Coleman, B. Krishnamachari, "PISA: an adversarial approach to comparing task
graph scheduling algorithms", 2025 (arXiv 2403.07120), section VI.
"""

from __future__ import annotations

import json
import math
import random
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import all_of, flag, one_of, path_of, positive_number, whole_number
from tasksim.base.documents.json_document import JsonNode, parse_json, read_document
from tasksim.base.errors import InputError, unknown
from tasksim.base.files import is_file, read_text, refuse_folder, write_text
from tasksim.base.lockfile import locked
from tasksim.base.versions import newer
from tasksim.study.adversary.instance import CHANGES, Instance
from tasksim.study.adversary.judge import BEST_STATIC, Judge, schedulers_of
from tasksim.study.adversary.question import AdversaryQuestion, WorstInstance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["anneal", "search"]

STATE_FILE: Final = "search.json"
"""File with the question and the ended runs; it marks the folder of a search."""
FILE_VERSION: Final = 1
FIRST_TEMPERATURE, LAST_TEMPERATURE = 0.1, 0.005
"""First and last temperature: a ratio that is a factor exp(T) smaller is accepted once in e times.
"""
MAX_STEPS: Final = 10**9


def anneal(question: AdversaryQuestion, judge: Judge, run: int) -> WorstInstance:
    """Return the worst instance of the run of this number."""
    first = schedulers_of(question.first)
    second = schedulers_of(question.second, but=question.first)
    rng = random.Random(f"{question.seed}/{run}")

    def judged(instance: Instance) -> WorstInstance:
        slow, fast = judge.makespans_s(instance, first, second)
        ratio = slow / fast if fast > 0 else 1.0
        return WorstInstance(run, ratio, (slow, fast), instance)

    here = worst = judged(judge.space.first(rng))
    cooling = (LAST_TEMPERATURE / FIRST_TEMPERATURE) ** (1 / max(1, question.steps - 1))
    temperature = FIRST_TEMPERATURE
    for _ in range(question.steps - 1):
        there = judged(judge.space.neighbour(here.instance, rng))
        better = math.log(there.ratio) - math.log(here.ratio) if there.ratio > 0 else -math.inf
        if better >= 0 or rng.random() < math.exp(better / temperature):
            here = there
        if here.ratio > worst.ratio:
            worst = here
        temperature *= cooling
    return worst


def search(
    first: str,
    second: str,
    output: str | Path,
    *,
    runs: int = 10,
    keep: int = 3,
    force: bool = False,
    tell: Callable[[int, int, float], None] | None = None,
    **settings: Any,
) -> list[WorstInstance]:
    """Search for instances on which *first* takes much longer than *second*.

    Parameters
    ----------
    first, second : str
        Names of schedulers with their options; *second* may be ``best``.
    output : str or Path
        Folder of the search. If it has the same search, the runs that it lacks are added. Several
        processes may do so at the same time: they share the runs.
    runs : int, default 10
        Number of independent runs of the annealing.
    keep : int, default 3
        Number of instances that are written and explained, the worst of all runs.
    force : bool, default False
        Whether to replace the folder of another search.
    tell : callable, optional
        Called after each run with the number of runs done, of all runs, and the worst ratio.
    **settings
        Other fields of :class:`AdversaryQuestion`: tasks, workers, platform, steps, seed, slowest,
        vary, duration_s, size_bytes, extremes. A folder of an earlier version, which had no
        extremes, goes on without them.

    Returns
    -------
    list of WorstInstance
        The worst instance of each run, worst first.

    Raises
    ------
    InputError
        If a value is illegal, or *output* is the folder of something else.
    """
    question = _checked(first, second, settings)
    runs = whole_number(runs, "runs", low=1, high=MAX_STEPS)
    keep = whole_number(keep, "keep", low=0)
    folder = path_of(output, "output")
    if settings.get("extremes") is None and not force and _has_no_extremes(folder):
        question = replace(question, extremes=0.0)
    judge = question.judge()
    ended = partial(_ended, folder, question, judge)
    with locked(folder):
        _keep(folder, question, ended(force=flag(force, "force")))
    # First the runs that no process computes yet, then those of other processes.
    for wait, run in product((False, True), range(runs)):
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(folder / f"run-{run}", wait=wait))
            except InputError:  # another process computes it
                continue
            if any(each.run == run for each in ended()):
                continue
            new = anneal(question, judge, run)
            with locked(folder):  # other processes may have added theirs meanwhile
                found = [*ended(), new]
                _keep(folder, question, found)
        if tell is not None:
            done = sum(each.run < runs for each in found)
            tell(done, runs, max(each.ratio for each in found))
    from tasksim.study.adversary.report import write_report

    with locked(folder):
        found = ended()
        found.sort(key=lambda each: (-each.ratio, each.run))
        write_report(folder, question, judge, found, keep)
    return found


def _checked(first: str, second: str, settings: dict[str, Any]) -> AdversaryQuestion:
    """Return the question, all of whose values are legal."""
    names = list(AdversaryQuestion.__dataclass_fields__)[2:]
    for name in settings:
        if name not in names:
            raise unknown("setting", name, names, "search")
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    if first == BEST_STATIC:
        raise InputError(
            f"{BEST_STATIC} stands for the second scheduler, which the first is compared to"
        )
    schedulers_of(first)
    schedulers_of(second, but=first)
    for name, low, high in (("tasks", 1, 10_000), ("workers", 1, 1000), ("steps", 1, MAX_STEPS),
                            ("seed", 0, None)):  # fmt: skip
        if name in given:
            given[name] = whole_number(given[name], name, low=low, high=high)
    for name in ("duration_s", "size_bytes", "slowest"):
        if name in given:
            given[name] = positive_number(given[name], name, "0.1")
    slowest = given.get("slowest", 1.0)
    if not 0.001 <= slowest <= 1:
        raise InputError(f"slowest: got {slowest:g}; legal: a number from 0.001 to 1")
    extremes = given.get("extremes", 0.0)
    if isinstance(extremes, bool) or not (isinstance(extremes, int | float) and 0 <= extremes <= 1):
        raise InputError(f"extremes: got {extremes!r}; legal: a number from 0 to 1")
    if "vary" in given:
        chosen = given["vary"].split(",") if isinstance(given["vary"], str) else given["vary"]
        given["vary"] = tuple(one_of(name, CHANGES, "vary") for name in all_of(chosen, str, "vary"))
        if not given["vary"]:
            raise InputError(f"vary: got no changes; legal: some of {', '.join(CHANGES)}")
    if given.get("platform") and "workers" in given:
        raise InputError("workers: the platform has its own; legal: either of the two")
    return AdversaryQuestion(first, second, **given)


def _ended(
    folder: Path, question: AdversaryQuestion, judge: Judge, *, force: bool = False
) -> list[WorstInstance]:
    """Return the runs that *folder* has of the same question; with *force*, none of another."""
    path = folder / STATE_FILE
    if not is_file(path):
        if folder.exists():
            refuse_folder(folder, force=force, what="the folder of a search", mark=STATE_FILE)
        return []
    before, found = read_document(read_text(path), str(path), lambda node: _read(node, judge))
    asked = _plain(question)
    if before == asked:
        return found
    if not force:
        names = [name for name in asked if before.get(name) != asked[name]]
        lines = [f"  {name}: {before.get(name)} before, {asked[name]} now" for name in names]
        raise InputError(
            f"{folder}: has another search:\n"
            + "\n".join(lines)
            + "\n--force replaces it; or choose another folder"
        )
    return []


def _has_no_extremes(folder: Path) -> bool:
    """Return whether *folder* has a search of a version that made small changes only."""
    path = folder / STATE_FILE
    return is_file(path) and read_document(
        read_text(path), str(path), lambda node: "extremes" not in node["question"].mapping()
    )


def _read(node: JsonNode, judge: Judge) -> tuple[dict[str, Any], list[WorstInstance]]:
    version = node["version"]
    if (why := newer(version.value, FILE_VERSION)) is not None:
        raise version.error(why)
    version.exactly(FILE_VERSION)
    question = {"extremes": 0.0} | node["question"].mapping()
    found = []
    for run in node["runs"]:
        instance = run["instance"]
        if question.get("tasks") != judge.space.tasks:
            continue
        first, second = run["makespans_s"].vector(2).tolist()
        found.append(
            WorstInstance(
                run["run"].integer(),
                run["ratio"].number(),
                (first, second),
                Instance.from_json(instance, judge.space),
            )
        )
    return question, found


def _plain(question: AdversaryQuestion) -> dict[str, Any]:
    found: dict[str, Any] = parse_json(json.dumps(asdict(question)))
    return found


def _keep(folder: Path, question: AdversaryQuestion, found: Sequence[WorstInstance]) -> None:
    runs = [each.to_json() for each in sorted(found, key=lambda each: each.run)]
    lines = ",\n".join(f"  {json.dumps(run)}" for run in runs)
    head = json.dumps(_plain(question))
    write_text(
        folder / STATE_FILE,
        f'{{"version": {FILE_VERSION},\n "question": {head},\n "runs": [\n{lines}\n ]}}\n',
    )
