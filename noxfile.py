"""Sessions of nox: the fast tests under every Python that is found, and what CI runs.

nox                     # the fast tests under each of python3.11 to python3.15 on PATH
nox -s tests-3.14       # under one
nox -s tests-3.14t      # under a free-threaded build, which is not among the defaults
nox -s wheels           # the source distribution and a wheel for machines like this one: dist/
nox -s wheels -- x86_64-linux-gnu.2.17 aarch64-linux-gnu.2.17  # for others, by Zig's compiler
"""

import json
import platform
import shutil
from pathlib import Path

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
    session.install("--editable", ".[all]", *groups)
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
    session.install("--editable", ".[all]", *groups)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages and the API reference; a warning is an error."""
    groups = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "docs")
    session.install("--editable", ".[all]", *groups)
    session.run("sphinx-build", "--fail-on-warning", "--keep-going", "docs", "build/docs")


@nox.session(default=False)
def wheels(session: nox.Session) -> None:
    """Build the source distribution, wheels from it, and try what can run here."""
    session.install("build", "ziglang")
    session.run("python", "-m", "tasksim.core.build", "--target", "wasm")
    dist = Path("dist").absolute()
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--sdist", "--outdir", str(dist))
    (source,) = dist.iterdir()
    for compiler in _zigs(session) or [None]:
        made = Path(session.create_tmp()) / "made"
        shutil.rmtree(made, ignore_errors=True)
        wheel = (
            "pip",
            "wheel",
            "--no-deps",
            "--no-cache-dir",
            "--wheel-dir",
            str(made),
            str(source),
        )
        session.run(*wheel, env={"CXX": compiler} if compiler else {})
        (path,) = made.iterdir()
        if "none-any" in path.name:
            session.error(f"{path.name} has no compiled core")
        shutil.move(path, dist)
        if platform.machine() in path.name:
            _try_wheel(session, dist / path.name)


def _zigs(session: nox.Session) -> list[str]:
    """Return Zig's compiler for each target that was asked for."""
    if not session.posargs:
        return []
    # The program itself: pip hides the packages of this environment from Pythons that it starts.
    find = "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name('zig'))"
    program = session.run("python", "-c", find, silent=True).strip()
    return [f"{program} c++ -target {target}" for target in session.posargs]


def _try_wheel(session: nox.Session, wheel: Path) -> None:
    """Install a *wheel* and use what it has, far from the checkout."""
    session.env["PYTHONPATH"] = ""
    session.install("--force-reinstall", str(wheel))
    with session.chdir(session.create_tmp()):
        said = session.run("tasksim", "doctor", "--json", silent=True)
        found = json.loads(said)
        core = found["core"]
        if not core["available"]:
            session.error(f"{wheel.name}: {core['why']}")
        if not found["wasm"]["available"]:
            session.error(f"{wheel.name}, the core as WebAssembly: {found['wasm']['why']}")
        if not Path(core["path"]).is_relative_to(Path(session.virtualenv.location).absolute()):
            session.error(f"another one was found: {core['path']}")
        session.log(f"{wheel.name}: {core['path']}, by {core['compiler']}")
        session.run("tasksim", "simulate", "cholesky", "tiles=6", "--platform", "xeon-2c")
