"""The pages of the documentation: links, commands, pictures, targets of make."""

import re

import pytest
from executed_pages import DESIGN, PAGES, ROOT


def anchors(text: str) -> set[str]:
    """Return what GitHub makes of the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


GENERATED_PAGES = {"demo-output/runs.html"}
"""Files that `make demo` writes, to which a page may link."""


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target in GENERATED_PAGES:
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text()), target


def test_every_page_can_be_reached_from_the_readme():
    """From the README to a page, or from there through an index: of the design, of the papers."""
    readme = (ROOT / "README.md").read_text()
    index = (ROOT / DESIGN / "index.md").read_text()
    listed = {f"{DESIGN}{name}.md" for name in re.findall(r"^([a-z-]+)$", index, re.MULTILINE)}
    papers = (ROOT / "docs/papers/index.md").read_text()
    listed |= {f"docs/papers/{name}" for name in re.findall(r"\]\(([a-z_]+\.md)\)", papers)}
    assert f"({DESIGN}index.md)" in readme
    assert "(docs/papers/index.md)" in readme
    assert [page for page in PAGES[1:] if f"({page})" not in readme and page not in listed] == []


def test_make_has_the_targets_that_pages_name():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        t for p in PAGES for t in re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / p).read_text(), re.M)
    }
    assert {"demo", "test"} <= named
    assert named <= targets


def test_pictures_are_small():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    assert sizes.pop("what-if.webp") < 1_000_000
    assert "gantt.png" in sizes
    assert max(sizes.values()) < 200_000
