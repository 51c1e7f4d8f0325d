"""Packages that a plain installation lacks, and the extra of tasksim that installs each.

Simulating, comparing and drawing need only the hard dependencies. A feature that needs more says so
by :func:`needed_for`, so that its message names the extra.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EXTRAS", "is_installed", "missing", "needed_for", "require", "without_package"]

EXTRAS: Final = {
    "statsmodels": "models",
    "pandas": "study",
    "numba": "kernels",
    "distributed": "dask",
    "mpi4py": "mpi",
    "ortools": "optimize",
    "pymetis": "partition",
    "sklearn": "tune",
    "submitit": "slurm",
}
"""The extra in pyproject.toml that installs a package, by the name under which it is imported."""
_PROJECTS: Final = {"ortools": "OR-Tools", "sklearn": "scikit-learn"}
"""The name of a package, where it is not the one under which it is imported."""


def is_installed(package: str) -> bool:
    """Return whether *package* can be imported, without importing it."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # an import hook refuses it, or sys.modules holds None
        return False


def missing(package: str, what: str, instead: str = "") -> InputError:
    """Return the error of *what* for a *package* that is not installed; *instead* needs none.

    >>> print(missing("statsmodels", "fitting a linear model"))
    fitting a linear model needs statsmodels, which is not installed: pip install 'tasksim[models]'
    """
    project = _PROJECTS.get(package, package)
    install = f"pip install 'tasksim[{EXTRAS[package]}]'"
    legal = f"; legal without it: {instead}" if instead else ""
    return InputError(f"{what} needs {project}, which is not installed: {install}{legal}")


def require(package: str, what: str, instead: str = "") -> None:
    """Raise :func:`missing` unless *package* is installed.

    For features that would go on without it, and then give another result.
    """
    if not is_installed(package):
        raise missing(package, what, instead)


def without_package(error: ModuleNotFoundError, what: str, instead: str = "") -> InputError | None:
    """Return the error that names the extra of a failed import; None if no extra has the module."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS or is_installed(package):
        return None
    return missing(package, what, instead)


@contextmanager
def needed_for(what: str, instead: str = "") -> Iterator[None]:
    """Raise the error that names the extra if an import within the block lacks a package.

    *what* names the feature, as "a report of a study"; *instead* names what needs no such package.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        explained = without_package(error, what, instead)
        if explained is None:
            raise
        raise explained from None
