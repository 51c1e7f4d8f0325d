"""`tasksim counters`: files of other tools, Valgrind, the processor; and mistakes."""

import shutil

import pytest

from tasksim.base.errors import TasksimError
from tasksim.calibration.counters import valgrind
from tasksim.calibration.counters.hardware import (
    HARDWARE_EVENTS,
    SOFTWARE_EVENTS,
    HardwareEvent,
    PerfCounters,
    scaled,
)
from tasksim.calibration.counters.valgrind import find_valgrind, unmoved
from tasksim.formats.counters import Counted, counters_of, meaning
from tasksim.formats.samples import read_samples
from tasksim.models.files.store import load_kernel
from tasksim.models.kinds.counted import CounterModel


def has_valgrind():
    try:
        find_valgrind()
    except TasksimError:
        return False
    return shutil.which("c++") is not None


def first_and_last(monkeypatch):
    """Leave two caches: of three, each but the first is the last one in a run of its own."""
    caches = valgrind.data_caches()
    monkeypatch.setattr(valgrind, "data_caches", lambda: caches[:1] + caches[1:][-1:])


PERF = "{},,instructions,9,100\n{},,L1-dcache-loads,9,100\n5,,L1-dcache-load-misses,9,100\n"
PERF += "2,,LLC-load-misses,9,50\n1000,ns,duration_time,9,100\n"


def test_files_named_by_parameters(tasksim, tmp_path):
    for n in (16, 32):
        (tmp_path / f"perf-{n}.csv").write_text(PERF.format(10 * n, 4 * n))
    line = "counters potrf n=16,32 --source file:perf-{n}.csv --executions 10 -o p.csv"
    called = tasksim(line)
    assert called.code == 0, called.err
    assert "note: perf-16.csv: LLC-load-misses was counted for 50 % of the time" in called.out
    samples = read_samples(tmp_path / "p.csv")
    assert samples.names == ("n",)
    assert sorted(samples.counters["instructions"].tolist()) == [16, 32]
    assert samples.durations_s.tolist() == pytest.approx([1e-7, 1e-7])
    again = tasksim(line)
    assert (again.code, again.err) == (2, "Error: p.csv exists; give --force to replace it\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("counters gem m=8 -o p.csv", "unknown kernel 'gem', did you mean 'gemm'"),
        ("counters potrf n=8 --source perv -o p.csv", "unknown source 'perv', did you mean 'perf'"),
        ("counters potrf n=8 --source file -o p.csv", "got 'file'; legal: file:PATH"),
        ("counters potrf n=8 --source file:no.csv -o p.csv", "no.csv"),
        ("counters potrf n=8,9 --source file:one.csv -o p.csv", "the parameters into the name:"),
        ("counters potrf n=8 --source file:{m}.csv -o p.csv", "legal in braces: n"),
        ("counters cholesky tiles=2 --source perf -o p", "counted one by one; legal: valgrind"),
        (
            "counters chain length=2 -o p",
            "kernel task has a parameter duration_s, which",
        ),
    ],
)
def test_mistakes(tasksim, line, message):
    called = tasksim(line)
    assert called.code == 2
    assert message in called.err


def test_the_processor_counts_or_says_why_not(tasksim):
    called = tasksim("counters potrf n=16 --source perf --samples 1 --runs 1 -o p.csv")
    if called.code:
        assert called.code == 1
        assert called.err.splitlines()[-1].startswith("Error: perf_event_open refuses to count")
        assert "--source valgrind" in called.err


def test_counters_of_the_system_are_read_as_the_processors_are():
    try:
        with PerfCounters(SOFTWARE_EVENTS) as counters:
            counters.start()
            sum(range(200_000))
            counted = counters.stop()
    except TasksimError as error:
        pytest.skip(str(error))
    assert counted.events["task-clock"] > 0


def test_an_event_that_need_not_be_counted_is_left_out_with_the_reason():
    unknown = HardwareEvent("stalled-cycles-backend", 1, 999, required=False)
    try:
        with PerfCounters((*SOFTWARE_EVENTS, unknown)) as counters:
            counters.start()
            counted = counters.stop()
    except TasksimError as error:
        pytest.skip(str(error))
    assert set(counted.events) == {event.name for event in SOFTWARE_EVENTS}
    (note,) = counted.notes
    assert note.startswith("stalled-cycles-backend is not counted: this ")
    with (
        pytest.raises(TasksimError, match="refuses to count x: this "),
        PerfCounters((HardwareEvent("x", 1, 999),)),
    ):
        pass


def test_stalls_are_counted_where_the_processor_does():
    """Samples have their cycles then, and a model its BF_mem from them."""
    stalls = [event for event in HARDWARE_EVENTS if meaning(event.name) == "stall_cycles"]
    assert [event.required for event in stalls] == [False]
    events = {event.name: 100.0 for event in HARDWARE_EVENTS} | {"stalled-cycles-backend": 40.0}
    assert counters_of(Counted(events), "perf")["stall_cycles"] == 40.0


def test_a_counter_that_shared_the_registers_is_scaled_and_one_without_time_is_refused():
    assert scaled("cycles", 300, 100, 100) == (300.0, [])
    value, notes = scaled("cycles", 300, 100, 50)
    assert value == 600
    assert notes == ["cycles was counted for 50 % of the time; scaled to all of it"]
    with pytest.raises(TasksimError, match="cycles was not counted: other programs"):
        scaled("cycles", 0, 100, 0)


