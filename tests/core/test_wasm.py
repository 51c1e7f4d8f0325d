"""The core as WebAssembly: the native core's answers, to the last bit; refusals; its interface."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import fields, replace

import chromium
import numpy as np
import pytest
import threaded
from contended import non_uniform, slowed
from core.test_clusters import DYNAMIC, drawn_cluster
from questions import drawn_question
from tiers import LONG
from webassembly import NODE, ask_chromium, ask_node, needs_node, needs_wasm

from tasksim.base.errors import TasksimError
from tasksim.core import interface, library
from tasksim.core.build import main
from tasksim.engine.choice import as_data, replayed, replayed_by_core
from tasksim.run.decisions import DecisionTable
from tasksim.run.record import MemoryTable, TaskTable, TransferTable
from tasksim.runtime.flat import Refused
from tasksim.schedulers.registry import SCHEDULERS
from tasksim.view.page.document import bundle

needs_core = pytest.mark.skipif(
    not library.status().available, reason=f"the core is {library.status().why}"
)
POLICIES = sorted(set(SCHEDULERS.names()) - {"static"})  # static: needs a file
TABLES = {
    "tasks": TaskTable, "copies": TransferTable, "memory": MemoryTable, "decisions": DecisionTable,
}  # fmt: skip
NATIVE_COLUMNS = ("kernel", "priority", "size_bytes", "cpu_s", "preemptions", "pulse", "beat")
"""Columns of the graph, and those of native runs."""
STRUCTURES = {
    "graph": interface.Graph, "platform": interface.Platform, "scheduler": interface.Scheduler,
    "contention": interface.Contention, "far": interface.Far, "question": interface.Question,
    "member": interface.Member, "cluster": interface.Cluster, "outcome": interface.Outcome,
    "tasks": interface.Tasks, "log": interface.Log, "decisions": interface.Decisions,
}  # fmt: skip


def drawn_machine(seed):
    """Return what *seed* asks of a machine: with threads, contention, far memories or without."""
    if seed % 8 == 7:
        return threaded.drawn_question(seed, threaded.SCHEDULERS[seed % len(threaded.SCHEDULERS)])
    question = drawn_question(seed, POLICIES[seed % len(POLICIES)])
    if seed % 8 == 3:
        return slowed(question, random.Random(seed))
    return non_uniform(question, random.Random(seed)) if seed % 8 == 5 else question


def machines(seeds):
    """Return what *seeds* ask of machines as data, and the native answers; None: a refusal."""
    for seed in seeds:
        question = replace(drawn_machine(seed), decisions=seed % 3 > 0)
        try:
            data = as_data(question, seed)
        except TasksimError:  # a plan that cannot be made
            continue
        try:
            replay = replayed(question, seed, "compiled").replay
        except TasksimError:
            yield data, None
            continue
        found = replay.records()
        columns = {
            "events": replay.events,
            "evictions": found.get("evictions", 0),
            **in_bytes("tasks", found["tasks"]),
            **in_bytes("copies", found.get("transfers")),
            **in_bytes("memory", found.get("memory")),
            **in_bytes("decisions", found.get("decisions")),
        }
        if "numa" in found:
            columns["numa"] = found["numa"].accessed_bytes, found["numa"].extra_s
        yield data, columns


def clusters(seeds):
    """Return the same of clusters."""
    for seed in seeds:
        question = drawn_cluster(seed, DYNAMIC[seed % len(DYNAMIC)])
        data = as_data(question, seed)
        try:
            outcome = replayed_by_core(question, seed).replay.outcome()
        except Refused:
            yield data, None
            continue
        columns = {}
        for number, node in enumerate(outcome.nodes):
            columns[f"{number}.evictions"] = node.evictions
            for name, values in node.lives.items():
                if name != "state":
                    columns[f"{number}.tasks.{name}"] = as_in_table(TaskTable, name, values)
            copies = node.log and node.log.transfers(node.work.graph)
            columns |= in_bytes(f"{number}.copies", copies)
            columns |= in_bytes(f"{number}.memory", node.log and node.log.memory_use())
        columns["started"] = outcome.messages.started.tobytes()
        columns["ended"] = outcome.messages.ended.tobytes()
        yield data, columns


def in_bytes(name, table):
    """Return the columns of a table by name, as bytes, without those of the graph."""
    if table is None:
        return {}
    left_out = set(
        (*NATIVE_COLUMNS, "task") if name.endswith(("tasks", "memory")) else NATIVE_COLUMNS
    )
    return {
        f"{name}.{field.name}": getattr(table, field.name).tobytes()
        for field in fields(table)
        if field.name not in left_out
    }


def as_in_table(table, name, values):
    return values.astype(table.dtypes[name]).tobytes()


def of_wasm(answer):
    """Return an answer of WebAssembly in the same way."""
    if "nodes" not in answer:
        return {"events": answer["events"], **of_node(answer)}
    columns = {name: answer["messages"][name].tobytes() for name in ("started", "ended")}
    for number, node in enumerate(answer["nodes"]):
        columns |= {f"{number}.{name}": values for name, values in of_node(node).items()}
    return columns


def of_node(answer):
    columns = {"evictions": answer["evictions"]}
    for name, table in TABLES.items():
        for column, values in (answer.get(name) or {}).items():
            if column != "state":  # which tables leave out
                columns[f"{name}.{column}"] = as_in_table(table, column, values)
    if answer["numa"] is not None:
        extra = tuple(answer["numa"]["extra_s"].tolist())
        accessed = answer["numa"]["accessed_bytes"].reshape(len(extra), -1)
        columns["numa"] = tuple(map(tuple, accessed.tolist())), extra
    return columns


def check(answers, expected):
    for number, (answer, theirs) in enumerate(zip(answers, expected, strict=True)):
        assert ("error" in answer) == (theirs is None), (number, answer.get("error"))
        if theirs is None:
            continue
        ours = of_wasm(answer)
        for column in ours | theirs:
            assert ours.get(column) == theirs.get(column), (number, column)


@needs_wasm
@needs_node
@needs_core
def test_node_answers_what_the_native_core_does(tmp_path):
    asked, expected = zip(*machines(range(1000 if LONG else len(POLICIES))), strict=True)
    assert len(asked) > len(POLICIES) // 2
    check(ask_node(asked, tmp_path), expected)


@needs_wasm
@needs_node
@needs_core
def test_node_answers_for_clusters_what_the_native_core_does(tmp_path):
    asked, expected = zip(*clusters(range(500 if LONG else len(DYNAMIC))), strict=True)
    check(ask_node(asked, tmp_path), expected)


@pytest.mark.slow
@needs_wasm
@needs_core
@pytest.mark.skipif(not chromium.PROGRAM, reason=chromium.MISSING)
def test_a_browser_answers_what_the_native_core_does(tmp_path):
    """In a worker of a page whose policy allows no connection, and of code only WebAssembly's."""
    given = [*machines(range(500 if LONG else 30)), *clusters(range(100 if LONG else 5))]
    asked, expected = zip(*given, strict=True)
    check(ask_chromium(asked, tmp_path), expected)


