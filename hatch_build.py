"""The hook of the build: compiles the core where there is a compiler, else installs pure Python."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tasksim.core.build import build, build_beside, build_recorder, build_recorder_beside
from tasksim.core.compiler import NotBuilt
from tasksim.core.library import (
    BUILT_LIBRARY,
    BUILT_RECORDER,
    RECORDER_WHY_NOT,
    WASM_PATH,
    WHY_NOT,
    units,
    wasm_status,
)
from tasksim.core.wheeltag import wheel_tag

INSIDE = "tasksim/core"
RECORDER_INSIDE = "tasksim/recording/openmp/recorder"


class CoreHook(BuildHookInterface):
    """Adds the core to wheels; for editable ones it is built where the sources are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the core, or say why there is none; never fails."""
        why = build_beside() if version == "editable" else self._add(build_data)
        if why is not None:
            self.app.display_warning(
                f"tasksim is installed without its compiled core: {why}\n"
                "It works as it is, slower. 'tasksim doctor' says the same."
            )
        why = build_recorder_beside() if version == "editable" else self._add_recorder(build_data)
        if why is not None:
            self.app.display_warning(f"tasksim cannot record OpenMP programs: {why}")
        if version != "editable":
            self._add_manual(build_data)
        found = wasm_status()
        if not found.available:
            self.app.display_info(f"tasksim has no core for browsers: it is {found.why}")
        elif version != "editable":  # data, the same for every machine
            build_data["force_include"][str(WASM_PATH)] = f"{INSIDE}/{WASM_PATH.name}"

    def _add(self, build_data: dict[str, Any]) -> str | None:
        """Put the core into the wheel, or the reason why there is none, which is returned."""
        folder = Path(self.root) / "build" / "core" / "wheel"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            made = build(folder / BUILT_LIBRARY.name, by_folder=True)
        except NotBuilt as error:
            reason = folder / WHY_NOT.name
            reason.write_text(f"{error}\n", encoding="utf-8")
            build_data["force_include"][str(reason)] = f"{INSIDE}/{WHY_NOT.name}"
            return str(error)
        build_data["force_include"][str(made)] = f"{INSIDE}/{BUILT_LIBRARY.name}"
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag(made)
        return None

    def _add_recorder(self, build_data: dict[str, Any]) -> str | None:
        """Put the recorder of OpenMP programs into the wheel, or the reason why there is none."""
        if not units(BUILT_RECORDER.parent):
            return None
        folder = Path(self.root) / "build" / "core" / "wheel"
        try:
            made = build_recorder(folder / BUILT_RECORDER.name)
        except NotBuilt as error:
            reason = folder / f"recorder-{RECORDER_WHY_NOT.name}"
            reason.write_text(f"{error}\n", encoding="utf-8")
            build_data["force_include"][str(reason)] = f"{RECORDER_INSIDE}/{RECORDER_WHY_NOT.name}"
            return str(error)
        build_data["force_include"][str(made)] = f"{RECORDER_INSIDE}/{BUILT_RECORDER.name}"
        build_data["pure_python"] = False
        tags = [wheel_tag(made), build_data.get("tag", "")]
        build_data["tag"] = max(tags, key=_strictness)
        return None

    def _add_manual(self, build_data: dict[str, Any]) -> None:
        """Put a man page of each command into the wheel."""
        generator = Path(self.root) / "docs" / "manpages.py"
        if not generator.is_file():
            return
        pages = run_path(str(generator))["write_pages"](
            Path(self.root) / "build" / "man", self.metadata.version
        )
        for page in pages:
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"


def _strictness(tag: str) -> tuple[bool, tuple[int, ...]]:
    """Return a key by which tags of wheels for fewer machines are larger."""
    version = re.search(r"manylinux_(\d+)_(\d+)", tag)
    return "-linux_" in tag, tuple(map(int, version.groups())) if version else ()
