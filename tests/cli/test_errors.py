"""Every mistake: one line that says what, what was got, what is legal; and the exit code."""

from __future__ import annotations

import pytest

from tasksim.base.library import names, package_library
from tasksim.graph.apps import registry
from tasksim.schedulers import registry as schedulers

GRAPHS = ", ".join(registry.GENERATORS.built_in)
SCHEDULERS = ", ".join(schedulers.names())
PLATFORMS = ", ".join(names("platforms", ".yaml", package_library()))
W = "--workers 2"
NO_RUN = "no such run; -o of 'tasksim simulate', 'run' or 'record' writes one"
D = "--durations potrf=1,trsm=3,syrk=3,gemm=6"

MISTAKES = {
    f"simulate cholesk tiles=2 {W} {D}": (
        f"unknown task graph 'cholesk', did you mean 'cholesky'? (known: {GRAPHS})"
    ),
    f"simulate cholesky tile=2 {W} {D}": (
        "cholesky: unknown parameter 'tile', did you mean 'tiles'? "
        "(known: tiles, tile_size, dtype, flush, updates, lookahead, priorities)"
    ),
    f"simulate cholesky {W} {D}": (
        "cholesky: tiles is missing; give tiles=VALUE, an integer from 1"
    ),
    f"simulate cholesky tiles=0 {W} {D}": "cholesky: tiles: got '0'; legal: an integer from 1",
    f"simulate cholesky tiles=-3 {W} {D}": "cholesky: tiles: got '-3'; legal: an integer from 1",
    f"simulate cholesky tiles=two {W} {D}": "cholesky: tiles: got 'two'; legal: an integer from 1",
    f"simulate cholesky tiles=1.5 {W} {D}": "cholesky: tiles: got '1.5'; legal: an integer from 1",
    f"simulate cholesky tiles {W} {D}": (
        "cholesky: got 'tiles'; legal: KEY=VALUE with KEY one of "
        "tiles, tile_size, dtype, flush, updates, lookahead, priorities"
    ),
    f"simulate cholesky tiles=2 tiles=3 {W} {D}": "cholesky: tiles is given twice: 2 and 3",
    f"simulate none.npz {W} {D}": "none.npz: no such task graph file",
    f"simulate cholesky tiles=2 {W} {D} --scheduler pro": (
        f"unknown scheduler 'pro', did you mean 'prio'? (known: {SCHEDULERS})"
    ),
    f"simulate cholesky tiles=2 {W} --durations potrf=1,trms=3,syrk=3": (
        "--durations: unknown kernel 'trms', did you mean 'trsm'? (known: potrf, trsm, syrk)"
    ),
    f"simulate cholesky tiles=3 {W} --durations potrf=1,syrk=2": (
        "--durations: kernel trsm, gemm of graph cholesky missing; "
        "give trsm=SECONDS,gemm=SECONDS as well, or --models DIR"
    ),
    f"simulate cholesky tiles=1 {W} --durations potrf=-1": (
        "--durations: potrf: got -1; legal: a finite time from 0"
    ),
    f"simulate cholesky tiles=1 {W} --durations potrf=nan": (
        "--durations: potrf: got nan; legal: a finite time from 0"
    ),
    f"simulate cholesky tiles=1 {W} --durations potrf": (
        "--durations: got 'potrf'; legal: KERNEL=SECONDS,[ARCHITECTURE:]KERNEL=SECONDS; "
        "or, for a recorded run, measured or means or alone"
    ),
    f"simulate cholesky tiles=1 {W} --durations potrf=1,potrf=2": (
        "--durations: potrf is given twice"
    ),
    f"simulate cholesky tiles=1 {W} --durations 'potrf=1 sec'": (
        "--durations: potrf: '1 sec' is not a time: write e.g. '10 us'; "
        "legal units: ns, us, ms, s, min, h, did you mean 's'?"
    ),
    f"simulate cholesky tiles=2 {D}": "the platform is missing: give --workers N",
    "simulate cholesky tiles=2": "the platform is missing: give --workers N or --platform NAME",
    f"simulate cholesky tiles=2 {W} --platform identical-8 {D}": (
        "--platform and --workers exclude each other: a platform has workers"
    ),
    f"simulate cholesky tiles=2 {W} {D} --models x": (
        "--models: --durations has all kernels already; leave one out"
    ),
    f"simulate cholesky tiles=2 {W}": (
        "no kernel models: identical workers have none; give --models xeon-2c, or --durations "
        "potrf=SECONDS,trsm=SECONDS,syrk=SECONDS; or measure them on this machine, "
        "'tasksim calibrate cholesky tiles=2 --name mymachine', and give --models mymachine"
    ),
    "simulate cholesky tiles=2 --platform identical-8": (
        "no kernel models: platform identical-8 names none; give --models xeon-2c, or --durations "
        "potrf=SECONDS,trsm=SECONDS,syrk=SECONDS; or measure them on this machine, "
        "'tasksim calibrate cholesky tiles=2 --name mymachine', and give --models mymachine"
    ),
    f"simulate cholesky tiles=2 {D} --platform identical-9": (
        f"unknown platform 'identical-9', did you mean 'identical-8'? (known: {PLATFORMS});"
        " 'tasksim calibrate' measures this machine, 'tasksim import' reads those of StarPU and"
        " hwloc"
    ),
    f"simulate cholesky tiles=2 {W} {D} --set platform.nodes=2": (
        "--set changes a platform file: give --platform NAME"
    ),
    f"simulate cholesky tiles=2 {W} {D} --model-names x_{{kernel}}": (
        "--model-names: --durations has all kernels already; leave one out"
    ),
    f"simulate cholesky tiles=2 {W} --models . --model-names x": (
        "--model-names: got 'x'; legal: a text with {kernel} in it, such as 'prefix_{kernel}'; "
        "KERNEL=MODEL,KERNEL=MODEL; or a YAML file with a mapping of them"
    ),
    f"simulate cholesky nblocks=2 {W} {D}": (
        "cholesky: unknown parameter 'nblocks', did you mean 'tiles'? "
        "(known: tiles, tile_size, dtype, flush, updates, lookahead, priorities)"
    ),
    f"simulate cholesky tiles=2 {W} {D} --scheduler eager,ws": (
        "scheduler 'eager,ws': give one; 'tasksim simulate --uncertainty both --against NAME' "
        "compares two, 'tasksim study' many"
    ),
    f"simulate cholesky tiles=2 {D} --platform xeon-2c --set platform.workers.cuda.count=2": (
        "--set platform.workers.cuda.count=2: the platform has no workers 'cuda' (legal cpu); "
        "a platform file that 'extends:' it can add workers, memories and links"
    ),
    "simulate --from none": f"none: {NO_RUN}",
    "compare a b": f"a: {NO_RUN}",
    "view none": f"none: {NO_RUN}",
    f"simulate cholesky 4 {W} {D}": (
        "cholesky: got '4', did you mean 'tiles=4'? (legal: KEY=VALUE with KEY one of "
        "tiles, tile_size, dtype, flush, updates, lookahead, priorities)"
    ),
    f"simulate fork-join width=2 {W} --gantt chart": (
        "chart: the name has no ending (legal: .png, .pdf, .svg)"
    ),
    f"simulate cholesky tiles=2 {D} --platform xeon-2c --set platform.workers.count=2": (
        "--set platform.workers.count=2: platform.workers has a count for each kind of worker: "
        "platform.workers.cpu.count"
    ),
    "view none --panels gant": (
        "--panels: unknown panel 'gant', did you mean 'gantt'? "
        "(known: gantt, iterations, utilisation, lackready, memory, bandwidth, ready, submitted, "
        "gflops, power, others, kernels, distributions, path, scatter, network, messages, nodes, "
        "blame)"
    ),
    "list scheduler": (
        "unknown kind of thing 'scheduler', did you mean 'schedulers'? "
        "(known: generators, schedulers, platforms, networks, topologies, models, kernels, traces, "
        "kinds, formats, panels, executors, study-executors)"
    ),
    "run cholesky tiles=2 --scheduler pro": (
        f"unknown scheduler 'pro', did you mean 'prio'? (known: {SCHEDULERS})"
    ),
    "run cholesky tiles=2 --platform xeon-2c": (
        "No such option '--platform': 'run' executes on this machine; 'simulate' predicts others"
    ),
    "run cholesky tiles=0": "cholesky: tiles: got '0'; legal: an integer from 1",
    "calibrate tiles=3": "got 'tiles=3'; legal: a graph or a kernel first, then its KEY=VALUE",
    "calibrate gemm m=a n=1 k=1": "kernel gemm: m: got 'a'; legal: a number",
    "calibrate cholesky tiles=2 tiles=3": (
        "cholesky: tiles is given twice; several values have commas: tiles=A,B"
    ),
    "bounds cholesky tiles=2": "the platform is missing: give --workers N or --platform NAME",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(tasksim, line):
    called = tasksim(line)
    assert called.err == f"Error: {MISTAKES[line]}\n"
    assert (called.code, called.out) == (2, "")


USAGE = {
    "simulat": "unknown command 'simulat', did you mean 'simulate'?",
    "hwloc": "unknown command 'hwloc', did you mean 'tasksim import hwloc'?",
    "help": "'tasksim --help' lists the commands; after one of them, --help explains it",
    "simulate cholesky tiles=2 workers=2": "'workers=2' is no setting of cholesky; write --workers",
    "simulate": "Missing argument 'GRAPH' (or --from RUN).",
    "simulate cholesky --shceduler x": "No such option",
    "simulate cholesky --workers 0": (
        "Invalid value for '--workers': 0 is not in the range 1<=x<=1000000."
    ),
    "run cholesky --workers 1000001": "Invalid value for '--workers': 1000001 is not in the range",
    "demo --workers 1e9": "Invalid value for '--workers': '1e9' is not a valid integer.",
    "simulate cholesky --workers two": "Invalid value for '--workers': 'two' is not",
    "simulate cholesky --noise loud": "Invalid value for '--noise': 'loud' is not one of",
    "simulate cholesky --seed -1": "Invalid value for '--seed': -1 is not in the range x>=0.",
    "simulate cholesky --library none": "Invalid value for '--library': Directory 'none' does not",
    "compare a b --max-error 5": (
        "Invalid value for '--max-error': '5' is not a share: write e.g. '5%' or '0.05'"
    ),
    "compare a b --max-error 5%x": "Invalid value for '--max-error': '5%x' is not a share",
    "calibrate cholesky --max-time 60": "Invalid value for '--max-time': 60 has no unit",
    "calibrate cholesky --max-time 0s": "Invalid value for '--max-time': '0s': must be more",
}


@pytest.mark.parametrize("line", USAGE)
def test_wrong_usage_says_where_help_is(tasksim, line):
    called = tasksim(line)
    assert called.code == 2
    assert called.out == ""
    lines = called.err.splitlines()
    assert lines[0].startswith("Usage: tasksim ")
    assert "--help' for help." in lines[1]
    assert called.errors[0].startswith(f"Error: {USAGE[line]}")


def test_unknown_options_have_a_nearest_one(tasksim):
    assert "'--scheduler'" in tasksim("simulate cholesky --shceduler x").errors[0]


def test_all_errors_of_a_platform_file_at_once(tasksim, tmp_path):
    (tmp_path / "p.yaml").write_text(
        "version: 1\nworkers: {cpu: {count: -1}}\noverheads: {tusk: 1 us}\n"
    )
    called = tasksim(f"simulate cholesky tiles=2 {D} --platform p.yaml")
    assert called.code == 2
    lines = called.err.splitlines()
    assert lines[0].startswith("Error: p.yaml:2:24: workers.cpu.count: ")
    assert lines[1].startswith("p.yaml:3:13: overheads.tusk: ")
    assert "did you mean 'task'?" in lines[1]
    assert len(lines) == 2


def test_a_damaged_graph_file(tasksim, tmp_path):
    (tmp_path / "g.npz").write_bytes(b"PK\x03\x04 not a zip file")
    called = tasksim(f"simulate g.npz {W} {D}")
    assert called.code == 2
    assert called.err.startswith("Error: g.npz: not a task graph file, or damaged: ")


def test_a_graph_that_is_not_there_is_told_before_where_to_run(tasksim):
    (error,) = tasksim("simulate choleski --durations measured").errors
    assert error.startswith("Error: unknown task graph 'choleski', did you mean 'cholesky'?")


@pytest.mark.parametrize("line", [f"simulate a.txt {W}", "import workflow a.txt -o a.npz"])
def test_a_file_of_no_format_of_graphs(tasksim, tmp_path, line):
    (tmp_path / "a.txt").write_text("x = 1\n")
    called = tasksim(line)
    assert called.code == 2
    (error,) = called.errors
    assert error.startswith("Error: a.txt: not in a format of task graphs; legal: graph (.npz), ")
    assert not (tmp_path / "a.npz").exists()


def test_outputs_that_cannot_be_written_fail_before_the_work(tasksim, tmp_path):
    (tmp_path / "file").write_text("")
    called = tasksim(f"simulate cholesky tiles=2 {W} {D} -o file/run")
    assert called.code == 2
    assert called.err == f"Error: cannot write file/run: {tmp_path}/file is not a folder\n"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("calibrate gemm m=8 n=8 k=8 --library", "models"),
        ("calibrate gemm m=8 n=8 k=8 --contention --library", "models"),
        ("calibrate memory --name here --library", "platforms/here.yaml"),
        ("calibrate power --name here --library", "platforms/here.yaml"),
        ("counters gemm m=8..9 n=8 k=8 --samples 1 -o", ""),
        ("measure gemm m=8..9 n=8 k=8 --samples 1 -o", ""),
        ("run cholesky tiles=2 tile_size=8 -o", ""),
        (f"simulate cholesky tiles=2 {W} {D} -o", ""),
        ("demo --output", ""),
    ],
)
def test_where_permissions_promise_too_much_nothing_is_done_either(tasksim, line, what):
    called = tasksim(f"{line} /proc/new/{'' if what else 'x.csv'}")
    assert (called.code, called.out) == (2, "")
    assert called.err == (
        f"Error: cannot write /proc/new/{what or 'x.csv'}: "
        "nothing can be made in /proc (No such file or directory)\n"
    )


