"""Order that each construct of OpenMP imposes, in programs of a few tasks.

A task's kernel begins with the name of the function that creates it.
"""

from __future__ import annotations

import pytest

import tasksim
from tasksim.base.units import parse_quantity
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.taskgraph import Binding
from tests.openmp_programs import NO_TASKS

HEAD = """
#include <unistd.h>
static int x, y;
static void work(void) { usleep(300); }
"""


def task(name, clauses="", body="work();"):
    return f"""
static void {name}(void)
{{
#pragma omp task {clauses}
    {{ {body} }}
}}
"""


def program(*functions, body):
    return f"""{HEAD}{"".join(functions)}
int main(void)
{{
#pragma omp parallel num_threads(2)
#pragma omp single
    {{
{body}
    }}
    return 0;
}}
"""


def order(recording):
    """Return a function: do all pieces of one function's tasks come before another's?"""
    graph = recording.graph
    after = [set() for _ in range(len(graph))]
    for one in reversed(range(len(graph))):
        for other in graph.successors_of(one):
            after[one] |= {other} | after[other]

    def pieces(name):
        found = [t for t in range(len(graph)) if graph.kernel_of(t).split(":")[0] == name]
        assert found, (name, graph.kernels)
        return found

    def comes_before(one, other):
        first = min(pieces(other))
        return all(first in after[each] for each in pieces(one))

    return comes_before


def test_a_taskwait_waits_for_children_and_not_for_their_children(compiled, recorded):
    source = program(
        task("grandchild"),
        task("child", body="grandchild();"),
        task("next"),
        body="child();\n#pragma omp taskwait\nnext();",
    )
    before = order(recorded(compiled(source)).recording)
    assert before("child", "next")
    assert not before("grandchild", "next")


def test_a_taskgroup_waits_for_all_that_was_created_in_it(compiled, recorded):
    source = program(
        task("earlier"),
        task("grandchild"),
        task("child", body="grandchild();"),
        task("next"),
        body="earlier();\n#pragma omp taskgroup\n{ child(); }\nnext();",
    )
    before = order(recorded(compiled(source)).recording)
    assert before("child", "next")
    assert before("grandchild", "next")
    assert not before("earlier", "next")


def test_a_taskwait_in_a_taskgroup_leaves_the_rest_to_it(compiled, recorded):
    source = program(
        task("grandchild"),
        task("child", body="grandchild();"),
        task("middle"),
        task("next"),
        body="#pragma omp taskgroup\n{ child();\n#pragma omp taskwait\nmiddle(); }\nnext();",
    )
    before = order(recorded(compiled(source)).recording)
    assert before("child", "middle")
    assert not before("grandchild", "middle")
    assert before("grandchild", "next")
    assert before("middle", "next")


def test_a_barrier_waits_for_all_tasks_of_the_region(compiled, recorded):
    source = f"""{HEAD}{task("grandchild")}{task("child", body="grandchild();")}{task("next")}
int main(void)
{{
#pragma omp parallel num_threads(2)
    {{
#pragma omp single nowait
        child();
#pragma omp barrier
#pragma omp single
        next();
    }}
    return 0;
}}
"""
    before = order(recorded(compiled(source)).recording)
    assert before("child", "next")
    assert before("grandchild", "next")


def test_a_region_comes_after_the_one_before(compiled, recorded):
    source = f"""{HEAD}{task("grandchild")}{task("child", body="grandchild();")}{task("next")}
int main(void)
{{
#pragma omp parallel num_threads(2)
#pragma omp single
    child();
    work();
#pragma omp parallel num_threads(2)
#pragma omp single
    next();
    return 0;
}}
"""
    recording = recorded(compiled(source)).recording
    before = order(recording)
    assert before("grandchild", "serial part")
    assert before("serial part", "next")
    assert list(recording.graph.kernels).count("serial part") == 1


def test_the_program_around_its_regions_is_left_out_in_words(compiled, recorded):
    source = f"""#include <omp.h>
{HEAD}{task("inside")}
int main(void)
{{
    omp_get_max_threads();
    usleep(200000);  // the body of the task has ended then
#pragma omp parallel num_threads(2)
#pragma omp single
    inside();
    usleep(10000);
    return 0;
}}
"""
    recording = recorded(compiled(source)).recording
    assert "serial part" not in recording.graph.kernels
    (note,) = (note for note in recording.notes if "no part of the run" in note)
    assert parse_quantity("".join(note.split()[:2]), "time") >= 0.03


