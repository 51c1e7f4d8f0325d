"""Install wheels in clean environments, and execute pages of the documentation in each.

    nox -s wheels -- x86_64-linux-gnu.2.17
    python benchmarks/installations.py dist --python python3.11 --python python3.14

``dist`` is a folder with a wheel for this machine and the source distribution. Environments:

- ``venv``: a virtual environment of each Python, in a folder with blanks in its name;
- ``plain``: the wheel without extras, and the pages that need none;
- ``user``: the same as ``venv``, by a user without rights (where this one is root);
- ``offline``: from a folder of wheels, in a network namespace without a network (root);
- ``pipx``: the command alone, where pipx is installed;
- ``sdist``: the source distribution;
- ``compiled``: the same with compilers on the PATH; no other has one.

Pages are copied to a folder without the package, so that the
installed one is executed. Prints a row per environment; the exit code is 1 if a page printed
something else than it says.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
EXECUTED_PAGES = (
    "README.md", "docs/schedulers.md", "docs/formats.md", "docs/numa.md", "docs/hwloc.md",
    "docs/traces.md", "docs/clusters.md", "docs/explore.md", "docs/uncertainty.md",
    "docs/studies.md", "docs/install.md",
)  # fmt: skip
"""Pages without long measurements: graphs, platforms, formats, clusters, pages, studies."""
PLAIN_PAGES = (
    "docs/schedulers.md", "docs/numa.md", "docs/hwloc.md", "docs/traces.md",
)  # fmt: skip
"""Pages that need no extra."""
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "c89", "c99")
NOBODY_ID = 65534
"""User and group without rights."""
RUNNER_SOURCE = """
import json, os, shutil, sys, tempfile, types
from pathlib import Path
# The tests of the checkout compare JSON with its schemas, by a package that is not installed here.
sys.modules["json_schemas"] = types.SimpleNamespace(check_json=lambda *_: None)
sys.path.insert(0, os.environ["EXECUTED_PAGES"] + "/tests")
import matplotlib
matplotlib.use("agg")
import matplotlib.font_manager  # builds its cache, and says so, before a page is read
import tasksim
from executed_pages import ROOT, Session
problems = {}
for page in sys.argv[1:]:
    os.chdir(tempfile.mkdtemp())
    for folder in ("examples",):
        shutil.copytree(ROOT / folder, folder)
    problems[page] = Session(page).execute((ROOT / page).read_text()).problems
print(json.dumps({"package": tasksim.__file__, "problems": problems}))
"""


@dataclass
class Row:
    """An environment that was tried."""

    name: str
    python: str
    install_s: float
    megabytes: float
    core: str
    pages: str


@dataclass
class Tried:
    """The place of one environment, and how commands are run in it."""

    folder: Path
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] | None = None

    def run(self, *command: str | Path) -> str:
        """Return what a *command* prints; raise an error with all that it said if it fails."""
        done = subprocess.run(
            [*self.prefix, *map(str, command)], capture_output=True, text=True, check=False,
            cwd=self.folder, env=self.environment,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command[0]}: exit code {done.returncode}\n{done.stderr[-3000:]}")
        return done.stdout

    def venv(self, python: str) -> Path:
        """Return the Python of a new virtual environment."""
        self.run(python, "-m", "venv", self.folder / "an environment")
        return self.folder / "an environment" / "bin" / "python"


def install_venv(tried: Tried, python: str, wheel: Path, _source: Path) -> Path:
    """Install the wheel with its extras."""
    own = tried.venv(python)
    tried.run(own, "-m", "pip", "install", f"{wheel}[all]")
    return own


def install_plain(tried: Tried, python: str, wheel: Path, _source: Path) -> Path:
    """Install the wheel without extras."""
    own = tried.venv(python)
    tried.run(own, "-m", "pip", "install", wheel)
    return own


def install_offline(tried: Tried, python: str, wheel: Path, _source: Path) -> Path:
    """Download all wheels, then install them where there is no network."""
    own = tried.venv(python)
    wheels = tried.folder / "wheels"
    tried.run(own, "-m", "pip", "download", "--dest", wheels, f"{wheel}[all]")
    tried.prefix = ("unshare", "--net")
    tried.run(own, "-m", "pip", "install", "--no-index", "--find-links", wheels, "tasksim[all]")
    return own


def install_pipx(tried: Tried, python: str, wheel: Path, _source: Path) -> Path:
    """Install the command by pipx."""
    home = tried.folder / "pipx"
    places = {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(home / "bin")}
    tried.environment = {**(tried.environment or os.environ), **places}
    tried.run("pipx", "install", "--python", python, f"{wheel}[all]")
    tried.run(home / "bin" / "tasksim", "--version")
    return home / "venvs" / "tasksim" / "bin" / "python"


def install_source(tried: Tried, python: str, _wheel: Path, source: Path) -> Path:
    """Install the source distribution."""
    return install_venv(tried, python, source, source)


def without_compilers(programs: Path) -> None:
    """Make a folder of links to all programs on the PATH but compilers."""
    programs.mkdir()
    for folder in os.get_exec_path():
        for program in sorted(Path(folder).glob("*")):
            if not any(name in program.name for name in COMPILERS):
                with suppress(OSError):
                    (programs / program.name).symlink_to(program)


ENVIRONMENTS: dict[str, Callable[[Tried, str, Path, Path], Path]] = {
    "venv": install_venv,
    "plain": install_plain,
    "user": install_venv,
    "offline": install_offline,
    "pipx": install_pipx,
    "sdist": install_source,
    "compiled": install_source,
}


def main() -> None:
    """Try the environments that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dist", type=Path, help="folder of the wheel and the source distribution")
    parser.add_argument("--python", action="append", help="default: this one; may be repeated")
    parser.add_argument("--only", action="append", choices=ENVIRONMENTS, help="may be repeated")
    parser.add_argument("--page", action="append", help="default: README.md and ten others")
    given = parser.parse_args()
    (source,) = given.dist.resolve().glob("*.tar.gz")
    (wheel,) = given.dist.resolve().glob(f"*{os.uname().machine}.whl")
    failed = False
    for number, python in enumerate(given.python or [sys.executable]):
        # What does not depend on the Python is tried with the first one.
        names = given.only or (list(ENVIRONMENTS) if number == 0 else ["venv"])
        for name in names:
            row, problems = tried(name, shutil.which(python) or python, wheel, source, given.page)
            failed |= bool(problems)
            print(
                f"{row.name:8} {row.python:9} {row.install_s:5.0f} s {row.megabytes:6.0f} MB  "
                f"core {row.core:10} pages {row.pages}",
                flush=True,
            )
            for problem in problems:
                print(f"    {problem}")
    sys.exit(failed)


