"""`tasksim tune report --native`: what is printed; what is refused."""

from __future__ import annotations

import json

import pytest

from tasksim.tuning import native_answers, native_campaign, native_questions, native_report


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Fewer draws: what is looked at here needs no more."""
    monkeypatch.setattr(native_report, "RESAMPLES", 20)
    monkeypatch.setattr(native_report, "SPLIT_COUNT", 5)


@pytest.fixture
def made_up(monkeypatch):
    """Answers in which the first choice is best and the simulator knows it.

    Returns what is asked; with ``made_up.stop = 4`` there is a Ctrl-C when four are.
    """

    class Asked(list):
        stop = None

        def add(self, question):
            if len(self) == self.stop:
                raise KeyboardInterrupt
            self.append(question.label)

    asked = Asked()

    def answer(questions, effort, *, gate, progress):
        for question in questions:
            asked.add(question)
            runs = {c: [1.0 + i] * effort.repetitions for i, c in enumerate(question.choices)}
            simulated = {choice: 1.0 + i for i, choice in enumerate(question.choices)}
            yield native_answers.Answered(question, runs, simulated)

    def run_examples(questions, repetitions, *, progress):
        for question in questions:
            asked.add(question)
            times = {choice: 1.0 + i for i, choice in enumerate(question.choices)}
            yield native_answers.TrainingLoop(question, times)

    monkeypatch.setattr(native_campaign, "answer", answer)
    monkeypatch.setattr(native_campaign, "run_examples", run_examples)
    return asked


@pytest.mark.slow
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


QUICK_COMMAND = "tune report --native --quick --workers 2 --repetitions 2 --examples 1"


@pytest.mark.slow
def test_an_interrupted_report_keeps_its_answers_and_goes_on(tasksim, made_up, tmp_path):
    whole = tasksim(f"{QUICK_COMMAND} -o whole.json --json").json
    questions = len(whole["questions"])
    everything = list(made_up)

    made_up.clear()
    made_up.stop = 4
    done = tasksim(f"{QUICK_COMMAND} -o part.json")
    assert done.code == 130
    kept = json.loads((tmp_path / "part.json").read_text())
    assert kept["questions"] == whole["questions"][:4]
    assert (kept["examples"], kept["complete"]) == ([], False)
    assert (
        f"Interrupted: 4 of {questions} questions are answered, 0 of 10 training loops" in done.err
    )
    assert "--resume goes on" in done.err
    assert "tile size: cholesky n=512" in done.out  # what is known so far

    made_up.stop = questions + 3  # of the loops that teach, three
    assert tasksim(f"{QUICK_COMMAND} -o part.json --resume").code == 130
    assert len(json.loads((tmp_path / "part.json").read_text())["examples"]) == 3

    made_up.stop = None
    done = tasksim(f"{QUICK_COMMAND} -o part.json --resume --json")
    assert done.code == 0, done.err
    assert made_up == everything  # nothing was asked twice
    assert done.json == whole | {"output": "part.json"}
    assert (tmp_path / "part.json").read_text() == (tmp_path / "whole.json").read_text()


def test_an_interrupted_report_without_a_file_says_that_nothing_is_kept(tasksim, made_up):
    made_up.stop = 2
    done = tasksim(f"{QUICK_COMMAND} --json")
    assert done.code == 130
    assert (len(done.json["questions"]), done.json["complete"]) == (2, False)
    assert "without -o nothing is kept" in done.err


def test_a_finished_report_is_resumed_without_asking(tasksim, made_up, tmp_path):
    assert tasksim(f"{QUICK_COMMAND} -o report.json").code == 0
    before = (tmp_path / "report.json").read_text()
    made_up.stop = len(made_up)
    assert tasksim(f"{QUICK_COMMAND} -o report.json --resume").code == 0
    assert (tmp_path / "report.json").read_text() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--resume", "--resume needs a file to continue: give -o"),
        ("-o report.json --resume --force", "replaces it: choose one"),
        ("-o report.json --resume --seed 3", "was measured with seed None, now 3"),
        ("-o report.json --resume --part loops", "was measured with part 'all', now 'loops'"),
        ("-o other.json --resume", "not a file of 'tasksim tune report -o'"),
        ("-o damaged.json --resume", "has answers to other questions"),
    ],
)
def test_what_cannot_be_resumed_is_refused(tasksim, made_up, tmp_path, words, message):
    made_up.stop = 1
    tasksim(f"{QUICK_COMMAND} -o report.json")
    (tmp_path / "other.json").write_text("{}")
    data = json.loads((tmp_path / "report.json").read_text())
    data["questions"][0]["measured_s"].popitem()
    (tmp_path / "damaged.json").write_text(json.dumps(data))
    done = tasksim(f"{QUICK_COMMAND} {words}")
    assert (done.code, made_up) == (2, made_up[:1])
    assert message in done.err


def test_one_part_alone(tasksim, made_up):
    done = tasksim("tune report --native --quick --part graphs --json")
    assert list(done.json["tunables"]) == ["tile size", "scheduler", "FMM group size"]
    assert done.json["loops"] == {}


@pytest.mark.slow
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
    whole = native_answers.MeasurementEffort
    graphs = native_questions.graph_questions(2, quick=True)[:1]
    loops = native_questions.loop_questions(2, quick=True)[1::8]  # of two operations

    def effort(repetitions, calibration_s, patience_s):
        return whole(repetitions, calibration_s / 20, patience_s)

    monkeypatch.setattr(native_questions, "graph_questions", lambda workers, *, quick: graphs)
    monkeypatch.setattr(native_questions, "loop_questions", lambda workers, *, quick, seed: loops)
    monkeypatch.setattr(native_answers, "MeasurementEffort", effort)


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
