"""Writing platform files, and reading them back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError, OutputError
from tasksim.base.units import exact_quantity
from tasksim.platform.checks import check_platform
from tasksim.platform.load import dump, load

MACHINE = {
    "name": "mine",
    "models": "mine",
    "memories": {"ram": {"size": "128 GiB"}},
    "arch": {"cpu": {"speed": 1.0}},
    "workers": {"cpu": {"count": 2, "arch": "cpu", "memory": "ram", "cores": [0, 1]}},
    "overheads": {"submission": exact_quantity(2.0123456789012347e-06, "time")},
    "fingerprint": {"cpu": "Xeon: E5 #3", "mhz": np.float64(2600.5), "threads": np.int64(2)},
}


def test_the_text_is_readable(here):
    dump(MACHINE, Path("mine.yaml"), comment="Written by tasksim calibrate.\nDo not edit.")
    assert Path("mine.yaml").read_text(encoding="utf-8") == (
        "# Written by tasksim calibrate.\n"
        "# Do not edit.\n"
        "version: 1\n"
        "name: mine\n"
        "models: mine\n"
        "memories:\n"
        "  ram: {size: 128 GiB}\n"
        "arch:\n"
        "  cpu: {speed: 1.0}\n"
        "workers:\n"
        "  cpu:\n"
        "    count: 2\n"
        "    arch: cpu\n"
        "    memory: ram\n"
        "    cores: [0, 1]\n"
        "overheads: {submission: 2.0123456789012347 us}\n"
        "fingerprint: {cpu: 'Xeon: E5 #3', mhz: 2600.5, threads: 2}\n"
    )


def test_what_is_written_reads_back_the_same(here):
    written = dump(MACHINE, Path("mine.yaml"))
    assert load("mine.yaml") == written
    assert written.overheads.submission_s == 2.0123456789012347e-06
    assert written.fingerprint == {"cpu": "Xeon: E5 #3", "mhz": 2600.5, "threads": 2}


@pytest.mark.parametrize("text", ["µ-arch", "a\x85b", "a\u2028b", "yes", "12:30", "- # :"])
def test_any_text_survives(here, text):
    written = dump({**MACHINE, "fingerprint": {text: text}}, Path("mine.yaml"))
    assert load("mine.yaml").fingerprint == written.fingerprint == {text: text}


def test_a_file_that_extends_another(here):
    dump(MACHINE, Path("mine.yaml"))
    twice = dump({"extends": "mine", "nodes": 2}, Path("twice.yaml"))
    assert len(twice.workers) == 4
    assert load("twice.yaml") == twice


def test_nothing_wrong_is_written(here):
    Path("mine.yaml").write_text("precious", encoding="utf-8")
    wrong = {**MACHINE, "overheads": {"task": 3e-6}}
    with pytest.raises(InputError, match=re.escape("overheads.task: 3e-06 has no unit")):
        dump(wrong, Path("mine.yaml"))
    assert [path.name for path in here.iterdir()] == ["mine.yaml"]
    assert Path("mine.yaml").read_text(encoding="utf-8") == "precious"


def test_only_plain_values_are_written(here):
    wrong = {**MACHINE, "fingerprint": {"thing": object}}
    with pytest.raises(InputError, match="not a plain value"):
        dump(wrong, Path("mine.yaml"))


def test_where_nothing_can_be_written(here):
    Path("file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match=r"cannot write file/mine\.yaml"):
        dump(MACHINE, Path("file/mine.yaml"))


NAMES = st.from_regex(r"[A-Za-z]([A-Za-z0-9_-]{0,6}[A-Za-z0-9])?", fullmatch=True)
SECONDS = st.floats(0, 1e3)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def descriptions(draw):
    memories = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    architectures = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    groups = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    sizes = st.floats(1, 1e15).map(lambda size: {"size": exact_quantity(size, "size")})
    speeds = st.floats(1e-3, 1e3)
    described = {
        "nodes": draw(st.integers(1, 3)),
        "memories": {name: draw(sizes | st.just({})) for name in memories},
        "arch": {name: {"speed": draw(speeds)} for name in architectures},
        "workers": {
            name: {
                "count": draw(st.integers(1, 12)),
                "arch": draw(st.sampled_from(architectures)),
                "memory": draw(st.sampled_from(memories)),
            }
            for name in groups
        },
        "overheads": {
            name: exact_quantity(draw(SECONDS), "time") for name in ("submission", "task", "wakeup")
        },
        "fingerprint": draw(st.dictionaries(st.text(max_size=5), PLAIN, max_size=3)),
    }
    if len(memories) > 1:
        # Every memory beside the first, by one link or two.
        number = len(memories) - 1
        links = draw(st.lists(NAMES, min_size=number, max_size=number + 2, unique=True))
        described["links"] = {
            name: {"bandwidth": "12.5 GB/s", "between": [memories[0], memories[1 + i % number]]}
            for i, name in enumerate(links)
        }
    return described


@given(descriptions())
def test_every_valid_description_is_consistent_and_reads_back(tmp_path_factory, description):
    path = tmp_path_factory.mktemp("platforms") / "drawn.yaml"
    platform = dump(description, path)
    assert load(path) == platform
    check_platform(platform)
    nodes = description["nodes"]
    counts = [group["count"] for group in description["workers"].values()]
    assert len(platform.workers) == nodes * sum(counts)
    assert len(platform.memories) == nodes * len(description["memories"])
    assert len(platform.links) == nodes * len(description.get("links", ()))
    for name, section in description["arch"].items():
        assert platform.speeds[name] == section["speed"]
    assert platform.fingerprint == description["fingerprint"]
