"""Measuring a kernel over a domain: what is written, when it ends, going on after a stop."""

from __future__ import annotations

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.base.errors import InputError, OutputError
from tasksim.calibration import campaign
from tasksim.calibration import domain_campaign as module
from tasksim.calibration.domain import parse_domain
from tasksim.calibration.domain_campaign import MeasureOptions, VisitedConfiguration, measure
from tasksim.calibration.resumable_file import ResumableFile, read_notes, side_path
from tasksim.calibration.timed_executions import ExecutionTimes, timer_resolution
from tasksim.formats.samples import read_samples
from tasksim.kernels.standalone import Standalone, standalone

ROOT = Path(__file__).resolve().parents[2]
SMALL_DOMAIN = ["n=8..40", "k=8,16"]


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def configurations(path):
    """Return the configurations in the order in which they were measured."""
    return list(dict.fromkeys((int(row["n"]), int(row["k"])) for row in rows(path)))


@pytest.fixture
def domain():
    return parse_domain("syrk", SMALL_DOMAIN)


@pytest.fixture
def output(tmp_path):
    return tmp_path / "syrk.csv"


def test_every_configuration_is_measured_in_the_order_of_the_seed(domain, output):
    summary = measure(domain, output, MeasureOptions(samples=20, repetitions=6, seed=3))
    assert configurations(output) == list(map(tuple, domain.draw(20, 3).tolist()))
    assert (summary.measured, summary.wanted) == (20, 20)
    assert summary.samples == len(rows(output))
    assert sum(summary.stopped.values()) == 20
    assert summary.stopped["budget"] == 0


def test_the_file_is_read_as_samples(domain, output):
    summary = measure(domain, output, MeasureOptions(samples=8, repetitions=5))
    samples = read_samples(output)
    assert samples.names == ("n", "k")
    assert len(samples) == summary.samples == 40
    assert set(samples.runs.tolist()) == {0}
    assert rows(output)[0].keys() == {"run", "repetition", "n", "k", "duration_s", "wall_s"}
    assert [row["repetition"] for row in rows(output)][:6] == ["0", "1", "2", "3", "4", "0"]


def test_how_it_was_measured_is_beside_it(domain, output):
    measure(domain, output, MeasureOptions(samples=4, repetitions=5, dtype="float32"))
    notes = json.loads(side_path(output).read_text())
    assert notes["kernel"] == "syrk_float32"
    assert notes["parameters"] == {"n": "8..40", "k": "8,16"}
    assert (notes["configurations"], notes["complete"]) == (4, 4)
    assert notes["clock_resolution_s"] > 0
    assert "blas" in notes["machine"]


def lasting(monkeypatch, own_s, wall_s=None):
    """Let executions take the next of *own_s*, by the wall the next of *wall_s*."""

    class Scripted:
        def __init__(self, _idle_pulse, kernel):
            self.pairs = []

        def __len__(self):
            return len(self.pairs)

        def time(self, execute):
            execute()
            own = next(own_s)
            self.pairs.append((own, own if wall_s is None else next(wall_s)))

        def times(self):
            return ExecutionTimes(*np.insert(self.pairs, 2, 1.0, axis=1).T)

    monkeypatch.setattr(module, "TimedExecutions", Scripted)


def test_what_others_took_is_in_no_duration(domain, output, monkeypatch):
    lasting(monkeypatch, itertools.repeat(1e-6), itertools.cycle([1e-6, 3e-6]))
    summary = measure(domain, output, MeasureOptions(samples=1, repetitions=30))
    assert (summary.samples, summary.half_width) == (5, 0)
    assert {row["duration_s"] for row in rows(output)} == {"1e-06"}
    assert [row["wall_s"] for row in rows(output)] == ["1e-06", "3e-06"] * 2 + ["1e-06"]


def test_repetitions_end_with_the_tolerance_or_the_limit(domain, output, monkeypatch):
    lasting(monkeypatch, itertools.repeat(1e-6))
    summary = measure(domain, output, MeasureOptions(samples=6, repetitions=30))
    assert summary.stopped == {"tolerance": 6, "repetitions": 0, "budget": 0}
    assert summary.samples == 6 * 5
    assert {row["duration_s"] for row in rows(output)} == {"1e-06"}
    assert summary.half_width == 0


