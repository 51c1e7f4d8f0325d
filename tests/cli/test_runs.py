"""Commands on runs: compare, view, bounds; validate; list; doctor."""

from __future__ import annotations

import json
import re
import shlex

import pytest

DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"


@pytest.fixture
def two_runs(tasksim):
    """Two runs of one graph, a: 3 workers, b: 1 worker."""
    for name, workers in (("a", 3), ("b", 1)):
        tasksim(f"simulate cholesky tiles=5 {DURATIONS} --workers {workers} -o {name}")
    return tasksim


# compare


def test_compare_says_how_far_b_is_from_a(two_runs):
    result = two_runs("compare a b --json").json
    assert result["schema_version"] == 1
    assert result["runs"] == ["a", "b"]
    assert result["b"]["makespan_s"] == 125.0
    assert result["error_percent"] == pytest.approx(
        100 * (125.0 / result["a"]["makespan_s"] - 1), rel=1e-12
    )
    assert [k["kernel"] for k in result["kernels"]] == ["potrf", "trsm", "syrk", "gemm"]
    assert "makespan" in two_runs("compare a b").out


def test_compare_checks_the_error(two_runs):
    assert two_runs("compare a a --max-error 0%").code == 0
    called = two_runs("compare a b --max-error 5%")
    assert called.code == 3
    error = two_runs("compare a b --json").json["error_percent"]
    assert called.errors == [f"Error: the makespans differ by {error:+.2f} %, more than 5 %"]
    assert two_runs("compare a b --max-error 300%").code == 0
    # A prediction that is too short is as wrong as one that is too long.
    assert two_runs("compare b a --max-error 0.05").code == 3


def test_compare_refuses_different_graphs(two_runs):
    two_runs(f"simulate cholesky tiles=6 {DURATIONS} --workers 1 -o c")
    called = two_runs("compare a c")
    assert called.code == 2
    assert called.errors[0].startswith("Error: the runs have different graphs: cholesky tiles=5")
    assert two_runs("compare a c --any-graph").code == 0


def test_compare_draws_both(two_runs, tmp_path):
    assert two_runs("compare a b --figure both.svg").code == 0
    assert "<svg" in (tmp_path / "both.svg").read_text()


def test_compare_writes_a_page_of_up_to_four(two_runs, tmp_path):
    called = two_runs("compare a b a b --html all.html --json")
    assert called.code == 0
    assert called.json["html"] == "all.html"
    errors = [found["error_percent"] for found in called.json["comparisons"]]
    assert errors[0] == errors[2] != errors[1] == 0
    assert (tmp_path / "all.html").read_text().count('id="data-') == 4
    called = two_runs("compare a b a b a --html five.html")
    assert called.errors == ["Error: got 5 runs; legal: 2 to 4"]
    assert not (tmp_path / "five.html").exists()


# view


def test_view_draws_beside_the_run(two_runs, tmp_path):
    called = two_runs("view a")
    assert called.code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "makespan" in called.out
    assert "worker  architecture" in called.out
    called = two_runs("view a")
    assert called.code == 2
    assert called.errors == [f"Error: {tmp_path}/a.png exists; give --force to replace it"]
    assert two_runs("view a --force").code == 0


def test_view_prints_metrics_as_json(two_runs, tmp_path):
    called = two_runs("view a b -o v.svg --panels gantt,submitted,kernels,distributions --json")
    assert [run["path"] for run in called.json["runs"]] == ["a", "b"]
    assert called.json["runs"][1]["makespan_s"] == 125.0
    assert called.json["figure"] == "v.svg"
    assert (tmp_path / "v.svg").is_file()


def test_view_says_what_the_critical_path_is_made_of(two_runs):
    called = two_runs("view a b -o v.svg --critical-path --json")
    path = called.json["runs"][0]["critical_path"]
    in_kernels = sum(kernel["total_s"] for kernel in path["kernels"])
    assert in_kernels + sum(path["waited_s"].values()) == pytest.approx(path["makespan_s"])
    assert set(path["costs"]) == {"path", "longest", "most", "mean"}
    assert set(path["longest"]) == {"time", "synchronisations", "words", "flop"}
    assert set(path["slack"]) == {kernel["kernel"] for kernel in path["kernels"]}
    text = two_runs("view a b -o v.svg --critical-path --force").out
    assert text.count("practical critical path") == text.count("along the path") == 2
    assert text.count("longest of any path") == text.count("tasks without") == 2