@pytest.mark.parametrize("what", ["gemm m=8 n=8 k=8", "memory", "power"])
def test_a_machine_is_named_as_files_can_be(tasksim, tmp_path, what):
    called = tasksim(f"calibrate {what} --name ../up --library library")
    message = "machine '../up': a name with '/', or that begins with '.', is no file"
    assert (called.code, called.err) == (2, f"Error: {message}\n")
    assert not list(tmp_path.rglob("*.yaml"))


@pytest.mark.parametrize(
    "line",
    [
        f"simulate cholesky tiles=3 {W} {D} --scheduler nosuch -o new/a --gantt new/b/c.png",
        f"simulate cholesky tiles=3 {W} {D} -o new/a --gantt new/b/c.xyz",
        "run cholesky tiles=3 tile_size=8 --models nosuch -o new/a",
        "calibrate cholesky tiles=2 tile_size=8 --scheduler nosuch --library new",
        "calibrate cholesky tiles=2 tile_size=8 --scheduler lws --scheduler dmdas --library new",
        "calibrate gemm m=8 n=8 k=8 --scheduler nosuch --library new",
        "calibrate gemm m=8 n=8 k=8 --terms gemm=q --library new",
        "measure gemm m=8..16 n=8 k=8 q=3 -o new/samples.csv",
        "study run study.yaml -o new/study",
        "study run good.yaml --executor nosuch -o new/study",
        "import starpu . -o new/library",
        "import workflow good.yaml -o new/graph.npz",
        "export models nosuch -o new/models.json",
        "export csv nosuch -o new/run.csv",
        f"tune cholesky n=64 {W} {D} --over tile_size=7,9 -o new/tuned.json",
    ],
)
def test_what_is_refused_leaves_nothing_behind(tasksim, tmp_path, line):
    study = (
        "{{version: 1, name: s, graphs: [cholesky tiles=3], platforms: [{}], schedulers: [lws]}}"
    )
    (tmp_path / "study.yaml").write_text(study.format("nosuch"))
    (tmp_path / "good.yaml").write_text(study.format("xeon-2c"))
    called = tasksim(line)
    assert (called.code, len(called.errors)) == (2, 1)
    assert not (tmp_path / "new").exists()


