"""JSON: strict, of sensible depth, and every error says where; read back as it was written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.documents.json_document import (
    MAX_NESTING,
    FormatError,
    JsonNode,
    format_json,
    parse_json,
    path_text,
    position,
    read_json,
    to_data,
)
from tasksim.base.errors import InputError

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(
    PLAIN.filter(lambda v: not isinstance(v, float) or abs(v) != float("inf")),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=5)
    ),
    max_leaves=25,
)


def refused(text):
    with pytest.raises(json.JSONDecodeError) as caught:
        parse_json(text)
    return str(caught.value)


def test_what_nests_too_deep_is_no_recursion_error():
    for text in ("[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000):
        assert "nested more than 100 deep: line 1" in refused(text)
    assert parse_json("[" * MAX_NESTING + "]" * MAX_NESTING)
    assert "(char 106)" in refused('["[[", ' + "[" * MAX_NESTING + "]" * (MAX_NESTING + 1))


def test_what_json_does_not_have_is_refused():
    assert "NaN is not a JSON number" in refused('{"a": NaN}')
    assert "line 1 column 1" in refused("9" * 5000)
    assert "half a character: line 1 column 3" in refused(r'["\ud800"]')
    assert parse_json(r'["\ud83d\ude00", "\\ud800"]') == ["\N{GRINNING FACE}", r"\ud800"]


def test_a_key_is_given_once():
    assert 'the key "a" is given twice: line 1 column 9' in refused('{"a":1, "a":1}')
    text = '[{"a": "a", "b": {"a": [{"a": 0}], "\\u0061": ":"}, "a": 2}, }'
    assert 'the key "\\u0061" is given twice: line 1 column 36' in refused(text)
    assert parse_json('{"a": {"a": "a"}, "b": [{"a": 1}, {"a": 1}]}')
    assert "is given twice" in refused('{"a": 1, "a": ' + "9" * 100 + "}")
    assert len(refused(json.dumps({"a" * 3000: 1})[:-1] + f', "{"a" * 3000}": 2}}')) < 100


def test_errors_of_a_file_say_where(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{\n "a": ]}')
    with pytest.raises(InputError, match=r"a\.json:2:7: not JSON: Expecting value"):
        read_json(path)
    path.write_text(" ")
    with pytest.raises(InputError, match=r"a\.json: the file is empty"):
        read_json(path)
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}


def paths(value, path=()):
    yield path, value
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(item, (*path, key))


@given(VALUES)
def test_what_is_written_is_read_back(value):
    assert parse_json(format_json(value)) == value


@given(VALUES)
def test_position_is_where_the_value_begins(value):
    text = format_json(value)
    lines = text.split("\n")
    for path, item in paths(value):
        line, column = position(text, path)
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert json.JSONDecoder().raw_decode(rest)[0] == item


def test_position_of_what_is_not_there_is_where_it_is_missed():
    text = '{\n  "a": [1,\n {"b": 2}]\n}'
    assert position(text, ("a", 1, "b")) == (3, 8)
    assert position(text, ("a", 1, "c", "d")) == (3, 2)
    assert position(text, ("a", 7)) == (2, 8)


def test_what_fits_is_on_one_line():
    value = {
        "name": "gemm",
        "domain": {"m": [1, 2]},
        "long": [0.1] * 40,
        "rows": [{"a": 1}, {"a": 2}],
    }
    text = format_json(value)
    assert text.splitlines()[:4] == [
        "{",
        '  "name": "gemm",',
        '  "domain": {"m": [1, 2]},',
        '  "long": [',
    ]
    assert '    {"a": 1},\n    {"a": 2}\n' in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("text", ['{"a": NaN}', "[Infinity]", "[1, -Infinity]"])
def test_numbers_that_json_has_not_are_refused(text):
    with pytest.raises(json.JSONDecodeError, match="is not a JSON number"):
        parse_json(text)


def test_plain_data():
    data = {"a": np.array([1.0, np.nan]), "b": (np.float64(2), np.int64(3)), 4: float("inf")}
    assert to_data(data) == {"a": [1.0, None], "b": [2.0, 3], "4": None}


@pytest.mark.parametrize(
    ("value", "getter", "message"),
    [
        ([], "mapping", "expected an object, got []"),
        ("", "text", 'expected a text, got ""'),
        (True, "number", "expected a number, got true"),
        (
            10**400,
            "number",
            "expected a finite number, got 1000000000000000000000000000000000000...",
        ),
        (-1, "integer", "expected a whole number, not negative, got -1"),
        (2**63, "integer", "expected a whole number below 2^63, got 9223372036854775808"),
        (0, "positive", "expected a number larger than 0, got 0"),
        (["a", "a"], "texts", "'a' is given twice"),
        ("ab", "texts", 'expected a list, got "ab"'),
    ],
)
def test_values_of_another_type_are_refused(value, getter, message):
    with pytest.raises(FormatError) as caught:
        getattr(JsonNode(value), getter)()
    assert str(caught.value).rpartition("]: ")[2] == message


def test_missing_keys_are_named_with_the_path():
    node = JsonNode({"cpu": {"modle": 1}})["cpu"]
    with pytest.raises(FormatError) as caught:
        node["model"]
    assert str(caught.value) == "cpu: 'model' is missing, did you mean 'modle'? (keys: modle)"
    assert path_text(("a", 1, "b")) == "a[1].b"
