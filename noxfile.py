"""Sessions of nox: the fast tests under every Python that is found, and what CI runs.

nox                     # the fast tests under each of python3.11 to python3.15 on PATH
nox -s tests-3.14       # under one
nox -s tests-3.14t      # under a free-threaded build, which is not among the defaults
"""

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "venv"
# A machine need not have all of them, not even in CI.
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["tests"]

PYTHONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
FREE_THREADED = ["3.14t", "3.15t"]


def _tests(session: nox.Session) -> None:
    groups = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "tests")
    session.install("--editable", ".", *groups)
    chosen = session.posargs or ["--numprocesses", "auto", "--maxprocesses", "8"]
    session.run("python", "-m", "pytest", "-m", "not slow", *chosen)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the fast tests."""
    _tests(session)


@nox.session(python=FREE_THREADED, default=False)
def free_threaded(session: nox.Session) -> None:
    """Run the fast tests without Python's global lock."""
    session.env["PYTHON_GIL"] = "0"
    _tests(session)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and the direction of imports."""
    groups = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "lint")
    session.install("--editable", ".", *groups)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages and the API reference; a warning is an error."""
    groups = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "docs")
    session.install("--editable", ".", *groups)
    session.run("sphinx-build", "--fail-on-warning", "--keep-going", "docs", "build/docs")
