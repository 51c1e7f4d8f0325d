// Prints, per line of settings, the command of a page and the question that the page asks.
import { readFileSync } from "node:fs";
import { commandOf } from "./livecommand.js";
import { GraphReader, graphName, keepGraph } from "./livegraphs.js";
import { askedBy } from "./livenodes.js";
import { allScales, settingsOf, settingsText } from "./livesettings.js";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));
const live = { ...given.header, read: new Map() };
const reader = new GraphReader(live, (name) => given.blocks[name]);
Object.assign(live, await reader.readOwn());
const scales = allScales(live);

function plain(value) {
  if (typeof value === "bigint") return { whole: String(value) };
  if (value instanceof BigInt64Array) return { whole: Array.from(value, String) };
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(Float64Array.from(value).buffer);
    return { real: Buffer.from(bytes).toString("base64") };
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
}

if (given.lines === undefined) {
  const axes = [...scales.values()].map(({ key, texts }) => [key, texts]);
  console.log(JSON.stringify({ axes, schedulers: live.schedulers.map(({ text }) => text) }));
} else {
  for (const line of given.lines) {
    const settings = settingsOf(live, line, scales), name = graphName(live, settings);
    if (live.graphs[name]?.number) keepGraph(live, name, await reader.read(name));
    const found = { command: commandOf(live, settings), text: settingsText(live, settings, scales) };
    try {
      found.question = plain(askedBy(live, settings).question);
    } catch (error) {
      found.refused = error.message;
    }
    console.log(JSON.stringify(found));
  }
}
