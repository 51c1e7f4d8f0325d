"""`tasksim demo`: the printing; the demo itself is tested with the study."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.mark.parametrize(
    ("refused", "said"),
    [("", ""), ("no core", "Note: d/live.html shows the recording only: no core\n")],
)
def test_prints_the_table_or_the_object(tasksim, monkeypatch, refused, said):
    from tasksim.reports import demo

    seen = []

    def everything(output, **options):
        options["progress"]("calibrating", 0.1)
        seen.append((str(output), options["workers"], options["force"]))
        return SimpleNamespace(
            table=lambda: "the table",
            to_json=lambda: {"median_error": 0.01},
            live_refused=refused,
        )

    monkeypatch.setattr(demo, "demo", everything)
    called = tasksim("demo --output d --workers 2")
    assert (called.code, called.out, called.err) == (0, "the table\n", f"{said}Wrote d\n")
    assert tasksim("demo --force --json").json == {"schema_version": 1, "median_error": 0.01}
    assert seen == [("d", 2, False), ("demo-output", None, True)]


def test_existing_outputs_need_force(tasksim, tmp_path, monkeypatch):
    from tasksim.reports import demo

    monkeypatch.setattr(demo, "demo", lambda *_, **__: pytest.fail("it ran"))
    (tmp_path / "demo-output").mkdir()
    called = tasksim("demo")
    assert called.code == 2
    assert called.errors == ["Error: demo-output exists; give --force to replace it"]
