"""Reader and writer of platform files.

A file may extend another, settings may change it; the result is checked as a whole and all that
is wrong is told at once, each with the file, line and column, or the setting, that it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from tasksim.base.documents.yaml_document import YamlDocument
from tasksim.base.errors import InputError
from tasksim.base.files import write_text
from tasksim.platform import cross_references, schema
from tasksim.platform.build import build
from tasksim.platform.inheritance import merged, platform_path, read_layers
from tasksim.platform.schema import PlatformFile

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.base.documents.places import ProblemReport
    from tasksim.base.documents.sections import Found
    from tasksim.platform.description import Platform

__all__ = ["dump", "load"]


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
        multiplies what is there; ``"platform.links.*.bandwidth=x2"`` changes several.

    Raises
    ------
    InputError
        No such platform, or anything wrong with the file or the settings: all of it at once, one
        line each.

    See Also
    --------
    dump : writes a platform file.
    tasksim.load_platform : also reads platforms of other formats.

    Examples
    --------
    >>> load("identical-8", settings=["platform.workers.cpu.count=2"]).summary()
    'identical-8: 2 cpu; 1 memory: ram; no overheads'
    """
    if isinstance(settings, str):
        raise InputError(f"settings: expected a list of texts, got the text {settings!r}")
    path = platform_path(str(name_or_path), library)
    return _resolve(YamlDocument.read(path), library, settings)


def dump(
    description: Mapping[str, Any],
    path: Path,
    *,
    comment: str = "Written by tasksim.",
    library: Path | None = None,
) -> Platform:
    """Write a platform file, all or nothing, and return the platform it describes.

    Parameters
    ----------
    description : mapping
        The fields of the file, quantities as text with units
        (:func:`tasksim.base.units.exact_quantity` writes them so that they read back to the same
        float); ``version`` may be left out.
    path : Path
        An existing file is replaced.
    comment : str, default "Written by tasksim."
        The first line: what wrote it and when.
    library : Path, optional
        A folder whose ``platforms/`` is searched first for what the file extends.

    Raises
    ------
    InputError
        If the description is not valid; nothing is written.

    See Also
    --------
    load : reads it back.

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
    platform = _resolve(YamlDocument.parse(text, path), library, ())
    write_text(path, text)
    return platform


def _resolve(document: YamlDocument, library: Path | None, settings: Sequence[str]) -> Platform:
    """Return the platform of a document: extended, set, checked, built."""
    report = read_layers(document, library)
    data = merged(report.documents)
    cross_references.fill_defaults(data)
    if settings:
        _change(report, data, settings)
    found: Found = []
    file = PlatformFile.read(data, (), found)
    report.add(found)
    report.add(cross_references.problems(data))
    if report.errors:
        raise report.error()
    return build(file, document.path)


def _change(report: ProblemReport, data: dict[str, Any], settings: Sequence[str]) -> None:
    """Apply *settings* to *data*, and note what is wrong with them."""
    from tasksim.platform.settings import Settings

    changes = Settings(data)
    changes.apply(settings)
    report.settings = changes.sources
    for setting, what in changes.errors:
        report.note(f"--set {setting}", what)


def _text(description: Mapping[str, Any], comment: str) -> str:
    """Return the YAML of a description: a line per named thing."""
    data = _without_numpy({"version": schema.VERSION, **description})
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    try:
        body = _yaml(data, escaped=False)
        if yaml.safe_load(body) != data:
            # A rare line break, which PyYAML writes as it is and reads back as a space.
            body = _yaml(data, escaped=True)
    except yaml.representer.RepresenterError as error:
        value = error.args[-1]
        raise InputError(f"cannot write {value!r} to a platform file: not a plain value") from None
    return head + body


def _yaml(data: Mapping[str, Any], *, escaped: bool) -> str:
    return yaml.safe_dump(
        data, sort_keys=False, default_flow_style=None, width=100, allow_unicode=not escaped
    )


def _without_numpy(value: Any) -> Any:
    """Return *value* with plain containers, and plain numbers for NumPy's."""
    if isinstance(value, Mapping):
        return {str(key): _without_numpy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numpy(item) for item in value]
    return value.item() if hasattr(value, "item") else value
