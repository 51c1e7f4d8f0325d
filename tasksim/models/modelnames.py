"""Names of kernel models that differ from their kernels' names, as a pattern or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, option, short, unknown
from tasksim.base.files import is_file

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["KERNEL_PLACEHOLDER", "ModelNames", "model_names_of", "named", "text_of"]

ModelNames = str | tuple[tuple[str, str], ...]
"""A pattern with ``{kernel}`` in it, or pairs of a kernel and its model."""

KERNEL_PLACEHOLDER: Final = "{kernel}"
"""The placeholder for the kernel's name in a pattern."""

_FILES: Final = (".yaml", ".yml", ".json")


def model_names_of(given: Any) -> ModelNames | None:
    """Return *given* as a pattern, or as pairs of a kernel and its model; None stays None.

    Parameters
    ----------
    given : str, path, mapping, sequence of pairs or None
        ``"chol_model_{kernel}"``; ``"potrf=chol_model_11,trsm=chol_model_21"``, or the same as a
        mapping; or a YAML file with such a mapping, which is read.

    Raises
    ------
    InputError
        If it is none of these, or names a kernel twice.

    Examples
    --------
    >>> model_names_of("potrf=chol_model_11, trsm=chol_model_21")
    (('potrf', 'chol_model_11'), ('trsm', 'chol_model_21'))
    >>> model_names_of("chol_model_{kernel}")
    'chol_model_{kernel}'
    """
    if given is None or (
        isinstance(given, str) and KERNEL_PLACEHOLDER in given and "=" not in given
    ):
        return given
    if isinstance(given, PathLike) or (isinstance(given, str) and _is_file(given)):
        return _checked(_of_file(Path(given)), given)
    if isinstance(given, Mapping):
        return _checked(given.items(), given)
    if isinstance(given, str):
        return _checked((item.partition("=")[::2] for item in given.split(",")), given)
    return _checked(given, given)


def named(
    names: ModelNames, own: Mapping[str, str], known: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return the names of the models of the kernels in *own*.

    Parameters
    ----------
    names : str or pairs
        As returned by :func:`model_names_of`.
    own : mapping of str to str
        Kernel -> default name of its model, used if *names* has none.
    known : iterable of str, optional
        Other kernels that *names* may contain; they are ignored.

    Raises
    ------
    InputError
        If *names* has a kernel that is neither in *own* nor in *known*.
    """
    if isinstance(names, str):
        return tuple(names.replace(KERNEL_PLACEHOLDER, kernel) for kernel in own)
    legal = {*own, *(known or ())}
    for kernel, _ in names:
        if kernel not in legal:
            raise unknown("kernel", kernel, own, option("model_names"))
    return tuple((dict(own) | dict(names))[kernel] for kernel in own)


def text_of(names: ModelNames) -> str:
    """Return *names* in the form of the command line.

    >>> text_of((("potrf", "chol_model_11"), ("trsm", "chol_model_21")))
    'potrf=chol_model_11,trsm=chol_model_21'
    """
    return names if isinstance(names, str) else ",".join(map("=".join, names))


def _is_file(text: str) -> bool:
    """Return whether *text* names a file: an existing one, or one with a known suffix."""
    path = Path(text)
    return is_file(path) or ("=" not in text and path.suffix in _FILES)


def _of_file(path: Path) -> Iterable[tuple[Any, Any]]:
    """Return the pairs in a YAML file; raise an error with the place of each wrong value."""
    from tasksim.base.documents import FileProblem
    from tasksim.base.documents.yaml_document import ProblemReport, YamlDocument

    document = YamlDocument.read(path, "a mapping, KERNEL: MODEL")
    problems = [
        FileProblem((kernel,), f"must be the name of a model (got {model!r:.40})")
        for kernel, model in document.data.items()
        if not (isinstance(model, str) and model)
    ]
    report = ProblemReport([document])
    report.add([*document.problems, *problems])
    if report.errors:
        raise report.error()
    return document.data.items()


def _checked(pairs: Any, given: object) -> tuple[tuple[str, str], ...]:
    try:
        named = [(kernel.strip(), model.strip()) for kernel, model in pairs]
    except (TypeError, ValueError, AttributeError):
        raise _illegal(given) from None
    if not (named and all(kernel and model for kernel, model in named)):
        raise _illegal(given)
    kernels = [kernel for kernel, _ in named]
    for kernel in kernels:
        if kernels.count(kernel) > 1:
            raise InputError(f"{option('model_names')}: {kernel} is given twice")
    return tuple(named)


def _illegal(given: object) -> InputError:
    got = f"'{given}'" if isinstance(given, str) else short(given)
    return InputError(
        f"{option('model_names')}: got {got}; legal: a text with {KERNEL_PLACEHOLDER} in it, such "
        f"as 'prefix_{KERNEL_PLACEHOLDER}'; KERNEL=MODEL,KERNEL=MODEL; or a YAML file with a "
        "mapping of them"
    )
