"""Backbone, a switch whose crossbar is one link that all messages share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.documents.sections import FLAG, given
from tasksim.network.description import Links
from tasksim.network.topologies.switch import BANDWIDTH, LATENCY, Switch, SwitchSection

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Backbone", "BackboneSection"]


@dataclass(frozen=True)
class Backbone:
    """A *switch* with a shared link in its middle, which has number 0."""

    switch: Switch
    bandwidth_bytes_per_s: float
    latency_s: float
    shared: bool = True

    def __str__(self) -> str:
        return "backbone"

    @property
    def nodes(self) -> int | None:
        """Number of hosts."""
        return self.switch.nodes

    def sized(self, nodes: int) -> Backbone:
        """Return the topology with *nodes* hosts."""
        return replace(self, switch=self.switch.sized(nodes))

    @property
    def link_count(self) -> int:
        """Number of links."""
        return 1 + self.switch.link_count

    @property
    def links(self) -> Links:
        """The backbone, then the links of the hosts."""
        backbone = (self.bandwidth_bytes_per_s, self.latency_s, self.shared)
        return Links.joined([Links.of([backbone]), self.switch.links])

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the links up, the backbone and the links down."""
        switch = self.switch
        if source == target and switch.loopback is not None:
            return tuple(link + 1 for link in switch.route(source, target))
        up = (link + 1 for link in switch.up(source))
        down = (link + 1 for link in switch.down(target))
        return (*up, 0, *down)

    def routes(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the routes from each *source* to its *target*, another host: a row each."""
        up = [link + 1 for link in self.switch.up(source)]
        down = [link + 1 for link in self.switch.down(target)]
        return np.stack([*up, np.zeros_like(source), *down], axis=1)

    @property
    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """The backbone, and the kinds of the switch."""
        kinds = self.switch.kinds.items()
        return {"backbone": np.array([0]), **{kind: links + 1 for kind, links in kinds}}

    def link_name(self, link: int) -> str:
        """Return the name of the link."""
        return self.switch.link_name(link - 1) if link else "backbone"


class BackboneSection(SwitchSection):
    """Section of a backbone, with the fields of a switch and its own."""

    backbone_bandwidth: float = given(BANDWIDTH, description="bandwidth of the shared link")
    backbone_latency: float = given(LATENCY, 0, "latency of the shared link")
    backbone_shared: bool = given(FLAG, True, "whether messages share its bandwidth")

    def build(self) -> Any:
        """Return the topology."""
        return Backbone(
            super().build(), self.backbone_bandwidth, self.backbone_latency, self.backbone_shared
        )


BackboneSection.fields = {**SwitchSection.fields, **BackboneSection.fields}
