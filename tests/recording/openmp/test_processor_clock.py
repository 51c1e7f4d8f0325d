"""The recorder's processor clock: it notices each time that a thread has lost its core."""

from __future__ import annotations

import subprocess

import pytest

from tasksim.core.library import BUILT_RECORDER
from tests.openmp_programs import HANG_S, compilers

PROGRAM = r"""
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

#include "processor_clock.h"

using namespace tasksim;
using namespace tasksim::ompt;

static CoreWatch watch;
static std::atomic<bool> ends{false};

static long switches() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void work() {
  for (volatile int k = 0; k < 2000;) k = k + 1;
}

// Prints how often the thread lost its core, how often that was missed, and how often the watch
// said that it had kept it; then how far the clock was before and behind the system's, in ns.
static void judge(const char* name, int turns, void (*act)(int)) {
  long lost = 0, missed = 0, kept = 0;
  for (int k = 0; k < turns; ++k) {
    watch.watch();
    const long before = switches();
    act(k);
    const bool was_switched = switches() != before;
    const bool said = watch.kept();
    lost += was_switched;
    missed += was_switched && said;
    kept += said;
  }
  ProcessorClock clock(watch);
  std::int64_t ahead = 0, late = 0;
  for (int k = 0; k < turns; ++k) {
    act(k);
    const auto before = static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    clock.look(true);
    const auto after = static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    const auto told = static_cast<std::int64_t>(clock.cpu_ns());
    ahead = std::max(ahead, told - after);
    late = std::max(late, before - told);
  }
  printf("%s %ld %ld %ld %lld %lld\n", name, lost, missed, kept, static_cast<long long>(ahead),
         static_cast<long long>(late));
}

static void* compete(void*) {
  while (!ends) work();
  return nullptr;
}

int main(int, char** values) {
  watch.prepare();
  if (!watch.works()) {
    puts("nothing is told");
    return 0;
  }
  const int turns = atoi(values[1]);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(sched_getcpu(), &cores);
  judge("alone", turns, [](int) { work(); });
  judge("asleep", turns / 20, [](int) {
    const timespec short_time{0, 1000};
    nanosleep(&short_time, nullptr);
  });
  judge("faults", turns, [](int) {
    constexpr size_t BYTES = 1 << 14;
    void* page = mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 1, BYTES);
    munmap(page, BYTES);
  });
  signal(SIGUSR1, [](int) { work(); });
  judge("signals", turns, [](int k) {
    if (k % 2) raise(SIGUSR1);
    work();
  });
  if (sched_setaffinity(0, sizeof cores, &cores)) return 1;
  pthread_t other;
  if (pthread_create(&other, nullptr, compete, nullptr)) return 1;
  judge("beside", 10 * turns, [](int) { work(); });
  judge("yields", turns / 10, [](int) {
    sched_yield();
    work();
  });
  ends = true;
  pthread_join(other, nullptr);
}
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return the program's numbers per situation: core lost, missed, kept, ahead, late."""
    cxx = next(iter(compilers("g++")), None)
    if cxx is None:
        pytest.skip("no g++ here")
    folder = tmp_path_factory.mktemp("clock")
    source = folder / "clock.cpp"
    source.write_text(PROGRAM)
    include = f"-I{BUILT_RECORDER.parent}"
    command = [cxx, "-std=c++20", "-O2", "-pthread", include, source, "-o", folder / "clock"]
    subprocess.run(command, check=True, timeout=HANG_S)
    done = subprocess.run(
        [folder / "clock", "2000"], check=True, capture_output=True, text=True, timeout=HANG_S
    )
    if "nothing" in done.stdout:
        pytest.skip("this C library or kernel does not tell of lost cores")
    rows = [line.split() for line in done.stdout.splitlines()]
    return {name: [int(value) for value in values] for name, *values in rows}


@pytest.mark.parametrize("name", ["alone", "asleep", "faults", "signals", "beside", "yields"])
def test_no_loss_of_the_core_is_missed(name, told):
    assert told[name][1] == 0


@pytest.mark.parametrize("name", ["asleep", "beside", "yields"])
def test_cores_are_lost_where_the_program_sees_to_it(name, told):
    assert told[name][0] > 0


@pytest.mark.parametrize("name", ["alone", "faults", "beside"])
def test_a_core_that_is_kept_counts_as_kept(name, told):
    assert told[name][2] > 0