def test_view_writes_a_page_and_shows_it(two_runs, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda url: shown.append(url) or True)
    called = two_runs("view a b --html v.html --open --json")
    assert (called.json["figure"], called.json["html"]) == (None, "v.html")
    assert shown == [(tmp_path / "v.html").as_uri()]
    assert not (tmp_path / "a.png").exists()
    assert two_runs("view a --html v.html").code == 2
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    called = two_runs("view a --html v.html --open --force")
    assert "no browser was found on this machine; open v.html in one" in called.err


def test_view_writes_a_live_page_of_one_run(two_runs, tmp_path):
    called = two_runs("view a --live live.html --json")
    assert (called.json["figure"], called.json["live"]) == (None, "live.html")
    assert two_runs("explore a -o explored.html").code == 0
    of_view, of_explore = (
        re.findall(r'id="(?:live|live-columns|core|worker)">[^<]*', path.read_text())
        for path in (tmp_path / "live.html", tmp_path / "explored.html")
    )
    assert of_view == of_explore
    assert not (tmp_path / "a.png").exists()


def test_view_says_of_pages_what_is_large_or_lacks(two_runs, tmp_path, monkeypatch):
    monkeypatch.setattr("tasksim.cli.output._LARGE_BYTES", 1000)
    called = two_runs("view a --html v.html")
    assert "Warning: v.html has " in called.err
    assert "the page shows only" not in called.err
    described = json.loads((tmp_path / "a" / "run.json").read_text())
    described["graph"]["name"] = "gone"
    described["config"]["graph"]["name"] = "gone"
    (tmp_path / "a" / "run.json").write_text(json.dumps(described))
    called = two_runs("view a --html v.html --force")
    assert called.code == 0
    assert (
        "note: the page shows only the dependency that released each task: a: the graph of this run"
        in called.err
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "view a --open",
            "Error: --open shows the page that --html or --live writes: give one, too",
        ),
        ("view a --html v.txt", "Error: v.txt: a page is a '.html' file, not '.txt'"),
        ("view a b --live v.html", "Error: --live: got 2 runs; a live page replays one"),
        ("view a --live v.txt", "Error: v.txt: a page is a '.html' file, not '.txt'"),
        ("view a a a a a --html v.html", "Error: runs: got 5; legal in a page: 1 to 4"),
    ],
)
def test_view_refuses_pages_that_cannot_be(two_runs, tmp_path, line, says):
    called = two_runs(line)
    assert (called.code, called.errors) == (2, [says])
    assert not (tmp_path / "v.html").exists()


# bounds


def test_bounds_of_a_graph(tasksim):
    line = f"bounds cholesky tiles=20 --workers 8 {DURATIONS}"
    result = tasksim(f"{line} --json").json
    assert result["bounds"] == {"critical_path_s": 170.0, "area_s": 1000.0}
    assert result["best_s"] == 1000.0
    assert result["graph"]["tasks"] == 1540
    assert "critical path" in tasksim(line).out


def test_bounds_of_a_run_show_what_it_waited_for(two_runs):
    result = two_runs("bounds b --json").json
    assert result["makespan_s"] == 125.0
    assert result["bounds"]["area_s"] == 125.0
    path = result["practical_critical_path"]
    # One worker, never idle: every task is on the path.
    assert sum(path["kernel_s"].values()) == 125.0
    assert len(path["steps"]) == 35
    assert "practical critical path\n35 tasks" in two_runs("bounds b/run.json").out


def test_bounds_of_a_run_take_no_options(two_runs):
    called = two_runs("bounds b --workers 2")
    assert called.code == 2
    assert called.errors == ["Error: b is a run, which takes no settings and no options of graphs"]


# validate


