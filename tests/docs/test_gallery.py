"""The gallery: each figure is drawn by what its section says, and is on a page of its own."""

import pytest
from executed_pages import ROOT

GALLERY_TEXT = (ROOT / "docs" / "gallery.md").read_text()
PAGE_TEXT = """\
# Gallery

Words about it.

<!-- file: node.yaml -->
```yaml
version: 1
```

## Machines

### One machine

<!-- picture: one.png -->

How [it](numa.md) looks.

```console
$ tasksim view machine node.yaml \\
    -o one.png
machine ...
...
```

### Another picture of it

<!-- picture: two.png -->

Made by the same command.

### A kept one

<!-- picture: images/kept.png -->

```sh
only for readers
```
"""


@pytest.fixture
def gallery(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import gallery

    return gallery


def test_sections_are_figures(gallery):
    one, another, kept = gallery.figures(PAGE_TEXT)
    assert one.code == "```console\n$ tasksim view machine node.yaml \\\n    -o one.png\n```\n\n"
    assert (one.slug, one.group, one.picture) == ("one-machine", "Machines", "one.png")
    assert one.files == {"node.yaml": "```yaml\nversion: 1\n```\n"}
    assert (another.code, another.files, another.source) == (one.code, one.files, "")
    assert (kept.kept, kept.source, kept.words) == (True, "", "")


def test_a_page_has_picture_words_and_code(gallery):
    page = gallery.page_of(gallery.figures(PAGE_TEXT)[0])
    for part in ("![One machine](one-machine.png)", "[it](../../numa.md)", "`node.yaml`:"):
        assert part in page


def test_the_grid_leads_to_every_figure(gallery):
    grid = gallery.grid_of(gallery.figures(PAGE_TEXT), "# Gallery\n")
    assert grid.count(":link: generated/gallery/") == 3
    assert "## Machines" in grid


def test_there_are_thirty_figures_each_with_words_and_code(gallery):
    found = gallery.figures(GALLERY_TEXT)
    assert len(found) >= 30
    assert len({figure.slug for figure in found}) == len(found)
    assert [figure.title for figure in found if not (figure.words and figure.code)] == []
    kept = [figure.picture for figure in found if figure.kept]
    assert [name for name in kept if not (ROOT / "docs" / name).is_file()] == []


def test_figures_are_drawn_again_only_when_they_change(gallery, tmp_path):
    code = 'for name in ("one.png", "two.png"):\n    open(name, "w").close()\n'
    page = f"{PAGE_TEXT[: PAGE_TEXT.index('```console')]}```python\n{code}```\n\n### Two\n\n"
    page += "<!-- picture: two.png -->\n\nAs above.\n"
    state: dict[str, str] = {}
    assert gallery.draw_all(gallery.figures(page), tmp_path, state) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one-machine.png", "two.png"]
    first = (tmp_path / "two.png").stat().st_mtime_ns
    assert gallery.draw_all(gallery.figures(page), tmp_path, state) == []
    assert (tmp_path / "two.png").stat().st_mtime_ns == first


def test_a_figure_that_is_not_drawn_is_told(gallery, tmp_path):
    page = f"{PAGE_TEXT[: PAGE_TEXT.index('```console')]}```python\npass\n```\n"
    (problem,) = gallery.draw_all(gallery.figures(page), tmp_path, {})
    assert problem == "docs/gallery.md, One machine: no one.png was written"


@pytest.mark.slow
def test_every_figure_is_drawn(gallery):
    """All of them, or those that have changed since the pages were built from this checkout."""
    found = gallery.figures(GALLERY_TEXT)
    assert gallery.refresh(found) == []
    drawn = {path.stem for path in gallery.PAGES.glob("*.png")}
    assert {figure.slug for figure in found} <= drawn
