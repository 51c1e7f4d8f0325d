"""HTML of a kernel model for notebooks: its kind, its formula, its measured range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.notebook import html_summary

if TYPE_CHECKING:
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["kernel_html"]


def kernel_html(model: KernelModel) -> str:
    """Return *model* as HTML for a notebook."""
    facts = [("kind", model.kind), ("made with", repr(model)), *_learnt(model)]
    return html_summary(f"Kernel model {model.label}".strip(), facts)


def _learnt(model: KernelModel) -> list[tuple[str, str]]:
    """Return the facts that *model* learnt from samples."""
    if not hasattr(model, "names_"):
        return [("fitted", "not yet")]
    facts = [("parameters", ", ".join(model.names_) or "none")]
    if model.domain_:
        facts.append(("fitted to", model.measured()))
    formula = model.formula()
    return [*facts, ("seconds", formula)] if formula else facts