def test_validate_says_what_is_ok(two_runs, tmp_path):
    from tasksim.base.library import package_library
    from tasksim.graph.apps.registry import generate
    from tasksim.graph.graph_file import save

    save(generate("chain", length=3), tmp_path / "g.npz")
    platform = package_library() / "platforms" / "identical-8.yaml"
    called = two_runs(f"validate a b/run.json g.npz {shlex.quote(str(platform))}")
    assert called.code == 0
    assert called.out.splitlines() == [
        "a: ok, simulated run of cholesky tiles=5 tile_size=256 dtype=float64 priorities=app,"
        " 35 tasks",
        "b/run.json: ok, simulated run of cholesky tiles=5 tile_size=256 dtype=float64"
        " priorities=app, 35 tasks",
        "g.npz: ok, task graph chain: 3 tasks, 2 edges",
        f"{platform}: ok, platform identical-8: 8 cpu; 1 memory: ram; no overheads",
    ]


def test_validate_goes_on_after_an_error(two_runs, tmp_path):
    (tmp_path / "p.yaml").write_text("version: 1\nworkers: {cpu: {count: 0, cnt: 1}}\n")
    (tmp_path / "k.json").write_text('{"schema_version": 1,}')
    called = two_runs("validate p.yaml k.json none.yaml x.txt a")
    assert called.code == 2
    assert called.out.startswith("a: ok")
    lines = called.err.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("Error: p.yaml:2:")
    assert lines[1].startswith("Error: p.yaml:2:")
    assert lines[2].startswith("Error: k.json:1:")
    assert lines[3] == "Error: none.yaml: no such file"


def test_validate_finds_what_cannot_be(two_runs, tmp_path):
    from dataclasses import replace

    from tasksim.run.runfolder import load, save

    run = load(tmp_path / "a")
    early = run.tasks.start_s.copy()
    early[1] = 0.0
    broken = replace(run, tasks=replace(run.tasks, ready_s=early, start_s=early))
    save(broken, tmp_path / "broken")
    called = two_runs("validate broken --json")
    assert called.code == 3
    assert called.json["files"][0]["exit_code"] == 3
    assert "trsm #1" in called.json["files"][0]["errors"][0]


def test_validate_looks_into_folders(two_runs, tmp_path):
    lib = tmp_path / "lib"
    (lib / "platforms").mkdir(parents=True)
    (lib / "platforms" / "p.yaml").write_text("version: 1\nworkers: {cpu: {count: 1}}\n")
    (tmp_path / "a").rename(lib / "a")
    called = two_runs("validate lib")
    assert called.code == 0
    assert [line.partition(":")[0] for line in called.out.splitlines()] == [
        "lib/a",
        "lib/platforms/p.yaml",
    ]
    (tmp_path / "empty").mkdir()
    assert two_runs("validate empty").code == 2


# list


def test_networks_of_a_library_are_listed_and_those_that_are_wrong_say_why(tasksim, tmp_path):
    folder = tmp_path / "lib" / "networks"
    folder.mkdir(parents=True)
    good = "version: 1\nnetwork: {topology: switch, bandwidth: 4GB/s, latency: 1us}\n"
    (folder / "mine.yaml").write_text(good)
    (folder / "bad.yaml").write_text("version: 1\nnetwork: {topology: swich}\n")
    found = tasksim(f"list networks --json --library {folder.parent}").json["networks"]
    assert found["mine"] == "switch, any number of hosts, model hockney"
    assert "unknown topology 'swich', did you mean 'switch'?" in found["bad"]


def test_list_describes_what_there_is(tasksim):
    result = tasksim("list --json").json
    assert list(result) == [
        "schema_version",
        "generators",
        "schedulers",
        "platforms",
        "networks",
        "topologies",
        "models",
        "kernels",
        "traces",
        "kinds",
        "formats",
        "panels",
        "executors",
        "study_executors",
    ]
    for name, text in result["topologies"].items():
        assert text.splitlines()[0].endswith("."), name
    assert result["kinds"]["constant"].startswith("A model with the same duration for any")
    assert result["formats"]["costs"].endswith("(.csv)\nreads graphs, reads platforms")
    assert result["panels"]["kernels"] == "The total time of each kernel, a bar per run."
    assert result["generators"]["cholesky"].endswith(
        "tiles=... [tile_size=256] [dtype=float64] [flush] [updates] [lookahead] [priorities=app]\n"
        "executes: tasksim run"
    )
    assert result["schedulers"]["eager"].startswith("A central first-in first-out queue")
    assert result["platforms"]["identical-8"] == "eight identical workers, without overheads"
    assert result["kernels"]["gemm_float32"] == "m=... n=... k=..."