def test_no_valgrind(tasksim, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    called = tasksim("counters potrf n=16 -o p.csv")
    assert called.code == 1
    assert "Valgrind was not found; install it (Debian: apt install valgrind)" in called.err


@pytest.mark.slow
@pytest.mark.skipif(
    not has_valgrind(), reason="Valgrind with its headers, or a compiler, is not here"
)
@pytest.mark.skipif(not unmoved(), reason="the system does not let addresses be the same")
def test_valgrind_counts_the_same_twice(tasksim, tmp_path, monkeypatch):
    first_and_last(monkeypatch)
    line = "counters gemm m=48,96 --runs 1 -o {}.csv"
    first = tasksim(line.format("a"))
    assert first.code == 0, first.err
    assert "note: counted in a simulated processor, with the BLAS kernels for" in first.out
    assert tasksim(line.format("b")).code == 0
    a, b = (read_samples(tmp_path / f"{name}.csv") for name in "ab")
    assert a.names == ("m", "n", "k")
    assert a.counters["instructions"].tolist() == b.counters["instructions"].tolist()
    for name, column in a.counters.items():
        if name != "frequency_hz":  # which lines share a set of a cache, addresses decide
            assert column.tolist() == pytest.approx(b.counters[name].tolist(), rel=1e-3, abs=8), (
                name
            )
    small, large = (
        a.counters["instructions"][(a.parameters == size).all(axis=1)].item() for size in (48, 96)
    )
    assert 4 < large / small < 8.5


@pytest.mark.slow
@pytest.mark.skipif(
    not has_valgrind(), reason="Valgrind with its headers, or a compiler, is not here"
)
def test_tasks_of_an_application_are_counted_with_their_data_in_the_caches(
    tasksim, tmp_path, monkeypatch
):
    first_and_last(monkeypatch)
    called = tasksim("counters cholesky tiles=2 tile_size=64 --runs 1 -o out")
    assert called.code == 0, called.err
    for kernel in ("potrf", "trsm", "syrk"):
        counters = read_samples(tmp_path / "out" / f"{kernel}-counters.csv").counters
        lines = 64 * 64 * 8 / 64  # of a tile, which a first touch would bring from memory
        assert (counters["memory_accesses"] < 0.1 * lines).all(), kernel


def counted_file(path):
    lines = ["run,m,n,instructions,l1_hits,memory_accesses,frequency_hz,duration_s"]
    for n in (64, 96, 128, 192, 256, 384, 512):
        m = 30 + n * 7 % 300
        counts = 8 * m * n, 3 * m * n, m * n // 8
        seconds = 4 * m * n / 3e9 + 0.3 * counts[2] * 90e-9
        lines += [
            f"{run},{m},{n},{counts[0]},{counts[1]},{counts[2]},3e9,{seconds}" for run in range(3)
        ]
    path.write_text("\n".join([*lines, ""]))


def test_parameters_that_are_named_keep_the_counters(tasksim, tmp_path):
    counted_file(tmp_path / "k.csv")
    called = tasksim("fit k.csv --kind counters --parameters m,n --json")
    assert called.code == 0, called.err
    assert set(called.json["counters"]) == {"instructions", "l1_reached", "memory_accesses"}
    assert list(called.json["domain"]) == ["m", "n"]
    samples = read_samples(tmp_path / "k.csv", parameters=["n", "instructions"])
    assert samples.names == ("n", "instructions")
    assert set(samples.counters) == {"l1_hits", "memory_accesses", "frequency_hz"}


def test_the_method_of_the_paper(tasksim, tmp_path):
    counted_file(tmp_path / "k.csv")
    called = tasksim("fit k.csv --kind counters --by r2 --costs two --json -o k.json")
    assert called.code == 0, called.err
    assert set(called.json["counters"]) == {"instructions", "l1_hits", "memory_accesses"}
    options = load_kernel(tmp_path / "k.json").architectures["cpu"].model
    assert (options.by, options.costs) == ("r2", "two")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--kind mlr --by r2", "--by is for --kind counters, got --kind mlr"),
        ("--costs two", "--costs is for --kind counters, got --kind auto"),
        ("--kind hybrid --memory mine", "--memory is for --kind counters, got --kind hybrid"),
        ("--kind counters --by r3", "'r3' is not one of 'cv', 'r2'"),
        ("--kind counters --terms n", "--terms is for linear models, got --kind counters"),
        ("--kind counters --parameters m,instructions", "no column instructions"),
    ],
)
def test_words_for_counters_that_are_wrong(tasksim, tmp_path, words, message):
    counted_file(tmp_path / "k.csv")
    called = tasksim(f"fit k.csv {words}")
    assert called.code == 2
    assert message in called.err


@pytest.mark.parametrize("options", [{"by": "r3"}, {"costs": "three"}])
def test_methods_that_are_not_known(tmp_path, options):
    counted_file(tmp_path / "k.csv")
    with pytest.raises(TasksimError, match="legal: cv, "):
        CounterModel(**options).fit(read_samples(tmp_path / "k.csv"))
