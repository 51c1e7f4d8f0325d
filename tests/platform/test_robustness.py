"""Whatever a file or a setting says: a platform, or an error that says what is wrong."""

from __future__ import annotations

import re

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.base.errors import InputError
from tasksim.platform.description import check_platform
from tasksim.platform.layers import SETTABLE_PATHS, SettableValue
from tasksim.platform.load import load

WHOLE_FILE = {
    "version": 1,
    "name": "machine",
    "description": "all there is",
    "models": "machine",
    "nodes": 2,
    "memories": {"ram": {"size": "64 GiB"}, "gpu": {}},
    "arch": {
        "cpu": {"speed": 1.0},
        "little": {"speed": 0.5, "models": "cpu", "pipeline": 2, "synchronous": ["a"]},
    },
    "workers": {
        "cpu": {"count": 2, "memory": "ram", "cores": [0, 1]},
        "little": {
            **{"count": 1, "arch": "little", "memory": ["gpu"], "models": ["big"]},
            "drivers": "cpu",
        },
    },
    "overheads": {"submission": "2 us", "task": "12 us", "wakeup": "60 us"},
    "links": {
        "up": {
            **{"bandwidth": "12 GB/s", "latency": "1 us", "between": ["ram", "gpu"]},
            **{"measured_bandwidth": "11 GB/s", "measured_latency": "1 us"},
        },
        "bus": {"bandwidth": "12 GB/s"},
    },
    "routes": [{"from": "ram", "to": "gpu", "links": ["up", "bus"]}],
    "allocation": {
        **{"allocate": "1 us", "free": "1 us", "chunk": "1 MiB", "unit": "1 kB"},
        **{"largest": "1 MB", "usable": 0.9},
    },
    "copying": {"fetches": 1, "prefetches": 1, "idle": 1, "serialised": True, "contention": 2},
    "fingerprint": {"threads": 4},
}
JUNK_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.dates()
    | st.binary(max_size=3)
    | st.sampled_from(["12 GB/s", "x2", "ram", "node1/ram", "node9/ram", "-3 us", "cpu", "", "1e9"])
    | st.text(max_size=4),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3)
    ),
    max_leaves=4,
)


def places(data, above=()):
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def replaced(data, place, value):
    key, *below = place
    new = data.copy()
    new[key] = replaced(data[key], below, value) if below else value
    return new


def complaint(path, changes=()):
    """Return the lines that refuse a file, none if it is a consistent platform."""
    try:
        check_platform(load(path, settings=changes))
    except InputError as error:
        return str(error).splitlines()
    return []


@settings(max_examples=few(100), deadline=None)
@given(st.sampled_from([p for p in places(WHOLE_FILE) if p != ("version",)]), JUNK_VALUES)
def test_junk_in_one_place(tmp_path_factory, place, junk):
    path = tmp_path_factory.mktemp("platforms") / "p.yaml"
    path.write_text(yaml.safe_dump(replaced(WHOLE_FILE, place, junk)), encoding="utf-8")
    for line in complaint(path):
        assert re.match(rf"{re.escape(str(path))}:\d+:\d+: ", line)


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_as_a_file(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("platforms") / "p.yaml"
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    # No text of 40 characters is a platform unless it begins as one.
    assert complaint(path) or text.startswith("version: 1")


def settable(tree, above="platform"):
    for key, below in tree.items():
        path = f"{above}.{key}"
        yield from [path] if isinstance(below, SettableValue) else settable(below, path)


DRAWN_SETTABLE_PATHS = st.sampled_from(list(settable(SETTABLE_PATHS)))
VALUES = st.sampled_from(["0", "3", "x2", "x0.5", "null", "2 us", "2 GiB", "x1e999", "[0]", "ram"])


@settings(max_examples=few(100), deadline=None)
@given(st.lists(st.tuples(DRAWN_SETTABLE_PATHS, VALUES | st.text(max_size=5)), max_size=4))
def test_any_settings(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("platforms") / "p.yaml"
    path.write_text(yaml.safe_dump(WHOLE_FILE), encoding="utf-8")
    for line in complaint(path, [f"{place}={value}" for place, value in drawn]):
        # Every setting may be right and the whole not: no workers left, a memory left unsaid.
        assert line.startswith("--set platform.") or re.search(
            "needed|too many|missing|no way|at most chunk", line
        )
