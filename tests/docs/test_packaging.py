"""Files for those who package tasksim: the same packages, versions and commands everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def test_the_conda_recipe_needs_what_the_project_needs():
    """Conda has no extras: its package is tasksim[all]."""
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
    extras = PROJECT["optional-dependencies"]
    packages = [
        *PROJECT["dependencies"],
        *(extras[name][0] for name in ("kernels", "models", "study")),
    ]
    wanted = {"python" + PROJECT["requires-python"]}
    for package in packages:
        name, version = re.fullmatch(r"([\w-]+)(>=[\d.]+)", package).groups()
        wanted.add(CONDA_NAMES.get(name, name) + version)
    assert {text.replace(" ", "") for text in recipe["requirements"]["run"]} == wanted
    assert recipe["context"]["version"] == PROJECT["version"]
    entry, target = next(iter(PROJECT["scripts"].items()))
    assert recipe["build"]["python"]["entry_points"] == [f"{entry} = {target}"]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]


def test_the_container_has_a_python_that_the_project_is_for():
    stages = re.findall(
        r"^FROM (?:\S+/)?python:(\d\.\d+)-slim", (ROOT / "Containerfile").read_text(), re.M
    )
    assert len(stages) == 2
    for version in stages:
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
