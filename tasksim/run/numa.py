"""Accesses of a run's tasks between the memory domains of its machine, and the time they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.documents.json_document import JsonNode

__all__ = ["NumaUse", "of_nodes"]


class NumaUse(NamedTuple):
    """Accesses between memory domains, and their effect on the durations of tasks.

    Parameters
    ----------
    domains : tuple of str
        Names of the memory domains.
    accessed_bytes : tuple of tuple of float
        Bytes accessed by the tasks of each domain (row) in the memory of each (column). What a
        domain's cache held of other domains counts as its own.
    extra_s : tuple of float
        Per domain, the additional time of its tasks, compared with all data in its own memory, in
        seconds; negative if that memory alone would have been slower.

    See Also
    --------
    tasksim.platform.parts.Numa : Costs of remote accesses.

    Examples
    --------
    >>> use = NumaUse(("numa0", "numa1"), ((6.0, 2.0), (0.0, 8.0)), (0.5, 0.0))
    >>> use.remote_bytes, use.remote_share
    (2.0, 0.125)
    """

    domains: tuple[str, ...]
    accessed_bytes: tuple[tuple[float, ...], ...]
    extra_s: tuple[float, ...]

    @property
    def remote_bytes(self) -> float:
        """Bytes accessed in the memory of other domains."""
        rows = enumerate(self.accessed_bytes)
        return float(sum(sum(row) - row[domain] for domain, row in rows))

    @property
    def remote_share(self) -> float:
        """Share of the accessed bytes that are in the memory of other domains."""
        total = sum(map(sum, self.accessed_bytes))
        return self.remote_bytes / total if total else 0.0

    @property
    def total_extra_s(self) -> float:
        """Total additional time of all tasks, over all workers, in seconds."""
        return float(sum(self.extra_s))

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return self._asdict()

    @classmethod
    def from_json(cls, node: JsonNode) -> NumaUse:
        """Read what :meth:`to_json` returned; raise :exc:`InputError` for a wrong form."""
        domains = tuple(name.text() for name in node["domains"])
        rows = tuple(tuple(each.number() for each in row) for row in node["accessed_bytes"])
        extra_s = tuple(each.number() for each in node["extra_s"])
        if [len(row) for row in rows] != [len(domains)] * len(domains):
            raise node["accessed_bytes"].error(f"must be a row of {len(domains)} values per domain")
        if len(extra_s) != len(domains):
            raise node["extra_s"].error(f"got {len(extra_s)} values for {len(domains)} domains")
        return cls(domains, rows, extra_s)


def of_nodes(uses: Sequence[NumaUse | None]) -> NumaUse | None:
    """Return the accesses on all nodes of a cluster; None if none has any.

    >>> of_nodes([None, NumaUse(("ram",), ((3.0,),), (0.0,))])
    NumaUse(domains=('1.ram',), accessed_bytes=((3.0,),), extra_s=(0.0,))
    """
    known = [(node, use) for node, use in enumerate(uses) if use is not None]
    if not known:
        return None
    total = sum(len(use.domains) for _, use in known)
    domains: list[str] = []
    rows: list[tuple[float, ...]] = []
    for node, use in known:
        before, after = len(domains), total - len(domains) - len(use.domains)
        domains += [f"{node}.{name}" for name in use.domains]
        rows += [(*[0.0] * before, *row, *[0.0] * after) for row in use.accessed_bytes]
    extra_s = tuple(each for _, use in known for each in use.extra_s)
    return NumaUse(tuple(domains), tuple(rows), extra_s)
