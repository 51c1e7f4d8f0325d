"""Writing platform files, and reading them back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.base.documents.sections import fields_of
from tasksim.base.errors import InputError, OutputError
from tasksim.base.units import exact_quantity, parse_quantity
from tasksim.platform.costs import Copying
from tasksim.platform.description import Device, check_platform
from tasksim.platform.load import dump, load
from tasksim.platform.schema import OverheadsSection

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


TIMES = SECONDS.map(lambda seconds: exact_quantity(seconds, "time"))
SIZES = st.floats(1, 1e15).map(lambda size: exact_quantity(size, "size"))
BANDWIDTHS = st.floats(1, 1e15).map(lambda rate: exact_quantity(rate, "bandwidth"))
LINKS = st.fixed_dictionaries(
    {"bandwidth": BANDWIDTHS},
    optional={
        **{"latency": TIMES, "measured_bandwidth": BANDWIDTHS, "measured_latency": TIMES},
        "shared": st.booleans(),
    },
)
COUNTS = st.integers(1, 32767)


@st.composite
def descriptions(draw):
    memories = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    architectures = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    groups = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    memory = st.sampled_from(memories)
    described = {
        "nodes": draw(st.integers(1, 3)),
        "memories": {
            name: draw(st.fixed_dictionaries({}, optional={"size": SIZES})) for name in memories
        },
        "arch": {
            name: {
                "speed": draw(st.floats(1e-3, 1e3)),
                "pipeline": draw(st.integers(0, 16)),
                "synchronous": draw(st.lists(st.text(max_size=5), max_size=2)),
            }
            for name in architectures
        },
        "workers": {
            name: {
                "count": draw(st.integers(1, 12)),
                "arch": draw(st.sampled_from(architectures)),
                "memory": draw(memory | st.lists(memory, min_size=2, max_size=2)),
                "models": draw(NAMES | st.lists(NAMES, min_size=2, max_size=2)),
            }
            for name in groups
        },
        "overheads": {name: draw(TIMES) for name in fields_of(OverheadsSection)},
        "allocation": {
            **{name: draw(TIMES) for name in ("allocate", "free")},
            **{"chunk": "1 GiB", "unit": "64 B", "largest": draw(st.sampled_from([0, "5 MB"]))},
            "usable": draw(st.floats(0.01, 1)),
        },
        "copying": {
            **{name: draw(COUNTS) for name in ("fetches", "prefetches", "idle")},
            "serialised": draw(st.booleans()),
            "contention": draw(st.floats(0, 100)),
        },
        "fingerprint": draw(st.dictionaries(st.text(max_size=5), PLAIN, max_size=3)),
    }
    if len(groups) > 1:
        described["workers"][groups[0]]["drivers"] = groups[1]
    if len(memories) > 1:
        described |= draw(ways(memories))
    return described


@st.composite
def ways(draw, memories):
    """Links, and routes from and to the first memory over the bus and a link of their own."""
    first, *others = memories
    bus, *links = draw(st.lists(NAMES, min_size=len(memories), max_size=len(memories), unique=True))
    described = {bus: draw(LINKS)}
    routes = []
    for other, link in zip(others, links, strict=True):
        described[link] = draw(LINKS)
        if draw(st.booleans()):
            described[link]["between"] = [first, other]
        else:
            routes.append({"from": first, "to": other, "links": [link, bus]})
            routes.append({"from": other, "to": first, "links": [link, bus, bus]})
    return {"links": described, "routes": routes}


@given(descriptions())
@settings(deadline=None, max_examples=few(100))
def test_every_valid_description_is_consistent_and_reads_back(tmp_path_factory, description):
    path = tmp_path_factory.mktemp("platforms") / "drawn.yaml"
    platform = dump(description, path)
    assert load(path) == platform
    check_platform(platform)
    nodes = description["nodes"]
    counts = [group["count"] for group in description["workers"].values()]
    assert len(platform.workers) == nodes * sum(counts)
    given = [group["memory"] for group in description["workers"].values()]
    listed = {name for names in given if isinstance(names, list) for name in names}
    here = [memory.name.rpartition("/")[2] for memory in platform.memories]
    assert set(here) >= set(description["memories"]) - listed
    for name, section in description["arch"].items():
        assert platform.speeds[name] == section["speed"]
        assert platform.device(name) == Device(section["pipeline"], tuple(section["synchronous"]))
    for name, quantity in description["overheads"].items():
        assert getattr(platform.overheads, f"{name}_s") == parse_quantity(quantity, "time")
    assert platform.allocation.usable == description["allocation"]["usable"]
    assert platform.copying == Copying(**description["copying"])
    assert platform.fingerprint == description["fingerprint"]


@given(descriptions(), st.data())
@settings(deadline=None, max_examples=few(50))
def test_any_counts_leave_a_consistent_platform(tmp_path_factory, description, data):
    path = tmp_path_factory.mktemp("platforms") / "drawn.yaml"
    dump(description, path)
    counts = {name: data.draw(st.integers(0, 20)) for name in description["workers"]}
    assume(any(counts.values()))
    changed = [f"platform.workers.{name}.count={count}" for name, count in counts.items()]
    platform = load(path, settings=changed)
    check_platform(platform)
    assert len(platform.workers) == description["nodes"] * sum(counts.values())
    first = next(iter(description["memories"]))
    assert platform.memories[0].name in (first, f"node0/{first}")
