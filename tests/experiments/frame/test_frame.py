"""Frame of the experiments: steps are made once, kept, resumed; the report has all of them."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from experiments.frame import Exhibit, Experiment, Headline, Setting, Shown, Step, Work, command_of
from tasksim.view.style import new_figure

MADE = []


def count(work):
    MADE.append("count")
    work.progress("half", 0.5)
    return {"numbers": list(range(work.settings["most"]))}


def price(work):
    if not work.settings["works"]:
        raise KeyboardInterrupt
    before = len(MADE)
    texts = [
        work.kept(f"chain-{n}", lambda n=n: MADE.append(n) or work.tasksim(
            "simulate", "chain", f"length={n}", "duration=0.001", "--workers", 1, "--json"))
        for n in work.settings["lengths"]
    ]  # fmt: skip
    return {"makespans_s": [json.loads(text)["makespan_s"] for text in texts], "before": before}


def shown(found, settings):
    figure = new_figure(2.0)
    figure.add_subplot().plot(settings["lengths"], found["price"]["makespans_s"])
    table = pd.DataFrame(
        {"length": settings["lengths"], "makespan (s)": found["price"]["makespans_s"]}
    )
    twice = np.diff(found["price"]["makespans_s"]) > 0  # a comparison of NumPy's
    return Shown("twice as long, twice the time", twice.all(), figure, table)


def experiment(**changed):
    return Experiment(**{
        "name": "chains",
        "title": "Chains",
        "paper": "nobody, On chains",
        "question": "How long do chains take?",
        "settings": [
            Setting("most", "How many.", 3, 30, least=1),
            Setting("lengths", "Lengths of chains.", (1, 2), (1, 2, 3)),
            Setting("kind", "Of chain.", "iron", "iron", choices=("iron", "gold")),
            Setting("works", "Whether.", 1, 1),
        ],
        "steps": [
            Step("count", "counting", count, (1, 2)),
            Step("price", "pricing", price, (3, 6)),
        ],
        "exhibits": [Exhibit("figure-1", "Time of chains", "It grows.", shown)],
        "headline": lambda found, _: Headline(
            "time of two", "2 ms", f"{1e3 * found['price']['makespans_s'][1]:g} ms"
        ),
        **changed,
    })  # fmt: skip


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    MADE.clear()
    monkeypatch.chdir(tmp_path)

    def call(*words, of=None):
        monkeypatch.setattr(sys, "argv", ["experiments.chains", *words])
        with pytest.raises(SystemExit) as ended:
            command_of(of or experiment())()
        return ended.value.code, *capsys.readouterr()

    return call


def test_an_experiment_leaves_figures_tables_results_and_a_page(run, tmp_path):
    code, out, err = run("--output", "new")
    assert (code, MADE) == (0, ["count", 1, 2]), err
    assert "figure-1     agrees" in out
    assert "time of two: 2 ms in the paper, 2 ms here" in out
    folder = tmp_path / "new"
    assert pd.read_csv(folder / "tables" / "figure-1.csv")["makespan (s)"].tolist() == [
        0.001,
        0.002,
    ]
    assert (folder / "figures" / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads((folder / "results.json").read_text())
    assert results["found"]["count"] == {"numbers": [0, 1, 2]}
    assert results["exhibits"][0]["agrees"] is True
    page = (folder / "index.html").read_text()
    for text in ("On chains", "It grows.", "twice the time", "tasksim simulate chain length=2"):
        assert text in page


def test_what_is_made_is_not_made_again(run, tmp_path):
    code, _, err = run("--works", "0")
    assert (code, MADE) == (130, ["count"])
    assert "What is done is kept; the same command goes on." in err
    code, _, err = run("--works", "1")
    assert (code, MADE) == (2, ["count"])
    assert "was begun with other settings (works=0, now 1)" in err
    # Within a step, too.
    (tmp_path / "chains" / "work" / "price" / "chain-1.json").write_text('"{\\"makespan_s\\": 7}"')
    mark = tmp_path / "chains" / "experiment.json"
    mark.write_text(mark.read_text().replace('"works": 0', '"works": 1'))
    code, out, _ = run("--json")
    assert (code, MADE) == (0, ["count", 2])
    assert json.loads(out)["found"]["price"]["makespans_s"] == [7, 0.002]
    run("--again")
    run()
    assert MADE == ["count", 2]
    assert run("--force")[0] == 0
    assert MADE == ["count", 2, "count", 1, 2]


def test_a_step_that_lacks_and_foreign_folders_are_told(run, tmp_path):
    assert "is not what an experiment writes" in run("--again")[2]
    run("--works", "0")
    assert run("--works", "0", "--again")[1:] == (
        "", "Error: chains: step 'price' is not made yet; go on with it first\n"
    )  # fmt: skip
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").touch()
    for words in ((), ("--force",)):
        code, _, err = run("--output", "home", *words)
        assert code == 2
        assert "experiment" in err
    assert (tmp_path / "home" / "letter").exists()
    other = experiment(name="ropes")
    assert (
        "is of another experiment: chains; legal: ropes" in run("--output", "chains", of=other)[2]
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--most", "0"], "got 0; legal: at least 1"),
        (["--most", "few"], "got 'few'; legal: a whole number"),
        (["--lengths", "1,x"], "got 'x'; legal: a whole number"),
        (["--kind", "god"], "unknown value of --kind 'god', did you mean 'gold'?"),
        (["--design", "tiny"], "'tiny' is not one of"),
    ],
)
def test_wrong_values_are_refused_before_anything_is_done(run, tmp_path, words, said):
    code, out, err = run(*words)
    assert (code, out, MADE) == (2, "", [])
    assert said in err
    assert not list(tmp_path.iterdir())


def test_a_command_that_fails_says_which(run):
    def fail(work):
        work.tasksim("simulate", "nothing-of-that-name")

    code, _, err = run(of=experiment(steps=[Step("count", "failing", fail)]))
    assert code == 3
    assert "tasksim simulate nothing-of-that-name: exit code 2: Error: unknown" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_command_runs_on_ranks_where_mpiexec_is(run, tmp_path):
    def count_workers(work):
        if work.mpiexec is None:
            pytest.skip("no mpiexec")
        said = work.tasksim("run", "chain", "length=2", "--workers", 1, "--json", ranks=2)
        return {"workers": json.loads(said)["workers"]}

    steps = [Step("price", "counting", count_workers)]
    of = experiment(steps=steps, exhibits=[], headline=lambda *_: Headline("", "", ""))
    code, out, err = run("--json", of=of)
    assert code == 0, err
    assert json.loads(out)["found"]["price"] == {"workers": 2}  # one on each rank
    (line,) = (tmp_path / "chains" / "commands.txt").read_text().splitlines()
    assert line == "mpiexec -n 2 tasksim run chain length=2 --workers 1 --json"


def test_ranks_without_mpiexec_are_a_failure_that_says_so(run, monkeypatch):
    monkeypatch.setattr(Work, "mpiexec", None)
    steps = [Step("price", "counting", lambda work: work.tasksim("doctor", ranks=2))]
    code, _, err = run(of=experiment(steps=steps))
    assert code == 3
    assert "no mpiexec: install it with: pip install 'tasksim[mpi]'" in err


def test_help_names_settings_designs_and_the_paper(run):
    code, out, _ = run("--help")
    assert code == 0
    for text in (
        "--lengths",
        "1,2; full design: 1,2,3",
        "iron, gold",
        "On chains",
        "about 4 minutes",
    ):
        assert text in out
