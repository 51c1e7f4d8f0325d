"""Drawings of octrees: the numbers of the paper's figure 3, what is drawn, what is refused."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tasksim import InputError, octree_figure
from tasksim.cli.view import view
from tasksim.graph.octree.morton import decode
from tasksim.view.octree import read_octree

EMPTY = {34, 35, *range(40, 45), 46}
"""The leaves without particles in figure 3 of Inria research report 9036."""


@pytest.fixture
def paper():
    """A particle in the middle of each leaf of the paper's figure 3."""
    leaves = np.array([leaf for leaf in range(64) if leaf not in EMPTY])
    return (decode(leaves, 2) + 0.5) / 8


def test_the_numbers_of_the_paper(paper):
    facts = read_octree(paper, 4, 8, cell=26).facts()
    assert facts["cells"] == [1, 4, 15, 56]
    assert facts["groups"] == [1, 1, 2, 7]
    assert facts["interactions"]["most"] == facts["interactions"]["bound"] == 27
    assert facts["interactions"]["inside_groups"][3:5] == [24, 32]
    cell = facts["cell"]
    assert (cell["interactions"], cell["in_its_group"], cell["group"]) == (27, 4, 3)
    assert (cell["of_its_group_inside"], cell["of_its_group_outside"]) == (24, 150)
    assert cell["groups_of_the_list"] == [0, 1, 2, 3, 4, 5]
    assert read_octree(paper, 4, 8, cell=22).facts()["cell"]["interactions"] == 7


def test_the_interaction_list_of_a_cell_is_coloured(paper):
    axes = octree_figure(paper, 4, 8, cell=26, panels=["groups"]).axes[0]
    colours = [patch.get_facecolor() for patch in axes.patches]
    assert len(colours) == 64
    counts = sorted(colours.count(colour) for colour in set(colours))
    assert counts == [1, 8, 8, 20, 27]  # the cell; neighbours; empty; others; its list
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said[:3] == ["cell 26", "its interaction list: 27 cells", "neighbours: 8"]


def test_each_panel_is_drawn_in_both_dimensions():
    for dimension in (2, 3):
        made = octree_figure(
            60, height=3, group_size=4, dimension=dimension, panels=["tree", "groups", "passes"]
        )
        titles = [axes.get_title(loc="left") for axes in made.axes]
        assert titles[0].startswith("quadtree" if dimension == 2 else "octree")
        assert titles[-3:] == ["upward pass", "transfer pass and direct step", "downward pass"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("particles=9", "octree: height is missing; give height=VALUE, an integer from 1 to 21"),
        ("height=3", "octree: particles is missing; give particles=VALUE, how many, or a CSV"),
        ("particles=9 heigth=3", "unknown setting 'heigth', did you mean 'height'"),
        ("particles=9 height=3 9", "octree: got '9'; legal: KEY=VALUE"),
        ("particles=9 height=3 height=4", "octree: height is given twice: 3 and 4"),
        ("particles=few height=3", "octree: particles: got 'few'; legal: an integer from 1"),
        ("particles=9 height=3 dimension=4", "dimension: got '4'; legal: an integer from 2 to 3"),
        ("particles=9 height=3 distribution=sphear", "did you mean 'sphere'"),
        ("particles=9 height=3 cell=64", "cell: got 64, which holds no particle"),
        ("particles=99999 height=8", "too many to be drawn; legal: up to 4096 in 2-D"),
        ("particles=p.csv height=3", "p.csv:3: y: got '2e'; legal: a number from 0"),
        ("particles=q.csv height=3", "q.csv:2: x: got 1.5; legal: from 0 to 1, the unit box"),
        ("particles=r.csv height=3", "r.csv:1: got the columns 'a,b'; legal: x,y or x,y,z"),
    ],
)
def test_bad_settings_are_refused(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("x,y\n0.5,0.5\n0.1,2e\n")
    (tmp_path / "q.csv").write_text("x,y\n1.5,0.5\n")
    (tmp_path / "r.csv").write_text("a,b\n0.5,0.5\n")
    done = CliRunner().invoke(view, ["octree", *words.split()])
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert not (tmp_path / "octree.png").exists()


def test_python_checks_as_the_command_does():
    with pytest.raises(InputError, match="height: got 0; legal: an integer from 1 to 21"):
        octree_figure(9, height=0)
    with pytest.raises(InputError, match="panels: got 'trees'"):
        octree_figure(9, height=3, panels=["trees"])


def test_the_command(tmp_path, monkeypatch, paper):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{x},{y}\n" for x, y in paper.tolist())
    (tmp_path / "paper.csv").write_text(f"x,y\n{rows}")
    words = ["octree", "particles=paper.csv", "height=4", "cell=26", "--panels", "passes"]
    done = CliRunner().invoke(view, words)
    assert "cell 26       27 interactions, 4 in its group 3" in done.stdout
    assert (tmp_path / "octree.png").exists()
    told = json.loads(CliRunner().invoke(view, [*words, "--force", "--json"]).stdout)
    assert told["cell"]["list"] == read_octree(paper, 4, cell=26).partners.tolist()
    refused = CliRunner().invoke(view, [*words, "--arrows", "-o", "other.png"])
    assert "--arrows is not for octrees" in str(refused.exception)
