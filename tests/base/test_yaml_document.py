"""PyYAML's two readers: which of them has read a file, nobody sees."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from tasksim.base.documents import yaml_document
from tasksim.base.documents.yaml_document import YamlDocument
from tasksim.base.errors import InputError

pytestmark = pytest.mark.skipif(
    not hasattr(yaml, "CSafeLoader"), reason="this PyYAML has one reader"
)

SHIPPED = [
    path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parents[2] / "platforms").glob("*.yaml"))
]
STRANGE_CHARACTERS = [
    *"\n \t:-?[]{},&*!|>'\"%@`#~.01a\\\x85\u2028\ufeff\x7f\r",
    *("\n- ", "\n  ", ": ", "{a: b}", "<<: ", "---\n", "\n? ", "!!str ", "%YAML 1.1\n", "a:b"),
]


def answer(text):
    """Return what is read of *text*, or the message."""
    try:
        document = YamlDocument.parse(text, Path("file.yaml"))
    except InputError as error:
        return str(error)
    places = [str(document.place((key,))) for key in document.data]
    return repr(document.data), document.problems, places


def spoilt(rng):
    """Return a few lines of a shipped file, with strange things put in."""
    lines = rng.choice(SHIPPED).split("\n")
    begin = rng.randrange(len(lines))
    text = "\n".join(lines[begin : begin + rng.randrange(2, 15)])
    for _ in range(rng.randrange(4)):
        place = rng.randrange(len(text) + 1)
        text = text[:place] + rng.choice(STRANGE_CHARACTERS) + text[place + rng.randrange(3) :]
    return text


def test_shipped_files_are_read_quickly():
    assert len(SHIPPED) > 3
    assert all(yaml_document._read_quickly(text) for text in SHIPPED)


def test_both_readers_read_the_same(monkeypatch):
    rng = random.Random(0)
    texts = [*SHIPPED, *(spoilt(rng) for _ in range(400))]
    quick = [answer(text) for text in texts]
    assert sum(yaml_document._read_quickly(text) is not None for text in texts) > 50
    monkeypatch.setattr(yaml_document, "_read_quickly", lambda text: None)
    for text, found in zip(texts, quick, strict=True):
        assert found == answer(text), text


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 100_000, "a:\n" + "- " * 100_000, "a: " + "{b: " * 100_000]
)
def test_what_is_deep_is_not_for_the_reader_that_calls_itself(text):
    assert yaml_document._read_quickly(text) is None
