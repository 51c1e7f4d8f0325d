// Lower bounds of several nodes, as tasksim.engine.cluster.bounds has them: work, traffic, paths with messages.

import { waysBy } from "./livenetwork.js";
import { cutOf } from "./livenodes.js";

/** Return {nodeArea, volume, path} in seconds; nothing on one node. */
export function nodeBounds(live, machine, fastest, settings) {
  if (!machine.cluster) return {};
  const cut = cutOf(live, machine), { links, ways } = waysBy(cut.network, settings);
  return {
    nodeArea: Math.max(...cut.members.map(({ task }) => sumOver(task, (one) => fastest[one]))) / machine.workers.length,
    volume: volumeOf(cut, links),
    path: pathOf(cut, fastest, ways),
  };
}

function sumOver(items, valueOf) {
  let sum = 0;
  for (const item of items) sum += valueOf(item);
  return sum;
}

/** Return the shortest time that the node with the most bytes needs for them: on its own link, out or in. */
function volumeOf({ network, messages, members, count }, links) {
  if (network.fastest_factor === null) return 0; // messages share no links
  const { route_ptr: first, route } = network;
  let worst = 0;
  for (const end of [messages.source, messages.target]) {
    const bytes = new Float64Array(members.length), own = new Int32Array(members.length);
    for (let message = 0; message < count; message++) {
      const way = messages.way[message];
      bytes[end[message]] += messages.size[message];
      own[end[message]] = route[end === messages.source ? first[way] : first[way + 1] - 1];
    }
    const most = bytes.indexOf(Math.max(...bytes)), link = own[most];
    if (network.shared[link]) worst = Math.max(worst, bytes[most] / (links.bandwidth[link] * network.fastest_factor));
  }
  return worst;
}

/** Return the longest path through the parts of all nodes, and the messages between them. */
function pathOf({ members, messages, count }, fastest, ways) {
  const offset = [0];
  for (const { graph } of members) offset.push(offset.at(-1) + graph.tasks);
  const tasks = offset.at(-1), waits = new Int32Array(tasks), begin = new Float64Array(tasks);
  const sent = new Int32Array(tasks).fill(-1), node = new Int32Array(tasks);
  const visit = (task, see) => {
    const { graph } = members[node[task]], here = offset[node[task]];
    for (let k = Number(graph.successor_ptr[task - here]); k < graph.successor_ptr[task - here + 1]; k++) see(here + graph.successors[k]);
    if (sent[task] >= 0) see(offset[messages.target[sent[task]]] + messages.receive[sent[task]], sent[task]);
  };
  members.forEach((_, number) => node.fill(number, offset[number], offset[number + 1]));
  for (let message = 0; message < count; message++) sent[offset[messages.source[message]] + messages.send[message]] = message;
  for (let task = 0; task < tasks; task++) visit(task, (later) => { waits[later] += 1; });
  const ready = Array.from(waits.keys()).filter((task) => !waits[task]);
  let longest = 0;
  while (ready.length) {
    const task = ready.pop(), own = members[node[task]].task, here = task - offset[node[task]];
    const end = begin[task] + (here < own.length ? fastest[own[here]] : 0);
    longest = Math.max(longest, end);
    visit(task, (later, message) => {
      begin[later] = Math.max(begin[later], end + (message === undefined ? 0 : aloneSeconds(messages, message, ways)));
      if (!(waits[later] -= 1)) ready.push(later);
    });
  }
  return longest;
}

/** Return how long a message takes without other traffic. */
function aloneSeconds({ way, latency_factor: factor, factor: share, bytes }, message, { latency, rate }) {
  return factor[message] * latency[way[message]] + bytes[message] / (share[message] * rate[way[message]]);
}
