"""Orders of buckets given by the user, parsed from an option per architecture."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, nearest, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Orders", "parse"]

MISSPELLING_SIMILARITY: Final = 0.75
"""Least similarity (difflib's ratio) of a misspelt name to the right one: ``cuda`` with two letters
swapped has 0.75, the two architectures ``cuda`` and ``cpu`` have 0.57."""


@dataclass(frozen=True)
class Orders:
    """Buckets of kernels, and the order of buckets of each architecture.

    ``slow[bucket][architecture]`` is the slowdown of an architecture relative to the bucket's
    fastest one, and 0 for the fastest one itself.
    """

    bucket_of: Mapping[str, int]
    orders: tuple[tuple[int, ...], ...]
    slow: tuple[tuple[float, ...], ...]
    fastest: tuple[int, ...]


def parse(given: Mapping[str, str], architectures: Sequence[str], kernels: Sequence[str]) -> Orders:
    """Return the orders of ``{"cpu": "potrf/trsm/gemm@11", "cuda": "gemm/trsm/potrf"}``.

    A list has the kernels of one architecture from first to last. The kernels of ``syrk+gemm``
    share a bucket. ``gemm@11`` means that this architecture takes 11 times as long as the fastest
    one, which is the first of *architectures* that lists the bucket without a factor. Lists of
    architectures that are not in *architectures* are ignored.

    Raises :exc:`InputError` for a misspelt architecture, an architecture without a list, a kernel
    in no list or in two buckets, and a factor that is not a number.

    >>> parse({"cpu": "potrf/gemm@11", "cuda": "gemm"}, ["cpu", "cuda"], ["potrf", "gemm"]).orders
    ((0, 1), (1,))
    """
    _refuse_misspelt(given, architectures)
    bucket_of: dict[str, int] = {}
    factors: list[dict[int, float]] = []
    for architecture in architectures:
        if architecture not in given:
            raise _no_order(architecture, given, architectures)
        entries = given[architecture].split("/")
        factors.append(dict(_entry(entry, architecture, bucket_of) for entry in entries))
    for kernel in kernels:
        if kernel not in bucket_of:
            raise InputError(
                f"scheduler 'heteroprio': no order has kernel '{kernel}'"
                f"{nearest(kernel, bucket_of)} (kernels in orders: {', '.join(bucket_of)})"
            )
    buckets = range(max(bucket_of.values()) + 1)
    slow = tuple(tuple(row.get(bucket, 0.0) for row in factors) for bucket in buckets)
    return Orders(
        bucket_of,
        tuple(tuple(row) for row in factors),
        slow,
        tuple(_fastest(bucket, factors) for bucket in buckets),
    )


def _refuse_misspelt(given: Mapping[str, str], architectures: Sequence[str]) -> None:
    """Raise :exc:`InputError` for an option that resembles an architecture or another option.

    Other unknown options are orders of architectures that this platform lacks: what-if scenarios
    remove devices.
    """
    legal = ["interval", "learned", *architectures]
    for option in given:
        if option not in architectures and get_close_matches(
            option, legal, n=1, cutoff=MISSPELLING_SIMILARITY
        ):
            raise unknown("option", option, legal, "scheduler 'heteroprio'")


def _no_order(
    architecture: str, given: Mapping[str, str], architectures: Sequence[str]
) -> InputError:
    legal = ["interval", "learned", *architectures]
    wrong = [option for option in given if option not in legal]
    hint = f"; unknown option '{wrong[0]}'{nearest(wrong[0], legal)}" if wrong else ""
    return InputError(
        f"scheduler 'heteroprio': architecture '{architecture}' has no order{hint}"
        f" (options: {', '.join(legal)})"
    )


def _entry(text: str, architecture: str, bucket_of: dict[str, int]) -> tuple[int, float]:
    names, at, factor = text.partition("@")
    kernels = names.split("+")
    if not all(kernels):
        raise InputError(
            f"scheduler 'heteroprio': option '{architecture}': '{text}' names no kernel;"
            " legal: KERNEL/KERNEL+KERNEL/KERNEL@FACTOR"
        )
    bucket = bucket_of.get(kernels[0], max(bucket_of.values(), default=-1) + 1)
    for kernel in kernels:
        if bucket_of.setdefault(kernel, bucket) != bucket:
            raise InputError(
                f"scheduler 'heteroprio': option '{architecture}':"
                f" kernel '{kernel}' is in two buckets"
            )
    return bucket, _factor(factor, architecture) if at else 0.0


def _factor(text: str, architecture: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = -1.0
    if factor >= 0.0:
        return factor
    raise InputError(
        f"scheduler 'heteroprio': option '{architecture}': got slow factor '{text}';"
        " legal: a number of at least 0"
    )


def _fastest(bucket: int, factors: Sequence[Mapping[int, float]]) -> int:
    listing = [index for index, row in enumerate(factors) if bucket in row]
    return next((index for index in listing if not factors[index][bucket]), listing[0])
