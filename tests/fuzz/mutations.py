"""Mutations of inputs: of bytes and words, of trees, of tables, each in the manner of the file."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import yaml

from .binaries import mutated_npz, mutated_parquet
from .inputs import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from .inputs import Input

__all__ = ["NUMBER", "NUMBERS", "mutated"]

NUMBERS = (
    *("0", "-0", "-1", "1", "2", "010", "0x10", "1_0", "1e400", "-1e400", "1e-320", "5e-324"),
    *("nan", "NaN", "inf", "-inf", "Infinity", "-0.0", "0.1", "1.5", "1e5", "1e308", "1.8e308"),
    *("127", "128", "255", "32767", "32768", "65536", "2147483647", "2147483648", "4294967296"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616"),
    *(
        "-2147483649",
        "-9223372036854775809",
        "1" * 31,
        "9" * 400,
        "1" * 5000,
        "0." + "0" * 400 + "1",
    ),
    *("+1", " 1", ".5", "5.", "1,5", "1'000", "\u0663", "\uff11", "1e", "--1", "1e99999", "1/3"),
)
"""Numbers, and what looks like one, that readers are known to get wrong."""
WORDS = (
    *("", " ", "null", "~", "true", "yes", "on", "*", "..", "/", "/dev/zero", "a" * 3000, "\u00e9"),
    *("\x00", "\x1b[31m", "\r", "\u2028", "\ufeff", "\ud7ff", "%s", "{}", "${HOME}", "`id`"),
    *("os:system", "canary:Canary", "canary:run:text=x", "__import__('canary')", "__class__"),
    *("<<", "&a", "*a", "!!python/object/apply:os.system [true]", "2024-13-01", "=1+1", "#", '"'),
)
"""Words that mean something to some format, or must not."""
NUMBER = re.compile(rb"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
MAX_MERGES = 8
"""In a file of YAML whose tree is changed: PyYAML writes out what they merge, 2**30 for 30."""
_DEPTHS = (10, 101, 1000, 30_000)


def mutated(given: Input, corpus: Sequence[Input], random: Random) -> Input:
    """Return another input: mostly one file of the *given* one changed in one to four ways."""
    found = dict(given)
    for _ in range(1 + min(3, int(random.expovariate(1)))):
        name = random.choice(sorted(found))
        if random.random() < 0.01 and len(found) > 1:
            del found[name]
        else:
            other = random.choice(corpus).get(name, b"")
            found[name] = _file(name, found[name], other, random)[:LARGEST]
    return found


def _file(name: str, content: bytes, other: bytes, random: Random) -> bytes:
    if name.endswith(".npz") and random.random() < 0.9:
        return mutated_npz(content, random, lambda text: _text(text, text, random))
    if name.endswith(".parquet") and random.random() < 0.9:
        return mutated_parquet(content, random)
    if name.endswith((".json", ".jsonl", ".yaml")) and random.random() < 0.5:
        return _tree_file(name, content, random)
    return _text(content, other, random)


# Bytes and words


def _text(content: bytes, other: bytes, random: Random) -> bytes:
    return random.choice(_OF_TEXT)(content, other, random)


def _span(content: bytes, random: Random) -> tuple[int, int]:
    begin = random.randint(0, len(content))
    return begin, min(len(content), begin + int(random.expovariate(1 / 8)))


def _flip(content: bytes, _: bytes, random: Random) -> bytes:
    if not content:
        return bytes([random.randrange(256)])
    place = random.randrange(len(content))
    return content[:place] + bytes([random.randrange(256)]) + content[place + 1 :]


def _delete(content: bytes, _: bytes, random: Random) -> bytes:
    begin, end = _span(content, random)
    return content[:begin] + content[end:]


def _truncate(content: bytes, _: bytes, random: Random) -> bytes:
    return content[: random.randint(0, len(content))]


def _insert(content: bytes, other: bytes, random: Random) -> bytes:
    begin, end = _span(other, random)
    place = random.randint(0, len(content))
    return content[:place] + other[begin:end] + content[place:]


def _repeat(content: bytes, _: bytes, random: Random) -> bytes:
    begin, end = _span(content, random)
    most = (LARGEST - len(content)) // max(1, end - begin)  # so that the rest still follows
    times = max(1, min(most, random.choice((2, 3, 50, 5000, LARGEST))))
    return content[:begin] + content[begin:end] * times + content[end:]


def _insert_word(content: bytes, _: bytes, random: Random) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + _word(random) + content[place:]


def _word(random: Random) -> bytes:
    return random.choice(random.choice((NUMBERS, WORDS))).encode("utf-8", "surrogatepass")


def _replace(pattern: re.Pattern[bytes]) -> Callable[[bytes, bytes, Random], bytes]:
    """Return the mutation that replaces something alike by a number, a word or another of it."""

    def mutation(content: bytes, other: bytes, random: Random) -> bytes:
        found = list(pattern.finditer(content))
        if not found:
            return _insert_word(content, other, random)
        place = random.choice(found)
        others = pattern.findall(other) or [b"0"]
        new = random.choice(others) if random.random() < 0.4 else _word(random)
        return content[: place.start()] + new + content[place.end() :]

    return mutation


def _lines(content: bytes, _: bytes, random: Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines[one], lines[two] = lines[two], lines[one]
        case 1:
            lines.insert(one, lines[two])
        case 2:
            del lines[one]
        case _:
            lines[one] = b" " * random.choice((1, 2, 4)) + lines[one]
    return b"".join(lines)


def _nest(content: bytes, _: bytes, random: Random) -> bytes:
    opening = random.choice((b"[", b"{", b"(", b'{"a":', b"<a>", b"- ", b"a: ", b'"', b"[a,"))
    place = random.randint(0, len(content))
    return content[:place] + opening * random.choice(_DEPTHS) + content[place:]


_OF_TEXT = (
    *(_flip, _delete, _truncate, _insert, _repeat, _insert_word, _lines, _nest),
    *(_replace(NUMBER),) * 4,
    *(_replace(_WORD),) * 3,
)


# Trees


def _tree_file(name: str, content: bytes, random: Random) -> bytes:
    """Return a file of JSON, JSON lines or YAML with its tree changed, if it is one."""
    try:
        if name.endswith(".yaml"):
            if content.count(b"<<") > MAX_MERGES:
                return _flip(content, content, random)
            tree = _tree(yaml.safe_load(content), random)
            return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode()
        if name.endswith(".jsonl"):
            lines = content.split(b"\n")
            place = random.randrange(len(lines))
            lines[place] = _json(_tree(json.loads(lines[place]), random))
            return b"\n".join(lines)
        return _json(_tree(json.loads(content), random))
    except (ValueError, RecursionError, yaml.YAMLError, TypeError):
        return _flip(content, content, random)


def _json(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _tree(tree: Any, random: Random) -> Any:
    """Return *tree* with one of its branches changed."""
    branches = _branches(tree)
    above, key, value = random.choice(branches)
    new = _branch(value, random.choice(branches)[2], random)
    if above is None:
        return new
    if random.random() < 0.15:
        del above[key]
    elif random.random() < 0.2 and isinstance(above, dict):
        above[random.choice((_name(random), f"{key}x", str(key)[:-1]))] = value
    else:
        above[key] = new
    return tree


def _branches(tree: Any) -> list[tuple[Any, Any, Any]]:
    """Return (container, key, value) of all that is in *tree*.

    Each container counts once: aliases of YAML share them, even with themselves.
    """
    found = [(None, None, tree)]
    seen: set[int] = set()
    for _, _, branch in found:
        if not isinstance(branch, dict | list) or id(branch) in seen:
            continue
        seen.add(id(branch))
        entries = branch.items() if isinstance(branch, dict) else enumerate(branch)
        found += [(branch, key, value) for key, value in entries]
    return found


def _name(random: Random) -> str:
    return random.choice(random.choice((NUMBERS, WORDS)))


def _branch(value: Any, other: Any, random: Random) -> Any:
    match random.randrange(6):
        case 0:
            return deepcopy(other)  # what is shared stays shared: written out it may be endless
        case 1:
            return [value] * random.choice((0, 1, 2, 50))
        case 2:
            return {} if random.random() < 0.3 else {_name(random): value}
        case 3:
            return _name(random)
        case 4:
            return random.choice((None, True, False, 0, -1, 1.5, 2**31, 2**63, -(2**63), 10**30))
        case _:
            return random.choice((1e308, 5e-324, float("inf"), float("nan"), -0.0, 10**400, 1e-9))
