"""Every example in the documentation runs, and prints what the page says."""

import pytest
from executed_pages import (
    DESIGN,
    LANGUAGES,
    PAGES,
    ROOT,
    STARPU,
    Session,
    blocks_of,
    has_starpu_examples,
)

LONG_PAGES = {
    f"docs/{name}.md"
    for name in ("cli", "irregular", "recording", "studies", "tuning", "tutorial", "uncertainty")
}
"""Pages whose examples take from 2 to 20 seconds of a processor; the other 15 take 6 together."""


def is_executed(page: str) -> bool:
    """Return whether a page is executed here; the gallery is in test_gallery.py."""
    if page == "docs/gallery.md":
        return False
    return not page.startswith(DESIGN) or page.startswith(f"{DESIGN}add-")


def has_slow_examples(page: str) -> bool:
    return any("slow" in block.flags for block in blocks_of((ROOT / page).read_text()))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in LONG_PAGES else ())
        for page in PAGES
        if is_executed(page)
    ],
)
def test_examples_print_what_the_page_says(page, folder):
    problems = Session(page).execute((ROOT / page).read_text()).problems
    assert not problems, "\n\n".join(problems)


def test_the_files_of_starpu_are_at_hand():
    if not STARPU.is_dir():
        pytest.skip("blocks marked `starpu` are not executed: no StarPU files in ../shared")
    assert {path.name for path in (STARPU / "sampling").iterdir()} >= {"bus", "codelets"}


def test_the_examples_of_starpu_are_installed():
    if not has_starpu_examples():
        pytest.skip(
            "blocks marked `starpu examples` are not executed: no StarPU 1.3 with examples "
            "(apt-get install starpu-examples)"
        )
    blocks = blocks_of((ROOT / "docs/starpu.md").read_text())
    assert sum("starpu examples" in block.flags for block in blocks) == 4


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if has_slow_examples(page)])
def test_slow_examples_print_what_the_page_says(page, folder, monkeypatch):
    # Only the form of what the demo prints: `make demo` runs the whole of it.
    monkeypatch.setattr("tasksim.reports.demo.CALIBRATION_S", 2.0)
    monkeypatch.setattr("tasksim.reports.demo.REPETITIONS", 2)
    monkeypatch.setattr("tasksim.reports.demo.TILE_SIZE", 128)
    # On a busy machine StarPU forgets a kernel half of whose executions differ by this much.
    monkeypatch.setenv("STARPU_HISTORY_MAX_ERROR", "1000000")
    if page != "README.md":  # it shows all cases
        monkeypatch.setattr("tasksim.reports.demo.PREDICTED_CASES", ((8, "eager"), (12, "lws")))
    problems = Session(page, slow=True).execute((ROOT / page).read_text()).problems
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("page", PAGES)
def test_languages_of_blocks_are_known(page):
    known = LANGUAGES | ({"", "{toctree}"} if page.startswith(DESIGN) else set())
    blocks = blocks_of((ROOT / page).read_text())
    wrong = [(b.line, b.language) for b in blocks if b.language not in known | {"keys"}]
    assert not wrong, "a block of an unknown language would not be executed"
