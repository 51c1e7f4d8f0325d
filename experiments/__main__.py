"""List of the experiments."""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec
from pathlib import Path

import experiments

__all__: list[str] = []


def main() -> None:
    """Print the command and the first line of the docstring of each experiment."""
    for found in pkgutil.iter_modules(experiments.__path__):
        if found.ispkg and find_spec(f"experiments.{found.name}.__main__"):
            text = Path(experiments.__path__[0], found.name, "__init__.py").read_text()
            title = text.partition("\n")[0].strip('"')
            print(f"python -m experiments.{found.name:24} {title}")  # noqa: T201


if __name__ == "__main__":
    main()
