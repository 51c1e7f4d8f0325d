"""Study files."""

from __future__ import annotations

import pytest
from study_cases import SMALL_STUDY


@pytest.fixture
def study_file(tmp_path):
    """A function that writes a study file: the small one, with texts replaced."""

    def write(*replaced, text=SMALL_STUDY, name="study.yaml"):
        for before, after in replaced:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
