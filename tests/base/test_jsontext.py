"""JSON: strict, of sensible depth, and every error says where."""

from __future__ import annotations

import json

import pytest

from tasksim.base.errors import InputError
from tasksim.base.jsontext import MAX_NESTING, parse_json, read_json


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
