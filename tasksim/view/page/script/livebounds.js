// Numbers of an answer: makespan, efficiency, lower bounds, copies.

import { dropColumns } from "./columns.js";
import { sizeOfCopy } from "./liveanswer.js";
import { waitForMessages } from "./livenodes.js";
import { ascending } from "./search.js";

const ROUNDS = 400; // of the search for the weights of the area bound, where kinds of workers are more than two

/** Return the length of the longest path of a graph, each task on its fastest class, in seconds. */
export function criticalPath(graph, fastest) {
  const { successor_ptr: first, successors } = graph;
  const rest = new Float64Array(fastest.length);
  let longest = 0;
  for (let task = fastest.length - 1; task >= 0; task--) {
    let after = 0;
    for (let i = Number(first[task]); i < Number(first[task + 1]); i++) after = Math.max(after, rest[successors[i]]);
    rest[task] = fastest[task] + after;
    longest = Math.max(longest, rest[task]);
  }
  dropColumns(rest);
  return longest;
}

/** Return the least duration of each task over the classes, [classes x tasks]. */
export function leastDurations(costs, tasks) {
  const found = costs.slice(0, tasks);
  for (let place = tasks; place < costs.length; place++) found[place % tasks] = Math.min(found[place % tasks], costs[place]);
  return found;
}

/**
 * Return the time for all work without dependencies, with the best distribution over the workers.
 *
 * It is the dual of a linear program: prices of the classes, of which all workers together cost 1,
 * and each task takes the cheapest class. Any prices give a lower bound; the best ones the area
 * bound. With two kinds of workers they are found exactly, with more to some digits.
 */
export function areaBound(costs, tasks, workers) {
  const kinds = alike(costs, tasks, workers);
  const total = (prices) => {
    let sum = 0;
    for (let task = 0; task < tasks; task++) {
      let least = Infinity;
      kinds.forEach(({ row }, k) => { least = Math.min(least, prices[k] * row[task]); });
      sum += least;
    }
    return sum;
  };
  if (kinds.length === 1) return total([1 / kinds[0].workers]);
  if (kinds.length === 2) return areaOfTwo(kinds);
  return areaOfMany(kinds, total);
}

/** Return the classes whose tasks take the same, put together: {row, workers}. */
function alike(costs, tasks, workers) {
  const kinds = [];
  workers.forEach((count, index) => {
    const row = costs.subarray(index * tasks, (index + 1) * tasks);
    const same = kinds.find((kind) => kind.row.every((seconds, task) => seconds === row[task]));
    if (same) same.workers += count;
    else kinds.push({ row, workers: count });
  });
  return kinds;
}

/** Return the bound of two kinds: tasks by how much faster the first is; it takes the first of them. */
function areaOfTwo([one, other]) {
  const ratios = one.row.map((seconds, task) => seconds / other.row[task]), order = ascending(ratios);
  const bound = areaInOrder(order, one, other);
  dropColumns(ratios, order);
  return bound;
}

function areaInOrder(order, one, other) {
  let ofOne = 0, ofOther = 0;
  for (const task of order) ofOther += other.row[task];
  if (!isFinite(ofOther)) ofOther = order.reduce((sum, task) => sum + (isFinite(other.row[task]) ? other.row[task] : 0), 0);
  for (const task of order) {
    const after = ofOne + one.row[task], left = ofOther - (isFinite(other.row[task]) ? other.row[task] : 0);
    if (after / one.workers >= left / other.workers && isFinite(other.row[task])) {
      // A part of this task, such that both end at once.
      const part = (ofOther * one.workers - ofOne * other.workers)
        / (one.row[task] * other.workers + other.row[task] * one.workers);
      const share = Math.max(0, Math.min(1, part));
      return Math.max((ofOne + share * one.row[task]) / one.workers, (ofOther - share * other.row[task]) / other.workers);
    }
    if (!isFinite(after)) break;
    ofOne = after;
    ofOther = left;
  }
  return Math.max(ofOne / one.workers, ofOther / other.workers);
}

/** Return the bound of many kinds by steps along the slope of the prices, always a lower bound. */
function areaOfMany(kinds, total) {
  let prices = kinds.map(({ workers }) => 1 / (workers * kinds.length)), best = total(prices);
  for (let round = 0, step = 0.5; round < ROUNDS; round++) {
    const tried = kinds.flatMap((_, k) => [1 + step, 1 / (1 + step)].map((factor) => normal(
      prices.map((price, other) => (other === k ? price * factor : price)), kinds)));
    const totals = tried.map(total), most = Math.max(...totals);
    if (most > best) [best, prices] = [most, tried[totals.indexOf(most)]];
    else if ((step /= 2) < 1e-5) break;
  }
  return best;
}

function normal(prices, kinds) {
  const sum = prices.reduce((so, price, k) => so + price * kinds[k].workers, 0);
  return prices.map((price) => price / sum);
}

/** Return the numbers of an answer that a page compares; *fastest* is the least duration of each task. */
export function numbersOf(live, machine, question, answer, fastest) {
  const { start_s: start, end_s: end } = answer.tasks, tasks = start.length;
  let busy = 0, bytes = 0;
  for (let task = 0; task < tasks; task++) busy += end[task] - start[task];
  const copies = answer.copies?.handle ?? [];
  for (let copy = 0; copy < copies.length; copy++) bytes += sizeOfCopy(question, answer.copies, copy);
  const capacity = machine.workers.length * answer.makespan_s;
  return {
    makespan: answer.makespan_s,
    tasks,
    rate: answer.makespan_s ? live.flop / answer.makespan_s : 0,
    efficiency: capacity ? busy / capacity : 0,
    criticalPath: criticalPath(question.graph, fastest),
    area: areaBound(question.question.costs, tasks, machine.classes.map(([, , workers]) => workers)),
    copies: copies.length,
    bytes,
    evictions: answer.evictions,
    messages: answer.messages?.size.length ?? 0,
    sent: answer.messages?.size.reduce((sum, size) => sum + size, 0) ?? 0,
    waiting: answer.messages ? waitForMessages(answer, machine.workers.length) : 0,
  };
}
