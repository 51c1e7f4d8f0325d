"""Completion of names in shells: generators, their settings, schedulers, platforms, models.

Click asks while a user types; what it completes by itself are commands, options and their choices.
Nothing of a user's is imported meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from click.shell_completion import CompletionItem

from tasksim.base.errors import TasksimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from click import Context

__all__ = ["complete"]


def complete(kind: str, ctx: Context, word: str) -> list[CompletionItem]:
    """Return the names of a *kind* that begin with *word*; where files are legal, else files.

    Parameters
    ----------
    kind : str
        ``graph``, ``setting``, ``scheduler``, ``platform`` or ``models``.
    ctx : click.Context
        The context of the command, with the parameters before *word*.
    word : str
        The word so far.
    """
    names, files = _NAMES[kind]
    found = [CompletionItem(name) for name in names(ctx) if name.startswith(word)]
    return found or [CompletionItem(word, type="file")] * files


def _graphs(ctx: Context) -> Iterable[str]:  # noqa: ARG001
    from tasksim.graph.apps.registry import GENERATORS

    return GENERATORS.names()


def _settings(ctx: Context) -> Iterable[str]:
    """Return ``KEY=`` of the generator that the command line names, without those given."""
    from tasksim.graph.apps.registry import GENERATORS

    name = ctx.params.get("graph")
    if not isinstance(name, str) or name not in GENERATORS:
        return []
    try:
        parameters = GENERATORS.find(name).parameters
    except TasksimError:  # a broken one of another package
        return []
    given = {text.partition("=")[0] for text in ctx.params.get("settings") or ()}
    return [f"{p.name}=" for p in parameters if p.name not in given]


def _schedulers(ctx: Context) -> Iterable[str]:  # noqa: ARG001
    from tasksim.schedulers.registry import SCHEDULERS

    return SCHEDULERS.names()


def _platforms(ctx: Context) -> Iterable[str]:
    from tasksim.base.library import names

    found = names("platforms", ".yaml", ctx.params.get("library"))
    return [name for name, path in found.items() if path.is_file()]


def _models(ctx: Context) -> Iterable[str]:
    from tasksim.base.library import names

    found = names("models", library=ctx.params.get("library"))
    return [name for name, path in found.items() if path.is_dir()]


_NAMES: Final[dict[str, tuple[Callable[[Context], Iterable[str]], bool]]] = {
    "graph": (_graphs, True),
    "setting": (_settings, False),
    "scheduler": (_schedulers, False),
    "platform": (_platforms, True),
    "models": (_models, True),
}
"""The names of each kind, and whether a file is legal in their place."""
