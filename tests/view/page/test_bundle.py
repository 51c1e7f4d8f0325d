"""The script: what its sources may and may not hold."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tasksim.view.page import document as module
from tasksim.view.page.document import bundle, source

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = sorted((Path(module.__file__).parent / "script").glob("*.js"))
MAINS = ("main", "livemain", "liveworker")
"""The modules that begin: a page of runs, a live page, its worker."""
DECLARED = re.compile(r"^(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)


def test_the_bundle_has_all_modules_after_those_that_they_import():
    wholes = [bundle(main) for main in MAINS]
    for script in SCRIPTS:
        opening = script.read_text().splitlines()[0]
        assert {whole.count(opening) for whole in wholes} in ({0, 1}, {1})
    whole = wholes[0]
    assert whole.index("class Coverage") < whole.index("class Scene") < whole.index("class App")
    assert not any(re.search(r"^(import|export) ", whole, re.MULTILINE) for whole in wholes)


def test_names_are_unique_over_all_modules():
    for main in MAINS:
        names = DECLARED.findall(bundle(main))
        assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_module_is_one_concept_and_reaches_nothing_outside(script):
    # The ends of shapes end no script.
    text = re.sub("</(defs|line|pattern|rect|svg|text|title)>", "", script.read_text())
    assert text.startswith("// ")
    assert len(text.splitlines()) <= 400
    for forbidden in ("</", "eval(", "innerHTML", "fetch(", "XMLHttp", "import(", "WebSocket"):
        assert forbidden not in text, forbidden
    links = set(re.findall(r"https?://[^\s\"']*", text))
    assert links <= {"http://www.w3.org/2000/svg"}


def test_what_is_imported_is_exported():
    for script in SCRIPTS:
        for names, other in re.findall(
            r'import \{([^}]*)\} from "\./(\w+)\.js"', script.read_text()
        ):
            text = source(f"script/{other}.js")
            for name in re.split(r",\s*", names.strip().strip(",")):
                assert re.search(
                    rf"^export (async )?(function|class|const) {name}\b", text, re.M
                ), name


@pytest.mark.skipif(not shutil.which("node"), reason="no Node here: apt-get install nodejs")
@pytest.mark.parametrize("main", MAINS)
def test_the_bundle_is_javascript(tmp_path, main):
    path = tmp_path / "bundle.mjs"
    path.write_text(bundle(main))
    subprocess.run(["node", "--check", path], check=True, timeout=60)


def test_wheels_have_all_that_a_page_is_made_of():
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    inside = {file.distribution_path for file in builder.recurse_included_files()}
    needed = [Path(module.__file__).parent / name for name in ("page.html", "style.css")]
    assert {str(path.relative_to(ROOT)) for path in [*SCRIPTS, *needed]} <= inside