def test_validate_finds_graphs_and_broken_runs_in_folders(two_runs, tmp_path):
    from tasksim.graph.apps.registry import generate
    from tasksim.graph.graph_file import save

    save(generate("cholesky", tiles=2), tmp_path / "all" / "g.npz")
    (tmp_path / "a").rename(tmp_path / "all" / "a")
    (tmp_path / "all" / "a" / "run.json").unlink()
    (tmp_path / "all" / "folder.yaml").mkdir()
    (tmp_path / "all" / "demo.json").write_text("{}")
    called = two_runs("validate all")
    assert called.out == "all/g.npz: ok, task graph cholesky: 4 tasks, 3 edges\n"
    assert called.err == "Error: all/a is not a run folder: it has no run.json\n"
    assert called.code == 2


def test_bounds_of_a_folder_that_is_no_run(tasksim, tmp_path):
    (tmp_path / "empty").mkdir()
    called = tasksim("bounds empty")
    assert (called.code, called.err) == (
        2,
        "Error: empty is not a run folder: it has no run.json\n",
    )


def test_a_folder_with_the_name_of_a_generator_hides_it_not(tasksim, tmp_path):
    (tmp_path / "chain").mkdir()
    assert tasksim("bounds chain length=2 --workers 1").code == 0


def test_list_of_one_kind(tasksim):
    out = tasksim("list schedulers").out
    assert out.startswith("schedulers:\n  eager")
    assert "generators" not in out


def test_list_shortens_many_models(tasksim, tmp_path):
    folder = tmp_path / "lib" / "models" / "big"
    folder.mkdir(parents=True)
    names = [f"kernel{number:02}" for number in range(20)]
    for name in names:
        (folder / f"{name}.json").touch()
    line = next(
        one for one in tasksim("list models --library lib").out.splitlines() if "  big " in one
    )
    assert line.split(maxsplit=1)[1] == f"{', '.join(names[:12])}, ... 20 in all"
    assert tasksim("list models --library lib --json").json["models"]["big"] == ", ".join(names)


def test_list_shows_a_library_first(tasksim, tmp_path):
    (tmp_path / "lib" / "platforms").mkdir(parents=True)
    (tmp_path / "lib" / "platforms" / "mine.yaml").write_text("version: 1\nworkers: {}\n")
    found = tasksim("list platforms --library lib --json").json["platforms"]
    assert next(iter(found)) == "mine"
    assert found["mine"].startswith("invalid: ")


# doctor


def test_doctor_says_what_this_machine_can(tasksim):
    called = tasksim("doctor --json")
    assert called.code == 0
    found = called.json
    assert found["missing"] == []
    assert found["packages"]["numpy"]
    assert len(found["cores"]) >= 1
    assert found["parallelism"]["alone_s"] > 0
    assert found["blas"][0]["internal_api"]
    assert "usable" in tasksim("doctor").out


@pytest.mark.slow
def test_doctor_says_what_the_system_tells_of_others(tasksim, monkeypatch):
    from tasksim.cli import doctor

    told = ("threads", "waiting", "pressure", "pulses")
    accounts = {name: name in told for name in (*told, "host", "limit")}
    monkeypatch.setattr(doctor, "_accounts", lambda: accounts)
    line = (
        "processor time of threads, waiting for a core, pressure on the cores, others on the same "
        "processor; missing: what the host took, limits"
    )
    assert line in tasksim("doctor").out
    assert tasksim("doctor --json").json["accounts"] == accounts
    accounts["threads"] = False
    assert "no processor time of threads: other programs on this machine" in tasksim("doctor").out


def test_doctor_fails_when_something_is_missing(tasksim, monkeypatch):
    from tasksim.cli import doctor

    monkeypatch.setattr(doctor, "REQUIRED_PACKAGES", ("click", "no-such-package"))
    called = tasksim("doctor")
    assert called.code == 1
    assert "no-such-package  MISSING" in called.out
    assert "pip install no-such-package" in called.out
    assert json.loads(tasksim("doctor --json").out)["missing"] == ["no-such-package"]
