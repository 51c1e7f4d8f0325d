"""Notebooks: short, kept without outputs, and executed from the first cell to the last."""

import json
import re

import pytest
from executed_pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
TIMEOUT_S = 300
"""Time in seconds after which a cell counts as hanging; all cells of a notebook take a few."""


def cells_of(path):
    return json.loads(path.read_text())["cells"]


each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_six():
    assert len(NOTEBOOKS) == 6


@each_notebook
def test_notebooks_are_kept_without_outputs(path):
    code = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []


@each_notebook
def test_links_of_notebooks_lead_somewhere(path):
    text = "".join("".join(cell["source"]) for cell in cells_of(path))
    targets = [name.partition("#")[0] for name in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert targets
    assert [name for name in targets if not (path.parent / name).is_file()] == []


@pytest.mark.slow
@each_notebook
def test_notebooks_run(path, tmp_path, monkeypatch):
    """Each of them, but for those that the pages of this checkout were built from."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    import gallery

    noted = gallery.EXECUTED / path.stem
    if noted.is_file() and noted.read_text() == gallery.fingerprint_of(path):
        return  # executed by the build, with a figure
    nbclient = pytest.importorskip("nbclient", reason="nbclient executes notebooks")
    pytest.importorskip("ipykernel", reason="notebooks run in IPython's kernel")
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [
        output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())
    ]
    assert any("image/png" in data for data in shown), "a notebook has a figure"
