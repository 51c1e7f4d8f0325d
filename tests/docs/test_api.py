"""docs/api.txt has the signature of every public name, as the code has them now."""

import difflib
import importlib.util

from executed_pages import ROOT

import tasksim

spec = importlib.util.spec_from_file_location("api", ROOT / "docs" / "api.py")
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)

CHANGE_HINT = "the public interface has changed; if that is meant, run: python docs/api.py"


def difference(written, now):
    """Return the lines that differ, as a patch of docs/api.txt without its context."""
    lines = difflib.unified_diff(written.splitlines(), now.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++") and line[:1] != "@")


def test_the_public_interface_is_the_written_one():
    found = difference(api.API_FILE.read_text(encoding="utf-8"), api.text())
    assert not found, f"{CHANGE_HINT}\n{found}"


def test_every_public_name_has_a_line():
    lines = api.API_FILE.read_text(encoding="utf-8")
    missing = [name for name in tasksim.__all__ if f"tasksim.{name}" not in lines]
    assert missing == []


def test_a_changed_default_is_one_line_less_and_one_more(monkeypatch):
    def bounds(graph: str, tight: bool = True) -> None:
        """Change the signature of a public function."""

    monkeypatch.setattr(tasksim, "bounds", bounds, raising=False)
    lines = difference(api.API_FILE.read_text(encoding="utf-8"), api.text()).splitlines()
    assert [line[:16] for line in lines] == ["-tasksim.bounds(", "+tasksim.bounds("]
    assert lines[1] == "+tasksim.bounds(graph: str, tight: bool = True)"


def test_what_pages_import_is_public():
    assert ("tasksim.models.conformance", "check_model") in api.imported()
