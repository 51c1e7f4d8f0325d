"""Gallery: the figures of docs/gallery.md, drawn by what the page says, each on a page of its own.

``make docs`` executes the sections of the page, as the tests do, and turns it into a grid of small
pictures. A section is a figure: a title, a comment ``<!-- picture: FILE -->``, some words, and the
commands or the Python that draw FILE; a section without code has another picture of the code before
it. A FILE below ``images/`` is kept in the repository. ``python docs/gallery.py FOLDER`` draws the
figures only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from PIL import Image, ImageOps

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS: Final = Path(__file__).resolve().parent
GALLERY_PAGE: Final = DOCS / "gallery.md"
PAGES: Final = DOCS / "generated" / "gallery"
"""Folder of the generated pages and of their pictures."""
DRAWN_PATH: Final = PAGES / "drawn.json"
"""By picture what it was drawn from, so that a build draws only what has changed."""
EXECUTED: Final = DOCS / "generated" / "executed"
"""Folder that notes, by notebook, of which package and text a build executed it."""
SMALL_PIXELS: Final = (640, 400)
"""Size of a picture in the grid, for screens of two pixels to a point."""

PICTURE = re.compile(r"^<!-- picture: (\S+) -->\n", re.MULTILINE)
FILE = re.compile(r"^<!-- file: (\S+) -->\n(```\w+\n.*?^```\n)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.MULTILINE)
COMMENT = re.compile(r"^<!-- [\w ]+ -->\n", re.MULTILINE)


@dataclass(frozen=True)
class Figure:
    """A section of the page: what it shows, where the picture is, what draws it."""

    title: str
    group: str
    picture: str
    words: str
    files: dict[str, str]
    code: str
    """The Markdown of what draws the picture, shown without what commands print."""
    source: str
    """The commands or lines that are executed; empty if an earlier figure draws this one, too."""

    @property
    def slug(self) -> str:
        """The name of its page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")

    @property
    def page(self) -> str:
        """The file of the page for browsers that its commands write, or nothing."""
        written = re.search(r" (?:--html|-o) (\S+\.html)", self.source)
        return written[1] if written else ""

    @property
    def kept(self) -> bool:
        """Whether the picture is in the repository."""
        return self.picture.startswith("images/")


def shared_files(text: str) -> dict[str, str]:
    """Return the files that figures share, which stand before the first group: name -> block."""
    return dict(FILE.findall(text.partition("\n## ")[0]))


def figures(text: str) -> list[Figure]:
    """Return the figures of the page *text*, in order."""
    shared, found = shared_files(text), []
    for group in text.split("\n## ")[1:]:
        name, *sections = group.split("\n### ")
        for section in sections:
            title, _, body = section.partition("\n")
            files = dict(FILE.findall(body))
            told = PICTURE.sub("", FILE.sub("", f"{body}\n"))
            code = "".join(_shown(language, lines) for language, lines in CODE.findall(told))
            runs = re.search(r"^```(console|python)$", told, re.MULTILINE)
            source = body if runs else ""
            if not code:
                code, files = found[-1].code, found[-1].files
            files |= {key: block for key, block in shared.items() if key in f"{code}{files}"}
            words = COMMENT.sub("", CODE.sub("", told)).strip()
            (picture,) = PICTURE.findall(f"{body}\n")
            found.append(Figure(title, name.strip(), picture, words, files, code, source))
    return found


def _shown(language: str, lines: str) -> str:
    """Return a block of code without what its commands print."""
    if language == "console":
        lines = "".join(COMMAND.findall(lines))
    return f"```{language}\n{lines}```\n\n"


def draw(figure: Figure, pictures: dict[str, str], folder: Path) -> list[str]:
    """Execute a figure's code in an empty folder, and keep *pictures*: file -> name in *folder*.

    Returns what went wrong.
    """
    sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "tests")]
    from executed_pages import Session

    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        os.environ["XDG_DATA_HOME"] = f"{name}/user"
        for file, block in figure.files.items():
            Path(file).write_text("".join(lines for _, lines in CODE.findall(block)))
        problems = Session(f"docs/gallery.md, {figure.title}").execute(figure.source).problems
        for made, kept in pictures.items():
            if Path(made).is_file():
                shutil.copyfile(made, folder / kept)
            elif made != figure.page:  # which needs WebAssembly
                problems.append(f"docs/gallery.md, {figure.title}: no {made} was written")
        os.chdir(DOCS)
    return problems


