"""Platform files that are wrong: all of it is told, with places."""

from __future__ import annotations

from pathlib import Path

import pytest

TIME_UNITS = "ns, us, ms, s, min, h"
NAME = (
    "must be a name: letters, digits, '_' and '-', beginning with a letter, "
    "ending with a letter or a digit"
)


def test_everything_at_once_in_the_order_of_the_file(write, errors):
    path = write("""
        version: 1
        naem: mine
        nodes: 0
        memories: {ram: {size: 128}, gpu: {size: 16 Gib}}
        arch: {cpu: {speed: -1}}
        workers:
          cpu: {count: -1, memory: rma}
          little: {cout: 4, arch: cpus}
        overheads: {task: 12 uss, submission: -2 us}
        links: {pcie: {bandwidth: 12.5 GBs, between: [ram, gpus]}}
    """)
    sizes = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"
    rates = "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s"
    fields = (
        "version, name, description, extends, models, nodes, memories, arch, workers, "
        "overheads, links, routes, allocation, copying, memory_domains, memory_hierarchy, "
        "numa, power, fingerprint"
    )
    assert errors(path) == [
        f"p.yaml:2:1: naem: unknown field (got 'naem', legal {fields}), did you mean 'name'?",
        "p.yaml:3:8: nodes: must be at least 1 (got 0)",
        f"p.yaml:4:24: memories.ram.size: 128 has no unit and could be any of {sizes}: write e.g. "
        "'4.7 GiB' (only 0 needs none, it is the same in all of them)",
        "p.yaml:4:42: memories.gpu.size: '16 Gib' is not a size: write e.g. '4.7 GiB'; "
        f"legal units: {sizes}, did you mean 'GiB'?",
        "p.yaml:5:21: arch.cpu.speed: must be greater than 0 (got -1)",
        "p.yaml:7:16: workers.cpu.count: must be at least 0 (got -1)",
        "p.yaml:7:28: workers.cpu.memory: unknown memory (got 'rma', legal ram, gpu), "
        "did you mean 'ram'?",
        "p.yaml:8:3: workers.little.count: missing",
        "p.yaml:8:3: workers.little.memory: missing, since there are several memories "
        "(legal ram, gpu)",
        "p.yaml:8:12: workers.little.cout: unknown field (got 'cout', legal count, arch, memory, "
        "models, drivers, cores), did you mean 'count'?",
        "p.yaml:8:27: workers.little.arch: unknown architecture; give it an entry in `arch:` "
        "(got 'cpus', legal cpu), did you mean 'cpu'?",
        "p.yaml:9:19: overheads.task: '12 uss' is not a time: write e.g. '10 us'; "
        f"legal units: {TIME_UNITS}, did you mean 'us'?",
        "p.yaml:9:39: overheads.submission: must be at least 0 (got '-2 us')",
        "p.yaml:10:27: links.pcie.bandwidth: '12.5 GBs' is not a bandwidth: write e.g. "
        f"'12.5 GB/s'; legal units: {rates}, did you mean 'GB/s'?",
        "p.yaml:10:52: links.pcie.between.1: unknown memory (got 'gpus', legal ram, gpu), "
        "did you mean 'gpu'?",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "p.yaml:1:1: must be a mapping that begins `version: 1` (got nothing)"),
        ("- a\n- b\n", "p.yaml:1:1: must be a mapping that begins `version: 1` (got a list)"),
        (
            "version: 1\nworkers: {cpu: {count: 1}\n",
            "p.yaml:3:1: not YAML: while parsing a flow mapping, expected ',' or '}', "
            "but got '<stream end>'",
        ),
        (
            "version: 1\nname: !!python/object:os.system x\n",
            "p.yaml:2:7: not YAML: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object:os.system'",
        ),
        ("version: 1\nname: a\x00b\n", "p.yaml:2:8: not YAML: special characters are not allowed"),
        ("version: 1\nfingerprint: &a [*a]\n", "p.yaml:2:14: not YAML: an anchor contains itself"),
        ("version: 1\nfingerprint: {when: 2024-13-01}\n", "p.yaml:1:1: not YAML: month must be"),
        (
            "version: 2\nwhatever: 3\n",
            "p.yaml:1:10: version: version 2 is newer than 1, which this tasksim reads: "
            "update tasksim",
        ),
        ("version: '1'\n", "p.yaml:1:10: version: unknown version (got '1', legal 1)"),
        (
            "name: x\nworkers: {cpu: {count: 1}}\n",
            "p.yaml:1:1: version: missing: a platform file begins `version: 1`",
        ),
        ("version: 1\n", "p.yaml:1:1: workers: missing"),
        ("version: 1\nworkers: {}\n", "p.yaml:2:10: workers: at least one worker is needed"),
        (
            "version: 1\nworkers: {cpu: {count: 0}}\n",
            "p.yaml:2:10: workers: at least one worker is needed (got none)",
        ),
        (
            "version: 1\nworkers:\n  cpu: {count: 1}\n  cpu: {count: 2}\n",
            "p.yaml:4:3: workers.cpu: given twice (first in line 3)",
        ),
        (
            "version: 1\nworkers: {cpu: {count: 2.0}}\n",
            "p.yaml:2:24: workers.cpu.count: must be a whole number (got 2.0)",
        ),
        (
            "version: 1\nworkers: {cpu: {count: yes}}\n",
            "p.yaml:2:24: workers.cpu.count: must be a whole number (got True)",
        ),
        (
            "version: 1\nworkers: {cpu: 3}\n",
            "p.yaml:2:16: workers.cpu: must be a mapping (got 3)",
        ),
        ("version: 1\nworkers: {1: {count: 1}}\n", f"p.yaml:2:11: workers.1: {NAME} (got '1')"),
        (
            "version: 1\nworkers: {cpu: {count: 2, cores: [0]}}\n",
            "p.yaml:2:34: workers.cpu.cores: must name a core per worker (got 1 for 2)",
        ),
        (
            "version: 1\nworkers: {a: {count: 2, cores: [3, 3]}}\n",
            "p.yaml:2:36: workers.a.cores.1: core 3 is given twice",
        ),
        (
            "version: 1\nworkers: {a: {count: 1, cores: [3]}, b: {count: 1, cores: [3]}}\n",
            "p.yaml:2:60: workers.b.cores.0: core 3 is in workers.a too",
        ),
        (
            "version: 1\nworkers: {cpu: {count: 600000}}\nnodes: 2\n",
            "p.yaml:2:10: workers: too many workers (got 600000 on each of 2 nodes, "
            "legal 1000000 in all)",
        ),
        (
            "version: 1\nworkers: {cpu: {count: 4000000}}\n",
            "p.yaml:2:24: workers.cpu.count: must be at most 1000000 (got 4000000)",
        ),
        (
            f"version: 1\nworkers: {{cpu: {{count: 0x{'f' * 5000}}}}}\n",
            "p.yaml:2:24: workers.cpu.count: must be at most 1000000 (got a number of 20000 bits)",
        ),
        (
            'version: 1\nworkers: {cpu: {count: 1}}\n"a\\nb": 1\n',
            "p.yaml:3:1: a\\nb: unknown field (got 'a\\nb', legal version, name, ",
        ),
        (
            "version: 1\nworkers: {cpu: {count: 1}}\narch: {cpu: {speed: x2}}\n",
            "p.yaml:3:21: arch.cpu.speed: 'x2' multiplies, which only --set can do; "
            "legal here: a number",
        ),
        (
            "version: 1\nworkers: {cpu: {count: 1}}\n"
            "links: {l: {bandwidth: 1 GB/s, between: [ram]}}\n",
            "p.yaml:3:41: links.l.between: must have 2 entries (got ['ram'])",
        ),
        (
            "version: 1\nworkers: {cpu: {count: 1}}\n"
            "links: {l: {bandwidth: 1 GB/s, between: [ram, ram]}}\n",
            "p.yaml:3:41: links.l.between: must be two different memories (got 'ram' twice)",
        ),
        (
            "version: 1\nnodes: 2\nworkers: {cpu: {count: 1}}\n"
            "links: {l: {bandwidth: 1 GB/s, between: [node0/ram, node2/ram]}}\n",
            "p.yaml:4:53: links.l.between.1: unknown memory (got 'node2/ram', "
            "legal ram, node0/ram), did you mean 'node0/ram'?",
        ),
        (
            "version: 1\nworkers: {cpu: {count: 1}}\nfingerprint: {a: .nan}\n",
            "p.yaml:3:14: fingerprint: must be a plain value: text, a finite number, "
            "a list or a mapping of them",
        ),
        *(
            (
                f"version: 1\nworkers: {{cpu: {{count: {number}}}}}\n",
                f"p.yaml:2:24: workers.cpu.count: not a plain number (got {number}, legal decimal "
                "digits, without 0 before them, '_' or ':' between them)",
            )
            for number in ("010", "1_0", "1:30")
        ),
        (
            "version: 1\nworkers: {cpu: {count: 1}}\nfingerprint: " + "{a: " * 60 + "1" + "}" * 60,
            "p.yaml:3:214: not YAML: lists and mappings more than 50 deep",
        ),
    ],
)
def test_one_thing_wrong(write, errors, text, expected):
    path = write("")
    path.write_text(text, encoding="utf-8")
    lines = errors(path)
    assert len(lines) == 1
    assert lines[0].startswith(expected)


