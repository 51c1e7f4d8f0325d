"""Columns of an answer: how they are thinned, and the buffers in which they are made."""

import json
import subprocess

from webassembly import NODE, needs_node

from tasksim.view.page.document import bundle

THINNING_SCRIPT = """
let random = 1;
const next = () => (random = (random * 48271) % 2147483647);
const count = 300000, time = new Float64Array(count), used = new Float64Array(count);
for (let row = 1; row < count; row++) {
  time[row] = time[row - 1] + (next() % 1000) / 1e6;
  used[row] = used[row - 1] + (next() % 3) - 1;
}
const all = Uint32Array.from(used, (_, row) => row);
const kept = thinned(all, time, used), slice = time[count - 1] / MOST_SLICES;
const extremesBy = (rows) => {
  const found = new Map();
  for (const row of rows) {
    const place = Math.floor(time[row] / slice);
    const [low, high] = found.get(place) ?? [Infinity, -Infinity];
    found.set(place, [Math.min(low, used[row]), Math.max(high, used[row]), row]);
  }
  return JSON.stringify([...found]);
};
const few = all.subarray(0, 4 * MOST_SLICES);
console.log(JSON.stringify({
  kept: kept.length, same: extremesBy(kept) === extremesBy(all),
  few: thinned(few, time, used) === few,
}));
"""
REUSE_SCRIPT = """
const count = 2 ** 18, { buffer } = new Float64Array(count).fill(7);
const counted = (rows) => filled(Float64Array, rows, (row) => row);
keepSpare([buffer]);
const short = counted(count - 1000), other = counted(count);
const found = { reused: short.buffer === buffer, once: other.buffer !== buffer };
found.last = short.at(-1);
dropColumns(short, short, other);
const again = narrowed(new Float64Array(2 * count - 2000).fill(2 ** 20)), after = counted(count);
console.log(JSON.stringify({
  ...found, length: short.length, again: again.buffer === buffer, value: again.at(-1),
  after: after.buffer !== buffer,
}));
"""


def told(script, folder):
    program = folder / "told.mjs"
    program.write_text(bundle("liveanswer") + script)
    done = subprocess.run([NODE, program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
def test_many_changes_of_a_memory_keep_the_extremes_of_each_slice(tmp_path):
    found = told(THINNING_SCRIPT, tmp_path)
    assert found["same"]
    assert found["few"]
    assert 20_000 < found["kept"] < 80_000


@needs_node
def test_a_buffer_is_used_again_by_one_column_at_a_time(tmp_path):
    count = 2**18
    assert told(REUSE_SCRIPT, tmp_path) == {
        "reused": True, "once": True, "last": count - 1001, "length": count - 1000,
        "again": True, "value": 2**20, "after": True,
    }  # fmt: skip