def test_what_never_settles_ends_with_the_limit(domain, output, monkeypatch):
    lasting(monkeypatch, itertools.cycle([1e-6, 9e-6]))
    summary = measure(domain, output, MeasureOptions(samples=6, repetitions=7))
    assert summary.stopped == {"tolerance": 0, "repetitions": 6, "budget": 0}
    assert summary.samples == 6 * 7


def test_inputs_are_restored_before_each_execution(output, monkeypatch):
    seen = []
    run = Standalone.run

    def watched(self):
        seen.append(self.operands["A"].copy())
        run(self)

    monkeypatch.setattr(Standalone, "run", watched)
    monkeypatch.setattr(module, "WARM_UP_S", float("inf"))
    domain = parse_domain("geqrt", ["m=24", "n=16", "ib=8"])
    measure(domain, output, MeasureOptions(repetitions=5, seed=2))
    assert len(seen) == 5 + module.WARM_UP_EXECUTIONS
    first = standalone("geqrt", {"m": 24, "n": 16, "ib": 8}, seed=2).operands["A"]
    assert all(np.array_equal(operand, first) for operand in seen)


def test_a_budget_is_kept(output, monkeypatch):
    domain = parse_domain("gemm", ["m=32..256:log", "n=32..256:log", "k=32..256:log"])
    # Each look at the clock is a millisecond after the one before.
    clock = itertools.count()
    for timed in (module, campaign):
        monkeypatch.setattr(timed, "time", SimpleNamespace(monotonic=lambda: 1e-3 * next(clock)))
    summary = measure(domain, output, MeasureOptions(samples=20_000, budget_s=3.0))
    assert 3.0 <= summary.seconds < 3.02
    assert 10 < summary.measured < 20_000


def test_nothing_is_overwritten(domain, output):
    options = MeasureOptions(samples=2, repetitions=2)
    measure(domain, output, options)
    before = output.read_bytes()
    with pytest.raises(InputError, match=r"syrk\.csv exists; give force=True"):
        measure(domain, output, options)
    assert output.read_bytes() == before
    output.unlink()
    with pytest.raises(InputError, match=r"syrk\.meta\.json exists; give force=True"):
        measure(domain, output, options)
    measure(domain, output, options, force=True)
    assert len(configurations(output)) == 2


def test_going_on_measures_only_what_is_left(domain, output):
    options = MeasureOptions(samples=12, repetitions=5, seed=1)
    measure(domain, output, options)
    lines = output.read_text().splitlines(keepends=True)
    whole = "".join(lines[: 1 + 5 * 7 + 2])  # seven configurations, and two samples of the eighth
    output.write_text(whole + "0,2,1")  # and a line that was cut off
    summary = measure(domain, output, options, resume=True)
    assert output.read_text().startswith(whole)
    assert configurations(output) == list(map(tuple, domain.draw(12, 1).tolist()))
    assert summary.samples == len(rows(output)) == 12 * 5
    assert [row["run"] for row in rows(output)] == ["0"] * 37 + ["1"] * 23
    assert [row["repetition"] for row in rows(output)] == ["0", "1", "2", "3", "4"] * 12


def test_rounds_visit_every_configuration_at_different_times(domain, output):
    options = MeasureOptions(samples=6, repetitions=2, rounds=3, tolerance=0)
    summary = measure(domain, output, options)
    found = rows(output)
    assert [row["run"] for row in found] == ["0"] * 12 + ["1"] * 12 + ["2"] * 12
    orders = [configurations(output)[:6]]
    visits = [(row["n"], row["k"]) for row in found][::2]
    assert all(set(visits[i : i + 6]) == set(visits[:6]) for i in (6, 12))
    assert len({tuple(visits[i : i + 6]) for i in (0, 6, 12)}) == 3
    assert orders[0] == list(map(tuple, domain.draw(6, 0).tolist()))
    repetitions = [int(row["repetition"]) for row in found if (row["n"], row["k"]) == visits[0]]
    assert repetitions == list(range(6))
    # Rounds that took exactly the same time are a mean that is known, even to 0 %.
    assert (summary.measured, sum(summary.stopped.values())) == (6, 6)


