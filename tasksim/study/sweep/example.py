"""Example of a study file, with a comment on every key."""

from __future__ import annotations

from typing import Final

__all__ = ["EXAMPLE"]

EXAMPLE: Final = """\
# A study: every graph on every platform under every scheduler, with every seed.
#
#   tasksim study run study.yaml --dry-run        how many cells, how long, how much memory
#   tasksim study run study.yaml -o study         compute them; the same command resumes
#   tasksim study report study -o report          who wins, and how sure that is
#   tasksim study table study --csv > study.csv   the table of results

version: 1
name: which-scheduler

# Generators ('tasksim list generators'), files, or recorded runs. set: varies their settings: a
# value, a list, or a range: 8..20, 8..20:4 in steps of 4, 128..1024:log doubling.
graphs:
  - graph: cholesky
    set: {tiles: "8..16:4"}
  - qr tiles=12

# Names ('tasksim list platforms') or files. set: takes the settings of 'tasksim simulate --set',
# so that what-ifs become axes: counts, speeds (x1.5 multiplies), bandwidths, memories, overheads.
# 'workers: [2, 4, 8]' instead of a platform: identical workers (give durations below).
platforms:
  - xeon-2c
  - platform: xeon-24c
    set:
      workers.cpu.count: [12, 23]

# Names ('tasksim list schedulers'). set: varies their options.
schedulers:
  - lws
  - scheduler: dmdas
    set: {beta: [1, 2]}

# Seeds of the noise: their number, or a list. Schedulers are compared under the same draws.
seeds: 3
noise: model                 # or none: each task takes its model's mean

# Conditions that cells must meet; names are the table's columns, or the last part of a path.
where:
  - tiles <= 12 or scheduler != 'lws'

# Axes of all scenarios: anything that 'Scenario.vary' takes.
# settings:
#   engine.simultaneous_pushes: [serial, blind]

# models: mymodels           # instead of the platforms' models
# durations: potrf=1 ms,trsm=3 ms,syrk=3 ms,gemm=6 ms
# clock: native              # real runs on this machine, one cell after the other
# metrics: [copies, energy_j, evictions, idle_s, mean_queue_wait_s]
limits: {time: 10 min, memory: 4 GiB}     # per cell; a cell that needs more fails
"""
