"""Studies of few and small cells."""

from __future__ import annotations

import pytest

TEXT = """\
version: 1
name: small
graphs:
  - {graph: cholesky, set: {tiles: [3, 4]}}
  - qr tiles=3
platforms:
  - xeon-2c
  - {platform: xeon-24c, set: {workers.cpu.count: [4, 8]}}
schedulers:
  - lws
  - {scheduler: dmdas, set: {beta: [1, 2]}}
seeds: 2
noise: model
"""
CELLS = 3 * 3 * 3 * 2


@pytest.fixture
def study_file(tmp_path):
    """A function that writes a study file: the small one, with texts replaced."""

    def write(*replaced, text=TEXT, name="study.yaml"):
        for before, after in replaced:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
