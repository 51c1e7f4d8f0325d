"""``--from RUN``: what a recorded run was made of, to make it again."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tasksim.base.errors import InputError
from tasksim.cli.setup import Request
from tasksim.models.document import FormatError, Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.engine.simulate import Noise
    from tasksim.run.record import Run

__all__ = ["changed_files", "noise_of", "request_of"]


def request_of(run: Run, where: Path) -> Request:
    """Return what a simulated *run*, read from *where*, was asked for.

    Files are looked for where they were, then by the names under which the libraries have them.

    Raises :exc:`InputError` if the run was not simulated by the command line.
    """
    if run.kind != "simulated":
        raise InputError(f"{where}: a {run.kind} run cannot be repeated, only a simulated one")
    with _explained(where):
        return _request(Node(run.config, ("config",)))


def noise_of(run: Run, where: Path) -> Noise:
    """Return what the tasks of a simulated *run*, read from *where*, cost."""
    node = Node(run.config, ("config",)).get("noise", "none")
    with _explained(where):
        if node.value not in ("none", "model"):
            raise node.expected("'none' or 'model'")
    return cast("Noise", node.value)


@contextmanager
def _explained(where: Path) -> Iterator[None]:
    """Say of a configuration that cannot be read what that means."""
    try:
        yield
    except FormatError as error:
        raise InputError(
            f"{where}: it does not say how to repeat the run: {error}; "
            "'tasksim simulate -o' writes runs that do"
        ) from None


def changed_files(run: Run) -> list[str]:
    """Return the files that the run depends on and that are not as they were."""
    digests = Node(run.config, ("config",)).get("sha256", {})
    return [path for path, digest in digests.items() if _sha256(Path(path)) != digest.value]


def _sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _request(config: Node) -> Request:
    graph, platform, models = config["graph"], config["platform"], config["models"]
    constants = models["durations_s"]
    given = constants.value is not None
    return Request(
        graph=_place(graph) or "",
        settings=tuple(node.text() for node in graph["settings"]),
        platform=_place(platform),
        workers=None if platform["workers"].value is None else platform["workers"].integer(),
        models=None if given else _place(models),
        durations=_durations(constants) if given else None,
        model_names=_text(models["names"]),
        library=_folder(_text(config["library"])),
        changes=tuple(node.text() for node in platform["set"]),
    )


def _text(node: Node) -> str | None:
    return None if node.value is None else node.text()


def _place(entry: Node) -> str | None:
    """Return the path of something if it is still there, else its name."""
    path, name = _text(entry["path"]), _text(entry["name"])
    return path if path is not None and (Path(path).exists() or name is None) else name


def _durations(seconds: Node) -> str:
    return ",".join(f"{kernel}={node.number()!r}" for kernel, node in seconds.items())


def _folder(path: str | None) -> Path | None:
    return Path(path) if path is not None and Path(path).is_dir() else None
