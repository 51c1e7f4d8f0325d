from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.conformance import example_samples
from tasksim.models.contention import Contention
from tasksim.models.files.store import (
    Entry,
    Machine,
    Measured,
    ModelLibrary,
    load_kernel,
    read_samples,
    save_kernel,
)
from tasksim.models.kinds.bysize import SizeEntry, SizeHistory
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.locality import Locality
from tasksim.models.samples import Samples

MACHINE = Machine("laptop", {"processor": "Some CPU", "cores": 2})
SAMPLES = example_samples(3)


def entry(model=None, **changes):
    measured = Measured("2025-01-31", "in situ, 2 workers", {"m=64, n=64, k=64": "limit"})
    return Entry(model or LinearModel("m*n*k").fit(SAMPLES), measured, **changes)


@pytest.fixture
def saved(tmp_path):
    return save_kernel(
        tmp_path, "gemm", {"cpu": entry()}, machine=MACHINE, samples={"cpu": SAMPLES}
    )


def test_what_is_saved_is_loaded(saved):
    file = load_kernel(saved)
    assert file.kernel == "gemm"
    assert file.parameters == ("m", "n", "k")
    assert file.machine == MACHINE
    found, given = file.architectures["cpu"], entry()
    assert found.measured == given.measured
    assert found.model.report() == given.model.report()
    assert (
        found.model.predict(SAMPLES.parameters) == given.model.predict(SAMPLES.parameters)
    ).all()
    assert file.text() == saved.read_text()
    beside = read_samples(saved.with_name("gemm.samples.csv"))["cpu"]
    assert (beside.durations_s == SAMPLES.durations_s).all()
    assert file.summary() == "gemm (m, n, k) of laptop: cpu mlr, 192 samples"


def test_the_layout_of_the_file(saved):
    data = json.loads(saved.read_text())
    assert list(data) == ["schema_version", "machine", "kernel", "parameters", "architectures"]
    cpu = data["architectures"]["cpu"]
    assert list(cpu) == ["model", "samples", "fit", "measured"]
    assert cpu["samples"] == {"count": 192, "dropped": 0, "configurations": 64}
    assert [term["term"] for term in cpu["model"]["terms"]] == ["1", "m*n*k"]
    assert "mlogq" in cpu["fit"]
    assert "report" not in cpu["model"]


def test_the_same_models_make_the_same_bytes(saved, tmp_path):
    again = save_kernel(tmp_path / "again", "gemm", {"cpu": entry()}, machine=MACHINE)
    assert again.read_bytes() == saved.read_bytes()


def test_other_architectures_are_kept(saved, tmp_path):
    history = HistoryModel().fit(SAMPLES)
    few = SAMPLES.select([0, 1])
    save_kernel(tmp_path, "gemm", {"cuda": entry(history)}, machine=MACHINE, samples={"cuda": few})
    file = load_kernel(saved)
    kinds = {name: e.model.kind for name, e in file.architectures.items()}
    assert kinds == {"cpu": "mlr", "cuda": "history"}
    counts = {name: len(s) for name, s in read_samples(tmp_path / "gemm.samples.csv").items()}
    assert counts == {"cpu": 192, "cuda": 2}


def test_a_model_with_other_parameters_is_refused_and_nothing_is_lost(saved, tmp_path):
    before = saved.read_bytes()
    other = HistoryModel().fit(Samples(("size",), [[1]], [1.0]))
    with pytest.raises(InputError, match=r"\(size\), others have \(m, n, k\); remove the file"):
        save_kernel(tmp_path, "gemm", {"cuda": entry(other)}, machine=MACHINE)
    assert saved.read_bytes() == before


def test_models_by_size_may_stand_beside_others(tmp_path):
    by_size = SizeHistory.from_entries([SizeEntry(100, 1e-3, 1e-4, 50)])
    for first, second in (("cpu", "cuda0"), ("cuda0", "cpu")):
        models = {"cpu": entry(), "cuda0": entry(by_size)}
        folder = tmp_path / first
        save_kernel(folder, "gemm", {first: models[first]}, machine=MACHINE)
        path = save_kernel(folder, "gemm", {second: models[second]}, machine=MACHINE)
        assert load_kernel(path).parameters == ("m", "n", "k")
    alone = save_kernel(tmp_path, "axpy", {"cuda0": entry(by_size)}, machine=MACHINE)
    file = load_kernel(alone)
    assert file.parameters == ("size_bytes",)
    assert file.architectures["cuda0"].model.entries_ == by_size.entries_
    assert file.summary() == "axpy (size_bytes) of laptop: cuda0 bysize, 50 samples"


def test_locality_travels_along(tmp_path):
    known = Locality(2.0**25, 1e-11, 0.25)
    save_kernel(tmp_path, "gemm", {"cpu": entry(locality=known)}, machine=MACHINE)
    library = ModelLibrary(tmp_path)
    assert library.locality("gemm", "cpu") == known
    with pytest.raises(InputError, match="for architecture 'cuda'"):
        library.locality("gemm", "cuda")


def test_contention_travels_along(tmp_path):
    known = Contention(2.5e9, 0.25, {"gemm": (1.05,), "lacpy": (1.2, 1.375)})
    save_kernel(tmp_path, "gemm", {"cpu": entry(contention=known)}, machine=MACHINE)
    assert ModelLibrary(tmp_path).contention("gemm", "cpu") == known
    path = tmp_path / "gemm.json"
    path.write_text(path.read_text().replace("1.375", "0.5"))
    with pytest.raises(InputError, match=r"gemm.json:\d+:\d+: .*beside lacpy: factors of at least"):
        ModelLibrary(tmp_path).contention("gemm", "cpu")


