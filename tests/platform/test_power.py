"""Power and frequencies of platforms: what files may say of them, and what settings do."""

import pytest

from tasksim.base.errors import InputError
from tasksim.platform.description import Platform
from tasksim.platform.load import load
from tasksim.platform.power import ArchitecturePower, Frequency, Power

PLATFORM_FILE = """
    version: 1
    name: machine
    memories: {ram: {}, gpu0: {size: 16 GiB}}
    arch: {cpu: {frequency: 2.5 GHz}}
    workers:
      cpu: {count: 2, memory: ram}
      cuda: {count: 1, memory: [gpu0]}
    links: {up: {bandwidth: 12 GB/s, between: [ram, gpu0], power: 4 W}}
    power:
      static: 30 W
      arch:
        cpu: {idle: 500 mW, busy: 8 W, kernels: {gemm: 10.5 W}}
        cuda: {idle: 30 W, busy: 250 W}
"""


def test_a_file_says_what_a_machine_draws(write):
    platform = load(write(PLATFORM_FILE))
    cpu = ArchitecturePower(0.5, 8.0, {"gemm": 10.5})
    assert platform.power == Power(30.0, {"cpu": cpu, "cuda": ArchitecturePower(30.0, 250.0)})
    assert [link.power_w for link in platform.links] == [4.0]
    assert platform.frequencies == {"cpu": Frequency(2.5e9, 2.5e9)}
    assert platform.summary().startswith("machine: 2 cpu (2.5 GHz) + 1 cuda; ")


def test_another_frequency_keeps_that_of_the_models(write):
    path = write(PLATFORM_FILE)
    for setting, hz in {"2 GHz": 2e9, "x0.5": 1.25e9}.items():
        platform = load(path, settings=[f"platform.arch.cpu.frequency={setting}"])
        assert platform.frequencies == {"cpu": Frequency(hz, 2.5e9)}
        assert platform.slower("cpu") == 2.5e9 / hz
        assert platform.slower("cuda") == 1.0


def test_a_file_that_extends_another_keeps_that_of_its_models(write):
    write(PLATFORM_FILE, "base.yaml")
    slow = write("version: 1\nextends: base.yaml\narch: {cpu: {frequency: 2 GHz}}\n", "slow.yaml")
    assert load(slow).frequencies == {"cpu": Frequency(2e9, 2.5e9)}


@pytest.mark.parametrize(
    "settings",
    [
        ["platform.arch.cuda.frequency=1 GHz", "platform.arch.cuda.model_frequency=1.5 GHz"],
        ["platform.arch.cuda.model_frequency=1.5 GHz", "platform.arch.cuda.frequency=1 GHz"],
    ],
)
def test_where_no_frequency_is_known_both_are_given(write, settings):
    assert load(write(PLATFORM_FILE), settings=settings).slower("cuda") == 1.5


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "platform.arch.cuda.frequency=2 GHz",
            "--set platform.arch.cuda.frequency=2 GHz: the frequency of the models' measurements"
            " is unknown; set platform.arch.cuda.model_frequency, too",
        ),
        ("platform.arch.cpu.frequency=0 GHz", "arch.cpu.frequency: must be greater than 0"),
        ("platform.arch.cpu.frequency=2", "'2.6 GHz'"),
        ("platform.power.arch.cpu.idle=-1 W", "power.arch.cpu.idle: must be at least 0"),
        ("platform.power.arch.cpu.busy=100 mW", "must be at least idle (got 100 mW, idle is 500"),
        ("platform.power.arch.gpu.busy=9 W", "legal cpu, cuda), did you mean 'cpu'?"),
        ("platform.power.static=9 VA", "'9.5 W'; legal units: mW, W, kW, MW"),
    ],
)
def test_settings_that_mean_nothing_are_refused(write, setting, message):
    with pytest.raises(InputError) as refused:
        load(write(PLATFORM_FILE), settings=[setting])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("idle: 500 mW, ", "", "12:5: power.arch.cpu.idle: missing"),
        ("gemm: 10.5 W", "gemm: 100 mW", "power.arch.cpu.kernels.gemm: must be at least idle"),
        ("        cuda: {idle: 30 W", "        cuba: {idle: 30 W", "unknown architecture (got 'cu"),
        (
            "        cuda: {idle: 30 W, busy: 250 W}\n",
            "",
            "power lacks architecture cuda",
        ),
    ],
)
def test_files_that_mean_nothing_are_refused(write, old, new, message):
    assert old in PLATFORM_FILE
    with pytest.raises(InputError) as refused:
        load(write(PLATFORM_FILE.replace(old, new)))
    assert message in str(refused.value)


def test_platforms_made_by_hand_are_checked_likewise():
    from dataclasses import replace

    two = Platform.identical(2)
    for power in (
        Power(),
        Power(-1.0, {"cpu": ArchitecturePower(1.0, 2.0)}),
        Power(0.0, {"cpu": ArchitecturePower(3.0, 2.0)}),
    ):
        with pytest.raises(InputError, match="identical-2"):
            replace(two, power=power)
    with pytest.raises(InputError, match="frequency"):
        replace(two, frequencies={"cpu": Frequency(0.0, 1e9)})


def test_links_draw_only_where_workers_do(write):
    without = PLATFORM_FILE.partition("    power:\n")[0]
    with pytest.raises(InputError, match="link up draws power, but workers do not"):
        load(write(without))


def test_copies_of_devices_and_nodes_draw_as_much(write):
    more = load(
        write(PLATFORM_FILE), settings=["platform.workers.cuda.count=2", "platform.nodes=2"]
    )
    assert [link.power_w for link in more.links] == [4.0] * 4
    assert more.power.static_w == 60.0


@pytest.mark.parametrize("value", ["0 GHz", "-1 GHz", "soon"])
def test_a_wrong_frequency_is_told_once(write, value):
    setting = f"platform.arch.cuda.frequency={value}"
    with pytest.raises(InputError) as refused:
        load(write(PLATFORM_FILE), settings=[setting])
    (line,) = str(refused.value).splitlines()
    assert ": arch.cuda.frequency: " in line
