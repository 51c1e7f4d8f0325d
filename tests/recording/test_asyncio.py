"""Programs with asyncio's task groups, recorded by option."""

import asyncio

import pytest

import tasksim

pytestmark = pytest.mark.usefixtures("no_own_work")


async def fetch(number, turns=3):
    for _ in range(turns):
        await asyncio.sleep(0)
    return [number]


async def add(parts):
    return sum(part[0] for part in parts)


async def fail():
    await asyncio.sleep(0)
    raise ValueError("no such page")


def run_recorded(main, **options):
    with tasksim.record("pages", asyncio=True, **options) as recording:
        asyncio.run(main())
    return recording


def test_tasks_of_a_group_overlap_and_the_group_waits_for_them(checked):
    async def main():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(fetch(n), name=f"page {n}") for n in range(4)]
        assert [task.get_name() for task in tasks] == [f"page {n}" for n in range(4)]
        parts = [task.result() for task in tasks]
        async with asyncio.TaskGroup() as group:
            total = group.create_task(add(parts))
        assert total.result() == 6

    recording = checked(run_recorded(main))
    graph = recording.graph
    assert graph.kernels == ("fetch", "main thread", "add")
    assert [graph.successors_of(task) for task in range(5)] == [*[[4, 5]] * 4, [5]]
    assert [it.name for it in recording.run.workers[:4]] == [f"asyncio {n}" for n in range(4)]
    assert recording.run.config["recorded"]["of"] == ["asyncio"]


def test_a_place_is_used_again(checked):
    async def main():
        for _ in range(3):
            async with asyncio.TaskGroup() as group:
                group.create_task(fetch(1))

    recording = checked(run_recorded(main))
    assert [it.name for it in recording.run.workers][:1] == ["asyncio 0"]
    assert sum(it.architecture == "cpu" for it in recording.run.workers) == 1


def test_without_the_option_nothing_of_asyncio_is_recorded(checked):
    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(fetch(1))
            await asyncio.to_thread(abs, -1)

    with tasksim.record() as recording:
        asyncio.run(main())
    assert checked(recording).graph.kernels == ("abs",)


def test_errors_and_cancelled_tasks_are_as_without_recording(checked):
    cancelled, errors = [], []

    async def long():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(long())
                group.create_task(fail())
        except* ValueError as caught:
            errors.extend(map(str, caught.exceptions))

    recording = checked(run_recorded(main))
    assert (cancelled, errors) == ([True], ["no such page"])
    assert recording.graph.kernels == ("long", "fail")
    assert "2 tasks raised an exception" in recording.notes


def test_groups_inside_of_tasks_are_told(checked):
    async def outer():
        async with asyncio.TaskGroup() as group:
            group.create_task(fetch(1))
        return 2

    async def main():
        async with asyncio.TaskGroup() as group:
            made = group.create_task(outer())
        assert made.result() == 2
        assert made.get_coro().__name__ == "outer"

    recording = checked(run_recorded(main))
    assert len(recording.graph) == 2
    assert any("tasks submitted other tasks, 1 task" in note for note in recording.notes)
    assert any("tasks waited for other tasks, 1 in all" in note for note in recording.notes)


def test_everything_is_as_before_afterwards():
    before = dict(vars(asyncio.TaskGroup))

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(fetch(1))

    run_recorded(main)
    assert dict(vars(asyncio.TaskGroup)) == before


def test_the_option_is_checked():
    with pytest.raises(tasksim.InputError, match="asyncio: got 1"):
        tasksim.record(asyncio=1)
