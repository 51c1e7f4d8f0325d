"""``--from RUN``: what a recorded run was made of, to make it again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.cli.setup import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.run.record import Run

__all__ = ["changed_files", "request_of"]


def request_of(run: Run, where: Path) -> Request:
    """Return what a simulated *run*, read from *where*, was asked for.

    Files are looked for where they were, then by the names under which the libraries have them.

    Raises :exc:`InputError` if the run was not simulated by the command line.
    """
    if run.kind != "simulated":
        raise InputError(f"{where}: a {run.kind} run cannot be repeated, only a simulated one")
    try:
        return _request(run.config)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{where}: its configuration does not say how to repeat the run ({error!r}); "
            "'tasksim simulate -o' writes runs that do"
        ) from None


def changed_files(run: Run) -> list[str]:
    """Return the files that the run depends on and that are not as they were."""
    return [
        path
        for path, digest in run.config["sha256"].items()
        if not Path(path).is_file() or hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest
    ]


def _request(config: Mapping[str, Any]) -> Request:
    graph, platform, models = config["graph"], config["platform"], config["models"]
    constants = models["durations_s"]
    return Request(
        graph=_place(graph) or "",
        settings=tuple(graph["settings"]),
        platform=_place(platform),
        workers=platform["workers"],
        models=None if constants is not None else _place(models),
        durations=None if constants is None else _durations(constants),
        model_names=models["names"],
        library=_folder(config["library"]),
        changes=tuple(platform["set"]),
    )


def _place(entry: Mapping[str, Any]) -> str | None:
    """Return the path of something if it is still there, else its name."""
    path: str | None = entry["path"]
    name: str | None = entry["name"]
    return path if path is not None and (Path(path).exists() or name is None) else name


def _durations(seconds: Mapping[str, float]) -> str:
    return ",".join(f"{kernel}={value!r}" for kernel, value in seconds.items())


def _folder(path: str | None) -> Path | None:
    return Path(path) if path is not None and Path(path).is_dir() else None