def test_a_platform_of_no_file(tasksim):
    called = tasksim(f"simulate cholesky tiles=2 {D} --platform ./none.yaml")
    assert called.code == 2
    assert called.err.startswith("Error: ")
    assert "none.yaml" in called.err


def test_unknown_models(tasksim):
    called = tasksim(f"simulate cholesky tiles=2 {W} --models none-such")
    assert called.code == 2
    assert called.err.startswith("Error: unknown model 'none-such'")


def test_outputs_are_checked_before_the_work(tasksim, tmp_path, monkeypatch):
    from tasksim.engine import simulation

    monkeypatch.setattr(simulation, "replayed", lambda *_, **__: pytest.fail("it ran"))
    line = f"simulate cholesky tiles=2 {W} {D} --force"
    (tmp_path / "file.png").write_text("")
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "folder.png" / "thesis.tex").write_text("")
    expected = {
        "-o file.png": "file.png is a file, not a run folder; choose another name",
        "-o .": ". holds the current folder; it is not replaced, choose another",
        "-o folder.png": (
            "folder.png is not a run folder (it holds 'thesis.tex' and no run.json); "
            "it is not replaced, choose another name"
        ),
        "-o new.png --gantt new.png": "--output and --gantt are both new.png; give two names",
        "--gantt folder.png": "folder.png is a folder, not a figure; choose another name",
    }
    for options, message in expected.items():
        called = tasksim(f"{line} {options}")
        assert (called.code, called.err) == (2, f"Error: {message}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.png", "folder.png"]