def test_going_on_in_the_second_round(domain, output):
    options = MeasureOptions(samples=4, repetitions=2, rounds=2)
    measure(domain, output, options)
    lines = output.read_text().splitlines(keepends=True)
    output.write_text("".join(lines[: 1 + 8 + 3]))  # one configuration and a half of round two
    measure(domain, output, options, resume=True)
    assert [row["run"] for row in rows(output)] == ["0"] * 8 + ["1"] * 3 + ["2"] * 5
    assert len(set(configurations(output))) == 4
    assert measure(domain, output, options, resume=True).samples == 16


def test_more_rounds_can_be_added(domain, output):
    measure(domain, output, MeasureOptions(samples=4, repetitions=2))
    more = MeasureOptions(samples=4, repetitions=2, rounds=3)
    assert measure(domain, output, more, resume=True).samples == 24


def test_the_precision_is_that_of_visits():
    """Two visits of a machine that was slower the second time: each by itself is well known."""
    configuration = VisitedConfiguration((8,))
    for pace in (1.0, 2.0):
        configuration.durations_s += [pace, 1.001 * pace]
        configuration.end_visit("repetitions", 2)
    assert configuration.stopped == "repetitions"
    assert configuration.half_width() == pytest.approx(12.706 * 0.5 / 1.5, rel=1e-3)


def test_going_on_with_everything_measured_changes_nothing(domain, output):
    options = MeasureOptions(samples=5, repetitions=5)
    measure(domain, output, options)
    before = output.read_bytes()
    assert measure(domain, output, options, resume=True).measured == 5
    assert output.read_bytes() == before


def test_going_on_with_nothing_begins(domain, output):
    assert measure(domain, output, MeasureOptions(samples=2), resume=True).measured == 2


def test_going_on_with_other_samples_is_refused(domain, output):
    measure(domain, output, MeasureOptions(samples=3, repetitions=2))
    with pytest.raises(InputError, match=r"was measured with samples 3, now 4; seed 0, now 1"):
        measure(domain, output, MeasureOptions(samples=4, repetitions=2, seed=1), resume=True)
    other = parse_domain("syrk", ["n=8..41", "k=8,16"])
    with pytest.raises(InputError, match=r"parameters \{'n': '8\.\.40'"):
        measure(other, output, MeasureOptions(samples=3, repetitions=2), resume=True)
    with pytest.raises(InputError, match=r"resume=True continues .* force=True replaces"):
        measure(domain, output, MeasureOptions(samples=3), resume=True, force=True)
    output.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"syrk\.csv:1: got 'a,b'; legal: 'run,repetition,n,k,"):
        measure(domain, output, MeasureOptions(samples=3), resume=True)
    output.write_text("run,repetition,n,k,duration_s,wall_s\n0,0,8,x,1,1\n")
    with pytest.raises(InputError, match=r"syrk\.csv:2:1: got '0,0,8,x,1,1'"):
        measure(domain, output, MeasureOptions(samples=3), resume=True)
    output.write_text("run,repetition,n,k,duration_s,wall_s\n0,0,800,8,1,1\n")
    with pytest.raises(InputError, match=r"has samples of n=800, k=8"):
        measure(domain, output, MeasureOptions(samples=3), resume=True)


