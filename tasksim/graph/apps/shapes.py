"""Shapes of random graphs: their tasks and dependencies, without durations and data.

A shape is a function of the number of tasks, a source of random numbers, and the settings of the
shape. All randomness comes from ``rng.random()``, whose sequence Python keeps from version to
version.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.base.progress import follow

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["SHAPES", "Shape", "Skeleton", "below"]


DRAWN_SHARE: Final = 0.5
"""Share of the time of making a random graph after which its dependencies are drawn."""


@dataclass
class Skeleton:
    """The tasks and dependencies of a graph; predecessors have smaller numbers.

    Attributes
    ----------
    kernels
        The kernel of each task.
    predecessors
        The predecessors of each task, ascending.
    """

    kernels: list[str] = field(default_factory=list)
    predecessors: list[list[int]] = field(default_factory=list)

    def add(self, predecessors: Iterable[int] = (), kernel: str = "task") -> int:
        """Append a task and return its number."""
        self.kernels.append(kernel)
        self.predecessors.append(sorted(predecessors))
        return len(self.kernels) - 1

    def add_all(self, count: int, predecessors: Iterable[int], kernel: str = "task") -> list[int]:
        """Append *count* tasks with the same predecessors and return their numbers."""
        before = list(predecessors)
        return [self.add(before, kernel) for _ in range(count)]


@dataclass(frozen=True)
class Shape:
    """A shape with the settings that it has.

    Attributes
    ----------
    make
        Function of the number of tasks, the source of random numbers and the settings.
    settings
        The names of its settings.
    least_tasks
        Smallest number of tasks.
    """

    make: Callable[..., Skeleton]
    settings: tuple[str, ...] = ()
    least_tasks: int = 1

    def skeleton(self, name: str, tasks: int, rng: random.Random, **given: Any) -> Skeleton:
        """Return a graph of this shape, called *name* in messages.

        Raises
        ------
        InputError
            If a setting is not one of this shape, or there are too few tasks.
        """
        chosen = {key: value for key, value in given.items() if value is not None}
        for key in chosen:
            if key not in self.settings:
                raise unknown("setting", key, self.settings, f"random-graph shape={name}")
        if tasks < self.least_tasks:
            raise InputError(
                f"random-graph shape={name}: tasks: got {tasks}; "
                f"legal: an integer from {self.least_tasks}"
            )
        return self.make(tasks, rng, **chosen)


def below(rng: random.Random, limit: int) -> int:
    """Return a random integer from 0 to *limit* - 1."""
    return int(rng.random() * limit)


def _chosen(rng: random.Random, population: list[int], count: int) -> list[int]:
    """Return *count* different members of *population*."""
    rest = list(population)
    return [rest.pop(below(rng, len(rest))) for _ in range(min(count, len(rest)))]


@contextmanager
def _links(
    rng: random.Random, tasks: int, probability: float | None, predecessors: float | None
) -> Iterator[Callable[[int], list[int]]]:
    """Yield a function that draws which of the first tasks of a graph a next one depends on.

    Its argument is their number; each is drawn with *probability*, or with the one that makes
    *predecessors* the mean.
    """
    if probability is not None and predecessors is not None:
        raise InputError(
            f"random-graph: got probability={probability:g} and predecessors={predecessors:g}; "
            "legal: one of the two, the other follows from it"
        )
    mean = DEFAULT_PREDECESSORS if predecessors is None else predecessors

    def share(before: int) -> float:
        return probability if probability is not None else mean / max(before, 1)

    if tasks > MAX_TASKS_DRAWN_IN_PAIRS:
        yield lambda before: _hits(rng, before, share(before))
        return
    # NumPy's first generator is the one of Python, has the same state, and keeps its sequence, too.
    version, state, gauss = rng.getstate()
    drawn = np.random.RandomState(0)
    drawn.set_state(("MT19937", np.array(state[:-1], np.uint32), state[-1], 0, 0.0))
    yield lambda before: np.flatnonzero(drawn.random_sample(before) < share(before)).tolist()
    _, key, place, *_ = drawn.get_state(legacy=True)
    rng.setstate((version, (*map(int, key), int(place)), gauss))


def _hits(rng: random.Random, count: int, probability: float) -> list[int]:
    """Return those of *count* that are drawn, each with *probability*, by one draw for each.

    The gaps between them have a geometric distribution (V. Batagelj, U. Brandes, "Efficient
    generation of large random networks", Physical Review E 71(3), 2005).
    """
    if not 0 < probability < 1:
        return list(range(count)) if probability else []
    scale = math.log1p(-probability)
    found: list[int] = []
    at = -1
    while True:
        at += 1 + int(min(math.log1p(-rng.random()) / scale, count))
        if at >= count:
            return found
        found.append(at)


DEFAULT_PREDECESSORS: Final = 3.0
"""Mean number of predecessors in shapes for which neither it nor a probability is given."""
MAX_TASKS_DRAWN_IN_PAIRS: Final = 20_000
"""Number of tasks up to which a number is drawn for each pair of tasks, as in STG: a second's work.
For larger graphs, the time grows with the dependencies, not with the square of the tasks."""


def erdos_renyi(
    tasks: int,
    rng: random.Random,
    probability: float | None = None,
    predecessors: float | None = None,
) -> Skeleton:
    """Return a graph in which each task depends on each earlier one with the same probability.

    With *predecessors*, the probability is such that each task has this mean number of them, as far
    as there are as many earlier tasks. These are the methods *sameprob* and *samepred* of STG
    (T. Tobita, H. Kasahara, "A standard task graph set for fair evaluation of multiprocessor
    scheduling algorithms", Journal of Scheduling 5(5), 2002).
    """
    made = Skeleton()
    follow(made.kernels.__len__, tasks, "tasks", until=DRAWN_SHARE)
    with _links(rng, tasks, probability, predecessors) as linked:
        for task in range(tasks):
            made.add(linked(task))
    return made


def layered(
    tasks: int,
    rng: random.Random,
    layers: int | None = None,
    probability: float | None = None,
    predecessors: float | None = None,
) -> Skeleton:
    """Return tasks on layers, each of which depends on tasks of any layer before its own.

    Each layer has one task; the layers of the other tasks are random. These are the methods
    *layrprob* and *layrpred* of STG (same paper as :func:`erdos_renyi`).
    """
    count = min(tasks, layers or max(1, round(math.sqrt(tasks))))
    sizes = [1] * count
    for _ in range(tasks - count):
        sizes[below(rng, count)] += 1
    made = Skeleton()
    follow(made.kernels.__len__, tasks, "tasks", until=DRAWN_SHARE)
    with _links(rng, tasks, probability, predecessors) as linked:
        for size in sizes:
            before = len(made.kernels)
            for _ in range(size):
                made.add(linked(before))
    return made


def daggen(
    tasks: int,
    rng: random.Random,
    fat: float = 0.5,
    density: float = 0.5,
    regularity: float = 0.9,
    jump: int = 1,
) -> Skeleton:
    """Return layers of random widths, with the parameters of F. Suter's generator daggen.

    Layers have *tasks* ** *fat* tasks in the mean; *regularity* 1 makes them equal, 0 lets a layer
    have up to twice as many or one. A task has from one to 1 + *density* times the width of the
    layer before it predecessors, each on one of the *jump* layers before its own; fewer only if it
    has all tasks of a layer.
    """
    mean = max(1.0, tasks**fat)
    made = Skeleton()
    follow(made.kernels.__len__, tasks, "tasks", until=DRAWN_SHARE)
    rows: list[list[int]] = []
    while len(made.kernels) < tasks:
        spread = 1 + (1 - regularity) * (2 * rng.random() - 1)
        width = min(tasks - len(made.kernels), max(1, round(mean * spread)))
        here = []
        for _ in range(width):
            before: set[int] = set()
            if rows:
                most = len(rows[-1])
                for _ in range(min(1 + below(rng, int(density * most) + 1), most)):
                    row = rows[-min(1 + below(rng, jump), len(rows))]
                    place = below(rng, len(row))
                    turned = (row[(place + step) % len(row)] for step in range(len(row)))
                    # The next one that it does not have yet, if it does not have the whole layer.
                    before.update(islice((task for task in turned if task not in before), 1))
            here.append(made.add(before))
        rows.append(here)
    return made


def out_tree(tasks: int, rng: random.Random, degree: int = 3) -> Skeleton:
    """Return a tree from a root, in which a task has from one to *degree* successors.

    Successors are added in the order of the tasks, as long as there are any left.
    """
    made = Skeleton()
    follow(made.kernels.__len__, tasks, "tasks", until=DRAWN_SHARE)
    made.add()
    parent = 0
    while len(made.kernels) < tasks:
        count = min(1 + below(rng, degree), tasks - len(made.kernels))
        made.add_all(count, [parent])
        parent += 1
    return made


def in_tree(tasks: int, rng: random.Random, degree: int = 3) -> Skeleton:
    """Return an out-tree with all dependencies reversed: reductions to one task."""
    mirrored = out_tree(tasks, rng, degree).predecessors
    predecessors: list[list[int]] = [[] for _ in range(tasks)]
    for task, before in enumerate(mirrored):
        for parent in before:
            predecessors[tasks - 1 - parent].append(tasks - 1 - task)
    return Skeleton(["task"] * tasks, [sorted(before) for before in predecessors])


def fork_joins(tasks: int, rng: random.Random, width: int | None = None) -> Skeleton:
    """Return phases of independent tasks, with one task before, between and after them.

    A phase has from one to twice *width* less one tasks.
    """
    most = 2 * (width or max(1, round(math.sqrt(tasks)))) - 1
    made = Skeleton()
    last = made.add()
    while (left := tasks - len(made.kernels)) > 0:
        count = min(1 + below(rng, most), max(1, left - 1))
        phase = made.add_all(count, [last])
        if len(made.kernels) < tasks:
            last = made.add(phase)
    return made


def chains(tasks: int, rng: random.Random, width: int | None = None) -> Skeleton:
    """Return *width* independent chains of random lengths between a first and a last task."""
    most = max(1, tasks - 2)
    count = min(most, width or max(1, round(math.sqrt(tasks))))
    lengths = [1] * count
    for _ in range(most - count):
        lengths[below(rng, count)] += 1
    made = Skeleton()
    first = made.add()
    ends = []
    for length in lengths:
        last = first
        for _ in range(length):
            last = made.add([last])
        ends.append(last)
    made.add(ends)
    return made


def blast(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow blast: a split, searches, and two tasks that join all results."""
    made = Skeleton()
    split = made.add(kernel="split_fasta")
    searches = made.add_all(tasks - 3, [split], "blastall")
    made.add(searches, "cat_blast")
    made.add(searches, "cat")
    return made


def bwa(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow BWA: an index and reduced reads, alignments, two joins of all results."""
    made = Skeleton()
    read = [made.add(kernel="fastq_reduce"), made.add(kernel="bwa_index")]
    aligned = made.add_all(tasks - 4, read, "bwa")
    made.add(aligned, "cat_bwa")
    made.add(aligned, "cat")
    return made


CYCLES_CROP_TASKS: Final = 67
"""Number of tasks for a crop, as in the recorded workflow of one place with nine parameters."""


def cycles(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow Cycles: per crop, simulations in groups of four, summaries and plots.

    After a baseline come a simulation and one with more fertilizer, and a parser of both.
    """
    made = Skeleton()
    crops = max(1, tasks // CYCLES_CROP_TASKS)
    groups = (tasks - 3 * crops) // 4
    for crop in range(crops):
        simulated, parsed = [], []
        for _ in range(groups // crops + (crop < groups % crops)):
            baseline = made.add(kernel="baseline_cycles")
            pair = [
                made.add([baseline], kernel) for kernel in ("cycles", "fertilizer_increase_cycles")
            ]
            simulated.append(pair[0])
            parsed.append(made.add(pair, "cycles_fertilizer_increase_output_parser"))
        made.add([made.add(simulated, "cycles_output_summary")], "cycles_plots")
        made.add(parsed, "cycles_fertilizer_increase_output_summary")
    return made


def epigenomics(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow epigenomics of one lane: a split, chains of four tasks, a merged end."""
    made = Skeleton()
    split = made.add(kernel="fastqSplit")
    steps = ("filterContams", "sol2sanger", "fast2bfq", "map")
    ends = []
    for _ in range((tasks - 5) // len(steps)):
        last = split
        for kernel in steps:
            last = made.add([last], kernel)
        ends.append(last)
    lane = made.add(ends, "mapMerge")
    merged = made.add([lane], "mapMerge")
    made.add([made.add([merged], "maqIndex")], "pileup")
    return made


GENOME_POPULATIONS: Final = 7
"""Number of populations in 1000 Genomes; each gets two analyses per chromosome."""
GENOME_CHROMOSOME_TASKS: Final = 26
"""Number of tasks for a chromosome of ten individuals, as in the recorded workflow."""


def genome(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow 1000 Genomes: per chromosome, individuals merged, and two analyses.

    Each analysis of a population reads the merged individuals and the sifted variants.
    """
    made = Skeleton()
    chromosomes = max(1, tasks // GENOME_CHROMOSOME_TASKS)
    others = 2 + 2 * GENOME_POPULATIONS
    for chromosome in range(chromosomes):
        extra = chromosome < tasks % chromosomes
        individuals = made.add_all(tasks // chromosomes + extra - others, [], "individuals")
        read = [made.add(individuals, "individuals_merge"), made.add(kernel="sifting")]
        made.add_all(GENOME_POPULATIONS, read, "mutation_overlap")
        made.add_all(GENOME_POPULATIONS, read, "frequency")
    return made


MONTAGE_BANDS: Final = 3
"""Number of colour bands of a mosaic, each with the same tasks."""


def montage(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow Montage: three bands of a mosaic, then their colour image.

    The images of a band lie on a grid. Each two neighbours, also diagonal ones, are compared.
    """
    images = 1
    while _montage_tasks(images + 1) <= tasks:
        images += 1
    made, neighbours = Skeleton(), _neighbours(images)
    mosaics = []
    for _ in range(MONTAGE_BANDS):
        projected = made.add_all(images, [], "mProject")
        pairs = [made.add((projected[a], projected[b]), "mDiffFit") for a, b in neighbours]
        model = made.add([made.add(pairs or projected, "mConcatFit")], "mBgModel")
        flat = [made.add((image, model), "mBackground") for image in projected]
        mosaics.append(made.add([made.add(flat, "mImgtbl"), *flat], "mAdd"))
        made.add(mosaics[-1:], "mViewer")
    made.add(mosaics, "mViewer")
    return made


def _neighbours(images: int) -> list[tuple[int, int]]:
    """Return the pairs of neighbours among *images* on a grid that is nearly square."""
    columns = math.isqrt(images - 1) + 1
    found = []
    for image in range(images):
        column = image % columns
        # To the right, then below: left, straight, right.
        others = [image + 1] if column + 1 < columns else []
        others += [image + columns - 1] if column else []
        others += [image + columns]
        others += [image + columns + 1] if column + 1 < columns else []
        found += [(image, other) for other in others if other < images]
    return found


def _montage_tasks(images: int) -> int:
    columns = math.isqrt(images - 1) + 1
    rows, rest = divmod(images, columns)
    beside = rows * (columns - 1) + max(0, rest - 1)
    below = (rows - 1) * (3 * columns - 2)
    below += rest + max(0, rest - 1) + min(rest, columns - 1)  # the last row may be shorter
    return MONTAGE_BANDS * (2 * images + beside + below + 5) + 1


def seismology(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow seismology: independent deconvolutions, and a task that reads all."""
    made = Skeleton()
    made.add(made.add_all(tasks - 1, [], "sG1IterDecon"), "wrapper_siftSTFByMisfit")
    return made


SOYKB_CHROMOSOMES: Final = 10
"""Number of chromosomes in which each sample is searched for variants, as in recorded workflows."""


def soykb(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow SoyKB: samples aligned, variants called per chromosome, then filtered."""
    made = Skeleton()
    called: list[list[int]] = [[] for _ in range(SOYKB_CHROMOSOMES)]
    for _ in range(max(1, (tasks - SOYKB_CHROMOSOMES - 6) // (SOYKB_CHROMOSOMES + 6))):
        last = made.add(kernel="alignment_to_reference")
        for kernel in ("sort_sam", "dedup", "add_replace"):
            last = made.add([last], kernel)
        targets = made.add([last], "realign_target_creator")
        realigned = made.add([last, targets], "indel_realign")
        for chromosome in called:
            chromosome.append(made.add([realigned], "haplotype_caller"))
    made.add([task for chromosome in called for task in chromosome], "merge_gcvf")
    genotypes = [made.add(chromosome, "genotype_gvcfs") for chromosome in called]
    variants = made.add(genotypes, "combine_variants")
    for kind in ("snp", "indel"):
        made.add([made.add([variants], f"select_variants_{kind}")], f"filtering_{kind}")
    return made


def srasearch(tasks: int, rng: random.Random) -> Skeleton:  # noqa: ARG001
    """Return the workflow SRA search: an index, pairs of download and alignment, a merge."""
    made = Skeleton()
    index = made.add(kernel="bowtie2-build")
    aligned = [
        made.add((index, made.add(kernel="fasterq-dump")), "bowtie2")
        for _ in range((tasks - 2) // 2)
    ]
    made.add(aligned, "merge")
    return made


SHAPES: Final[Mapping[str, Shape]] = {
    "erdos-renyi": Shape(erdos_renyi, ("probability", "predecessors")),
    "layered": Shape(layered, ("layers", "probability", "predecessors")),
    "daggen": Shape(daggen, ("fat", "density", "regularity", "jump")),
    "out-tree": Shape(out_tree, ("degree",)),
    "in-tree": Shape(in_tree, ("degree",)),
    "fork-joins": Shape(fork_joins, ("width",)),
    "chains": Shape(chains, ("width",), least_tasks=3),
    "blast": Shape(blast, least_tasks=4),
    "bwa": Shape(bwa, least_tasks=5),
    "cycles": Shape(cycles, least_tasks=7),
    "epigenomics": Shape(epigenomics, least_tasks=9),
    "genome": Shape(genome, least_tasks=3 + 2 * GENOME_POPULATIONS),
    "montage": Shape(montage, least_tasks=_montage_tasks(1)),
    "seismology": Shape(seismology, least_tasks=2),
    "soykb": Shape(soykb, least_tasks=2 * SOYKB_CHROMOSOMES + 12),
    "srasearch": Shape(srasearch, least_tasks=4),
}
"""All shapes by name. Those of workflows have at most as many tasks as asked for."""
