"""Lock files: one writer at a time, whatever becomes of the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tasksim.base import lockfile as module
from tasksim.base.errors import InputError, OutputError
from tasksim.base.lockfile import Owner, check_lock, lock_path, locked

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}


@pytest.fixture
def target(tmp_path):
    return tmp_path / "gemm.json"


def forge(target, *, age_s=0.0, **changes):
    """Write a lock as another process would have, *age_s* ago."""
    owner = replace(Owner.this(), **changes)
    path = lock_path(target)
    path.write_text(json.dumps(asdict(owner)))
    os.utime(path, (path.stat().st_mtime - age_s,) * 2)
    return path


def take(target):
    with locked(target, wait=False):
        pass


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_lock_names_its_owner_and_goes(target, tmp_path):
    with locked(target):
        owner = Owner.read(lock_path(target))
        assert (owner.pid, owner.lives_here()) == (os.getpid(), True)
        assert names(tmp_path) == [".gemm.json.lock"]
        with locked(target, wait=False):  # again, in the same thread
            check_lock(target)
    assert names(tmp_path) == []


def test_folders_that_are_empty_in_the_end_go_with_it(tmp_path):
    with locked(tmp_path / "models" / "here" / "gemm.json"):
        assert names(tmp_path) == ["models"]
    assert names(tmp_path) == []
    with locked(tmp_path / "models" / "here" / "gemm.json"):
        (tmp_path / "models" / "notes").touch()
    assert names(tmp_path / "models") == ["notes"]
    with locked(tmp_path / "models" / "gemm.json"):
        (tmp_path / "models" / "notes").unlink()
    assert names(tmp_path) == ["models"]  # it was there before


def test_who_waits_makes_the_folder_again(tmp_path):
    target, waiting, got = tmp_path / "models" / "gemm.json", threading.Event(), []

    def wait():
        with locked(target, tell=lambda _: waiting.set()):
            got.append(names(target.parent))

    with locked(target):
        thread = threading.Thread(target=wait)
        thread.start()
        assert waiting.wait(60)
    thread.join(60)
    assert got == [[".gemm.json.lock"]]


def test_a_folder_and_links_to_it_have_one_lock(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert (
        lock_path(tmp_path / "link") == lock_path(tmp_path / "folder") == tmp_path / ".folder.lock"
    )


def test_another_thread_waits_and_says_for_whom(target):
    told, order = [], []
    waiting = threading.Event()

    def other():
        with locked(target, tell=lambda text: (told.append(text), waiting.set())):
            order.append("other")

    with locked(target):
        thread = threading.Thread(target=other)
        thread.start()
        waiting.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "other"]
    assert f"waiting for process {os.getpid()} on " in told[0]
    assert told[0].endswith(f"which writes {target}")


def test_who_does_not_wait_is_refused(target):
    forge(target, pid=os.getppid(), started=module._started(os.getppid()), command="calibrate x")
    with pytest.raises(
        InputError, match=rf"is being written by process {os.getppid()} on .*\(calib"
    ):
        take(target)


def test_a_lock_of_a_dead_process_is_taken_over(target):
    forge(target, pid=2**22 + 1)
    take(target)
    forge(target, started="17")  # the number of the process was given again
    take(target)


def test_a_lock_of_a_killed_process_is_taken_over(target):
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tasksim.base.lockfile import locked\n"
        "with locked(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, target],
        env=ENVIRONMENT,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert lock_path(target).exists()
    take(target)


def test_a_lock_of_another_machine_is_stale_when_it_is_not_renewed(target):
    forge(target, host="elsewhere", space="other", age_s=module.STALE_AGE_S / 2)
    with pytest.raises(InputError, match="on elsewhere since"):
        take(target)
    forge(target, host="elsewhere", space="other", age_s=module.STALE_AGE_S * 2)
    take(target)


def test_what_nobody_wrote_completely_is_stale_after_a_while(target):
    lock_path(target).write_text("{")
    with pytest.raises(InputError, match="is being written by another process"):
        take(target)
    os.utime(lock_path(target), (0, 0))
    take(target)


def test_an_owner_that_only_sleeps_keeps_its_lock(target):
    """Its record lock tells that it lives, though nothing was renewed."""
    path = forge(target, host="elsewhere", space="other", age_s=module.STALE_AGE_S * 2)
    code = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, path], **pipes) as sleeper:
        assert sleeper.stdout.readline() == b"locked\n"
        with pytest.raises(InputError, match="on elsewhere since"):
            take(target)
        sleeper.communicate()
    take(target)


def test_who_was_stopped_for_too_long_notices(target):
    with locked(target):
        lock_path(target).unlink()
        forge(target, host="elsewhere")
        with pytest.raises(OutputError, match=r"process took over its lock.*on elsewhere since"):
            check_lock(target)
    assert lock_path(target).exists()  # it is the other one's


def test_where_there_are_no_hard_links(target, monkeypatch, tmp_path):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    with locked(target):
        assert Owner.read(lock_path(target)).pid == os.getpid()
    assert names(tmp_path) == []


def test_what_a_killed_breaker_left_is_removed(target):
    path = forge(target, pid=2**22 + 1)
    beside = path.with_name(f"{path.name}.breaking")
    beside.touch()
    os.utime(beside, (0, 0))
    take(target)
    assert not beside.exists()


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*/file/x: "):
        take(tmp_path / "file" / "x")


WRITER = """
import sys
from pathlib import Path
from tasksim.base.files import write_text
from tasksim.base.lockfile import locked

path, name = Path(sys.argv[1]), int(sys.argv[2])
for number in range(10_000):
    with locked(path):
        earlier = path.read_text() if path.exists() else ""
        write_text(path, f"{earlier} {name * 10_000 + number}")
    print(number, flush=True)
"""


def test_what_many_writers_reported_is_there_though_they_are_killed(tmp_path):
    """Eight at once, each killed after another number of writes: wherever it is then."""
    path = tmp_path / "numbers.txt"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(name)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in range(8)
    ]

    def watch(name, writer):
        for line in writer.stdout:
            if int(line) >= 2 + name:
                break
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split("\n")[:-1]
        reported[name] = max([int(line), *map(int, rest)])
        writer.wait()
        writer.stdout.close()

    reported: dict[int, int] = {}
    threads = [threading.Thread(target=watch, args=each) for each in enumerate(writers)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for writer in writers:
            with suppress(ProcessLookupError):
                writer.kill()
    found = set(map(int, path.read_text().split()))
    wanted = {
        10_000 * name + number for name, last in reported.items() for number in range(last + 1)
    }
    assert len(reported) == 8
    assert wanted <= found
    assert len(found - wanted) <= 8  # written, and killed before it could be said
    with locked(path, wait=False):
        pass