def test_a_nested_region_ends_before_its_task_goes_on(compiled, recorded):
    inner = """
#pragma omp parallel num_threads(2)
#pragma omp single
    inside();
    behind();
"""
    source = program(
        "#include <omp.h>\n",
        task("inside"),
        task("behind"),
        task("outer", body=inner),
        body="omp_set_max_active_levels(2); outer();",
    )
    before = order(recorded(compiled(source)).recording)
    assert before("inside", "behind")


def test_an_undeferred_task_comes_before_what_its_creator_does_next(compiled, recorded):
    source = program(
        task("deferred"), task("undeferred", "if(0)"), task("next"),
        body="deferred(); undeferred(); next();",
    )  # fmt: skip
    before = order(recorded(compiled(source)).recording)
    assert before("undeferred", "next")
    assert not before("deferred", "next")


def test_on_one_thread_no_task_counts_as_undeferred_but_those_in_final_ones(compiled, recorded):
    source = program(
        task("inner"),
        task("included", "final(1)", body="inner(); x = 1; innermost();"),
        task("next"),
        body="included(); next();",
    ).replace("static void included", task("innermost") + "static void included")
    recording = recorded(compiled(source.replace("num_threads(2)", "num_threads(1)"))).recording
    before = order(recording)
    assert not before("included", "next")
    assert before("inner", "innermost")
    assert any("team of one thread" in note for note in recording.notes)


def test_a_taskwait_with_dependences_waits_for_those_alone(compiled, recorded):
    source = program(
        task("one", "depend(out: x)"), task("other", "depend(out: y)"), task("next"),
        body="one(); other();\n#pragma omp taskwait depend(in: x)\nnext();",
    )  # fmt: skip
    recording = recorded(compiled(source)).recording
    before = order(recording)
    assert before("one", "next")
    assert before("one", "taskwait")
    assert not before("other", "next")
    assert (recording.tasks, recording.dependences) == (3, 1)


def test_only_siblings_depend_on_each_other(compiled, recorded):
    source = program(
        task("cousin", "depend(inout: x)"),
        task("parent", body="cousin();"),
        task("uncle", "depend(inout: x)"),
        body="parent(); uncle(); uncle();",
    )
    found = recorded(compiled(source))
    assert found.recording.dependences == 1
    assert not order(found.recording)("cousin", "uncle")


@pytest.mark.parametrize("with_", ["gcc", "clang"])
@pytest.mark.parametrize("threads", [1, 2])
def test_tasks_that_tasks_create_are_known_by_their_own_place(with_, threads, compiled, recorded):
    """The runtime tells of some where the barrier is that their creator runs in."""
    source = program(
        task("inner"),
        task("outer", body="inner(); inner();"),
        body="for (int i = 0; i < 40; ++i) outer();",
    ).replace("usleep(300)", "x += 1")
    found = recorded(compiled(source, with_), threads=threads)
    assert found.counts() == [80, 40]


def test_mutually_exclusive_tasks_are_commutative(compiled, recorded):
    source = program(
        task("writer", "depend(out: x)"),
        task("exclusive", "depend(mutexinoutset: x)"),
        task("reader", "depend(in: x)"),
        body="writer(); exclusive(); exclusive(); exclusive(); reader();",
    )
    recording = recorded(compiled(source)).recording
    assert recording.dependences == 3 + 3
    modes = recording.graph.access_mode.tolist()
    assert modes.count(AccessMode.COMMUTATIVE) == 3
    tasksim.check_run(recording.run, recording.graph)


DETACHED_PROGRAM = f"""
#include <omp.h>
{HEAD}
static omp_event_handle_t event;
static void detached(void)
{{
#pragma omp task detach(event) depend(out: x)
    work();
}}
{task("fulfills", body="work(); work(); omp_fulfill_event(event); work();")}
{task("next", "depend(in: x)")}
int main(void)
{{
#pragma omp parallel num_threads(2)
#pragma omp single
    {{ detached(); fulfills(); next(); }}
    return 0;
}}
"""


def test_a_detached_task_has_ended_when_its_event_is_fulfilled(compiled, recorded):
    # libomp supports detached tasks in programs of Clang only.
    recording = recorded(compiled(DETACHED_PROGRAM, "clang")).recording
    graph = recording.graph
    (next_,) = (t for t in range(len(graph)) if _line(graph, t) == "next")
    before = [t for t in range(len(graph)) if next_ in graph.successors_of(t)]
    kinds = {_line(graph, t) for t in before}
    assert {"detached", "fulfills"} <= kinds


