"""Co-processors of a topology, with their memories and the PCI links that lead to them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.formats.hwloc.topology import HwlocObject, Topology

__all__ = ["CoProcessor", "co_processors", "other_devices"]

ARCHITECTURE_OF_SUBTYPE: Final = {
    "CUDA": "cuda",
    "NVML": "cuda",
    "RSMI": "hip",
    "LevelZero": "ze",
    "OpenCL": "opencl",
    "MIC": "mic",
    "VectorEngine": "ve",
}
"""Subtype of an OS device -> architecture of its workers; the first one of a device counts."""
ARCHITECTURE_OF_VENDOR: Final = {"10de": "cuda", "1002": "hip", "8086": "ze"}
"""PCI vendor -> architecture, for devices known from PCI alone: an lstopo without CUDA, such as
Debian's, sees no more."""
GPU_CLASSES: Final = ("0302", "0380", "12")
"""Prefixes of the PCI classes of co-processors: 3D controllers, other display controllers,
processing accelerators."""
NVIDIA_VENDOR: Final = "10de"
DISPLAY_CLASS: Final = "03"
"""Prefix of the PCI classes of all display controllers: those of NVIDIA compute, too."""
MEMORY_INFOS: Final = (
    "CUDAGlobalMemorySize", "RSMIVRAMSize", "LevelZeroHBMSize", "LevelZeroDDRSize",
    "OpenCLGlobalMemorySize", "MICMemorySize", "VectorEngineMemorySize",
)  # fmt: skip
DEVICE_WORDS: Final = {
    "OSDev": "device{s} of the system, such as disks and networks",
    "PCIDev": "PCI device{s} of unknown kind",
}
_CLASS: Final = re.compile(r"([0-9a-fA-F]{4}) \[([0-9a-fA-F]{4}):")


@dataclass
class CoProcessor:
    """A GPU or another device that runs kernels."""

    architecture: str
    model: str
    size_bytes: int
    """Size of its memory; 0 if unknown."""
    cpus: int
    """Set of the processing units near it."""
    names: tuple[str, ...]
    """Names of its OS devices, such as ``cuda0``; or its address on the PCI bus."""
    parts: tuple[HwlocObject, ...] = field(default=(), repr=False)
    """The PCI device, if there is one, and its OS devices."""
    links: tuple[HwlocObject, ...] = field(default=(), repr=False)
    """PCI devices and bridges from the device towards the host."""
    by_class: bool = False
    """Whether only its PCI class identifies it."""

    @property
    def ids(self) -> set[str]:
        """Names of it and its parts in matrices of bandwidths."""
        return {part.identity for part in self.parts}


def co_processors(topology: Topology) -> list[CoProcessor]:
    """Return the co-processors, in the order of the file.

    The OS devices of one PCI device are one co-processor: CUDA, OpenCL and the driver's library
    each list a GPU.
    """
    parts: dict[int, list[HwlocObject]] = {}
    devices: dict[int, HwlocObject] = {}
    for device in topology.all_of("PCIDev", "OSDev"):
        if device.kind == "PCIDev":
            own = [it for it in device.below() if it.kind == "OSDev"]
        elif any(it.kind == "PCIDev" for it in device.above()):
            continue
        else:
            own = [device]
        parts[id(device)], devices[id(device)] = own, device
    found = []
    for key, own in parts.items():
        told = {it.subtype for it in own if it.infos.get("OpenCLDeviceType") != "CPU"}
        architecture = next(
            (name for kind, name in ARCHITECTURE_OF_SUBTYPE.items() if kind in told), ""
        )
        by_class = architecture == ""
        architecture = architecture or _by_pci(devices[key])
        if architecture:
            found.append(_co_processor(devices[key], own, architecture, by_class))
    return found


def _by_pci(device: HwlocObject) -> str:
    match = _CLASS.match(device.element.attributes.get("pci_type", ""))
    if match is None:
        return ""
    kind, vendor = match[1].lower(), match[2].lower()
    computes = kind.startswith(GPU_CLASSES) and vendor in ARCHITECTURE_OF_VENDOR
    draws = kind.startswith(DISPLAY_CLASS) and vendor == NVIDIA_VENDOR
    return ARCHITECTURE_OF_VENDOR[vendor] if computes or draws else ""


def _co_processor(
    device: HwlocObject, own: Sequence[HwlocObject], architecture: str, by_class: bool
) -> CoProcessor:
    around = list(device.above())
    cpus = next((it.cpus for it in around if it.cpus), 0)
    links = [it for it in (device, *around) if it.kind in ("PCIDev", "Bridge")]
    sizes = [it.size_info_bytes(*MEMORY_INFOS) for it in own]
    models = [it.infos["GPUModel"] for it in own if it.infos.get("GPUModel")]
    models = models or [device.infos.get("PCIDevice", "")]
    named = tuple(it.name for it in own if it.subtype in ARCHITECTURE_OF_SUBTYPE and it.name)
    address = device.element.attributes.get("pci_busid", "")
    parts = (device, *(it for it in own if it is not device))
    return CoProcessor(
        architecture, models[0].strip(), max(sizes, default=0), cpus,
        named or (address or architecture,), parts, tuple(links), by_class,
    )  # fmt: skip


def other_devices(topology: Topology, known: Sequence[CoProcessor]) -> Iterator[str]:
    """Yield the kinds of other devices, with their numbers."""
    used = {id(part) for device in known for part in device.parts}
    counts: Counter[str] = Counter()
    for device in topology.all_of("OSDev", "PCIDev"):
        has_parts = any(it.kind == "OSDev" for it in device.below())
        if id(device) not in used and not has_parts:
            counts[DEVICE_WORDS[device.kind]] += 1
    for noun, count in sorted(counts.items()):
        yield f"{count} {noun.format(s='s' if count > 1 else '')}"
