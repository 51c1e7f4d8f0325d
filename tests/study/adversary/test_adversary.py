"""The adversary: its instances, that its files say what it found, that it goes on where it was."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import sys

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim import simulate
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.engine.batch import totals
from tasksim.study.adversary.instance import CHANGES, Instance, Space
from tasksim.study.adversary.judge import Judge, schedulers_of
from tasksim.study.adversary.question import AdversaryQuestion
from tasksim.study.adversary.report import costly_decisions, explanation
from tasksim.study.adversary.search import anneal, search

SMALL_SEARCH = {"tasks": 5, "workers": 3, "steps": 40, "runs": 2, "keep": 0}
"""A search that draws nothing: pictures take longer than all the rest."""

RATIO_BEFORE_EXTREMES = 1.171789873139019


def called(line):
    result = CliRunner().invoke(cli, shlex.split(line), prog_name="tasksim")
    return result.exit_code, result.stdout, result.stderr


@settings(max_examples=few(40), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tasks=st.integers(1, 8),
    processors=st.integers(1, 4),
    vary=st.lists(st.sampled_from(list(CHANGES)), min_size=1, unique=True),
)
def test_changes_stay_in_the_space_and_change_only_what_they_may(seed, tasks, processors, vary):
    space = Space(tasks, processors, ("weight",), 0.2, tuple(vary))
    rng = random.Random(seed)
    first = here = space.first(rng)
    for _ in range(30):
        here = space.neighbour(here, rng)
        assert all(0 <= weight <= 1 for row in here.weights for weight in row)
        assert all(0 <= a < b < tasks and 0 <= volume <= 1 for a, b, volume in here.volumes)
        pairs = [(a, b) for a, b, _ in here.volumes]
        assert pairs == sorted(set(pairs))
        assert all(0.2 <= speed <= 1 for speed in here.speeds)
        assert all(0.2 <= speed <= 1 for _, _, speed in here.bandwidths)
    assert ("weights" in vary) or here.weights == first.weights
    assert ("speeds" in vary) or here.speeds == first.speeds
    assert ("bandwidths" in vary) or here.bandwidths == first.bandwidths
    assert {"volumes", "edges"} & set(vary) or here.volumes == first.volumes


def changed_values(extremes):
    """Return pairs of values before and after a change, and the least that each may be."""
    space = Space(5, 3, ("weight",), 0.2, ("weights", "volumes", "speeds", "bandwidths"), extremes)
    rng = random.Random(7)
    here = space.first(rng)
    for _ in range(200):
        before, here = here, space.neighbour(here, rng)
        for name in ("weights", "volumes", "speeds", "bandwidths"):
            rows = [getattr(instance, name) for instance in (before, here)]
            for one, other in zip(*rows, strict=True):
                pair = (one, other) if name == "speeds" else (one[-1], other[-1])
                if pair[0] != pair[1]:
                    yield (*pair, 0.0 if name in ("weights", "volumes") else 0.2)


def test_without_extremes_changes_are_small_as_pisas():
    changes = list(changed_values(0.0))
    assert len(changes) > 100
    assert all(abs(one - other) <= 0.1 + 1e-9 for one, other, _ in changes)


def test_extremes_are_the_least_and_the_largest_value():
    changes = list(changed_values(1.0))
    assert {other for _, other, _ in changes} == {0.0, 0.2, 1.0}
    assert all(other in (low, 1.0) for _, other, low in changes)


def test_a_search_without_extremes_finds_what_earlier_versions_found():
    """The bytes of 29 November 2026, before there were extremes."""
    question = AdversaryQuestion("heft", "cpop", 5, 4, steps=120, extremes=0.0)
    found = anneal(question, question.judge(), 0)
    assert found.ratio == RATIO_BEFORE_EXTREMES


def test_a_folder_without_extremes_goes_on_without_them(tmp_path):
    folder = tmp_path / "worst"
    before = search("heft", "cpop", folder, **SMALL_SEARCH | {"runs": 1}, extremes=0.0)
    state = json.loads((folder / "search.json").read_text())
    del state["question"]["extremes"]
    (folder / "search.json").write_text(json.dumps(state))
    after = search("heft", "cpop", folder, **SMALL_SEARCH)
    assert len(after) == 2
    assert before[0] in after
    assert json.loads((folder / "search.json").read_text())["question"]["extremes"] == 0.0
    with pytest.raises(InputError, match=r"extremes: 0\.0 before, 0\.3 now"):
        search("heft", "cpop", folder, **SMALL_SEARCH, extremes=0.3)
    search("heft", "cpop", folder, **SMALL_SEARCH, force=True)
    assert json.loads((folder / "search.json").read_text())["question"]["extremes"] == 0.3


@pytest.mark.parametrize("extremes", [-0.1, 1.5, "many", True, float("nan")])
def test_extremes_are_a_share(extremes, tmp_path):
    with pytest.raises(InputError, match=r"extremes: got .*legal: a number from 0 to 1"):
        search("heft", "cpop", tmp_path / "worst", extremes=extremes)


def test_planned_and_replayed_makespans_are_the_same():
    """The judge plans without a replay; the simulation of the same instance agrees."""
    judge = AdversaryQuestion("heft", "cpop", tasks=6, workers=3).judge()
    rng = random.Random(4)
    for _ in range(10):
        instance = judge.space.first(rng)
        for _ in range(20):
            instance = judge.space.neighbour(instance, rng)
        graph, platform = judge.graph(instance, None), judge._platform(instance)
        for name in ("heft", "etf", "wba"):
            (planned,) = judge.makespans_s(instance, (name,))
            replayed = next(iter(totals([judge._simulation(graph, platform, name)])))
            assert planned == pytest.approx(replayed.makespan_s)


def test_best_is_the_least_of_all_algorithms():
    judge = AdversaryQuestion("heft", "best", tasks=5, workers=3).judge()
    instance = judge.space.first(random.Random(1))
    names = schedulers_of("best", but="heft")
    assert "heft" not in names
    assert "cpop" in names
    (best,) = judge.makespans_s(instance, names)
    assert best == min(judge.makespans_s(instance, *((name,) for name in names)))


TWO_LINKS = Instance(
    weights=((0.5,), (1.0,), (0.5,)),
    volumes=((0, 2, 1.0), (1, 2, 0.0)),
    speeds=(1.0, 1.0),
    bandwidths=((0, 1, 0.1),),
)
"""HEFT runs tasks 0 and 1 beside each other; then either task 2 waits 10 s for a volume, or ..."""


def test_the_decision_that_costs_most_is_found_by_confining_each_task():
    """OLB sends each task to the processor free first, whatever has to be copied there."""
    judge = Judge(Space(3, 2, ("weight",), 0.1, tuple(CHANGES)), None)
    instance = Instance(
        weights=((0.5,), (0.4,), (0.5,)), volumes=((0, 2, 1.0),), speeds=(1.0, 1.0),
        bandwidths=((0, 1, 0.1),),
    )  # fmt: skip
    (whole,) = judge.makespans_s(instance, ("olb",))
    assert whole == pytest.approx(0.5 + 10 + 0.5)
    first, *_ = costly_decisions(judge, instance, "olb")
    assert (first.task, first.place, first.other) == (2, "P1", "P0")
    assert first.makespan_s == pytest.approx(1.0)
    assert "T2 on P0 instead of P1: 1 s (91 % less)" in explanation(judge, instance, "olb")
    assert costly_decisions(judge, TWO_LINKS, "fastest-node") == []
    assert "No single placement of fastest-node is to blame" in explanation(
        judge, TWO_LINKS, "fastest-node"
    )


def test_a_search_finds_worse_than_it_began_with_and_is_repeated_to_the_byte(tmp_path):
    found = search("olb", "heft", tmp_path / "a", tasks=6, workers=3, steps=40, runs=2, keep=1)
    question = AdversaryQuestion("olb", "heft", tasks=6, workers=3, steps=40)
    judge = question.judge()
    for each in found:
        begun = judge.space.first(random.Random(f"0/{each.run}"))
        slow, fast = judge.makespans_s(begun, ("olb",), ("heft",))
        assert each.ratio > slow / fast
        assert each == anneal(question, judge, each.run)
    search("olb", "heft", tmp_path / "b", tasks=6, workers=3, steps=40, runs=2, keep=1)
    for name in ("search.json", "1/costs.csv", "1/edges.csv", "1/links.csv", "report.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_simulation_of_the_files_takes_as_long_as_the_search_says(tmp_path):
    worst, *_ = search("cpop", "heft", tmp_path / "worst", **SMALL_SEARCH | {"keep": 1})
    for name, makespan_s in zip(("cpop", "heft"), worst.makespans_s, strict=True):
        run = simulate(str(tmp_path / "worst/1/costs.csv"), scheduler=name)
        assert run.makespan_s == pytest.approx(makespan_s, rel=1e-9)


def test_a_search_on_a_platform_and_with_a_dynamic_scheduler(tmp_path):
    platform = "unrelated-4"
    worst, *_ = search(
        "lws", "heft", tmp_path / "worst", platform=platform, tasks=4, steps=10, runs=1, keep=1
    )
    for name, makespan_s in zip(("lws", "heft"), worst.makespans_s, strict=True):
        run = simulate(str(tmp_path / "worst/1/costs.csv"), platform, scheduler=name)
        assert run.makespan_s == pytest.approx(makespan_s, rel=1e-6)
    assert not (tmp_path / "worst/1/links.csv").exists()


def test_a_search_that_was_stopped_goes_on_and_ends_as_if_it_had_not(tmp_path):
    done = []

    def stop(*progress):
        done.append(progress)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search("cpop", "heft", tmp_path / "a", tell=stop, **SMALL_SEARCH)
    assert len(json.loads((tmp_path / "a/search.json").read_text())["runs"]) == len(done) == 1
    search("cpop", "heft", tmp_path / "a", **SMALL_SEARCH)
    search("cpop", "heft", tmp_path / "b", **SMALL_SEARCH)
    assert (tmp_path / "a/search.json").read_bytes() == (tmp_path / "b/search.json").read_bytes()


def test_two_searches_into_one_folder_share_its_runs(tmp_path):
    """While one is at a run, the other does the next one; nobody's result is lost."""
    done = {}

    def join(*progress):
        if "first" not in done:
            done["first"] = progress
            done["second"] = search("cpop", "heft", tmp_path / "a", **SMALL_SEARCH | {"runs": 3})

    done["all"] = search("cpop", "heft", tmp_path / "a", tell=join, **SMALL_SEARCH | {"runs": 4})
    alone = search("cpop", "heft", tmp_path / "b", **SMALL_SEARCH | {"runs": 4})
    assert done["first"][:2] == (1, 4)
    assert sorted(each.run for each in done["second"]) == [0, 1, 2]
    assert done["all"] == alone
    assert (tmp_path / "a/search.json").read_bytes() == (tmp_path / "b/search.json").read_bytes()


