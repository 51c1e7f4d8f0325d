"""Maps of a program's data by its author: sizes, names, tiles; what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.recording.openmp.data_map import data_map

HEAD = """
#include <stdio.h>
#include <stdlib.h>
enum { N = 100, T = 32, NT = 4 };
"""
TILED = """
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < NT; ++i)
        for (int j = 0; j < NT; ++j) {
#pragma omp task depend(inout: A[i * T * N + j * T])
            A[i * T * N + j * T] += 1;
        }
"""
GLOBAL = f"{HEAD}static double A[N * N];\nint main(void) {{ {TILED} return A[0] != 1; }}\n"
OWN_PROGRAM = f"""{HEAD}
int main(void)
{{
    double *A = calloc(N * N, sizeof *A), *x = calloc(7, sizeof *x);
    const char *path = getenv("TASKSIM_DATA_MAP");
    FILE *map = path ? fopen(path, "a") : NULL;
    if (map) {{
        fprintf(map, "A %p %zu tile=%dx%d leading=%d\\n", (void *)A, N * N * sizeof *A, T, T, N);
        fprintf(map, "x %p %zu\\n", (void *)x, 7 * sizeof *x);
        fprintf(map, "x %p\\n", (void *)x);
        fprintf(map, "unused 10 10\\n");
        fclose(map);
    }}
{TILED}
#pragma omp parallel num_threads(2)
#pragma omp single
    {{
#pragma omp task depend(in: A[0]) depend(out: x[0])
        x[0] = A[0];
    }}
    return A[0] != 1;
}}
"""
# Tiles at the lower and right edges of 100 x 100 have 4 of 32 rows or columns.
EDGE = 100 - 3 * 32
TILES = {
    f"A[{i}, {j}]": 8 * (EDGE if i == 3 else 32) * (EDGE if j == 3 else 32)
    for i in range(4)
    for j in range(4)
}
MAP = {"A": {"tile": [32, 32], "leading": 100}}


def sizes_of(recording):
    graph = recording.graph
    names = [
        block.handle_name(at)
        for block in graph.handle_blocks
        for at in range(block.first, block.end)
    ]
    return dict(zip(names, graph.handle_size.tolist(), strict=True))


@pytest.mark.parametrize("flag", ["-pie", "-no-pie"])
def test_tiles_of_a_global_array_are_described_by_a_map(flag, compiled, recorded):
    recording = recorded(compiled(GLOBAL, "gcc", flag), data=MAP).recording
    assert sizes_of(recording) == TILES
    assert "sizes of all 16 data are those of the program's own map" in recording.notes
    graph = recording.graph
    (kernel,) = (at for at, names in enumerate(graph.parameter_names) if names)
    assert sorted(graph.parameters[kernel].ravel().tolist()) == sorted(set(TILES.values()))


def test_a_program_describes_its_own_data(compiled, recorded):
    recording = recorded(compiled(OWN_PROGRAM)).recording
    assert sizes_of(recording) == {**TILES, "x": 56}
    assert "no depend clause names unused" in recording.notes
    (note,) = (note for note in recording.notes if note.startswith("$TASKSIM_DATA_MAP"))
    assert "1 lines are left out; line 3: got 'x 0x" in note
    assert note.endswith("legal: NAME ADDRESS BYTES [element=N] [tile=ROWSxCOLUMNS] [leading=N] "
                         "[datum=N]")  # fmt: skip


def test_names_that_are_no_data_are_told(compiled, recorded):
    recording = recorded(compiled(GLOBAL), data={"B": None, "AA": {}}).recording
    said = [note for note in recording.notes if note.startswith("no data are called")]
    assert said[0].startswith("no data are called 'B': the program has not written it to $TASKSIM")
    assert len(said) == 2
    assert any(note.startswith("sizes of data are guessed") for note in recording.notes)


def test_a_map_in_a_file_and_wrong_ones(compiled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = compiled(GLOBAL)
    Path("map.yaml").write_text("A: {tile: [32, 32], leading: 100, element: 8}\n")
    done = CliRunner().invoke(cli, ["record", "--data", "map.yaml", str(program)])
    assert done.exit_code == 0, done.output
    assert "sizes of all 16 data are those of the program's own map" in done.stderr
    Path("map.yaml").write_text("A: {tile: [32], leading: 0}\nB: {tiles: 3}\n")
    done = CliRunner().invoke(cli, ["record", "--data", "map.yaml", str(program)])
    assert done.exit_code == 2
    for message in (
        "map.yaml:1:11: A.tile: must have 2 entries (got [32])",
        "map.yaml:1:26: A.leading: must be at least 1 (got 0)",
        "map.yaml:2:5: B.tiles: unknown field (got 'tiles', legal element, tile, leading, datum)",
    ):
        assert message in done.stderr, done.stderr
    Path("script.py").write_text("")
    done = CliRunner().invoke(cli, ["record", "--data", "map.yaml", "script.py"])
    assert "--data is for OpenMP programs" in done.stderr


def described(addresses, lines=(), given=None):
    found = data_map(given).describe(np.array(addresses, np.uint64), lines, Path("none"), ())
    return dict(zip(found.names, found.sizes.tolist(), strict=False)), found


def test_data_without_tiles():
    """A datum reaches to the next address or the end; a fixed size is said with ``datum``."""
    lines = ["x 0x1000 100", "y 0x2000 100 datum=48", "z 3000 64 tile=2x2 element=4", "w 4000 9"]
    places = [0x1000, 0x1028, 0x2000, 0x2030, 0x2060, 0x3010, 0x4000, 0x9000, 0x9100]
    sizes, found = described(places, lines)
    assert sizes == {
        "x+0": 0x28, "x+40": 100 - 0x28, "y[0]": 48, "y[1]": 48, "y[2]": 4, "z[1]": 16, "w": 9,
        "data[7]": 0x100, "data[8]": 0x100,
    }  # fmt: skip
    assert found.notes == (
        "sizes of 4 of 9 data are guessed from the distances of their addresses",
    )


def test_numbers_of_any_size_are_no_more_than_the_data():
    whole = {"element": 2**48, "tile": [2**48, 2**48], "leading": 2**48}
    assert described([0x1000], ["x 0x1000 64"], {"x": whole})[0] == {"x[0, 0]": 64}
    _, found = described([0x1000], ["x ffffffffffffffff 64"])
    assert "1 lines are left out" in found.notes[0]


def test_what_the_program_says_counts_more_than_the_map():
    lines = ["x 0x1000 64 datum=16"]
    assert described([0x1010], lines, {"x": {"datum": 32}})[0] == {"x[1]": 16}
    assert described([0x1010], ["x 0x1000 64"], {"x": {"datum": 32}})[0] == {"x[0]": 32}


@given(
    st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(1, 9), st.integers(1, 16)
)
def test_tiles_cover_a_matrix(rows, columns, height, width, element):
    """First elements of all tiles: their sizes add up to the matrix."""
    base, size = 0x1000, rows * columns * element
    places = [
        base + element * (row * columns + column)
        for row in range(0, rows, height)
        for column in range(0, columns, width)
    ]
    line = f"A {base:x} {size} element={element} tile={height}x{width} leading={columns}"
    sizes, _ = described(places, [line])
    assert sum(sizes.values()) == size
    assert len(sizes) == -(-rows // height) * -(-columns // width)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "data: got list; legal: a mapping of names"),
        ({"A": 3}, r"data: A: must be a mapping \(got 3\)"),
        ({"A": {"tile": [3, 0]}}, r"data: A.tile\[1\]: must be at least 1"),
        ({"A": {"leading": 3}}, "data: A.leading: is for data with a tile"),
        ({"A": {"tile": [1, 2], "datum": 3}}, "data: A.datum: is in place of a tile"),
        ({"A": {"datum": True}}, "data: A.datum: must be a whole number"),
        ("missing.yaml", "missing.yaml: no such file"),
    ],
)
def test_wrong_maps_in_python(given, message):
    with pytest.raises(InputError, match=message):
        data_map(given)


@given(st.lists(st.text(max_size=40), max_size=4))
def test_any_lines_are_read_or_left_out(lines):
    _, found = described([0x1000, 0x2000], lines)
    assert len(found.sizes) == 2
