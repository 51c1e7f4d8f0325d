"""`tasksim tune report --native`: what is printed; what is refused."""

from __future__ import annotations

import json

import pytest

from tasksim.tuning import native_answers, native_questions, native_report


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Fewer draws: what is looked at here needs no more."""
    monkeypatch.setattr(native_report, "RESAMPLES", 20)
    monkeypatch.setattr(native_report, "SPLITS", 5)


@pytest.fixture
def made_up(monkeypatch):
    """Answers in which the first choice is best and the simulator knows it."""

    def answer(questions, effort, *, probe, progress):
        return [
            native_answers.Answered(
                question,
                {
                    choice: [1.0 + i] * effort.repetitions
                    for i, choice in enumerate(question.choices)
                },
                {choice: 1.0 + i for i, choice in enumerate(question.choices)},
            )
            for question in questions
        ]

    def run_examples(questions, repetitions, *, progress):
        return [
            native_answers.Example(q, {choice: 1.0 + i for i, choice in enumerate(q.choices)})
            for q in questions
        ]

    monkeypatch.setattr(native_answers, "answer", answer)
    monkeypatch.setattr(native_answers, "run_examples", run_examples)


def test_the_report_has_scores_side_by_side(tasksim, made_up, tmp_path):
    done = tasksim("tune report --native --workers 2 -o report.json --json")
    assert done.code == 0, done.err
    assert {name: score["msop"] for name, score in done.json["tunables"].items()} == {
        "tile size": 1, "scheduler": 1, "FMM group size": 1, "chunk size": 1,
    }  # fmt: skip
    assert done.json["loops"]["operation"]["simulator"]["msop"] == 1
    written = json.loads((tmp_path / "report.json").read_text())
    assert len(written["questions"]) == 68
    assert 290 <= len(written["examples"]) <= 300
    text = tasksim("tune report --native --workers 2").out
    assert "tile size: cholesky n=768" in text
    assert "chunk sizes, each operation judged by the others" in text
    assert tasksim("tune report --native -o report.json").code == 2
    assert "are .json files; got '.txt'" in tasksim("tune report --native -o report.txt").err


def test_one_part_alone(tasksim, made_up):
    done = tasksim("tune report --native --quick --part graphs --json")
    assert list(done.json["tunables"]) == ["tile size", "scheduler", "FMM group size"]
    assert done.json["loops"] == {}


def test_loops_of_other_sizes_and_fewer_that_teach(tasksim, made_up):
    done = tasksim("tune report --native --quick --part loops --seed 4 --examples 3 --json")
    usual = tasksim("tune report --native --quick --part loops --json")
    assert {q["graph"] for q in done.json["questions"]}.isdisjoint(
        q["graph"] for q in usual.json["questions"]
    )
    threads = done.json["workers"]
    assert len(done.json["examples"]) == 5 * 3 * threads


def test_it_says_that_it_really_runs(tasksim):
    done = tasksim("tune report")
    assert done.code == 2
    assert "--native" in done.err


@pytest.fixture
def few_and_small(monkeypatch):
    """Three of the quick questions, kernels measured for a moment."""
    whole = native_answers.Effort
    graphs = native_questions.graph_questions(2, quick=True)[:1]
    loops = native_questions.loop_questions(2, quick=True)[1::8]  # of two operations

    def effort(repetitions, calibration_s, patience_s):
        return whole(repetitions, calibration_s / 20, patience_s)

    monkeypatch.setattr(native_questions, "graph_questions", lambda workers, *, quick: graphs)
    monkeypatch.setattr(native_questions, "loop_questions", lambda workers, *, quick, seed: loops)
    monkeypatch.setattr(native_answers, "Effort", effort)


@pytest.mark.slow
@pytest.mark.usefixtures("few_and_small")
def test_the_quick_report_for_real(tasksim):
    done = tasksim(
        "tune report --native --quick --examples 0 --repetitions 1 --patience 1ms --json"
    )
    assert done.code == 0, done.err
    assert 0 < done.json["tunables"]["tile size"]["msop"] <= 1
    assert 0 < done.json["tunables"]["chunk size"]["msop"] <= 1
    assert len(done.json["questions"]) == 3
    assert done.json["loops"]["shuffled"].keys() >= {"simulator", "tree", "random"}
