"""Names of the core's classes: two of one name in a namespace are one to the linker, silently."""

from __future__ import annotations

import re
from collections import defaultdict

from tasksim.core.library import FOLDER

ASIDE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^\s*#.*?$', re.M | re.S
)
"""Parts that are no code: comments, strings, lines of the preprocessor."""
NAMESPACE = re.compile(r"\bnamespace\b\s*([\w:]*)\s*$")
DEFINED = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:alignas\(\w+\)\s*|\[\[\w+\]\]\s*)?"
    r"(\w+(?:<[^(){}]*>)?)(?:\s+final)?\s*(?::(?!:)[^=()]*)?$"
)


def defined_in(text):
    """Return the classes that *text* defines for the whole library, with their namespaces.

    Not those in functions, in other classes, or in namespaces without a name, which are a file's.
    """
    found, around = [], []  # per brace that is open: its namespace; None: it is none's
    code = ASIDE.sub(" ", re.sub(r"(?<=\d)'(?=\d)", "", text))  # 1'000 begins no text
    for before, brace in re.findall(r"([^{};]*)([{};])", code):
        if brace == "}":
            around.pop()
        elif brace == "{":
            opens = NAMESPACE.search(before)
            named = DEFINED.search(before.strip())
            if named and None not in around and "" not in around:
                found.append("::".join([*around, named[1]]))
            around.append(opens[1] if opens else None)
    assert not around, "braces that do not match"
    return found


def clashes(texts):
    """Return the classes that several of the *texts*, by their names, define, and which do."""
    files = defaultdict(set)
    for file, text in texts.items():
        for name in defined_in(text):
            files[name].add(file)
    return {name: sorted(where) for name, where in files.items() if len(where) > 1}


def test_no_two_files_define_classes_of_one_name():
    paths = [path for path in FOLDER.rglob("*") if path.suffix in {".h", ".cpp"}]
    texts = {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in paths}
    known = {name for text in texts.values() for name in defined_in(text)}
    assert {"tasksim::Clock", "tasksim::Life", "tasksim::State", "tasksim::threads::Ends"} <= known
    assert len(known) > 100
    assert clashes(texts) == {}


def test_what_is_a_files_own_does_not_clash():
    own = "namespace tasksim { namespace { class Same { int x; }; } struct Other; }"
    inside = "namespace tasksim { void f() { struct Same {}; } class Outer { struct Same {}; }; }"
    theirs = "namespace tasksim::threads { class Same : public Base<int> {}; }"
    uses = (
        "namespace tasksim { class Same; // class Same {\n Same f(struct Same &s) { return s; } }"
    )
    defines = "namespace tasksim { template <class T> class [[nodiscard]] Same final : A {}; }"
    assert clashes({"a": own, "b": inside, "c": theirs, "d": uses, "e": defines}) == {}
    assert clashes({"a": own, "e": defines, "f": defines}) == {"tasksim::Same": ["e", "f"]}


def test_classes_are_found_however_they_are_written():
    text = """
    constexpr int MANY = 1'000;  // it's one
    namespace tasksim {
    enum State : std::int8_t { WAITING, READY };
    struct alignas(64) Life { char brace = '{'; const char *text = "}{"; };
    template <> struct Promise<void> : Steps { void f() {} };
    namespace threads { struct Mutex { struct Inside {}; }; }
    }
    extern "C" { typedef struct { int x; } tasksim_thing; }
    """
    names = ["State", "Life", "Promise<void>", "threads::Mutex"]
    assert defined_in(text) == [f"tasksim::{name}" for name in names]