@pytest.mark.parametrize("when", range(1, 40, 3))
def test_an_interruption_anywhere_loses_nothing(domain, output, monkeypatch, when):
    """The clock, the kernel, the writing: whichever is interrupted, samples are whole."""
    calls = 0

    def counted(function):
        def called(*arguments):
            nonlocal calls
            calls += 1
            result = function(*arguments)
            if calls == when:
                raise KeyboardInterrupt
            return result

        return called

    options = MeasureOptions(samples=6, repetitions=5)
    with monkeypatch.context() as patch:
        patch.setattr(ResumableFile, "put", counted(ResumableFile.put))
        patch.setattr(Standalone, "reset", counted(Standalone.reset))
        summary = measure(domain, output, options)
    assert summary.interrupted
    assert len(rows(output)) == summary.samples
    keys = [(row["n"], row["k"], row["repetition"]) for row in rows(output)]
    assert len(set(keys)) == len(keys)
    assert measure(domain, output, options, resume=True).samples == 6 * 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_stopped_process_leaves_samples_to_go_on_with(tmp_path, name):
    sizes = ["m=32..128", "n=32..128", "k=32..128"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tasksim", "measure", "gemm", *sizes, "--samples=20000", "-og.csv"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    path = tmp_path / "g.csv"
    while not path.exists() or path.stat().st_size < 20_000:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(getattr(signal, name))
    told = process.communicate(timeout=120)[1]
    if name == "SIGINT":
        assert process.returncode == 130, told
        assert told.endswith("Interrupted: the samples so far are kept; --resume goes on.\n")
    text = path.read_text()
    domain = parse_domain("gemm", sizes)

    def after_some(what, share):
        if not what.startswith(("1/", "2/")):
            raise KeyboardInterrupt

    options = MeasureOptions(samples=20_000)
    summary = measure(domain, path, options, resume=True, progress=after_some)
    assert path.read_text().startswith(text[: text.rfind("\n") + 1])
    assert len(read_samples(path)) == summary.samples > text.count("\n") - 1


def test_short_kernels_are_warned_of(domain, output, monkeypatch):
    monkeypatch.setattr(module, "timer_resolution", lambda: 1e-3)
    summary = measure(domain, output, MeasureOptions(samples=3, repetitions=2))
    assert summary.short == 3
    assert summary.warnings[0].startswith("3 of 3 configurations take less than 100 ms, 100 resol")
    assert "clock           1 ms resolution" in str(summary)


def test_the_resolution_of_the_clock_is_measured():
    assert 1e-9 <= timer_resolution() < 1e-4


def test_configurations_beyond_memory_are_refused_before_any_is_measured(output):
    domain = parse_domain("potrf", ["n=8,2000000"])
    with pytest.raises(InputError, match=r"the largest configuration of potrf needs .* TiB"):
        measure(domain, output)
    assert not output.exists()


def test_what_cannot_be_written_is_told(domain, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        measure(domain, tmp_path / "file" / "x.csv", MeasureOptions(samples=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples=0; legal: at least 1"),
        ({"repetitions": 0}, "repetitions=0; legal: at least 1"),
        ({"budget_s": 0.0}, "budget_s=0.0; legal: more than 0"),
        ({"tolerance": -1.0}, "tolerance=-1.0; legal: 0 or more"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        MeasureOptions(**options)


def test_progress_says_how_long_it_takes_yet(domain, output):
    told = []
    measure(
        domain, output, MeasureOptions(samples=4, repetitions=2, budget_s=60),
        progress=lambda *what: told.append(what),
    )  # fmt: skip
    assert [message.split(",")[0] for message, _ in told] == [
        f"{done}/4 configurations" for done in (1, 2, 3, 4)
    ]
    assert all(message.endswith(" left") for message, _ in told)
    assert told[-1] == ("4/4 configurations, 0 s left", 1.0)


def test_a_kernel_of_single_precision_is_not_of_double(output):
    domain = parse_domain("syrk_float32", SMALL_DOMAIN)
    with pytest.raises(InputError, match="kernel syrk_float32 is not of float64"):
        measure(domain, output, MeasureOptions(dtype="float64"))
    assert measure(domain, output, MeasureOptions(samples=1)).kernel == "syrk_float32"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"seed": NaN}', r":2:9: not JSON: NaN is not a JSON number"),
        ('{"seed": 1, "seed": 2}', r':1:13: not JSON: the key "seed" is given twice'),
        ("[1]", r": got \[1\]; legal: an object"),
        ("", r": the file is empty"),
    ],
)
def test_notes_that_cannot_be_read_say_where(text, message, tmp_path):
    path = tmp_path / "gemm.csv"
    side_path(path).write_text(text)
    with pytest.raises(InputError, match=f"{side_path(path)}{message}"):
        read_notes(path)
