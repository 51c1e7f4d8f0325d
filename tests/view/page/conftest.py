"""A browser, and pages in it."""

import chromium
import pytest

import tasksim

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
needs_browser = pytest.mark.skipif(not chromium.PROGRAM, reason=chromium.MISSING)


@pytest.fixture(scope="session")
def cholesky():
    """A run whose times are whole seconds."""
    return tasksim.simulate("cholesky tiles=6", workers=4, durations=DURATIONS_S, scheduler="prio")


@pytest.fixture(scope="session")
def eager():
    """The same graph under another scheduler."""
    return tasksim.simulate("cholesky tiles=6", workers=4, durations=DURATIONS_S, scheduler="eager")


@pytest.fixture
def show(browser, tmp_path):
    """Return a function that shows runs in the browser."""

    def opened(*runs, hash_="", **options):
        browser.forget()
        path = tmp_path / "page.html"
        tasksim.save_page(runs, path, force=True, **options)
        browser.open(f"{path.as_uri()}{hash_}")
        browser.settle()
        return browser

    yield opened
    assert browser.problems == []
    assert all(url.startswith(("file:", "blob:", "about:")) for url in browser.requests)
