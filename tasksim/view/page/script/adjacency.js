// Adjacency of tasks: lists of neighbours in compressed rows, reversed, and walked level by level.

/** Return the lists that `counts` and distances to earlier tasks make: {first, tasks}. */
export function listsOf(counts, distances) {
  const first = new Int32Array(counts.length + 1);
  const tasks = new Int32Array(distances.length);
  for (let task = 0, place = 0; task < counts.length; task++) {
    const end = place + counts[task];
    for (; place < end; place++) tasks[place] = task - distances[place];
    first[task + 1] = end;
  }
  return { first, tasks };
}

/** Return the lists of the reversed edges. */
export function reversed({ first, tasks }) {
  const count = first.length - 1;
  const begins = new Int32Array(count + 1);
  for (let i = 0; i < tasks.length; i++) begins[tasks[i] + 1]++;
  for (let task = 0; task < count; task++) begins[task + 1] += begins[task];
  const free = begins.slice();
  const found = new Int32Array(tasks.length);
  for (let task = 0; task < count; task++) {
    for (let i = first[task]; i < first[task + 1]; i++) found[free[tasks[i]]++] = task;
  }
  return { first: begins, tasks: found };
}

/** Return the neighbours of a task. */
export function neighbours({ first, tasks }, task) {
  return tasks.subarray(first[task], first[task + 1]);
}

/** Return the edges within `levels` steps of `task`, [near, far, level], and whether some lack. */
export function within(lists, task, levels, most) {
  const edges = [];
  const seen = new Set([task]);
  let border = [task];
  for (let level = 1; level <= levels && border.length; level++) {
    const next = [];
    for (const near of border) {
      for (const far of neighbours(lists, near)) {
        if (edges.length >= most) return { edges, cut: true };
        edges.push([near, far, level]);
        if (!seen.has(far)) seen.add(far), next.push(far);
      }
    }
    border = next;
  }
  return { edges, cut: false };
}
