"""Sphinx: these pages and the API reference as HTML, with search. Built by ``make docs``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer

import tasksim
from tasksim.view.tokens import COLOURS

sys.path.insert(0, str(Path(__file__).parent))

from gallery import DOCS, EXECUTED, fingerprint_of

GENERATED = Path(__file__).parent / "generated"
ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
LINKS = {
    "docs/": "../",
    "demo-output/runs.html": "../explore.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "readme.md",
    "LICENSE": "https://opensource.org/license/mit",
}
"""Targets of links in pages of the root, from the folder of the generated ones."""

project = "tasksim"
author = "The tasksim developers"
release = tasksim.__version__

extensions = [
    "gallery",  # docs/gallery.py
    "myst_nb",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["images"]
html_theme = "furo"
html_title = "tasksim"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    f"{scheme}_css_variables": {
        "color-background-primary": COLOURS["ground"][mode],
        "color-background-secondary": COLOURS["surface"][mode],
        "color-background-border": COLOURS["line"][mode],
        "color-foreground-primary": COLOURS["text"][mode],
        "color-foreground-secondary": COLOURS["soft"][mode],
        "color-brand-primary": COLOURS["action"][mode],
        "color-brand-content": COLOURS["action"][mode],
    }
    for mode, scheme in enumerate(("light", "dark"))
}
"""The colours of reports and of the page of runs."""

# Headings are targets of links as on GitHub: `cli.md#tasksim-run`.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Notebooks are kept without outputs; a build executes those that it reads.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_number_source_lines = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the sections of parameters say the types, in fewer words
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# Words in types, as in "(classes, tasks) array", are taken for names.
suppress_warnings = ["ref.python"]


def _generate(_app: object) -> None:
    """Write the pages that have their source elsewhere: the reference, and those of the root."""
    (GENERATED / "api").mkdir(parents=True, exist_ok=True)
    _write_reference(GENERATED / "api")
    for name in ROOT_PAGES:
        text = (GENERATED.parents[1] / name).read_text()
        for link, leads in LINKS.items():
            text = text.replace(f"]({link}", f"]({leads}")
        _write(GENERATED / name.lower(), text)


def _write_reference(folder: Path) -> None:
    """Write a page per group of public names, as ``help(tasksim)`` lists them.

    So the reference and that list cannot differ.
    """
    slugs = []
    for title, names in _groups(tasksim.__doc__ or ""):
        slugs.append(title.lower().replace(" ", "-"))
        entries = "\n".join(_entry(name) for name in names)
        _write(folder / f"{slugs[-1]}.rst", f"{title}\n{'=' * len(title)}\n\n{entries}")
    listed = "\n".join(f"   {slug}" for slug in slugs)
    _write(folder / "index.rst", f"API reference\n=============\n\n.. toctree::\n\n{listed}\n")


def _groups(text: str) -> list[tuple[str, list[str]]]:
    """Return the tables of a docstring: title, and the names in the first column."""
    tables = re.findall(r"^=+ +=+\n(\w.*?)\n=+ +=+\n(.*?)\n=+ +=+$", text, re.DOTALL | re.MULTILINE)
    return [(title, [row.split()[0] for row in rows.splitlines()]) for title, rows in tables]


def _entry(name: str) -> str:
    found = getattr(tasksim, name)
    kind = "class" if isinstance(found, type) else "function"
    if kind == "class" and issubclass(found, BaseException):
        kind = "exception"
    return f".. auto{kind}:: tasksim.{name}\n"


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:  # what did not change is not built again
        path.write_text(text)


def _note_execution(app: Any, doctree: nodes.document) -> None:
    """Note of which package and text a notebook was executed, if it drew a figure.

    Tests do not execute it again.
    """
    folder, _, name = app.env.docname.rpartition("/")
    drawn = (node for node in doctree.findall() if _is_picture(node))
    if folder == "notebooks" and any(drawn):
        EXECUTED.mkdir(parents=True, exist_ok=True)
        (EXECUTED / name).write_text(fingerprint_of(DOCS / folder / f"{name}.ipynb"))


def _is_picture(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and node.get("mime_type") == "image/png"


def setup(app: Any) -> None:
    """Write the generated pages before any is read."""
    app.add_lexer("csv", TextLexer)
    app.connect("builder-inited", _generate)
    app.connect("doctree-read", _note_execution)
