"""Python's lock: which kernels hold it, as measured, declared, and as predictions know."""

import time
from itertools import pairwise

import numpy as np
import pytest

import tasksim
from tasksim import RW
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.graph.commutation import taking_turns
from tasksim.native.lock_share import free_shares, locks


@tasksim.kernel
def loop(x: RW):
    for _ in range(20_000):
        x[0] += 1


@tasksim.kernel
def nap(x: RW):
    time.sleep(0.003)


@tasksim.kernel(lock="held")
def declared(x: RW): ...


@tasksim.application("locks")
def application(g, data=4, tasks=5):
    for x in g.arrays("x", [1] * data):
        for _ in range(tasks):
            for kernel in (loop, nap, declared):
                g.insert(kernel, x)


def test_who_holds_it_and_who_lets_it_go():
    program = application.program(application(), 1)
    shares = free_shares(program, {"loop", "nap", "nosuch"})
    assert shares["loop"] < 0.5 < shares["nap"]
    assert set(shares) == {"loop", "nap"}
    assert program.store.data[0][0] == 0  # the data are as they were


def test_what_is_declared_is_not_measured():
    found = locks(application.program(application(), 1))
    assert (found["declared"].held, found["declared"].free) == (True, None)
    assert found["loop"].held
    assert not found["nap"].held
    assert "holds Python's lock" in str(found["loop"])


def test_tasks_take_turns_at_the_lock():
    graph = application()
    turned = taking_turns(graph, {"loop"})
    assert turned.handles == graph.handles  # that of the kernel that declares it
    added = len(turned.access_handle) - len(graph.access_handle)
    assert added == 20
    assert taking_turns(turned, {"loop", "declared"}) is turned
    assert taking_turns(graph, set()) is graph


def test_a_graph_without_the_datum_gets_one():
    graph = tasksim.generate("cholesky", tiles=3)
    turned = taking_turns(graph, {"gemm", "syrk"})
    assert turned.handles == graph.handles + 1
    assert turned.handle_size[-1] == 0
    seconds = dict.fromkeys(graph.kernels, 1.0)
    free = tasksim.simulate(graph, workers=4, models=seconds).tasks
    held = tasksim.simulate(turned, workers=4, models=seconds).tasks
    updates = np.isin(graph.kernel, [graph.kernels.index(name) for name in ("gemm", "syrk")])

    def together(tasks):
        spans = sorted(zip(tasks.start_s[updates], tasks.end_s[updates], strict=True))
        return any(a[1] > b[0] for a, b in pairwise(spans))

    assert together(free)
    assert not together(held)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library")
    options = CalibrationOptions(max_seconds=0.3)
    report = tasksim.calibrate(["locks"], path, workers=2, machine="here", options=options)
    assert any("loop: holds Python's lock" in note for note in report.notes)
    return path


def test_predictions_know_what_the_calibration_saw(library):
    assert '"lock_free"' in (library / "models" / "here" / "loop.json").read_text()
    assert '"lock_free"' not in (library / "models" / "here" / "declared.json").read_text()
    run = tasksim.simulate("locks", "here", library=library, check=False)
    loops = run.tasks.kernel == run.kernel_names.index("loop")
    starts, ends = np.sort(run.tasks.start_s[loops]), np.sort(run.tasks.end_s[loops])
    assert (starts[1:] >= ends[:-1]).all()


def test_a_wrong_share_in_a_file_is_refused(library, tmp_path):
    import shutil

    shutil.copytree(library, tmp_path / "library")
    path = tmp_path / "library" / "models" / "here" / "loop.json"
    text = path.read_text()
    start = text.index('"lock_free": ') + len('"lock_free": ')
    end = min(text.index(",", start), text.index("\n", start))
    path.write_text(text[:start] + "1.5" + text[end:])
    with pytest.raises(tasksim.InputError, match=r"lock_free.*a share, from 0 to 1"):
        tasksim.simulate("locks", "here", library=tmp_path / "library")


def test_doctor_says_it(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from tasksim.cli.main import cli

    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock_of_doctor.py").write_text(
        "import tasksim\nfrom tasksim import RW\n\n"
        "@tasksim.kernel\ndef loop(x: RW):\n    for _ in range(20000):\n        x[0] += 1\n\n"
        '@tasksim.application("lock-of-doctor")\ndef application(g):\n'
        '    for x in g.arrays("x", [1] * 9):\n        g.insert(loop, x)\n'
    )
    told = CliRunner().invoke(cli, ["doctor", "lock_of_doctor.py"])
    assert told.exit_code == 0
    assert "loop  holds Python's lock: one such task at a time" in told.output
    told = CliRunner().invoke(cli, ["doctor", "cholesky", "tiles=2", "--json"])
    assert '"held": false' in told.output