@needs_node
def test_structures_are_those_of_the_interface(tmp_path):
    script = tmp_path / "structures.mjs"
    script.write_text(f"{bundle('structures')}\nconsole.log(JSON.stringify(STRUCTURES));")
    told = subprocess.run([NODE, script], capture_output=True, text=True, check=True, timeout=60)
    found = {each["name"]: each["fields"] for each in json.loads(told.stdout)}
    kinds = {"i": "count", "d": "number", "u": "seed"}
    assert found.keys() == STRUCTURES.keys()
    for name, structure in STRUCTURES.items():
        declared = [field for field, _ in structure._fields_]
        assert [field["name"] for field in found[name]] == declared
        for field, (_, kind) in zip(found[name], structure._fields_, strict=True):
            letter = {v: k for k, v in interface._FIELD_TYPES.items()}[kind]
            pointer = field["length"] is not None or field["kind"] == "place"
            assert pointer if letter in "ps" else field["kind"] == kinds[letter]


@needs_wasm
@needs_node
def test_a_refusal_has_a_reason_and_the_next_question_an_answer(tmp_path):
    question = drawn_question(7, "dmdas")
    good = as_data(question, 0)
    tasks, classes = good["graph"]["tasks"], good["platform"]["classes"]
    nobody = np.full(tasks * classes, np.inf)
    nobody[:tasks] = 1.0  # the first class has a cost for it, but for task 2
    nobody[2::tasks] = np.inf
    wrong = [
        {"question": good["question"] | {"costs": nobody, "estimates": nobody}},
        {"scheduler": good["scheduler"] | {"name": "dmx"}},
        {"graph": good["graph"] | {"kernel": good["graph"]["kernel"] + 1000}},
    ]
    asked = [good]
    for change in wrong:
        asked += [good | change, good]
    first, *rest = ask_node(asked, tmp_path)
    assert [answer["error"]["status"] for answer in rest[::2]] == [
        "nobody", "unknown-scheduler", "bad-arrays",
    ]  # fmt: skip
    assert rest[0]["error"]["message"] == "no worker can run task 2"
    assert rest[0]["error"]["task"] == 2
    for answer in rest[1::2]:
        assert of_wasm(answer) == of_wasm(first)


