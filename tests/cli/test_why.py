"""``tasksim why``: what a scheduler believed when it placed a task, and the queues at a time."""

import pytest

DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"


@pytest.fixture
def recorded(tasksim):
    """Return a function that simulates a small Cholesky with decisions."""

    def make(scheduler):
        line = f"simulate cholesky tiles=3 --workers 2 {DURATIONS} --scheduler {scheduler}"
        done = tasksim(f"{line} --decisions -o {scheduler}")
        assert done.code == 0, done.err

    return make


def test_dm_shows_its_estimates_and_marks_the_chosen_worker(tasksim, recorded):
    recorded("dm")
    done = tasksim("why dm 2")
    assert done.out.splitlines() == [
        "trsm #2, priority 4, scheduler dm",
        "      1 s  ready by potrf #0",
        "      1 s  goes to cpu1, where it ends earliest of 2 workers:",
        "       worker  free at  duration  ends at",
        "       cpu0        4 s       3 s      7 s",
        "    *  cpu1        1 s       3 s      4 s",
        "      1 s  enters the queue of cpu1, position 1",
        "      1 s  cpu1 takes it from the queue of cpu1, position 1",
        "      1 s  starts on cpu1",
        "      4 s  ends",
    ]
    assert tasksim("why dm 'trsm #2'").out == done.out
    found = tasksim("why dm 2 --json").json
    assert [step["step"] for step in found["steps"]] == ["candidate", "chosen", "queued", "taken"]
    assert found["steps"][1]["end_s"] == 4.0
    assert found["steps"][1]["cost_s"] is None
    assert found["steps"][2]["queue"] == "queue of cpu1"


def test_queues_at_a_time(tasksim, recorded):
    recorded("prio")
    assert tasksim("why prio --at 500ms").out.splitlines() == [
        "worker  runs",
        "cpu0    potrf #0",
        "cpu1    -",
        "",
        "all queues are empty",
    ]
    found = tasksim("why prio --at 4.5s --json").json
    assert set(found["queues"]) == {"shared queue"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("why dm", "give either TASK or --at TIME"),
        ("why dm 2 --at 1s", "give either TASK or --at TIME"),
        ("why dm 99", "dm has no task 99; legal: 0 to 9"),
        ("why dm first", "task 'first': legal: a number, as in '17' or 'gemm #17'"),
        ("why dm 'gemm #2'", "dm has no task 'gemm #2', did you mean 'trsm #2'?"),
    ],
)
def test_what_is_refused(tasksim, recorded, line, message):
    recorded("dm")
    done = tasksim(line)
    assert done.code == 2
    assert message in done.err


def test_a_run_without_decisions_says_how_to_get_them(tasksim):
    tasksim(f"simulate cholesky tiles=3 --workers 2 {DURATIONS} -o plain")
    done = tasksim("why plain 2")
    assert done.code == 2
    assert "plain has no record of decisions; simulate it with --decisions" in done.err
    again = tasksim("simulate --from plain --decisions -o told")
    assert again.code == 0, again.err
    assert tasksim("why told 2").code == 0
    assert "give -o FOLDER, too" in tasksim("simulate --from plain --decisions").err