def draw_all(found: list[Figure], folder: Path, state: dict[str, str]) -> list[str]:
    """Draw to *folder* all figures that changed since *state*, which is updated.

    Returns what went wrong.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jobs: list[tuple[Figure, dict[str, str]]] = []
    for figure in found:
        if figure.source:
            jobs.append((figure, {figure.page: f"{figure.slug}.html"} if figure.page else {}))
        if figure.kept:
            shutil.copy2(DOCS / figure.picture, folder / f"{figure.slug}.png")  # with its time
        else:
            jobs[-1][1][figure.picture] = f"{figure.slug}.png"
    code = _fingerprint_of_the_package()
    now = {
        f.slug: hashlib.sha256(f"{code}{f.files}{f.source}".encode()).hexdigest() for f, _ in jobs
    }
    wanted = [
        (figure, made)
        for figure, made in jobs
        if state.get(figure.slug) != now[figure.slug]
        or not all((folder / name).is_file() for name in made.values() if name.endswith(".png"))
    ]
    with ProcessPoolExecutor(
        mp_context=get_context("spawn"), max_workers=len(os.sched_getaffinity(0))
    ) as pool:
        drawn = [pool.submit(draw, figure, made, folder) for figure, made in wanted]
        problems = [problem for done in drawn for problem in done.result()]
    state.clear()
    state.update({} if problems else now)
    return problems


def _fingerprint_of_the_package() -> str:
    """Return a text that differs once a source or a data file of tasksim has changed."""
    places = (DOCS.parent / name for name in ("tasksim", "platforms", "models", "traces"))
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    kept = sorted(path for path in files if path.suffix in {".py", ".so", ".yaml", ".json"})
    return str([(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in kept])


def fingerprint_of(notebook: Path) -> str:
    """Return a text that differs once a notebook or the package has changed."""
    text = f"{_fingerprint_of_the_package()}{notebook.read_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


def page_of(figure: Figure) -> str:
    """Return the page of a figure, in Markdown."""
    words = re.sub(r"\]\((?!\w+:)", "](../../", figure.words)
    opened = (PAGES / f"{figure.slug}.html").is_file()
    link = f"[The page itself]({figure.slug}.html), to open in a browser.\n\n" if opened else ""
    files = "".join(f"`{name}`:\n\n{block}\n" for name, block in figure.files.items())
    return (
        f"# {figure.title}\n\n{words}\n\n![{figure.title}]({figure.slug}.png)\n\n"
        f"{link}{figure.code}{files}[All figures](../../gallery.md)\n"
    )


def grid_of(found: list[Figure], introduction: str) -> str:
    """Return the page with all figures as small pictures, in Markdown."""
    groups = "".join(
        f"\n## {group}\n\n::::{{grid}} 2 2 3 3\n:gutter: 2\n\n{cards}::::\n"
        for group, cards in _cards(found)
    )
    pages = "\n".join(f"generated/gallery/{figure.slug}" for figure in found)
    return f"{introduction}{groups}\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def _cards(found: list[Figure]) -> Iterator[tuple[str, str]]:
    for group in dict.fromkeys(figure.group for figure in found):
        yield (
            group,
            "".join(
                f":::{{grid-item-card}} {figure.title}\n"
                f":link: generated/gallery/{figure.slug}\n:link-type: doc\n"
                f":img-top: generated/gallery/{figure.slug}-small.png\n"
                f":img-alt: {figure.title}\n:text-align: center\n:class-card: figure\n:::\n\n"
                for figure in found
                if figure.group == group
            ),
        )


def shrink(picture: Path, target: Path) -> None:
    """Write a picture for the grid, whole, on white, unless the one that is there is newer."""
    if target.is_file() and target.stat().st_mtime_ns > picture.stat().st_mtime_ns:
        return
    with Image.open(picture) as drawn:
        small = ImageOps.pad(drawn.convert("RGB"), SMALL_PIXELS, Image.LANCZOS, "white")
    small.save(target)


def refresh(found: list[Figure]) -> list[str]:
    """Draw the figures that have changed since the last build; return what went wrong."""
    state = json.loads(DRAWN_PATH.read_text()) if DRAWN_PATH.is_file() else {}
    problems = draw_all(found, PAGES, state)
    DRAWN_PATH.write_text(json.dumps(state))
    return problems


def build(_app: object) -> None:
    """Draw what has changed, and write the pages of all figures."""
    found = figures(GALLERY_PAGE.read_text())
    if problems := refresh(found):
        from sphinx.errors import ExtensionError

        raise ExtensionError("\n\n".join(problems))
    for page in PAGES.glob("*.md"):
        if page.stem not in {figure.slug for figure in found}:
            page.unlink()
    for figure in found:
        shrink(PAGES / f"{figure.slug}.png", PAGES / f"{figure.slug}-small.png")
        page, text = PAGES / f"{figure.slug}.md", page_of(figure)
        if not page.is_file() or page.read_text() != text:  # what did not change is not built again
            page.write_text(text)


def replace_page(_app: object, name: str, source: list[str]) -> None:
    """Put the grid in the place of the page's text."""
    if name == "gallery":
        introduction = "\n\n".join(source[0].split("\n\n")[:2])
        source[0] = grid_of(figures(source[0]), f"{introduction}\n")


def setup(app: Any) -> dict[str, bool]:
    """Connect the gallery to a build by Sphinx."""
    app.connect("builder-inited", build)
    app.connect("source-read", replace_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    wrong = draw_all(figures(GALLERY_PAGE.read_text()), Path(sys.argv[1]).resolve(), {})
    sys.exit("\n\n".join(wrong))
