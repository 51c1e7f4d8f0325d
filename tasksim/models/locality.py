"""Extra duration of a kernel whose data have left the cache.

A kernel's measured durations depend on when its data were last used, which a scheduler decides:
one that walks through the whole matrix between two uses of a tile finds it in main
memory, one that stays near finds it in the cache. With *far bytes*, those whose reuse distance
exceeds the reach of the cache that the workers share,

    duration = model(parameters) + s * (far bytes - mean share * accessed bytes)

where *s* is in seconds per byte and the mean share is that of the samples, so that
on average the model's own duration remains.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Locality"]


@dataclass(frozen=True, slots=True)
class Locality:
    """The effect of far data on one kernel's duration on one architecture."""

    reach_bytes: float
    """Bytes that other accesses may touch before a datum counts as far."""
    seconds_per_far_byte: float
    mean_far_share: float
    """The share of far bytes among the bytes that the samples accessed."""

    def __post_init__(self) -> None:
        values = asdict(self)
        for name, value in values.items():
            if not (isinstance(value, int | float) and isfinite(value) and value >= 0):
                raise InputError(f"locality: {name} must be a number of at least 0 (got {value!r})")
        if self.mean_far_share > 1:
            raise InputError(f"locality: mean_far_share is at most 1 (got {self.mean_far_share})")

    def to_json(self) -> dict[str, float]:
        """Return the locality as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Locality:
        """Read what :meth:`to_json` returned; raise :exc:`InputError` for a wrong key."""
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"locality: {error}") from None