@pytest.mark.slow
def test_two_searches_at_the_same_time_lose_nothing(tmp_path):
    """Two processes begin together; each run is there once, and both know all of them."""
    line = (
        f"{sys.executable} -m tasksim study adversary olb heft --tasks 5 --workers 3 --steps 200 "
        f"--runs 6 --keep 0 --json -o {tmp_path}/worst"
    )
    both = [subprocess.Popen(shlex.split(line), stdout=subprocess.PIPE) for _ in range(2)]
    said = [json.loads(each.communicate()[0])["runs"] for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert said[0] == said[1]
    kept = json.loads((tmp_path / "worst/search.json").read_text())["runs"]
    assert [run["run"] for run in kept] == list(range(6))
    assert not list((tmp_path / "worst").glob(".*.lock"))


def test_a_search_that_another_one_replaced_ends(tmp_path):
    def replace(*progress):
        search("cpop", "heft", tmp_path / "a", **SMALL_SEARCH, seed=1, force=True)

    with pytest.raises(InputError, match="has another search"):
        search("cpop", "heft", tmp_path / "a", tell=replace, **SMALL_SEARCH)
    assert json.loads((tmp_path / "a/search.json").read_text())["question"]["seed"] == 1


def test_the_folder_of_another_search_is_kept_unless_forced(tmp_path):
    search("cpop", "heft", tmp_path / "a", **SMALL_SEARCH)
    with pytest.raises(InputError, match=r"has another search:\n  seed: 0 before, 1 now\n--force"):
        search("cpop", "heft", tmp_path / "a", **SMALL_SEARCH, seed=1)
    search("cpop", "heft", tmp_path / "a", **SMALL_SEARCH, seed=1, force=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="mine"):
        search("cpop", "heft", tmp_path / "mine", **SMALL_SEARCH)
    text = (tmp_path / "a/search.json").read_text()
    (tmp_path / "a/search.json").write_text(text.replace('"weights": [[', '"weights": [["x", '))
    with pytest.raises(InputError, match=r"search\.json:\d+:\d+"):
        search("cpop", "heft", tmp_path / "a", **SMALL_SEARCH, seed=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("hefft cpop", "unknown scheduler 'hefft', did you mean 'heft'"),
        ("best heft", "best stands for the second scheduler"),
        ("heft cpop --tasks 0", "tasks: got 0"),
        ("heft cpop --steps 0", "steps: got 0"),
        ("heft cpop --runs 0", "runs: got 0"),
        ("heft cpop --slowest 2", "slowest: got 2; legal: a number from 0.001 to 1"),
        ("heft cpop --vary weights,egdes", "vary: got 'egdes'"),
        ("heft cpop --platform unrelated-5", "unknown platform 'unrelated-5', did you mean 'unre"),
        ("heft cpop --platform unrelated-4 --workers 2", "workers: the platform has its own"),
        ("heft cpop --platform unrelated-4 --vary speeds", "vary: speeds and bandwidths are the"),
    ],
)
def test_what_is_wrong_is_said(words, message, tmp_path):
    code, _, said = called(f"study adversary {words} -o {tmp_path}/worst")
    assert (code, message in said) == (2, True), said
    assert not (tmp_path / "worst").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"vary": 3}, {"vary": []}, {"vary": [3]}, {"tasks": "many"}, {"steps": 2.5}, {"seed": -1},
        {"slowest": float("nan")}, {"slowest": "0.1"}, {"platform": 3}, {"stepps": 3}, {"keep": -1},
        {"runs": None}, {"force": 1}, {"duration_s": 0},
    ],
    ids=str,
)  # fmt: skip
def test_python_is_told_as_the_command_is(settings, tmp_path):
    with pytest.raises(InputError):
        search("cpop", "heft", tmp_path / "worst", **settings)
    assert not (tmp_path / "worst").exists()


@pytest.mark.parametrize("names", [(None, "heft"), ("heft", 3), ("heft:order=random", "cpop")])
def test_schedulers_in_python_are_checked(names, tmp_path):
    with pytest.raises(InputError):
        search(*names, tmp_path / "worst")


def test_the_command_prints_the_worst_ratio_and_writes_a_page(tmp_path):
    code, printed, _ = called(
        "study adversary cpop heft --tasks 5 --workers 3 --steps 40 --runs 2 --keep 1 "
        f"-o {tmp_path}/worst"
    )
    assert code == 0
    assert printed.startswith("worst  cpop takes ")
    assert sorted(path.name for path in (tmp_path / "worst").iterdir()) == [
        "1", "index.html", "report.md", "search.json",
    ]  # fmt: skip
    code, printed, _ = called(
        "study adversary cpop heft --tasks 5 --workers 3 --steps 40 --runs 2 --keep 1 --json "
        f"-o {tmp_path}/worst"
    )
    runs = json.loads(printed)["runs"]
    assert [run["ratio"] for run in runs] == sorted((r["ratio"] for r in runs), reverse=True)
