"""The tests of pages themselves: a page that is wrong is found to be wrong."""

import pytest
from executed_pages import Session, agree, agree_but_for_times

SIMULATE = "tasksim simulate chain length=2 --workers 1 --durations task=1"


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (f"```console\n$ {SIMULATE}\nmakespan 3 s\n```\n", "expected:\nmakespan 3 s"),
        (f"<!-- timings vary -->\n```console\n$ {SIMULATE}\nwrong\n...\n```\n", "got:\ngraph"),
        ("```console\n$ tasksim simulate chaim\n...\n```\n", "exits with 2"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected:\n    3\nGot:\n    2"),
        ("```python\nassert False, 'no'\n```\n", "AssertionError: no"),
        (f"<!-- keys: {SIMULATE} --json -->\n| key |\n|---|\n| `wrong` |\n", "['wrong']"),
    ],
)
def test_what_is_wrong_is_found(page, problem, folder):
    (found,) = Session("page.md").execute(f"# Page\n\n{page}").problems
    assert found.startswith("page.md:")
    assert problem in found


@pytest.mark.parametrize(
    ("expected", "output", "right"),
    [
        ("a\n...\nb\n", "a\nb\n", True),
        ("a\n...\nb\n", "a\nx\ny\nb\n", True),
        ("a\n...\n", "a\n", True),
        ("a\n...\nb\n", "a\nx\n", False),
        ("a ... c\n", "a b c\n", True),
        ("a\nb\n", "a\nx\nb\n", False),
    ],
)
def test_a_line_of_dots_stands_for_any_lines_or_none(expected, output, right):
    assert agree(expected, output) == right


@pytest.mark.parametrize(
    ("expected", "output", "right"),
    [
        ("total 3 us\ngemm 2 us\n", "gemm 9 us\ntotal 12 us\n", True),
        ("total 3 us\ngemm 2 us\n", "total 3 us\ngemm 2 us\ntrsm 1 us\n", False),
        ("total 3 us\ngemm 2 us\n", "total 3 us\ntrsm 2 us\n", False),
        ("total 3 us\n...\n", "total 4 us\nof far data\n", True),
        ("...\ngemm 3 us\ntrsm 2 us\n", "note\ntrsm 4 us\ngemm 1 us\n", True),
        ("...\ngemm 3 us\ntrsm 2 us\n", "note\ngemm 1 us\n", False),
    ],
)
def test_where_timings_vary_lines_start_alike_in_any_order(expected, output, right):
    assert agree_but_for_times(expected, output) == right


@pytest.mark.parametrize(("slow", "executed"), [(False, "quick"), (True, "slow")])
def test_slow_examples_are_executed_by_themselves(slow, executed, folder):
    page = """
<!-- file: given.txt -->
```text
given
```

```python
from pathlib import Path

Path("quick").write_text(Path("given.txt").read_text())
```

<!-- slow -->
```python
from pathlib import Path

Path("slow").write_text(Path("given.txt").read_text())
```
"""
    assert Session("page.md", slow=slow).execute(page).problems == []
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        "given.txt",
        executed,
    ]


def test_what_is_right_passes(folder):
    page = f"""
<!-- file: answer.py -->
```python
VALUE = 42
```

```python
>>> from answer import VALUE
>>> VALUE
42
```

<!-- timings vary -->
```console
$ {SIMULATE} \\
    --scheduler prio
graph ...
run whatever, and then
...
```

```console
$ tasksim simulate chaim --workers 1
Error: unknown task graph 'chaim', did you mean 'chain'? ...
$ echo $?
2
```
"""
    assert Session("page.md").execute(page).problems == []
    assert (folder / "answer.py").read_text() == "VALUE = 42\n"
