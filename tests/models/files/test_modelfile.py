"""Model files: the models of several kernels in one file, and libraries opened on files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.conformance import example_samples
from tasksim.models.files.store import (
    Entry,
    Machine,
    Measured,
    ModelFile,
    ModelLibrary,
    load_file,
    load_kernel,
    save_kernel,
    save_models,
)
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.locality import Locality
from tasksim.models.samples import Samples

MACHINE = Machine("laptop", {"processor": "Some CPU", "cores": 2})
SAMPLES = example_samples(3)
LEVELS = Samples(("Level",), [[3.0], [4.0], [4.0]], [1e-3, 2e-3, 3e-3])


def entry(model, **changes):
    return Entry(model, Measured("2025-01-31", "in situ, 2 workers"), **changes)


@pytest.fixture
def kernels():
    return {
        "M2M": {"cpu": entry(HistoryModel().fit(LEVELS), locality=Locality(2.0**25, 1e-11, 0.25))},
        "L2L": {
            "cuda": entry(ConstantModel(2e-3)),
            "cpu": entry(LinearModel("m*n*k").fit(SAMPLES)),
        },
    }


@pytest.fixture
def saved(tmp_path, kernels):
    return save_models(tmp_path / "general.json", kernels, machine=MACHINE)


def test_the_layout_of_the_file(saved):
    data = json.loads(saved.read_text())
    assert list(data) == ["schema_version", "machine", "kernels"]
    assert data["machine"] == {
        "name": "laptop",
        "fingerprint": {"processor": "Some CPU", "cores": 2},
    }
    assert list(data["kernels"]) == ["L2L", "M2M"]
    assert list(data["kernels"]["L2L"]) == ["parameters", "architectures"]
    assert list(data["kernels"]["L2L"]["architectures"]) == ["cpu", "cuda"]
    assert data["kernels"]["M2M"]["parameters"] == ["Level"]


def test_a_kernel_has_there_what_its_coefficient_file_has(saved, kernels, tmp_path):
    alone = save_kernel(tmp_path, "L2L", kernels["L2L"], machine=MACHINE)
    data = json.loads(alone.read_text())
    several = json.loads(saved.read_text())
    kernel = several.pop("kernels")["L2L"]
    assert data == {**several, "kernel": "L2L", **kernel}


def test_what_is_saved_is_loaded(saved, kernels):
    file = load_file(saved)
    assert isinstance(file, ModelFile)
    assert file.machine == file.kernels["M2M"].machine == MACHINE
    assert file.text() == saved.read_text() == ModelFile.from_text(file.text()).text()
    found = file.kernels["L2L"].architectures["cpu"]
    assert found.measured == kernels["L2L"]["cpu"].measured
    given = kernels["L2L"]["cpu"].model
    assert (
        found.model.predict(SAMPLES.parameters).tolist()
        == given.predict(SAMPLES.parameters).tolist()
    )


def test_the_order_in_which_kernels_are_given_does_not_matter(saved, kernels, tmp_path):
    turned = dict(reversed(kernels.items()))
    assert list(turned) != list(kernels)
    again = save_models(tmp_path / "again.json", turned, machine=MACHINE)
    assert again.read_bytes() == saved.read_bytes()


def test_what_was_there_is_replaced(saved, kernels):
    save_models(saved, {"M2M": kernels["M2M"]}, machine=MACHINE)
    assert ModelLibrary(saved).kernels() == ("M2M",)


def test_a_refused_file_leaves_the_one_before(saved, kernels):
    before = saved.read_bytes()
    other = entry(HistoryModel().fit(Samples(("size",), [[1]], [1.0])))
    with pytest.raises(InputError) as caught:
        save_models(saved, {"L2L": {**kernels["L2L"], "fpga": other}}, machine=MACHINE)
    assert str(caught.value) == (
        f"{saved}: kernel L2L: the model for architecture 'fpga' has the parameters (size), "
        "others have (m, n, k)"
    )
    assert saved.read_bytes() == before


def test_a_model_file_ends_in_json(tmp_path, kernels):
    with pytest.raises(InputError, match=r"general: kernel models are in \.json files; got ''"):
        save_models(tmp_path / "general", kernels, machine=MACHINE)


def test_models_by_themselves_are_saved_with_a_date(tmp_path):
    model = LinearModel("m*n*k").fit(SAMPLES)
    path = save_models(
        str(tmp_path / "a.json"), {"gemm": {"cpu": model}}, machine="laptop", when="2025-01-31"
    )
    file = load_file(path).kernels["gemm"]
    assert file.machine == Machine("laptop")
    assert file.architectures["cpu"].measured == Measured("2025-01-31", "fitted in Python")
    same = {"gemm": {"cpu": Entry(model, Measured("2025-01-31", "fitted in Python"))}}
    again = save_models(tmp_path / "b.json", same, machine=Machine("laptop"))
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"models": {"cpu": LinearModel("m")}},
            r"kernel gemm: got LinearModel.* a fitted kernel model",
        ),
        (
            {"models": {"cpu": 1e-3}},
            r"kernel gemm: got 0.001 \(float\); legal: a fitted kernel model",
        ),
        ({"when": "today"}, r"when: got 'today' \(str\); legal: a date, such as 2025-01-31"),
        ({"machine": 3}, r"machine: expected Machine, got 3"),
        ({"how": None}, r"how: expected str, got None"),
    ],
)
def test_what_cannot_be_saved_is_said(tmp_path, changed, message):
    given = {"machine": "laptop", "models": {"cpu": ConstantModel(1.0)}, **changed}
    with pytest.raises(InputError, match=message):
        save_models(tmp_path / "a.json", {"gemm": given.pop("models")}, **given)
    assert not list(tmp_path.iterdir())


def test_a_library_of_a_model_file(saved):
    library = ModelLibrary(saved)
    assert library.kernels() == ("L2L", "M2M")
    assert library.file_of("M2M") == library.path == saved
    assert library.model("M2M", "cpu").label == "M2M on cpu"
    assert library.locality("M2M", "cpu") == Locality(2.0**25, 1e-11, 0.25)
    assert library.predict("M2M", "cpu", ("N", "Level"), np.array([[7.0, 4.0]])).tolist() == [
        2.5e-3
    ]
    library.require(["M2M", "L2L"], ["cpu"])


def test_what_a_model_file_has_not_is_named(saved):
    library = ModelLibrary(saved)
    with pytest.raises(InputError) as caught:
        library.model("M2L", "cpu")
    assert str(caught.value) == (
        f"no model of kernel 'M2L' in {saved}, did you mean 'M2M'? (known: L2L, M2M)"
    )
    with pytest.raises(InputError) as caught:
        library.model("M2M", "cuda")
    assert str(caught.value) == (
        f"no model of kernel 'M2M' for architecture 'cuda' in {saved}, did you mean 'cpu'? "
        "(known: cpu)"
    )
    with pytest.raises(InputError, match="no model of kernels 'P2P', 'P2M' in "):
        library.require(["P2P", "L2L", "P2M"])


def test_a_library_of_one_coefficient_file_whatever_its_name(tmp_path, kernels):
    path = save_kernel(tmp_path, "M2M", kernels["M2M"], machine=MACHINE)
    path = path.rename(tmp_path / "M2M-sphere.json")
    library = ModelLibrary(path)
    assert library.kernels() == ("M2M",)
    assert library.model("M2M", "cpu").predict([[3.0]]).tolist() == [1e-3]


def test_a_folder_does_not_hide_a_model_file_in_it(saved):
    library = ModelLibrary(saved.parent)
    with pytest.raises(InputError) as caught:
        library.file("general")
    assert str(caught.value) == (
        f"{saved}: expected the coefficient file of one kernel, got a model file of several "
        "(L2L, M2M)"
    )
    with pytest.raises(InputError, match="of several"):
        load_kernel(saved)


@pytest.mark.parametrize(
    ("old", "new", "before", "message"),
    [
        (
            '"schema_version": 1',
            '"schema_version": 2',
            '"schema_version": ',
            "schema_version: version 2 is newer than 1",
        ),
        (
            '"mlr"',
            '"mrl"',
            '"kind": ',
            "kernels.L2L.architectures.cpu.model.kind: unknown kind of model 'mrl', "
            "did you mean 'mlr'",
        ),
        (
            '"Level"',
            "7",
            '"M2M": {\n      "parameters": [',
            "kernels.M2M.parameters[0]: expected a text, got 7",
        ),
        ('"kernels"', '"kernals"', "", "'kernel' is missing, did you mean 'kernals'"),
        ('"machine"', '"mashine"', "", "'machine' is missing, did you mean 'mashine'"),
    ],
)
def test_malformed_files_are_refused_where_it_is(saved, old, new, before, message):
    text = saved.read_text()
    assert old in text
    assert before in text
    text = text.replace(old, new, 1)
    saved.write_text(text)
    with pytest.raises(InputError) as caught:
        ModelLibrary(saved)
    head = text[: text.index(before) + len(before)]
    line, column = head.count("\n") + 1, len(head) - (head.rfind("\n") + 1) + 1
    assert str(caught.value).startswith(f"{saved}:{line}:{column}: {message}")


def test_a_file_cut_anywhere_is_refused_with_line_and_column(saved):
    text = saved.read_text()
    for end in range(0, len(text) - 2, 397):
        saved.write_text(text[:end])
        with pytest.raises(InputError) as caught:
            ModelLibrary(saved)
        line, column = map(int, str(caught.value).removeprefix(f"{saved}:").split(":")[:2])
        assert 1 <= line <= text[:end].count("\n") + 1
        assert column >= 1


@pytest.mark.parametrize("content", [{}, {"kernels": {}}, {"kernel": "gemm"}])
def test_another_version_is_told_before_anything_else(tmp_path, content):
    path = tmp_path / "gemm.json"
    path.write_text(json.dumps({"schema_version": 2, **content}))
    with pytest.raises(InputError, match=r"gemm\.json:1:20: schema_version: version 2 is newer"):
        load_file(path)
