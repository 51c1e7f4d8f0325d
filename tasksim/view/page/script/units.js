// Units: numbers as people read them, and the ticks of a time axis.

const TIMES = [["s", 1], ["ms", 1e3], ["µs", 1e6], ["ns", 1e9]];
const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Return seconds with four digits and a fitting unit: "1.234 ms"; from ten hours on "12 h 34 min". */
export function timeText(seconds) {
  const size = Math.abs(seconds);
  if (size >= 36000 && size < 1e9) return `${seconds < 0 ? "-" : ""}${hoursText(size)}`;
  const [unit, factor] = unitOf(Math.abs(seconds));
  return `${digits(seconds * factor)} ${unit}`;
}

/** Return hours and minutes or, from a hundred hours on, days and hours, as reports in text do. */
function hoursText(seconds) {
  const minutes = Math.round(seconds / 60), hours = Math.round(seconds / 3600);
  const [whole, unit, rest, part] = minutes < 6000
    ? [Math.floor(minutes / 60), "h", minutes % 60, "min"]
    : [Math.floor(hours / 24), "d", hours % 24, "h"];
  return `${whole} ${unit}${rest ? ` ${rest} ${part}` : ""}`;
}

/** Return seconds with a sign, as differences have. */
export function shiftText(seconds) {
  return `${seconds < 0 ? "−" : "+"}${timeText(Math.abs(seconds))}`;
}

function unitOf(seconds) {
  if (!(seconds > 0)) return TIMES[0];
  return TIMES.find(([, factor]) => seconds * factor >= 1) ?? TIMES.at(-1);
}

function digits(value) {
  const text = Math.abs(value) >= 10000 ? value.toFixed(0) : value.toPrecision(4);
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

/** Return bytes in a fitting unit of 1024. */
export function sizeText(bytes) {
  let value = bytes, unit = 0;
  while (Math.abs(value) >= 1024 && unit < SIZES.length - 1) value /= 1024, unit++;
  return `${digits(value)} ${SIZES[unit]}`;
}

/** Return bytes per second in a fitting unit of 1000. */
export function rateText(bytes) {
  return perSecond(bytes, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
}

/** Return flop per second in a fitting unit of 1000. */
export function flopText(flop) {
  return perSecond(flop, ["flop/s", "kflop/s", "Mflop/s", "Gflop/s", "Tflop/s", "Pflop/s"]);
}

function perSecond(count, units) {
  let value = count, unit = 0;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) value /= 1000, unit++;
  return `${digits(value)} ${units[unit]}`;
}

/** Return joules with a fitting unit. */
export function energyText(joules) {
  const [unit, size] = [["MJ", 1e6], ["kJ", 1e3], ["J", 1], ["mJ", 1e-3]].find(([, least]) => joules >= least) ?? ["J", 1];
  return `${digits(joules / size)} ${unit}`;
}

/** Return a number of things, thousands apart. */
export function countText(count) {
  return Math.round(count).toLocaleString("en");
}

/** Return a share of a whole as a percentage. */
export function percentText(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/** Return a change as a share of what was before, with a sign: "+3.5 %", "−120 %". */
export function changeText(share) {
  const percent = Math.abs(100 * share);
  return `${share < 0 ? "−" : "+"}${percent.toFixed(percent >= 100 ? 0 : 1)} %`;
}

/** Return round times from `from` to `to`, about `count` of them, with their texts. */
export function ticks(from, to, count) {
  const rough = (to - from) / Math.max(count, 1);
  if (!(rough > 0) || !isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const [unit, factor] = unitOf(Math.max(Math.abs(from), Math.abs(to)));
  const decimals = Math.max(0, Math.min(20, Math.ceil(-Math.log10(step * factor) - 1e-9)));
  const found = [];
  for (let tick = Math.ceil(from / step); tick * step <= to; tick++) {
    found.push({ at: tick * step, text: `${(tick * step * factor).toFixed(decimals)} ${unit}` });
  }
  return found;
}