def test_no_such_file(here, errors):
    assert errors("missing.yaml") == ["missing.yaml: no such file"]
    assert errors(Path("a/b.yaml")) == ["a/b.yaml: no such file"]


def test_no_such_name(here, errors):
    assert errors("identical-9")[0].startswith(
        "unknown platform 'identical-9', did you mean 'identical-8'? (known: "
    )


def test_not_a_file(here, errors):
    (here / "folder.yaml").mkdir()
    assert errors("folder.yaml") == ["folder.yaml: is a folder, not a file"]


def test_not_text(here, errors):
    Path("p.yaml").write_bytes(b"version: 1\nname: \xff\n")
    assert errors("p.yaml") == ["p.yaml: is not UTF-8 text (byte 17)"]


def test_extends_a_missing_file(write, errors):
    path = write("version: 1\nextends: base.yaml\n")
    assert errors(path) == ["p.yaml:2:10: extends: base.yaml: no such file"]


def test_extends_an_unknown_name(write, errors):
    path = write("version: 1\nextends: identical-9\n")
    (line,) = errors(path)
    assert line.startswith(
        "p.yaml:2:10: extends: unknown platform 'identical-9', did you mean 'identical-8'?"
    )


def test_extends_in_a_circle(write, errors):
    write("version: 1\nextends: c.yaml\n", "b.yaml")
    write("version: 1\nextends: p.yaml\n", "c.yaml")
    path = write("version: 1\nextends: b.yaml\n")
    assert errors(path) == ["c.yaml:2:10: extends: a cycle: p.yaml -> b.yaml -> c.yaml -> p.yaml"]


