"""Files as lstopo writes them, of a machine with two packages and a GPU."""

from __future__ import annotations

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
GPU = """\
    <object type="Bridge" gp_index="90" bridge_type="0-1" depth="0">
      <object type="PCIDev" gp_index="91" pci_busid="0000:04:00.0" pci_type="0302 [10de:1db4]"
        pci_link_speed="15.753846">
        <object type="OSDev" gp_index="92" name="cuda0" subtype="CUDA" osdev_type="5">
          <info name="GPUModel" value="Tesla V100"/>
          <info name="CUDAGlobalMemorySize" value="16777216"/>
        </object>
        <object type="OSDev" gp_index="93" name="opencl0d0" subtype="OpenCL" osdev_type="5"/>
      </object>
      <object type="PCIDev" gp_index="94" pci_busid="0000:05:00.0" pci_type="0200 [8086:1521]"
        pci_link_speed="0.500000">
        <object type="OSDev" gp_index="95" name="eth0" osdev_type="2"/>
      </object>
    </object>
"""


CACHES = (("L2Cache", 2**18, 2, 0), ("L1Cache", 2**15, 1, 1), ("L1iCache", 2**15, 1, 2))
"""Type, size in bytes, depth and kind of the caches of a core."""


def cache(kind: str, cpus: str, size: int, depth: int, of: int) -> str:
    """Return the beginning of a cache."""
    return (
        f'<object type="{kind}" cpuset="{cpus}" cache_size="{size}" depth="{depth}" '
        f'cache_type="{of}">'
    )


def cpuset(*units: int) -> str:
    """Return a set of processing units as hwloc writes it, in groups of 32."""
    mask = sum(1 << unit for unit in units)
    groups = range(max(units) // 32, -1, -1)
    return ",".join(f"0x{mask >> 32 * group & 0xFFFFFFFF:08x}" for group in groups)


def package(number: int, cores: int = 2, devices: str = "") -> str:
    """Return a package of cores with two hyper-threads each, and a NUMA node of 32 GiB."""
    first = 2 * cores * number
    units = range(first, first + 2 * cores)
    whole = cpuset(*units)
    lines = [
        f'<object type="Package" os_index="{number}" cpuset="{whole}" gp_index="{10 + number}">',
        '<info name="CPUModel" value="Some Processor 2.0"/>',
        f'<object type="NUMANode" os_index="{number}" cpuset="{whole}" '
        f'gp_index="{20 + number}" local_memory="{32 * 2**30}"/>',
        cache("L3Cache", whole, 20 * 2**20, 3, 0),
    ]
    for core in range(cores):
        own = units[2 * core : 2 * core + 2]
        cpus = cpuset(*own)
        lines += [cache(kind, cpus, size, depth, of) for kind, size, depth, of in CACHES]
        lines.append(f'<object type="Core" os_index="{core}" cpuset="{cpus}">')
        lines += [f'<object type="PU" os_index="{n}" cpuset="{cpuset(n)}"/>' for n in own]
        lines.append("</object></object></object></object>")
    return "\n".join([*lines, "</object>", f"{devices}</object>\n"])


def topology(*packages: str, beside: str = "", units: int = 32) -> str:
    """Return the file of a machine of some packages."""
    inside = "".join(packages)
    return (
        f'{HEAD}<topology version="2.0">\n'
        f' <object type="Machine" os_index="0" cpuset="{cpuset(*range(units))}" gp_index="1">\n'
        f'  <info name="HostName" value="tall"/>\n{inside} </object>\n{beside}</topology>\n'
    )


TWO_PACKAGES = topology(package(0), package(1))
WITH_GPU = topology(package(0), package(1, devices=GPU))
OLD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
 <object type="Machine" os_index="0" cpuset="0x0000000f" online_cpuset="0x0000000f">
  <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1073741824">
   <object type="Socket" os_index="0" cpuset="0x00000003">
    <object type="Cache" cpuset="0x00000003" cache_size="4194304" depth="2" cache_type="0">
     <object type="Core" os_index="0" cpuset="0x00000001">
      <object type="PU" os_index="0" cpuset="0x00000001"/>
     </object>
     <object type="Core" os_index="1" cpuset="0x00000002">
      <object type="PU" os_index="1" cpuset="0x00000002"/>
     </object>
    </object>
   </object>
  </object>
  <object type="NUMANode" os_index="1" cpuset="0x0000000c" local_memory="1073741824">
   <object type="Socket" os_index="1" cpuset="0x0000000c">
    <object type="Cache" cpuset="0x0000000c" cache_size="4194304" depth="2" cache_type="0">
     <object type="Core" os_index="0" cpuset="0x00000004">
      <object type="PU" os_index="2" cpuset="0x00000004"/>
     </object>
     <object type="Core" os_index="1" cpuset="0x00000008">
      <object type="PU" os_index="3" cpuset="0x00000008"/>
     </object>
    </object>
   </object>
   <object type="Bridge" os_index="0" bridge_type="0-1" depth="0" bridge_pci="0000:[00-01]">
    <object type="PCIDev" name="NVIDIA Corporation GK110" pci_busid="0000:01:00.0"
      pci_type="0302 [10de:1023] [10de:097e] a1" pci_link_speed="7.876923">
     <object type="OSDev" name="cuda0" osdev_type="5">
      <info name="CoProcType" value="CUDA"/>
      <info name="CUDAGlobalMemorySize" value="11796480"/>
     </object>
    </object>
   </object>
  </object>
 </object>
</topology>
"""
"""Version 1: NUMA nodes are around packages, which are sockets; caches have a depth."""