def test_a_demo_replaces_only_what_a_demo_wrote(tasksim, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("")
    called = tasksim("demo --output home --force")
    assert called.code == 2
    assert called.errors == [
        "Error: home is not what a demo wrote (it holds 'thesis.tex' and no demo.json); "
        "it is not replaced, choose another name"
    ]


def test_results_are_printed_although_they_cannot_be_kept(tasksim, monkeypatch):
    from tasksim.base.errors import OutputError
    from tasksim.run import runfolder

    def full(*_, **__):
        raise OutputError("cannot write out: No space left on device")

    monkeypatch.setattr(runfolder, "save", full)
    called = tasksim(f"simulate cholesky tiles=2 {W} {D} -o out --json")
    assert (called.code, called.json["graph"]["tasks"]) == (1, 4)
    assert called.err == "Error: cannot write out: No space left on device\n"
    called = tasksim("run chain length=2 --workers 1 -o out --json")
    assert (called.code, called.json["graph"]["tasks"]) == (1, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tiles=2 --workers 1_0", "'1_0' is not a valid integer"),
        ("tiles=2 --workers 010", "'010' is not a valid integer"),
        ("tiles=2 --workers 2 --seed 0_1", "'0_1' is not a valid integer"),
        ("tiles=1_0 --workers 2", "tiles: got '1_0'; legal: an integer from 1"),
        ("tiles=2 --workers 2 --scheduler heft --durations potrf=010", "potrf: "),
        ("tiles=2 --workers 2 --durations potrf=1_0", "potrf: "),
        ("tiles=2 --platform xeon-2c --scheduler dmda:alpha=1_0", "alpha"),
    ],
)
def test_what_only_looks_like_a_number_is_none(tasksim, line, message):
    called = tasksim(f"simulate cholesky {line}")
    assert called.code == 2
    assert message in called.err


