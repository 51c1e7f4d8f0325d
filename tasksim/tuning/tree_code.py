"""Code of decision trees, as a C header, a Python function or text."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Final

from tasksim.base.numerals import decimal_number, whole_number
from tasksim.tuning.tree import Leaf, TreeNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tasksim.tuning.tree_file import ChoosingTree

__all__ = ["c_header", "python_function", "readable_text"]

C_WORDS: Final = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while asm bool catch class constexpr delete explicit export
    false friend mutable namespace new operator private protected public template this throw
    true try typename typeid using virtual wchar_t and or not xor""".split()  # noqa: SIM905 - to be read
)
"""Keywords of C and C++: the header must compile as both."""


def c_header(found: ChoosingTree) -> str:
    """Return the tree as a C header: ``static inline ... choose_WHAT(double ...)``.

    Whole numbers are returned as long, others as double, names as text.
    """
    name = _function(found)
    arguments = _identifiers(found.tree.features)
    guard = f"TASKSIM_{name.upper()}_H"
    kind, choices = _c_choices(found.tree.choices)
    declared = ", ".join(f"double {argument}" for argument in arguments) or "void"
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *(f"/* {line} */" for line in _words(found, arguments)),
        f"static inline {kind}{name}({declared})",
        "{",
        *(f"    (void){argument};" for argument in arguments),
        *_c_lines(found.tree.root, arguments, choices, 1),
        "}",
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def python_function(found: ChoosingTree) -> str:
    """Return the tree as a Python function without imports."""
    arguments = _identifiers(found.tree.features)
    choices = _python_choices(found.tree.choices)
    words = [line.replace("\\", "/").replace('"', "'") for line in _words(found, arguments)]
    lines = [
        f"def {_function(found)}({', '.join(arguments)}):",
        f'    """{words[0]}',
        *(f"    {line}" for line in ["", *words[1:]]),
        '    """',
        *_python_lines(found.tree.root, arguments, choices, 1),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def readable_text(found: ChoosingTree) -> str:
    """Return the tree as text: a line per question and per answer."""
    return "\n".join([*_words(found, ()), "", *_text_lines(found, found.tree.root, 0)]) + "\n"


def _words(found: ChoosingTree, arguments: Iterable[str]) -> Iterator[str]:
    """Yield comments for readers of the code."""
    tree = found.tree
    yield (
        f"Which {_printable(found.choose)}: a tree of {len(tree)} nodes, trained on"
        f" {found.examples} examples, for which it reaches {100 * found.msop:.2f} % of the best"
        " performance."
    )
    for argument, feature in zip(arguments, tree.features, strict=False):
        if argument != feature:
            yield f"{argument}: {_printable(feature)}"


def _printable(text: str) -> str:
    """Return *text* without characters that end comments."""
    plain = "".join(c if c.isprintable() and c.isascii() else "?" for c in text)
    return plain.replace("*/", "* /").replace("/*", "/ *")


def _function(found: ChoosingTree) -> str:
    """Return the name of the function."""
    return f"choose_{_identifier(found.choose.removeprefix('graph.'))}"


def _identifier(text: str) -> str:
    """Return *text* as a name of C and Python."""
    plain = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_") or "x"
    plain = f"x_{plain}" if plain[0].isdigit() else plain
    return f"{plain}_" if plain in C_WORDS or keyword.iskeyword(plain) else plain


def _identifiers(names: Iterable[str]) -> list[str]:
    """Return a distinct name of C and Python for each of *names*."""
    found: list[str] = []
    for name in names:
        plain = wanted = _identifier(name.removeprefix("graph."))
        number = 2
        while plain in found:
            plain, number = f"{wanted}_{number}", number + 1
        found.append(plain)
    return found


def _c_choices(choices: Iterable[str]) -> tuple[str, list[str]]:
    """Return the C type of the choices, and their literals."""
    known = list(choices)
    whole = [whole_number(choice) for choice in known]
    if all(number is not None and abs(number) < 2**31 for number in whole):  # fits into any long
        return "long ", known
    if all(decimal_number(choice) is not None for choice in known):
        return "double ", [repr(float(choice)) for choice in known]
    return "const char *", [_c_text(choice) for choice in known]


def _c_text(text: str) -> str:
    """Return *text* as a literal of C: octal escapes end after three digits."""
    plain = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()
    )
    return f'"{plain}"'


def _python_choices(choices: Iterable[str]) -> list[str]:
    known = list(choices)
    if all(whole_number(choice) is not None for choice in known):
        return [str(whole_number(choice)) for choice in known]
    if all(decimal_number(choice) is not None for choice in known):
        return [repr(float(choice)) for choice in known]
    return [ascii(choice) for choice in known]


def _c_lines(node: TreeNode, arguments: list[str], choices: list[str], depth: int) -> Iterator[str]:
    indent = "    " * depth
    if isinstance(node, Leaf):
        yield f"{indent}return {choices[node.choice]};"
        return
    number = repr(node.threshold)
    if not any(c in number for c in ".e"):
        number += ".0"  # a double, not an integer
    yield f"{indent}if ({arguments[node.feature]} <= {number}) {{"
    yield from _c_lines(node.low, arguments, choices, depth + 1)
    yield f"{indent}}} else {{"
    yield from _c_lines(node.high, arguments, choices, depth + 1)
    yield f"{indent}}}"


def _python_lines(
    node: TreeNode, arguments: list[str], choices: list[str], depth: int
) -> Iterator[str]:
    """Yield lines that nest only on the low side, as Python allows a hundred levels of blocks."""
    indent = "    " * depth
    if isinstance(node, Leaf):
        yield f"{indent}return {choices[node.choice]}"
        return
    yield f"{indent}if {arguments[node.feature]} <= {node.threshold!r}:"
    yield from _python_lines(node.low, arguments, choices, depth + 1)
    yield from _python_lines(node.high, arguments, choices, depth)


def _text_lines(found: ChoosingTree, node: TreeNode, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(node, Leaf):
        choice = found.tree.choices[node.choice]
        yield f"{indent}{choice}    ({node.examples} examples, {100 * node.msop:.2f} % of the best)"
        return
    feature = found.tree.features[node.feature]
    yield f"{indent}{feature} <= {node.threshold:.12g}:"
    yield from _text_lines(found, node.low, depth + 1)
    yield f"{indent}{feature} > {node.threshold:.12g}:"
    yield from _text_lines(found, node.high, depth + 1)
