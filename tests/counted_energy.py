"""A machine whose counters of energy are files that advance as its time does."""

RANGE_UJ = 50_000_000


class Machine:
    """Counters that advance as time does, by so many watts, and begin anew when they are full."""

    def __init__(self, folder, idle_w):
        self.folder, self.idle_w, self.now, self.used = folder, idle_w, 0.0, {}
        for number, name in enumerate(idle_w):
            place = folder / f"intel-rapl:{number}"
            place.mkdir(parents=True)
            (place / "name").write_text(f"{name}\n")
            (place / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
            self.used[name] = place / "energy_uj", RANGE_UJ - 10_000_000
        self.spend(0.0)

    def spend(self, seconds, more_w=0.0):
        self.now += seconds
        for name, (counter, before) in self.used.items():
            after = before + round(1e6 * seconds * (self.idle_w[name] + more_w))
            fresh = counter.with_suffix(".new")
            fresh.write_text(f"{after % (RANGE_UJ + 1)}\n")
            fresh.replace(counter)  # who reads meanwhile reads a number
            self.used[name] = counter, after

    def load(self, kernel, workers, seconds):
        """Each worker draws 3 W, or 2 W, on each package."""
        self.spend(seconds, workers * {"gemm": 3.0, "potrf": 2.0}[kernel.name])
        return {"gemm": 0.25, "potrf": 0.5}[kernel.name]