WORDS_OF_OTHERS = {
    "simulate cholesky -nblocks 16": "No such option '-nblocks'; settings are KEY=VALUE: tiles=16",
    "simulate cholesky --ncuda 2": (
        "No such option '--ncuda'. Did you mean '--set platform.workers.cuda.count=N'?"
    ),
    "simulate cholesky --threads=2": "No such option '--threads'. Did you mean '--workers'?",
    "simulate cholesky -j 2": "No such option '-j'. Did you mean '--workers'?",
    "simulate cholesky --sched eager": "No such option '--sched'. Did you mean '--scheduler'?",
    "simulate cholesky --interval": "No such option '--interval'. Did you mean '--uncertainty'?",
}


@pytest.mark.parametrize("line", WORDS_OF_OTHERS)
def test_an_option_of_another_program_has_a_name_here(tasksim, line):
    called = tasksim(line)
    assert called.code == 2
    assert called.err.rstrip().endswith(f"Error: {WORDS_OF_OTHERS[line]}")


FILES = {
    "mine.py": (
        "print('no graph')\n",
        "mine.py defines no generator, and no application; 'tasksim record",
    ),
    "a.out": (
        "\x7fELF and so on",
        "a.out: is a compiled program, not a task graph; 'tasksim record",
    ),
    "list.txt": ("a 3\nb 2 a\n", "list.txt: not in a format of task graphs; legal: "),
    "table.csv": ("task,duration\na,3\n", "table.csv: the name does not contain 'costs'"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_graph_is_told_what_to_do_with_it(tasksim, tmp_path, name):
    text, message = FILES[name]
    (tmp_path / name).write_text(text)
    called = tasksim(f"simulate {name} {W}")
    assert called.code == 2
    assert called.errors[-1].startswith(f"Error: {message}")


def test_a_node_of_dot_may_have_a_duration(tasksim, tmp_path):
    (tmp_path / "two.dot").write_text("digraph { a [duration=3]; b [duration_s=2]; a -> b; }")
    assert tasksim(f"simulate two.dot {W} --json").json["makespan_s"] == 5.0


def test_many_options_have_sections(tasksim):
    lines = tasksim("simulate --help").out.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "Examples:", "Options:", "Several nodes:", "How sure:", "Recorded runs:", "Results:",
        "Checks:",
    ]  # fmt: skip
    assert len([line for line in lines if line.strip().startswith("--")]) > 30
