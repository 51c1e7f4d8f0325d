"""Reader and writer of platform files.

A file may extend another, and settings may change it. The result is checked as a whole, and all
problems are reported at once, each with its file, line and column, or with its setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from tasksim.base.documents.yaml_document import YamlDocument
from tasksim.base.errors import InputError
from tasksim.base.files import write_text
from tasksim.platform import schema
from tasksim.platform.build import build
from tasksim.platform.cross_references import problems
from tasksim.platform.layers import layered, read_layered
from tasksim.platform.schema import PlatformFile

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.base.documents.sections import FileProblems
    from tasksim.base.documents.yaml_document import ProblemReport
    from tasksim.platform.description import Platform

__all__ = ["described", "dump", "load", "settable"]


def load(
    name_or_path: str | Path, library: Path | None = None, settings: Sequence[str] = ()
) -> Platform:
    """Return the platform of a file.

    Parameters
    ----------
    name_or_path : str or Path
        The name of a platform in one of the libraries, or the path of a file.
    library : Path, optional
        A folder whose ``platforms/`` is searched first.
    settings : sequence of str, default ()
        Changes to the file: ``"platform.workers.cpu.count=24"``; ``"platform.arch.cpu.speed=x1.5"``
        multiplies the value; ``"platform.links.*.bandwidth=x2"`` changes several.

    Raises
    ------
    InputError
        If there is no such platform, or the file or the settings are wrong: all problems at once, a
        line each.

    See Also
    --------
    dump : Write a platform file.
    tasksim.load_platform : Read platforms of other formats, too.

    Examples
    --------
    >>> load("identical-8", settings=["platform.workers.cpu.count=2"]).summary()
    'identical-8: 2 cpu; 1 memory: ram; no overheads'
    """
    if isinstance(settings, str):
        raise InputError(f"settings: expected a list of texts, got the text {settings!r}")
    return _built(*read_layered(str(name_or_path), library, settings))


def settable(
    name_or_path: str | Path, library: Path | None = None, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the data of a platform file, in which :func:`load` applies *settings*.

    Its sections have the names that paths of settings have: ``data["workers"]["cpu"]`` is
    ``platform.workers.cpu``. Parameters and errors are those of :func:`load`.
    """
    report, data = read_layered(str(name_or_path), library, settings)
    if report.errors:
        raise report.error()
    return data


def dump(
    description: Mapping[str, Any], path: Path, *, comment: str = "Written by tasksim."
) -> Platform:
    """Write a platform file, all or nothing, and return the platform it describes.

    Parameters
    ----------
    description : mapping
        The fields of the file, quantities as text with units
        (:func:`tasksim.base.units.exact_quantity` writes them so that they read back to the same
        float); ``version`` may be left out.
    path : Path
        File to write or replace.
    comment : str, default "Written by tasksim."
        The first line: the origin and the date of the file.

    Raises
    ------
    InputError
        If the description is not valid; nothing is written.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     platform = dump({"workers": {"cpu": {"count": 2}}}, Path(folder, "two.yaml"))
    >>> platform.summary()
    'two: 2 cpu; 1 memory: ram; no overheads'
    """
    text = _text(description, comment)
    platform = _built(*layered(YamlDocument.parse(text, path), None))
    write_text(path, text)
    return platform


def described(description: Mapping[str, Any], path: Path) -> Platform:
    """Return the platform of a description as for :func:`dump`, without a file.

    *path* is the origin of the description, a file of another format.
    """
    return _built(*layered(YamlDocument.parse(_text(description, "From"), path), None))


def _built(report: ProblemReport, data: dict[str, Any]) -> Platform:
    """Return the platform of *data* after checks; *report* has the problems so far."""
    found: FileProblems = []
    file = PlatformFile.read(data, (), found)
    report.add(found)
    report.add(problems(data))
    if report.errors:
        raise report.error()
    return build(file, report.documents[0].path)


def _text(description: Mapping[str, Any], comment: str) -> str:
    """Return the YAML of a description, a line per named part."""
    data = _without_numpy({"version": schema.VERSION, **description})
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    try:
        body = _yaml(data, allow_unicode=True)
        if yaml.safe_load(body) != data:
            # PyYAML writes rare line breaks as they are, but reads them as spaces.
            body = _yaml(data, allow_unicode=False)
    except yaml.representer.RepresenterError as error:
        value = error.args[-1]
        raise InputError(f"cannot write {value!r} to a platform file: not a plain value") from None
    return head + body


def _yaml(data: Mapping[str, Any], *, allow_unicode: bool) -> str:
    return yaml.safe_dump(
        data, sort_keys=False, default_flow_style=None, width=100, allow_unicode=allow_unicode
    )


def _without_numpy(value: Any) -> Any:
    """Return *value* with plain containers, and plain numbers for NumPy's."""
    if isinstance(value, Mapping):
        return {str(key): _without_numpy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numpy(item) for item in value]
    return value.item() if hasattr(value, "item") else value