def tried(
    name: str, python: str, wheel: Path, source: Path, chosen: list[str] | None
) -> tuple[Row, list[str]]:
    """Return the row of one environment, and what was wrong in it."""
    with TemporaryDirectory(prefix="tasksim-install-") as place:
        folder = Path(place)
        hidden = ("PYTHONPATH", "VIRTUAL_ENV", "CXX", "WASM_CXX")
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        environment |= {
            "HOME": place, "EXECUTED_PAGES": str(folder / "pages"), "TMPDIR": place,
        }  # fmt: skip
        if name != "compiled":
            programs = folder / "programs"
            without_compilers(programs)
            environment["PATH"] = str(programs)
        one = Tried(folder, environment=environment)
        copy_pages(folder / "pages")
        if name == "user":
            one.prefix = (
                "setpriv",
                f"--reuid={NOBODY_ID}",
                f"--regid={NOBODY_ID}",
                "--clear-groups",
            )
            shutil.chown(folder, NOBODY_ID, NOBODY_ID)
        begun = time.monotonic()
        try:
            own = ENVIRONMENTS[name](one, python, wheel, source)
            install_s = time.monotonic() - begun
            found = json.loads(one.run(own, "-m", "tasksim", "doctor", "--json"))
            where = Path(one.run(own, "-c", "import tasksim; print(tasksim.__file__)").strip())
            size = megabytes(where.parents[1])
            pages = chosen or (PLAIN_PAGES if name == "plain" else EXECUTED_PAGES)
            said = json.loads(one.run(own, "-c", RUNNER_SOURCE, *pages).splitlines()[-1])
        except (OSError, RuntimeError) as error:
            return Row(name, python, 0, 0, "-", "-"), [str(error)]
    assert Path(said["package"]).is_relative_to(folder), said["package"]
    bad = {page: told for page, told in said["problems"].items() if told}
    core = "compiled" if found["core"]["available"] else "SimPy"
    row = Row(name, found["python"], install_s, size, core, f"{len(pages) - len(bad)}/{len(pages)}")
    return row, [problem for told in bad.values() for problem in told]


def copy_pages(folder: Path) -> None:
    """Copy the pages, what executes them, and what they use; not the package."""
    folder.mkdir()
    shutil.copy(ROOT / "README.md", folder)
    shutil.copy(ROOT / "CONTRIBUTING.md", folder)
    for name in ("docs", "examples", "traces"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "executed_pages.py", folder / "tests")


def megabytes(folder: Path) -> float:
    """Return the size of what is installed in a *folder*, without pip."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    kept = (path for path in files if path.relative_to(folder).parts[0] != "pip")
    return sum(path.stat().st_size for path in kept) / 1e6


if __name__ == "__main__":
    main()
