"""Content of a page, without a browser."""

import dataclasses
import json
import re

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tests.view.conftest import from_rows, make_hybrid, make_run
from tests.view.page.unpacking import unpacked

HEADER = re.compile(r'<script type="application/json" id="header">(.*?)</script>', re.DOTALL)
DATA = re.compile(
    r'<script type="application/octet-stream" id="data-(\d)">(.*?)</script>', re.DOTALL
)


def read(path):
    text = path.read_text()
    header = json.loads(HEADER.search(text)[1])
    texts = dict(DATA.findall(text))
    return header, [
        unpacked(run["columns"], texts[str(number)]) for number, run in enumerate(header["runs"])
    ]


def saved(tmp_path, *runs, **options):
    path = tmp_path / "page.html"
    tasksim.save_page(runs, path, **options)
    return path


def test_a_page_holds_the_times_of_all_tasks(tmp_path, cholesky):
    header, [columns] = read(saved(tmp_path, cholesky))
    tasks = cholesky.tasks
    order = columns["task"]
    assert header["tick_exponent"] == -9
    assert np.array_equal(tasks.duration_s[order] * 1e9, columns["duration"])
    assert columns["worker_tasks"].tolist() == np.bincount(tasks.worker).tolist()
    assert columns["predecessors"].sum() == tasksim.generate("cholesky", tiles=6).edges
    assert columns["iteration"][[0, -1]].tolist() == [0, 5]
    path = [step.task for step in tasksim.practical_critical_path(cholesky).steps]
    assert columns["critical"].tolist() == path


def test_what_is_expected_comes_from_the_models_or_is_a_median(tmp_path, cholesky):
    header, [columns] = read(saved(tmp_path, cholesky))
    assert header["runs"][0]["expected_by"] == "the kernel models"
    assert np.array_equal(columns["expected"], cholesky.tasks.duration_s)
    rows = [(0, 0, 0.0, 1.0), (0, 0, 1.0, 4.0), (0, 1, 0.0, 2.0), (1, 1, 2.0, 4.0)]
    (tmp_path / "page.html").unlink()
    header, [columns] = read(saved(tmp_path, from_rows(rows, 2)))
    assert header["runs"][0]["expected_by"] == "the median of its kind"
    assert columns["expected"].tolist() == [2.0, 2.0, 2.0, 2.0]


def test_a_graph_that_cannot_be_made_again_leaves_what_released_each_task(tmp_path):
    header, [columns] = read(saved(tmp_path, make_run()))
    assert not header["runs"][0]["known_edges"]
    assert "predecessors" not in columns


def test_names_are_text_and_end_no_script(tmp_path, cholesky):
    evil = "</script><script>alert(1)</script>"
    run = dataclasses.replace(
        cholesky, kernel_names=(evil, "<b>", "&amp;", "]]>"), scheduler=evil, graph_name=evil
    )
    text = saved(tmp_path, run, names=["<i>run"]).read_text()
    assert "alert(1)" in text  # as data
    assert "<script>alert" not in text
    assert text.count("</script>") == 3
    assert json.loads(HEADER.search(text)[1])["runs"][0]["kernels"][0] == evil


def test_copies_and_memory_are_there(tmp_path):
    run = make_hybrid()
    header, [columns] = read(saved(tmp_path, run))
    links = header["runs"][0]["links"]
    assert sum(link["copies"] for link in links) == len(run.transfers)
    assert columns["copy_bytes"].sum() == run.transfers.size_bytes.sum()
    for memory in header["runs"][0]["known_memories"]:
        rows = run.memory.memory == memory
        assert columns[f"memory_used_{memory}"].max() == run.memory.used_bytes[rows].max()


def test_the_same_runs_give_the_same_page(tmp_path, cholesky):
    first = saved(tmp_path, cholesky, cholesky).read_bytes()
    tasksim.save_page([cholesky, cholesky], tmp_path / "page.html", force=True)
    assert (tmp_path / "page.html").read_bytes() == first


def test_a_hundred_thousand_tasks_take_little_room(tmp_path):
    """Random times to the nanosecond, on 64 workers, and random dependencies: nothing is alike."""
    run = make_run(64, 100_000, duration_s=1e-3)
    assert saved(tmp_path, run).stat().st_size < 3_000_000


@pytest.mark.parametrize(
    ("runs", "name", "says"),
    [
        (0, "page.html", "runs: got 0; legal in a page: 1 to 4"),
        (5, "page.html", "runs: got 5; legal in a page: 1 to 4"),
        (1, "page.png", "a page is a '.html' file, not '.png'"),
    ],
)
def test_what_can_be_no_page_is_refused(tmp_path, cholesky, runs, name, says):
    with pytest.raises(InputError, match=re.escape(says)):
        tasksim.save_page([cholesky] * runs, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_times_that_are_not_finite_are_refused(tmp_path, cholesky):
    tasks = dataclasses.replace(cholesky.tasks, end_s=np.full(len(cholesky), np.nan))
    with pytest.raises(InputError, match="end_s of its tasks is not finite"):
        saved(tmp_path, dataclasses.replace(cholesky, tasks=tasks))


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e-3, 1e9, 1e300])
def test_times_of_any_size_keep_nine_digits(tmp_path, cholesky, scale):
    names = ("submitted_s", "ready_s", "start_s", "end_s", "popped_s")
    scaled = {name: getattr(cholesky.tasks, name) * scale for name in names}
    run = dataclasses.replace(cholesky, tasks=dataclasses.replace(cholesky.tasks, **scaled))
    header, [columns] = read(saved(tmp_path, run))
    longest = columns["duration"].max() * 10.0 ** header["tick_exponent"]
    assert longest == pytest.approx(6 * scale, rel=1e-5)


def test_a_run_without_tasks_has_a_page(tmp_path, cholesky):
    empty = dataclasses.replace(cholesky, tasks=type(cholesky.tasks).empty())
    header, [columns] = read(saved(tmp_path, empty))
    assert header["runs"][0]["makespan_s"] == 0
    assert len(columns["task"]) == 0


def test_a_large_page_is_told(tmp_path, cholesky, monkeypatch):
    monkeypatch.setattr("tasksim.view.page.document.LARGE_BYTES", 1000)
    with pytest.warns(UserWarning, match=r"page.html has 0 MB: all 56 tasks are in it"):
        header, _ = read(saved(tmp_path, cholesky))
    assert header["runs"]
