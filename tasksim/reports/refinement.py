"""Refinement of counters' costs: a line through two clocks, or two loads of the memory.

``CPI = CPI_core + BF_mem T_mem``, both per instruction and in cycles (N. Ding et al., "APMT: an
automatic hardware counter-based performance modeling tool for HPC applications"). At a lower clock,
or without a load, memory takes fewer cycles, and computing as many as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.extras import needed_for
from tasksim.base.files import refuse_existing, write_text
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.counters.costs import refined
from tasksim.models.samples import HITS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    from tasksim.models.samples import Samples

__all__ = ["Refinement", "refinement"]

MIN_CHANGE: Final = 0.02
"""Least relative change of memory's cycles for a line: less is below the noise of timings."""
FILES: Final = ("points.csv", "lines.csv", "refinement.png")


@dataclass(frozen=True, eq=False)
class Refinement:
    """Lines through the points of each configuration.

    Attributes
    ----------
    points : pandas.DataFrame
        Per configuration and condition: its parameters, ``frequency_hz, latency_factor``,
        ``t_mem`` and ``cpi``, cycles per instruction of memory and in all.
    lines : pandas.DataFrame
        Per configuration: its parameters, ``cpi_core``, ``bf_mem``, and ``note`` if the line is
        none.
    names : tuple of str
        The parameters.
    """

    points: pd.DataFrame
    lines: pd.DataFrame
    names: tuple[str, ...]

    def figure(self) -> Figure:
        """Draw the points and lines: cycles per instruction over those of memory."""
        from tasksim.view.colours import PALETTE
        from tasksim.view.style import new_figure

        figure = new_figure(3.6)
        axes: Any = figure.add_subplot()
        most = float(self.points["t_mem"].max()) * 1.1
        for number, line in enumerate(self.lines.to_dict("records")):
            colour = PALETTE[number % len(PALETTE)]
            mine = self.points
            for name in self.names:
                mine = mine[mine[name] == line[name]]
            label = " ".join(f"{name}={line[name]:g}" for name in self.names)
            axes.plot(mine["t_mem"], mine["cpi"], "o", color=colour, markersize=4)
            if np.isfinite(line["bf_mem"]):
                x = np.array([0.0, most])
                y = line["cpi_core"] + line["bf_mem"] * x
                axes.plot(x, y, color=colour, linewidth=0.8, label=label)
        axes.set_xlim(0, most)
        axes.set_xlabel("T_mem: cycles of memory per instruction")
        axes.set_ylabel("cycles per instruction")
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside right upper", fontsize=7, frameon=False)
        return figure

    def write(self, folder: Path, *, force: bool = False) -> None:
        """Write tables and figure to *folder*."""
        for name in FILES:
            refuse_existing(folder / name, force=force)
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in ((FILES[0], self.points), (FILES[1], self.lines)):
            write_text(folder / name, table.to_csv(index=False, lineterminator="\n"))
        self.figure().savefig(folder / FILES[2], dpi=150, metadata={"Software": None})


def refinement(samples: Samples, latencies_s: Mapping[str, float]) -> Refinement:
    """Return the lines of counted *samples* at two clocks, or beside two loads of the memory.

    Parameters
    ----------
    samples : Samples
        With instructions and hits; ``frequency_hz`` or ``latency_factor`` differ.
    latencies_s : mapping
        Level of memory -> its latency.

    Raises
    ------
    InputError
        If there are no counters, or the samples have one clock and one load.
    """
    with needed_for("the split of a kernel's time"):
        import pandas as pd

    counters = samples.counters or {}
    if "instructions" not in counters or "frequency_hz" not in {*counters, *samples.names}:
        raise InputError(
            "a refinement needs samples with instructions and frequency_hz: 'tasksim counters'"
        )
    table = _conditions(samples, counters, latencies_s)
    names = tuple(name for name in samples.names if name != "frequency_hz")
    conditions = table[["clock", "latency_factor"]].drop_duplicates()
    if len(conditions) < 2:
        raise InputError(
            "a refinement needs two clocks, or two loads of the memory ('tasksim counters --load "
            "1'); all samples have the same"
        )
    keys = [*names, "clock", "latency_factor"]
    medians = table.groupby(keys, sort=True)[["t_mem", "cpi"]].median().reset_index()
    points = medians.rename(columns={"clock": "frequency_hz"})
    groups = points.groupby(list(names)) if names else [((), points)]
    lines = []
    for key, rows in groups:
        values = key if isinstance(key, tuple) else (key,)
        lines.append({**dict(zip(names, values, strict=True)), **_line(rows)})
    return Refinement(points, pd.DataFrame(lines), names)


def _line(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the line through the points, or a note why there is none."""
    t_mem = rows["t_mem"].to_numpy(float)
    if t_mem.max() - t_mem.min() <= MIN_CHANGE * t_mem.max():
        return {"cpi_core": np.nan, "bf_mem": np.nan, "note": "memory takes as many cycles in all"}
    bf_mem, cpi_core = refined(list(zip(t_mem, rows["cpi"].to_numpy(float), strict=True)))
    note = ""
    if bf_mem < 0 or cpi_core < 0:
        note = "not plausible: a cost is negative, so other programs disturbed the timings"
    return {"cpi_core": cpi_core, "bf_mem": bf_mem, "note": note}


def _conditions(
    samples: Samples, counters: Mapping[str, Any], latencies_s: Mapping[str, float]
) -> pd.DataFrame:
    """Return the samples' parameters and conditions, with cycles per instruction."""
    import pandas as pd

    exact = np.asarray(
        samples.parameters[:, samples.names.index("frequency_hz")]
        if "frequency_hz" in samples.names
        else counters["frequency_hz"],
        float,
    )
    factor = np.asarray(counters.get("latency_factor", np.ones(len(samples))), float)
    waited_s = sum(
        latency_s * counters[HITS[level]]
        for level, latency_s in latencies_s.items()
        if HITS[level] in counters
    )
    instructions = counters["instructions"]
    plain = samples.without([CLOCK_PARAMETER])
    columns = {name: plain.parameters[:, i] for i, name in enumerate(plain.names)}
    # Clocks within 5 % are one: the measured clock differs a little each time.
    clock = np.exp(np.round(np.log(exact) / 0.05) * 0.05)
    # All samples beside a load, alone 1, have about its factor, by which levels they use.
    loaded = factor > 1.0
    return pd.DataFrame({
        **columns, "clock": clock, "latency_factor": np.where(loaded, factor, 1.0),
        "t_mem": waited_s * factor * exact / instructions,
        "cpi": samples.durations_s * exact / instructions,
    })  # fmt: skip
