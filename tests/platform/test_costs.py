"""Costs of devices, copies and allocations, in files and settings."""

from __future__ import annotations

import pytest

from tasksim.platform.costs import Allocation, Copying, Overheads
from tasksim.platform.description import Device
from tasksim.platform.load import load

PLATFORM_FILE = """
    version: 1
    arch: {cpu: {}, cuda: {speed: 1, pipeline: 2, synchronous: [chol_model_potrf]}}
    workers: {cuda: {count: 1}, cpu: {count: 1}}
    overheads:
      {submission: 1 us, task: 2 us, wakeup: 3 us, push: 4 us, fetch: 5 us, progress: 6 us,
       kernel: 10 us, copy: 11 us, start: 12 us, creation: 13 us, dependence: 14 us}
    allocation:
      {allocate: 175 us, free: 750 us, chunk: 32 MiB, unit: 16 KiB, largest: 4 MiB, usable: 0.9}
    copying: {fetches: 6, prefetches: 3, idle: 2, serialised: true, contention: 2}
"""


def test_all_costs(write):
    platform = load(write(PLATFORM_FILE))
    assert platform.overheads == Overheads(
        1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6, 10e-6, 11e-6, 12e-6, 13e-6, 14e-6
    )
    assert platform.allocation == Allocation(175e-6, 750e-6, 2.0**25, 2.0**14, 2.0**22, 0.9)
    assert platform.copying == Copying(6, 3, 2, serialised=True, contention=2.0)
    assert platform.devices == {"cuda": Device(2, ("chol_model_potrf",))}


def test_nothing_said_costs_nothing(write):
    platform = load(write("version: 1\nworkers: {cpu: {count: 1}}\n"))
    assert platform.overheads == Overheads()
    assert platform.allocation == Allocation()
    assert platform.copying == Copying()
    assert platform.devices == {}


def test_parts_of_a_section(write):
    text = "version: 1\nworkers: {cpu: {count: 1}}\nallocation: {free: 1 ms}\ncopying: {idle: 3}\n"
    platform = load(write(text))
    assert platform.allocation == Allocation(free_s=1e-3)
    assert platform.copying == Copying(idle=3)


def test_settings(write):
    platform = load(
        write(PLATFORM_FILE),
        settings=[
            "platform.arch.cuda.speed=1.5",
            "platform.arch.cuda.pipeline=4",
            "platform.arch.cuda.synchronous=[potrf, getrf]",
            "platform.overheads.kernel=x2",
            "platform.allocation.allocate=0",
            "platform.allocation.chunk=x2",
            "platform.allocation.largest=0",
            "platform.copying.contention=1",
            "platform.copying.fetches=x2",
            "platform.copying.serialised=false",
        ],
    )
    assert platform.speeds["cuda"] == 1.5
    assert platform.device("cuda") == Device(4, ("potrf", "getrf"))
    assert platform.overheads.kernel_s == 20e-6
    assert platform.allocation == Allocation(0.0, 750e-6, 2.0**26, 2.0**14, 0.0, 0.9)
    assert platform.copying == Copying(12, 3, 2, serialised=False, contention=1.0)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("allocation.chunk=x2", Allocation(chunk_bytes=2.0**26)),
        ("allocation.usable=x0.5", Allocation(usable=0.5)),
        ("allocation.allocate=x2", Allocation()),
        ("copying.fetches=x2", Copying(fetches=10)),
        ("copying.contention=2", Copying(contention=2.0)),
    ],
)
def test_settings_of_what_the_file_leaves_unsaid(write, setting, expected):
    path = write("version: 1\nworkers: {cpu: {count: 1}}\n")
    platform = load(path, settings=[f"platform.{setting}"])
    assert expected in (platform.allocation, platform.copying)


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("arch.cuda.pipeline=17", "arch.cuda.pipeline: must be at most 16 (got 17)"),
        ("arch.cuda.pipeline=-1", "arch.cuda.pipeline: must be at least 0 (got -1)"),
        ("arch.cuda.pipeline=1.5", "arch.cuda.pipeline: must be a whole number (got 1.5)"),
        ("arch.cuda.synchronous=potrf", "arch.cuda.synchronous: must be a list (got 'potrf')"),
        ("allocation.usable=0", "allocation.usable: must be greater than 0 (got 0)"),
        ("allocation.usable=1.5", "allocation.usable: must be at most 1 (got 1.5)"),
        (
            "allocation.largest=x16",
            "allocation.largest: must be at most chunk (got 64 MiB, chunk is 32 MiB)",
        ),
        (
            "allocation.unit=1 GiB",
            "allocation.unit: must be at most chunk (got 1 GiB, chunk is 32 MiB)",
        ),
        ("copying.fetches=0", "copying.fetches: must be at least 1 (got 0)"),
        ("copying.serialised=2", "copying.serialised: must be true or false (got 2)"),
        ("copying.contention=-1", "copying.contention: must be at least 0 (got -1)"),
        (
            "copying.fetch=2",
            "unknown field in platform.copying (got 'fetch', legal fetches, prefetches, idle, "
            "serialised, contention), did you mean 'fetches'?",
        ),
        ("copying.serialised=x2", "a value like this cannot be multiplied (got True)"),
    ],
)
def test_wrong_settings(write, errors, setting, what):
    assert errors(write(PLATFORM_FILE), settings=[f"platform.{setting}"]) == [
        f"--set platform.{setting}: {what}"
    ]


def test_a_chunk_smaller_than_the_usual_largest_block(write, errors):
    path = write("version: 1\nworkers: {cpu: {count: 1}}\nallocation: {chunk: 1 MiB}\n")
    assert errors(path) == [
        "p.yaml:3:1: allocation.largest: must be at most chunk (got 4 MiB, chunk is 1 MiB)"
    ]