def test_extends_itself(write, errors):
    path = write("version: 1\nextends: p.yaml\n")
    assert errors(path) == ["p.yaml:2:10: extends: a cycle: p.yaml -> p.yaml"]


def test_errors_are_in_the_file_that_says_so(write, errors):
    write("version: 1\nworkers: {cpu: {count: 1}}\noverheads: {task: 1}\n", "a-base.yaml")
    path = write("version: 1\nextends: a-base.yaml\nworkers: {cpu: {count: -1}}\n")
    lines = errors(path)
    assert [line.split(": ")[0] for line in lines] == ["p.yaml:3:24", "a-base.yaml:3:19"]


def test_the_file_extended_must_be_a_platform_file_too(write, errors):
    write("workers: {cpu: {count: 1}}\nextends: 3\n", "base.yaml")
    path = write("version: 1\nextends: base.yaml\n")
    assert errors(path) == [
        "base.yaml:1:1: version: missing: a platform file begins `version: 1`",
        "base.yaml:2:10: extends: must be text (got 3)",
    ]


@pytest.mark.parametrize("indent", ["", "  "])
def test_aliases_of_aliases_are_no_bomb(write, errors, indent):
    lines = ["version: 1", "fingerprint:", f"{indent}a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for i in range(1, 40):
        lines.append(f"{indent}a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]")
    path = write("\n".join(lines))
    (line,) = errors(path)
    assert line.startswith("p.yaml:8:")
    assert line.endswith("not YAML: more than 1000000 values, with each alias counted in full")


def test_aliases_may_stand_for_much(write, errors):
    lines = ["version: 1", "fingerprint: {a: &a [1, 2], b: [*a, *a]}"]
    assert errors(write("\n".join(lines)))[0].startswith("p.yaml:1:1: workers: missing")
