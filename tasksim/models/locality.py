"""Extra duration of a kernel whose data have left the cache.

A kernel's measured durations depend on when its data were last used, which a scheduler decides:
one that walks through the whole matrix between two uses of a tile finds it in main
memory, one that stays near finds it in the cache. The longer ago a datum was used, by the bytes
that others have accessed since (its reuse distance), the larger is its *far* part: none up to
``near_bytes``, all of it from ``reach_bytes`` on, and in proportion between. With the far bytes of
data that a task only reads, and of data that it writes,

    duration = model(parameters) + s_read * (far bytes read - mean share * bytes read)
                                 + s_written * (far bytes written - mean share * bytes written)

where the costs are in seconds per byte and the mean shares are those of the samples, so that
on average the model's own duration remains.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Locality"]

_DEFAULTS = {
    "near_bytes": "reach_bytes",
    "seconds_per_far_written_byte": "seconds_per_far_byte",
    "mean_far_written_share": "mean_far_share",
}
"""Fields that older files lack -> the field whose value they have then."""


@dataclass(frozen=True, slots=True)
class Locality:
    """The effect of far data on one kernel's duration on one architecture.

    Parameters
    ----------
    reach_bytes : float
        Bytes that other accesses may touch before a datum is wholly far.
    seconds_per_far_byte : float
        Cost of a far byte of data that a task only reads.
    mean_far_share : float
        Share of far bytes among the bytes of such data in the samples.
    near_bytes : float, optional
        Bytes that other accesses may touch while a datum is wholly near [default: *reach_bytes*].
    seconds_per_far_written_byte : float, optional
        Cost of a far byte of data that a task writes [default: *seconds_per_far_byte*].
    mean_far_written_share : float, optional
        Share of far bytes among those of data that the samples wrote [default: *mean_far_share*].
    cache_bytes : float, optional
        Size of the last-level cache where this was measured; None: unknown. The reach is for this
        size, and grows with it.

    Raises
    ------
    InputError
        For a number that is negative or not finite, a share above 1, *near_bytes* above
        *reach_bytes*, or a cache of no bytes.

    Examples
    --------
    >>> known = Locality(16e6, 5e-11, 0.4, cache_bytes=32e6)
    >>> known.near_bytes, known.seconds_per_far_written_byte
    (16000000.0, 5e-11)
    >>> known.on_cache(64e6).reach_bytes
    32000000.0
    """

    reach_bytes: float
    seconds_per_far_byte: float
    mean_far_share: float
    near_bytes: float = None  # type: ignore[assignment]  # filled in below
    seconds_per_far_written_byte: float = None  # type: ignore[assignment]
    mean_far_written_share: float = None  # type: ignore[assignment]
    cache_bytes: float | None = None

    def __post_init__(self) -> None:
        for name, default in _DEFAULTS.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(self, default))
        for name, value in self.to_json().items():
            if not (isinstance(value, int | float) and isfinite(value) and value >= 0):
                raise InputError(f"locality: {name} must be a number of at least 0 (got {value!r})")
        for name in ("mean_far_share", "mean_far_written_share"):
            if (share := getattr(self, name)) > 1:
                raise InputError(f"locality: {name} must be at most 1 (got {share})")
        if self.near_bytes > self.reach_bytes:
            more = f"reach_bytes, {self.reach_bytes} (got {self.near_bytes})"
            raise InputError(f"locality: near_bytes is at most {more}")
        if self.cache_bytes == 0:
            raise InputError("locality: cache_bytes must be above 0 (got 0)")

    @property
    def costs(self) -> bool:
        """Whether far data cost anything."""
        return bool(self.seconds_per_far_byte or self.seconds_per_far_written_byte)

    def on_cache(self, size_bytes: float) -> Locality:
        """Return the locality with a last-level cache of another size.

        The reach grows with the cache; if its size here is unknown, it becomes the new size.
        """
        factor = size_bytes / (self.cache_bytes or self.reach_bytes or size_bytes)
        near_bytes, reach_bytes = factor * self.near_bytes, factor * self.reach_bytes
        return replace(
            self, near_bytes=near_bytes, reach_bytes=reach_bytes, cache_bytes=float(size_bytes)
        )

    def to_json(self) -> dict[str, float]:
        """Return the locality as plain data."""
        known = asdict(self)
        if known["cache_bytes"] is None:
            del known["cache_bytes"]
        return known

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Locality:
        """Read what :meth:`to_json` returned; raise :exc:`InputError` for a wrong key."""
        names = [field.name for field in fields(cls)]
        for name in data:
            if name not in names:
                raise unknown("field", name, names, "locality")
        for name in names[: len(names) - len(_DEFAULTS) - 1]:
            if name not in data:
                raise InputError(f"locality: field '{name}' is missing")
        return cls(**data)
