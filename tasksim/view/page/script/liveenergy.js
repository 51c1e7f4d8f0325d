// The energy of an answer, as tasksim.run.energy computes that of a run.

/** Return the energy of a run in joules: static, of idle and of busy workers, of copies; 0 if it is unknown. */
export function energyOf({ power, nodes = 1 }, { graph }, { makespan_s: makespan, tasks, copies }) {
  if (!power) return 0;
  const { worker, start_s: start, end_s: end } = tasks;
  const kindOf = (own) => power.kind_of[own % power.kind_of.length]; // all nodes are alike
  const busy = new Float64Array(power.kind_of.length * nodes);
  let joules = power.static * nodes * makespan;
  for (let task = 0; task < worker.length; task++) {
    const seconds = end[task] - start[task];
    busy[worker[task]] += seconds;
    joules += power.busy[kindOf(worker[task])][graph.kernel[task]] * seconds;
  }
  busy.forEach((seconds, own) => { joules += power.idle[kindOf(own)] * Math.max(0, makespan - seconds); });
  return joules + copiesJoules(power, copies);
}

/** Return the energy of links while copies cross them. */
function copiesJoules(power, copies) {
  if (!copies || !power.copies.length) return 0;
  const watts = new Map(power.copies.map(([source, target, of]) => [`${source} ${target}`, of]));
  const memories = 1 + Math.max(...power.copies.map(([source, target]) => Math.max(source, target)));
  let joules = 0;
  copies.source.forEach((source, copy) => {
    const way = `${source % memories} ${copies.target[copy] % memories}`;
    joules += (watts.get(way) ?? 0) * (copies.end_s[copy] - copies.start_s[copy]);
  });
  return joules;
}
