// Rows of the chart: runs, their nodes and types of workers, workers, copies; folded or open.

export const HEIGHTS = {
  run: 26, group: 18, panel: 74, leastPanel: 44, mostPanel: 220, least: 5, most: 72, link: 14,
};
const BAND = 300; // of a closed group, where there is room: more says no more about its share
const FOLDED_FROM = 48; // workers of a group that is closed at first where not all have room

/** Return the tree of rows of a run: {id, kind, label, workers, children}. */
export function treeOf(run) {
  const nodes = grouped(run.workers.map((_, worker) => worker), (w) => run.workers[w].node);
  const children = nodes.size > 1
    ? [...nodes].map(([node, workers]) => group(run, `n${node}`, `node ${node}`, workers,
      typesOf(run, `n${node}`, workers)))
    : typesOf(run, "", run.workers.map((_, worker) => worker));
  const all = run.workers.map((_, worker) => worker);
  const root = group(run, "", run.name, all, children);
  return { ...root, kind: "run", children: [...children, ...copiesRow(run)] };
}

function typesOf(run, prefix, workers) {
  const types = grouped(workers, (w) => run.workers[w].architecture);
  const leaves = (some) => some.map((worker) => ({
    id: `${run.number}/w${worker}`, kind: "worker", run, worker, workers: [worker],
    label: run.workers[worker].name, children: [],
  }));
  if (types.size < 2) return leaves(workers);
  return [...types].map(([type, some]) => group(run, `${prefix}t${type}`,
    `${type} (${some.length})`, some, leaves(some)));
}

function group(run, id, label, workers, children) {
  return { id: `${run.number}/${id}`, kind: "group", run, label, workers, children };
}

function copiesRow(run) {
  if (!run.copies) return [];
  const name = (memory) => run.memories[memory].name;
  const children = run.copies.links.map((link, number) => ({
    id: `${run.number}/l${number}`, kind: "link", run, link, children: [], workers: [],
    label: `${name(link.source)} → ${name(link.target)}`,
  }));
  return [{ id: `${run.number}/copies`, kind: "copies", run, label: "copies", children, workers: [] }];
}

function grouped(items, keyOf) {
  const found = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(item);
  }
  return found;
}

/** Return the groups that are closed at first: large ones, where rows are too many to be seen. */
export function foldedAtFirst(trees, room) {
  const workers = trees.reduce((sum, tree) => sum + tree.workers.length, 0);
  return workers * HEIGHTS.least <= room ? new Set() : innerGroups(trees, FOLDED_FROM);
}

/** Return the groups that hold workers themselves, at least so many. */
export function innerGroups(trees, least = 1) {
  const found = new Set();
  const visit = (row) => {
    const isInner = row.children.some((child) => child.kind === "worker");
    if (isInner && row.workers.length >= least) found.add(row.id);
    row.children.forEach(visit);
  };
  trees.forEach(visit);
  return found;
}

/** Return the row of a worker, or of the closed group that it is in. */
export function rowOf(rows, run, worker) {
  // Later rows are deeper in the tree.
  return rows.filter((row) => row.run === run && row.workers.includes(worker)).at(-1);
}

/** Return the workers of a tree from the top, whether their groups are open or not. */
export function workersInOrder(row) {
  return row.kind === "worker" ? row.workers : row.children.flatMap(workersInOrder);
}

/** Return the open rows from the top, each with `y`, `height` and `depth`; and the height of all. */
export function layOut(trees, folded, room) {
  const rows = [];
  const visit = (row, depth) => {
    rows.push({ ...row, depth, folded: folded.has(row.id) });
    if (!folded.has(row.id)) row.children.forEach((child) => visit(child, depth + 1));
  };
  trees.forEach((tree) => visit(tree, 0));
  const heights = flexibleHeights(rows, room);
  let y = 0;
  for (const row of rows) {
    row.y = y;
    row.height = heights[flexible(row)] ?? fixedHeight(row);
    y += row.height;
  }
  return { rows, height: y };
}

function fixedHeight(row) {
  if (row.kind === "run") return HEIGHTS.run;
  return row.kind === "link" ? HEIGHTS.link : HEIGHTS.group;
}

/** Return which height of a row is chosen to fill the room: "worker", "band", or none. */
function flexible(row) {
  if (row.kind === "worker") return "worker";
  return row.folded && row.workers.length ? "band" : "";
}

/** Return the heights of workers' rows and of closed groups, such that all have room if it is there. */
function flexibleHeights(rows, room) {
  const count = (kind) => rows.filter((row) => flexible(row) === kind).length;
  const fixed = rows.reduce((sum, row) => sum + (flexible(row) ? 0 : fixedHeight(row)), 0);
  const [workers, bands] = [count("worker"), count("band")];
  const left = room - fixed - bands * HEIGHTS.run;
  const worker = Math.max(HEIGHTS.least, Math.min(HEIGHTS.most, Math.floor(left / Math.max(workers, 1))));
  const rest = left - workers * worker;
  return { worker, band: Math.max(HEIGHTS.run, Math.min(BAND, HEIGHTS.run + Math.floor(rest / Math.max(bands, 1)))) };
}

/** Return the row at a height from the top, or null. */
export function rowAt(rows, y) {
  return rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
}