def test_constants_can_be_saved(tmp_path):
    path = save_kernel(tmp_path, "gemm", {"cpu": entry(ConstantModel(2.0))}, machine=MACHINE)
    assert load_kernel(path).architectures["cpu"].model.predict([[1.0]]).tolist() == [2.0]


@pytest.mark.parametrize("kernel", ["", "../x", "a/b", ".hidden"])
def test_names_that_are_no_file_names(tmp_path, kernel):
    with pytest.raises(InputError, match="must not contain '/' or begin with"):
        save_kernel(tmp_path, kernel, {"cpu": entry()}, machine=MACHINE)


def test_a_file_cut_anywhere_is_refused_with_line_and_column(saved):
    text = saved.read_text()
    for end in range(0, len(text) - 2, 97):
        saved.write_text(text[:end])
        with pytest.raises(InputError) as caught:
            load_kernel(saved)
        line, column = map(int, str(caught.value).removeprefix(f"{saved}:").split(":")[:2])
        assert 1 <= line <= text[:end].count("\n") + 1
        assert column >= 1


CPU = "architectures.cpu"


@pytest.mark.parametrize(
    ("old", "new", "before", "message"),
    [
        (
            '"schema_version": 1',
            '"schema_version": 2',
            '"schema_version": ',
            "schema_version: version 2 is newer than 1",
        ),
        ('"schema_version": 1,', "", "", "'schema_version' is missing"),
        (
            '"mlr"',
            '"mrl"',
            '"kind": ',
            f"{CPU}.model.kind: unknown kind of model 'mrl', did you mean 'mlr'",
        ),
        (
            '"count": 192',
            '"count": "many"',
            '"count": ',
            f'{CPU}.samples.count: expected a whole number, not negative, got "many"',
        ),
        ('"gemm"', '"gem"', '"kernel": ', "kernel: expected 'gemm', the name of the file"),
        (
            '"2025-01-31"',
            '"yesterday"',
            '"when": ',
            f"{CPU}.measured.when: expected a date in ISO 8601, such as 2025-01-31, got",
        ),
        ("floor_s", "flor_s", '"model": ', f"{CPU}.model: 'floor_s' is missing, did you mean 'flo"),
        ('"n", "k"],', '"n", "m"],', '"parameters": [', "parameters[0]: 'm' is given twice"),
        ('"how"', '"hwo"', '"measured": ', f"{CPU}.measured: 'how' is missing"),
        ('"limit"', "null", '"m=64, n=64, k=64": ', f"{CPU}.measured.stopped.m=64, n=64, k=64: "),
    ],
)
def test_malformed_files_are_refused_where_it_is(saved, old, new, before, message):
    text = saved.read_text()
    assert old in text
    text = text.replace(old, new, 1)
    saved.write_text(text)
    with pytest.raises(InputError) as caught:
        load_kernel(saved)
    head = text[: text.index(before) + len(before)]
    line, column = head.count("\n") + 1, len(head) - (head.rfind("\n") + 1) + 1
    assert str(caught.value).startswith(f"{saved}:{line}:{column}: {message}")


def test_an_unreadable_file(tmp_path):
    with pytest.raises(InputError, match=r"no such file"):
        load_kernel(tmp_path / "gemm.json")


def test_the_library_predicts_by_names(saved, tmp_path):
    library = ModelLibrary(tmp_path)
    assert library.kernels() == ("gemm",)
    model = library.model("gemm", "cpu")
    assert library.model("gemm", "cpu") is model
    table = np.array([[96.0, 7.0, 64.0, 128.0]])
    predicted = library.predict("gemm", "cpu", ("k", "extra", "m", "n"), table)
    assert predicted.tolist() == model.predict([[64.0, 128.0, 96.0]]).tolist()


def test_the_library_reads_a_file_when_it_is_asked_for_it(saved, tmp_path):
    (tmp_path / "trsm.json").write_text("{")
    library = ModelLibrary(tmp_path)
    assert library.kernels() == ("gemm", "trsm")
    library.model("gemm", "cpu")
    with pytest.raises(InputError, match=r"trsm.json:1:2: "):
        library.model("trsm", "cpu")


def test_what_the_library_has_not_is_named(saved, tmp_path):
    library = ModelLibrary(tmp_path)
    with pytest.raises(InputError) as caught:
        library.model("gem", "cpu")
    assert str(caught.value) == (
        f"no model of kernel 'gem' in {tmp_path}: expected gem.json, did you mean 'gemm'? "
        "(known: gemm)"
    )
    with pytest.raises(InputError) as caught:
        library.model("gemm", "cup")
    assert str(caught.value) == (
        f"no model of kernel 'gemm' for architecture 'cup' in {saved}, did you mean 'cpu'? "
        "(known: cpu)"
    )
    with pytest.raises(
        InputError, match=r"kernels 'potrf', 'trsm' .* expected potrf.json, trsm.json"
    ):
        library.require(["potrf", "gemm", "trsm"])
    library.require(["gemm"], ["cuda", "cpu"])
    with pytest.raises(InputError, match="for architecture 'cuda'"):
        library.require(["gemm"], ["cuda"])
    with pytest.raises(InputError, match=r"no folder of coefficient files at .*calibrate"):
        ModelLibrary(tmp_path / "none")


def test_models_of_a_library_say_what_they_are(tmp_path):
    save_kernel(tmp_path, "gemm", {"cpu": entry(HistoryModel().fit(SAMPLES))}, machine=MACHINE)
    with pytest.raises(OutOfDomainError, match=r"^gemm on cpu: no samples with \(m=1, n=2, k=3\)"):
        ModelLibrary(tmp_path).model("gemm", "cpu").predict([[1, 2, 3]])