FULFILLED_BY_THE_CREATOR = """
#include <omp.h>
#include <unistd.h>
int main(void)
{
    omp_event_handle_t event;
    volatile int begun = 0;
#pragma omp parallel num_threads(2)
#pragma omp master
    {
#pragma omp task detach(event) shared(begun)
        begun = 1;
        while (!begun) usleep(100);
        usleep(1000);
        omp_fulfill_event(event);
    }
    return 0;
}
"""


def test_a_detached_task_whose_event_an_earlier_thread_fulfils_has_ended(compiled, recorded):
    notes = recorded(compiled(FULFILLED_BY_THE_CREATOR, "clang")).recording.notes
    assert "1 task was detached" in notes
    assert not any("had not ended" in note for note in notes)


RELEASED_BY_AN_END = f"""
#include <omp.h>
#include <pthread.h>
#include <unistd.h>
{HEAD}
static omp_event_handle_t event;
static void *fulfil(void *unused)
{{
    usleep(200000);  // the body of the task has ended then
    omp_fulfill_event(event);
    return unused;
}}
int main(void)
{{
    pthread_t thread;
    int y = 0;
#pragma omp parallel num_threads(1)
    {{
#pragma omp task detach(event) depend(out: x)
        pthread_create(&thread, 0, fulfil, 0);
#pragma omp task depend(in: x) depend(out: y)
        work();
#pragma omp task depend(in: y)
        work();
#pragma omp task depend(in: y)
        work();
    }}
    pthread_join(thread, 0);
    return y;
}}
"""


def test_an_event_that_no_task_fulfils_is_a_task_on_a_worker_of_its_own(compiled, recorded):
    """No thread waits for it; what depends on the detached task does."""
    source = RELEASED_BY_AN_END.replace("num_threads(1)", "num_threads(2)\n#pragma omp single")
    recording = recorded(compiled(source, "clang")).recording
    graph, run = recording.graph, recording.run
    (event,) = (t for t in range(len(graph)) if graph.kernel_of(t).endswith(" (event)"))
    assert graph.successors_of(event)
    kinds = [worker.architecture for worker in run.workers]
    assert sorted(kinds) == ["cpu", "cpu", "event"]
    assert kinds[run.tasks.worker[event]] == "event"
    assert recording.account.threads == 2
    tasksim.check_run(run, graph)
    for threads in (1, 2, 4):
        simulated = recording.simulate(threads)
        assert simulated.makespan_s > run.tasks.duration_s[event]
        assert len(simulated.workers) == threads + 1


def test_a_thread_returns_to_no_task_that_has_ended(compiled, recorded):
    found = recorded(compiled(RELEASED_BY_AN_END, "clang"), threads=1)
    assert not any("contradict" in note for note in found.recording.notes)
    assert found.explicit_edges == 3 + 2  # by depend clauses, and of the event
    tasksim.check_run(found.recording.run, found.recording.graph)


def _line(graph, task):
    """The function of a task in DETACHED, whose outlined parts Clang calls by the file's line."""
    name = graph.kernel_of(task)
    if name.startswith(NO_TASKS):
        return name
    line = int(name.split(":")[1].split(" ")[0])
    functions = [
        (number, text.split("(")[0].split()[-1])
        for number, text in enumerate(DETACHED_PROGRAM.splitlines(), 1)
        if text.startswith("static void")
    ]
    return next(function for number, function in reversed(functions) if number <= line)


def test_cancelled_tasks_are_counted(compiled, recorded, monkeypatch):
    monkeypatch.setenv("OMP_CANCELLATION", "true")
    source = program(
        task("work_", body="work();\n#pragma omp cancel taskgroup\n"),
        body="#pragma omp taskgroup\nfor (int i = 0; i < 40; ++i) work_();",
    )
    recording = recorded(compiled(source)).recording
    assert recording.tasks == 40
    (note,) = (note for note in recording.notes if "cancelled" in note)
    there = sum(
        name.startswith("work_")
        for name in map(recording.graph.kernel_of, range(len(recording.graph)))
    )
    assert int(note.split()[0]) >= 40 - there > 0
    assert not any("not ended" in note for note in recording.notes)


@pytest.mark.parametrize("with_", ["gcc", "clang"])
def test_a_large_taskloop_is_split_by_the_runtime_and_ends_as_one(with_, compiled, recorded):
    source = f"""{HEAD}{task("next")}
static int a[4000];
int main(void)
{{
#pragma omp parallel num_threads(2)
#pragma omp single
    {{
#pragma omp taskloop num_tasks(1000)
        for (int i = 0; i < 4000; ++i) a[i] = i;
        next();
    }}
    return a[7] - 7;
}}
"""
    recording = recorded(compiled(source, with_)).recording
    assert recording.ended.exit_code == 0
    assert recording.tasks >= 1001
    graph = recording.graph
    (next_,) = (t for t in range(len(graph)) if graph.kernel_of(t).startswith("next"))
    behind = {next_}
    for task_ in reversed(range(next_)):
        if behind.intersection(graph.successors_of(task_)):
            behind.add(task_)
    loop = [t for t in range(next_) if graph.kernel_of(t).startswith(("main", "program.c"))]
    assert len(loop) >= 1000
    assert behind.issuperset(loop)