IN_TURN = """
import { readFileSync, writeFileSync } from "node:fs";

const [wasm, asked, answers] = process.argv.slice(2);
const core = await loadCore(readFileSync(wasm));
const questions = JSON.parse(readFileSync(asked, "utf8")).questions.map(decoded);
const replays = questions.map((question) => core.ask(question));
let left = replays;
while (left.length) left = left.filter((replay) => replay.goOn(1));
const found = replays.map((replay) => encoded(replay.answer()));
for (const replay of replays) replay.free();
const bytes = [];
for (let round = 0; round < 100; round++) {
  for (const question of questions) {
    core.ask({ ...question, graph: { ...question.graph } }).free();
    core.replay(question);
  }
  bytes.push(core.memoryBytes);
}
writeFileSync(answers, JSON.stringify([...found, bytes[10], bytes.at(-1)]));
"""


@needs_wasm
@needs_node
def test_replays_go_on_in_turn_and_leave_memory_flat(tmp_path):
    asked = [as_data(drawn_question(seed, "dmdas"), 0) for seed in (7, 11, 13)]
    *found, before, after = ask_node(asked, tmp_path, IN_TURN)
    alone = ask_node(asked, tmp_path)
    assert list(map(of_wasm, found)) == list(map(of_wasm, alone))
    assert before == after


REFUSAL_SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";

const [wasm, asked, answers] = process.argv.slice(2);
const core = await loadCore(readFileSync(wasm));
const [good, wrong] = JSON.parse(readFileSync(asked, "utf8")).questions.map(decoded);
wrong.graph = good.graph;
core.replay(good);
const bytes = [];
for (let round = 0; round < 300; round++) {
  try {
    core.replay(wrong);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  bytes.push(core.memoryBytes);
}
writeFileSync(answers, JSON.stringify([bytes[0], bytes.at(-1), encoded(core.replay(good))]));
"""


@needs_wasm
@needs_node
def test_a_refusal_amid_a_replay_leaves_nothing_behind(tmp_path):
    """The last task ends too late: what the replay had is freed, and the graph stays."""
    question = drawn_question(7, "dmdas")
    good = as_data(question, 0)
    costs = good["question"]["costs"].ravel().copy()
    costs[good["graph"]["tasks"] - 1 :: good["graph"]["tasks"]] = 1e12  # beyond 292 years
    wrong = good | {"question": good["question"] | {"costs": costs}}
    before, after, answer = ask_node([good, wrong], tmp_path, REFUSAL_SCRIPT)
    assert before == after
    assert of_wasm(answer) == of_wasm(ask_node([good], tmp_path)[0])


@needs_wasm
@needs_node
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": np.zeros(1, np.int32)}, "graph.kernel has 1 values, expected"),
        ({"kernel": None}, "graph.kernel is missing"),
        ({"kernels": 1.5}, "graph.kernels: 1.5 is no whole number"),
        ({"kernal": 1}, "graph.kernal is no field"),
    ],
)
def test_nonsense_is_told_by_the_name_of_the_field(change, message, tmp_path):
    question = as_data(drawn_question(7, "eager"), 0)
    question["graph"] = question["graph"] | change
    with pytest.raises(AssertionError, match=message):
        ask_node([question], tmp_path)


def test_without_a_compiler_the_message_names_the_package(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("WASM_CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tasksim.core.compiler.find_spec", lambda name: None)
    assert main(["--target", "wasm", "-o", str(tmp_path / "core.wasm")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: the core as WebAssembly is not built: no compiler for WebAssem")
    assert "pip install ziglang" in said


def test_a_compiler_that_is_named_is_not_replaced(monkeypatch, capsys):
    monkeypatch.setenv("WASM_CXX", "none --target=wasm32-wasi")
    assert main(["--target", "wasm"]) == 2
    assert "WASM_CXX=none --target=wasm32-wasi names no program" in capsys.readouterr().err


def test_where_it_is_optional_a_missing_compiler_is_no_error(monkeypatch, capsys):
    monkeypatch.setenv("WASM_CXX", "none")
    assert main(["--target", "wasm", "--optional"]) == 0
    assert capsys.readouterr().err.startswith("Note: the core as WebAssembly is not built")


def test_sanitizers_are_the_native_cores(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--target", "wasm", "--sanitize", "address"])
    assert stopped.value.code == 2
    assert "--target wasm takes no --sanitize" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "not built in this checkout; 'python -m tasksim.core.build --target wasm' does it"),
        (b"older", "not made of the sources that are here; 'python -m tasksim.core.build --target"),
        (library.digest().encode(), "there"),
    ],
)
def test_the_module_is_there_if_it_is_made_of_the_sources(content, why, monkeypatch, tmp_path):
    monkeypatch.setattr(library, "WASM_PATH", tmp_path / "core.wasm")
    if content is not None:
        library.WASM_PATH.write_bytes(content)
    found = library.wasm_status()
    assert found.why.startswith(why)
    assert found.available == (why == "there")
