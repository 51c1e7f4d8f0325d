"""Graphs of drawn OpenMP programs, as recordings have them: tasks in pieces, their waits."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np

from tasksim.graph.builder import GraphBuilder
from tasksim.graph.taskgraph import Binding


@dataclass
class Program:
    """Pieces of tasks, inserted as threads would create them.

    A task is a list of pieces; *ends* has its last one.
    """

    builder: GraphBuilder = field(default_factory=lambda: GraphBuilder("openmp"))
    continues: list[int] = field(default_factory=list)
    creator: list[int] = field(default_factory=list)
    binding: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def piece(self, seconds, after=(), continues=-1, creator=-1, binding=Binding.TIED, priority=0):
        """Insert a piece; return its number."""
        before = [*after, *(each for each in (continues, creator) if each >= 0)]
        kernel = "first" if continues < 0 else "later"
        number = self.builder.insert(
            kernel, duration_s=seconds, after=sorted(set(before)), priority=priority
        )
        self.continues.append(continues)
        self.creator.append(creator)
        self.binding.append(int(binding))
        self.seconds.append(seconds)
        return number

    def build(self):
        """The graph."""
        graph = replace(
            self.builder.build(),
            continues=np.array(self.continues, np.int32),
            creator=np.array(self.creator, np.int32),
            binding=np.array(self.binding, np.int8),
        )
        graph.validate()
        return graph


def drawn_program(seed):
    """A program of one region, or two: nested tasks, waits of all kinds, orders among siblings."""
    draw = random.Random(seed)
    program, threads = Program(), draw.randint(1, 3)
    before = program.piece(_short(draw), binding=Binding.HELD)
    for _ in range(draw.randint(1, 2)):
        before = _region(draw, program, threads, before)
    return program.build()


def _short(draw):
    return draw.choice((1e-6, 2e-6, 5e-6, 1e-5))


def _region(draw, program, threads, before):
    """Insert a region; return the piece of the program after it."""
    begun = [program.piece(_short(draw), [before], binding=Binding.HELD) for _ in range(threads)]
    ends, created = [], []
    for first in begun:
        if draw.random() < 0.6 or not created:
            last, descendants = _body(draw, program, first, 0)
            created += descendants
        else:
            last = first
        ends.append(last)
    if draw.random() < 0.5:  # a barrier within the region
        barrier = program.piece(0.0, [*ends, *created], binding=Binding.HELD)
        ends = [
            program.piece(_short(draw), [barrier], continues=last, binding=Binding.FREE)
            for last in ends
        ]
        created = []
    return program.piece(_short(draw), [*ends, *created], continues=before, binding=Binding.FREE)


def _body(draw, program, piece, depth):
    """Insert what a task does after its first piece.

    Returns its last piece, and the last pieces of descendants that nobody has waited for.
    """
    children, rest = [], []
    for _ in range(draw.randint(0, 4 if depth < 3 else 0)):
        what = draw.random()
        if what < 0.7:
            kind = draw.choice((Binding.TIED, Binding.TIED, Binding.FREE, Binding.HELD))
            order = [draw.choice(children)] if children and draw.random() < 0.4 else []
            child = program.piece(
                _short(draw), order, creator=piece, binding=kind, priority=draw.choice((0, 0, 2))
            )
            last, left = _body(draw, program, child, depth + 1)
            waits = [last] if kind == Binding.HELD else []
            piece = program.piece(_short(draw), waits, continues=piece, priority=1)
            children.append(last)
            rest += left
        elif what < 0.85:
            piece = program.piece(_short(draw), children, continues=piece, priority=1)
            children = []
        else:
            piece = program.piece(
                _short(draw), [*children, *rest], continues=piece, binding=Binding.GROUP, priority=1
            )
            children, rest = [], []
    return piece, [*children, *rest]
