"""Files are data: nothing in them is imported, called or run, whatever they say.

Each file here tries, in the ways its format has, to import the module ``canary`` or to run
``touch EXECUTED``. Python's audit events say whether anything of it happened.
"""

from __future__ import annotations

import json
import pickle
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.graph.graph_file import save
from tasksim.scenario.scenario import Scenario

CANARY = """
from pathlib import Path
Path("EXECUTED").touch()
from tasksim.schedulers.central import Eager as Policy
from tasksim.graph.apps.synthetic import chain as graph
"""
COMMAND = "touch EXECUTED"
CALL = f"__import__('os').system('{COMMAND}')"
EVENTS = (
    "import",
    "compile",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "subprocess.Popen",
    "pickle.find_class",
    "ctypes.dlopen",
)
_seen: list[str] | None = None


def _hook(event, args):
    if _seen is not None and event in EVENTS:
        said = repr(args)
        if "canary" in said or "EXECUTED" in said or event.startswith(("os.", "pickle", "subp")):
            _seen.append(f"{event} {said[:200]}")


sys.addaudithook(_hook)  # hooks stay until the end; this one sleeps outside of `watched`


@contextmanager
def watched():
    """Yield the list of what was imported, called or run that the files speak of."""
    global _seen
    _seen = []
    try:
        yield _seen
    finally:
        _seen = None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "canary.py").write_text(CANARY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    sys.modules.pop("canary", None)


@pytest.fixture
def recorded(folder):
    """Return a function that writes a run whose run.json is changed."""
    assert (
        CliRunner()
        .invoke(cli, ["simulate", "chain", "length=2", "--workers", "1", "-o", "good"])
        .output
    )
    good = Path("good/run.json").read_text()

    def write(change):
        data = json.loads(good)
        change(data)
        Path("good/run.json").write_text(json.dumps(data))
        return "good"

    return write


def call(line, expected=(2,)):
    with watched() as seen:
        result = CliRunner().invoke(cli, line if isinstance(line, list) else line.split())
    assert result.exit_code in expected, result.output
    assert "Traceback" not in result.output
    return seen, result


def assert_nothing_ran(seen):
    assert seen == []
    assert not Path("EXECUTED").exists()
    assert "canary" not in sys.modules


FOREIGN_NAMES = ["canary:Policy", f"os:system:command={COMMAND}", "canary:Policy:x=1", "os:system"]


def set_scheduler(text):
    def change(data):
        data["scheduler"] = data["config"]["scheduler"] = text

    return change


def set_header_alone(text):
    def change(data):
        data["scheduler"] = text

    return change


def set_config_alone(text):
    def change(data):
        data["config"]["scheduler"] = text

    return change


def set_graph(text):
    def change(data):
        data["graph"]["name"] = text
        data["config"]["graph"] = {"name": text, "path": None, "settings": ["length=2"]}

    return change


def as_version_1(change):
    def changed(data):
        change(data)
        del data["config"]["version"]

    return changed


def set_names(data):
    data["kernels"] = [CALL]
    data["platform"] = "canary:Policy"
    data["config"]["platform"] |= {"name": "canary:Policy", "path": None, "workers": None}
    data["config"]["models"] |= {"name": "canary:x", "path": None, "names": CALL}
    data["config"]["library"] = "canary:x"


CHANGES = [
    *(set_scheduler(text) for text in FOREIGN_NAMES),
    *(set_header_alone(text) for text in FOREIGN_NAMES),
    *(set_config_alone(text) for text in FOREIGN_NAMES),
    *(set_graph(text) for text in ("canary:graph", "canary.py", "os:system", CALL)),
    set_graph("canary"),
    as_version_1(set_scheduler("canary:Policy")),
    as_version_1(set_graph("canary:graph")),
    set_names,
]
COMMANDS = ["simulate --from {}", "validate {}", "bounds {}", "compare {0} {0}", "view {}",
            "view {} --html page.html --force", "report kernels {}"]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_runs(recorded, change):
    path = recorded(change)
    for command in COMMANDS:
        seen, _ = call(command.format(path) + " --json", expected=(0, 2, 3))
        assert_nothing_ran(seen)
    seen, _ = call(f"simulate --from {path}")
    assert_nothing_ran(seen)


@pytest.mark.parametrize("text", ["canary:Policy", "os:system"])
def test_what_a_run_names_is_refused_with_what_to_do(recorded, text):
    _, result = call(f"simulate --from {recorded(set_scheduler(text))}")
    assert f"good: it names the scheduler '{text}'" in result.output
    assert "If you trust the file, say --trust" in result.output


def test_scenarios(folder):
    scenario = Scenario("chain length=2", workers=1, scheduler="eager").to_json()
    for part in ({"scheduler": "canary:Policy"}, {"graph": {"name": "canary:graph", "path": None,
                 "settings": []}}):  # fmt: skip
        with watched() as seen, pytest.raises(InputError, match=r"canary.* trust=True"):
            Scenario.from_json(scenario | part).solve()
        assert_nothing_ran(seen)


def test_graphs(folder):
    save(tasksim.generate("chain", length=2), folder / "good.npz")
    with np.load(folder / "good.npz") as data:
        columns = dict(data)
    for key in columns:
        np.savez(folder / "bad.npz", **(columns | {key: np.array([Evil()], dtype=object)}))
        seen, _ = call("validate bad.npz")
        assert_nothing_ran(seen)
        seen, _ = call("simulate bad.npz --workers 1")
        assert_nothing_ran(seen)


class Evil:
    def __reduce__(self):
        import os

        return os.system, (COMMAND,)


PLATFORM = "version: 1\nname: x\nworkers: {cpu: {count: 1}}\narch: {cpu: {}}\n"
HOSTILE_FILES = {
    "platform.yaml": [
        f"!!python/object/apply:os.system ['{COMMAND}']\n",
        PLATFORM + "description: !!python/name:canary.Policy\n",
        PLATFORM + f"description: !!python/object/new:os.system ['{COMMAND}']\n",
        PLATFORM + f"overheads: {{push: \"{CALL}\"}}\n",
        PLATFORM + "models: canary:Policy\n",
        PLATFORM + f'memory_hierarchy: {{memory: {{latency: "{CALL}"}}}}\n',
        PLATFORM + f'power: {{static: "{CALL}"}}\n',
        PLATFORM + "extends: canary:Policy\n",
    ],
    "model.json": [
        json.dumps({"schema_version": 1, "kernel": "k", "parameters": ["n"],
                    "machine": {"name": "m", "fingerprint": {}},
                    "architectures": {"cpu": {"model": {"kind": kind, "options": {"terms": CALL},
                                                        "parameters": ["n"]}}}})
        for kind in ("canary:Policy", "canary", "mlr", "power", CALL)
    ],
    "graph.npz": [pickle.dumps(Evil()).decode("latin-1")],
    "samples.csv": [f"n,duration_s\n{CALL},1\n", f"{CALL},duration_s\n1,1\n"],
    "samples.json": [json.dumps({"n": CALL, "duration_s": 1}), json.dumps({CALL: 1})],
    "extrap.txt": [f"PARAMETER {CALL}\nPOINTS 1\nMETRIC time\nDATA 1\n"],
    "x.out": [f"Duration, M\n1, {CALL}\n"],
    "codelet": [f"####\n# Performance Model Version\n45\n{CALL}\n"],
    "samples.parquet": [f"PAR1{CALL}"],
    "costs.csv": [f"task,canary:Policy\n{CALL},1\n"],
    "schedule.csv": [f"task,worker,start,end\n{CALL},canary:Policy,0,1\n"],
    "counted": [
        f"{CALL},,instructions:u,1,100.00,,\n",
        f"8250000,,{CALL},1,100.00,,\n",
        f"Group 1: MEM\n| Event | Counter | HWThread 0 |\n| {CALL} | FIXC0 | 8 |\n",
        f"PAPI_TOT_INS: {CALL}\n",
    ],
    "any.words": [CALL],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"), [(n, t) for n, texts in HOSTILE_FILES.items() for t in texts]
)
def test_other_files(folder, name, text):
    (folder / name).write_text(text, encoding="latin-1")
    (folder / "edges.csv").write_text("from,to,volume\n")
    for command in (
        f"validate {name}",
        f"simulate {name} --workers 1",
        f"simulate chain length=2 --platform ./{name}",
        f"simulate chain length=2 --workers 1 --models {name}",
        f"simulate chain length=2 --workers 1 --scheduler static:file={name}",
        f"fit {name} -o new.json",
        f"predict {name} k n=1",
        f"import starpu {name} --host x -o lib",
        f"counters potrf n=8 --source file:{name} -o counted.csv",
    ):
        seen, _ = call(command, expected=(0, 2))
        assert_nothing_ran(seen)


def test_platform_xml_of_starpu(folder):
    (folder / "bus").mkdir()
    (folder / "bus" / "x.platform.xml").write_text(
        f'<!DOCTYPE p [<!ENTITY e SYSTEM "file:///{folder}/canary.py">]><platform>&e;</platform>'
    )
    seen, _ = call("import starpu . --host x -o lib")
    assert_nothing_ran(seen)


def test_the_users_own_words_are_imported_and_only_schedulers_called(folder):
    for text in FOREIGN_NAMES[1], FOREIGN_NAMES[3], "os:path.join", "shutil:rmtree:path=canary.py":
        line = ["simulate", "chain", "length=2", "--workers", "1", "--scheduler", text]
        call(line)
        assert not Path("EXECUTED").exists()
        assert Path("canary.py").exists()
    seen, _ = call("simulate chain length=2 --workers 1 --scheduler canary:Policy", expected=(0,))
    assert seen
    assert Path("EXECUTED").exists()


def test_trust_is_said_once(recorded):
    path = recorded(set_scheduler("canary:Policy"))
    _, result = call(f"simulate --from {path} --trust --json", expected=(0,))
    assert Path("EXECUTED").exists()
    path = recorded(set_graph("canary:graph"))
    call(f"simulate --from {path} --trust", expected=(0,))
    _, result = call("simulate chain length=2 --workers 1 --trust")
    assert "--trust is for recorded runs" in result.output


def test_trust_in_python(folder):
    scenario = Scenario("canary:graph length=2", workers=1, scheduler="canary:Policy").to_json()
    assert len(Scenario.from_json(scenario, trust=True).solve()) == 2