BOUND = program(
    task("tied_"),
    task("untied_", "untied"),
    task("undeferred_", "if(0)"),
    task("group_", body="work(); tied_();"),
    body="""
tied_();
untied_();
undeferred_();
#pragma omp taskwait
#pragma omp taskgroup
{ group_(); }
""",
)


def test_the_graph_tells_how_tasks_are_bound_and_what_goes_on(compiled, recorded):
    graph = recorded(compiled(BOUND)).recording.graph
    whole = list(range(len(graph)))
    for piece, last in enumerate(graph.continues.tolist()):
        if last >= 0:
            whole[piece] = whole[last]
            assert piece in graph.successors_of(last)
    function = [graph.kernel_of(t).split(":")[0] for t in range(len(graph))]
    first = {function[t]: t for t in reversed(range(len(graph))) if whole[t] == t}
    binding = {name: Binding(int(graph.binding[t])) for name, t in first.items()}
    assert binding["tied_"] == binding["group_"] == Binding.TIED
    assert binding["untied_"] == Binding.FREE
    assert binding["undeferred_"] == binding["thread start"] == Binding.HELD
    assert binding["parallel main"] == Binding.HELD
    # The one thread creates four tasks, and waits twice; the group's is of the second wait.
    creating = whole[graph.creator[first["tied_"]]]
    later = [Binding(int(graph.binding[t])) for t in range(len(graph)) if whole[t] == creating != t]
    assert later.count(Binding.GROUP) == 1
    assert {whole[graph.creator[first[name]]] for name in ("untied_", "group_")} == {creating}
    inner = max(t for t in range(len(graph)) if function[t] == "tied_" and whole[t] == t)
    assert whole[graph.creator[inner]] == first["group_"]


def test_a_thread_that_starts_late_does_so_in_a_replay(compiled, recorded):
    recording = recorded(compiled(program(task("work_"), body="work_(); work_();"))).recording
    graph, run = recording.graph, recording.run
    (start,) = (t for t in range(len(graph)) if graph.kernel_of(t) == "thread start")
    assert run.tasks.start_s[start] == 0.0
    (part,) = graph.successors_of(start)
    assert graph.kernel_of(part).startswith("parallel main")
    assert run.tasks.worker[start] == run.tasks.worker[part]
    replay = recording.simulate()
    assert replay.tasks.duration_s[start] == pytest.approx(run.tasks.duration_s[start], abs=1e-8)
    assert recording.account.waiting_s >= run.tasks.duration_s[start]


def test_threads_that_a_replay_lacks_do_not_start_in_it(compiled, recorded):
    """Eight threads start one beside the other; one thread would start seven one after another."""
    source = program(task("work_"), body="work_();").replace("num_threads(2)", "num_threads(8)")
    recording = recorded(compiled(source)).recording
    graph = recording.graph
    starts = [t for t in range(len(graph)) if graph.kernel_of(t) == "thread start"]
    assert len(starts) == 7
    for workers in (1, 3, 8):
        replayed_s = recording.simulate(workers).tasks.duration_s[starts]
        assert (replayed_s > 0).sum() == workers - 1


def test_an_undeferred_task_with_dependences_has_the_name_of_its_place(compiled, recorded):
    """libomp waits for them first, and then no longer knows the place of a task of GCC's."""
    source = program(
        task("writer", "depend(out: x)"), task("undeferred", "if(0) depend(inout: x)"),
        body="writer(); undeferred();",
    )  # fmt: skip
    before = order(recorded(compiled(source)).recording)
    assert before("writer", "undeferred")


@pytest.mark.parametrize("with_", ["gcc", "clang"])
def test_the_regions_of_teams_have_the_name_of_their_place(compiled, recorded, with_):
    """libomp begins a region for the league and one in each team, of which it tells no place."""
    source = """\
int main(void) {
  double x[2] = {0};
#pragma omp teams num_teams(2) shared(x)
  {
#pragma omp parallel
#pragma omp single
#pragma omp task
    x[0] += 1;
  }
  return 0;
}
"""
    kernels = recorded(compiled(source, with_)).recording.graph.kernels
    assert "parallel main:3" in kernels
    assert not any("unknown place" in name for name in kernels)
