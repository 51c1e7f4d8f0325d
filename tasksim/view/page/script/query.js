// Queries: what a person writes to find tasks, made into a test of tasks.
//
// Words apart by blanks, all of which must hold: a part of a kernel's name, a task's number ("#17"),
// a regular expression ("/^ge.*7$/", of "gemm #17"), or a comparison ("k=3", "slow>1.5",
// "duration>=2ms", "worker=gpu0").

const UNITS = { s: 1, ms: 1e-3, us: 1e-6, "µs": 1e-6, ns: 1e-9 };
const NUMBERS = {
  id: (run, task) => run.numberOf(task),
  k: (run, task) => (run.iteration ? run.iteration[task] : NaN),
  iteration: (run, task) => (run.iteration ? run.iteration[task] : NaN),
  priority: (run, task) => run.priority[task],
  slow: (run, task) => run.slowness(task),
  duration: (run, task) => run.duration(task),
  start: (run, task) => run.start(task),
  end: (run, task) => run.end(task),
  wait: (run, task) => run.start(task) - run.ready(task),
  data: (run, task) => run.waits(task).data,
  others: (run, task) => (run.header.others ? run.others(task) : NaN),
  preemptions: (run, task) => (run.header.others ? run.preemptions(task) : NaN),
  node: (run, task) => run.workers[run.worker[task]].node,
};
const TEXTS = {
  kernel: (run, task) => run.kernels[run.kernel[task]],
  worker: (run, task) => run.workers[run.worker[task]].name,
  type: (run, task) => run.workers[run.worker[task]].architecture,
};
const COMPARE = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};

export const QUERY_HELP = `gemm, #17, /^ge.*7$/, and comparisons of ${
  [...Object.keys(TEXTS), ...Object.keys(NUMBERS)].join(", ")}: k=3 slow>1.5 duration>=2ms`;

/** Return {test(run, task)} of a query, null of an empty one, or {error} in words. */
export function parseQuery(text) {
  const tests = [];
  for (const word of words(text)) {
    const found = testOf(word);
    if (found.error) return found;
    tests.push(found.test);
  }
  if (!tests.length) return null;
  return { test: (run, task) => tests.every((test) => test(run, task)) };
}

/** Return the words of a text; a regular expression may have blanks in it. */
function words(text) {
  return text.match(/\/(?:\\.|[^/\\])*\/i?|\S+/g) ?? [];
}

function testOf(word) {
  const expression = word.match(/^\/(.*)\/(i?)$/);
  if (expression) return expressionTest(expression[1], expression[2]);
  const number = word.match(/^#?(\d+)$/);
  if (number) return { test: (run, task) => run.numberOf(task) === Number(number[1]) };
  const comparison = word.match(/^(\w+)(<=|>=|!=|=|<|>)(.*)$/);
  if (comparison) return comparisonTest(...comparison.slice(1));
  return { test: kernelTest((name) => name.toLowerCase().includes(word.toLowerCase())) };
}

function expressionTest(source, flags) {
  try {
    const expression = new RegExp(source, flags);
    return { test: (run, task) => expression.test(run.label(task)) };
  } catch (error) {
    return { error: error.message };
  }
}

/** Return a test of kernels' names that asks each name once. */
function kernelTest(holds) {
  const known = new Map();
  return (run, task) => {
    if (!known.has(run)) known.set(run, run.kernels.map(holds));
    return known.get(run)[run.kernel[task]];
  };
}

function comparisonTest(name, sign, value) {
  const compare = COMPARE[sign];
  if (Object.hasOwn(TEXTS, name)) {
    if (sign !== "=" && sign !== "!=") return { error: `${name} is a text: use = or !=` };
    return { test: (run, task) => compare(TEXTS[name](run, task), value) };
  }
  if (!Object.hasOwn(NUMBERS, name)) return { error: `nothing is called "${name}"` };
  const number = quantity(value);
  if (number === null) return { error: `"${value}" is no number` };
  return { test: (run, task) => compare(NUMBERS[name](run, task), number) };
}

function quantity(text) {
  const parts = text.match(/^([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(s|ms|us|µs|ns)?$/i);
  const number = parts ? Number(parts[1]) * (UNITS[parts[2]] ?? 1) : NaN;
  return isNaN(number) ? null : number;
}

/** The tasks of some runs that a query finds, run by run, in order of their start. */
export class Matches {
  constructor(runs, query) {
    this.parts = runs.map((run) => partOf(run, query));
    this.length = this.parts.reduce((sum, { tasks }) => sum + tasks.length, 0);
  }

  /** Return the match of a number as {run, task}; undefined beyond the last. */
  at(number) {
    let left = number;
    for (const { run, tasks } of this.parts) {
      if (left >= 0 && left < tasks.length) return { run, task: tasks[left] };
      left -= tasks.length;
    }
    return undefined;
  }

  *[Symbol.iterator]() {
    for (const { run, tasks } of this.parts) for (const task of tasks) yield { run, task };
  }
}

/** Return the tasks of a run that a query finds, and a flag per task. */
function partOf(run, query) {
  const flags = new Uint8Array(run.count);
  for (let task = 0; task < run.count; task++) if (query.test(run, task)) flags[task] = 1;
  return { run, flags, tasks: run.inOrder().filter((task) => flags[task]) };
}
