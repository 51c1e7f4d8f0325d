// Search in sorted numbers, and the order of unsorted ones.

import { dropColumns, roomFor } from "./columns.js";

const WIDE_FROM = 20000; // numbers from which they are ordered by digits of two bytes: fewer digits, with a larger table each
const SIGN_BIT = -(2 ** 31);

/** Return how many of `values[low..high)`, which ascend, are at most `x`. */
export function countUpTo(values, x, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return the same as `countUpTo`, quickly where the answer is not far behind `low`. */
export function countUpToFrom(values, x, low, high) {
  let step = 1;
  let end = low;
  while (end < high && values[end] <= x) {
    low = end + 1;
    end += step;
    step *= 2;
  }
  return countUpTo(values, x, low, Math.min(end, high));
}

/** Return the places of numbers in ascending order; equal ones keep theirs, and NaN comes last. */
export function ascending(values) {
  return orderOfWhole(values) ?? orderByDigits(values);
}

/** Return the order of whole numbers, such as ticks, which the browser sorts with their places in half of the time; null: others. */
function orderOfWhole(values) {
  const bits = 32 - Math.clz32(Math.max(values.length - 1, 1)), limit = 2 ** Math.min(64 - bits, 53);
  const keys = new BigUint64Array(values.length), halves = new Uint32Array(keys.buffer);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!(value >= 0 && value < limit && Number.isInteger(value))) return null;
    halves[2 * i] = (value << bits) | i; // the lowest 32 bits of the number, in a shift
    halves[2 * i + 1] = Math.floor(value / 2 ** (32 - bits));
  }
  keys.sort();
  const order = roomFor(Uint32Array, values.length);
  for (let i = 0; i < order.length; i++) order[i] = halves[2 * i] & (2 ** bits - 1);
  dropColumns(keys);
  return order;
}

function orderByDigits(values) {
  const count = values.length, Digits = count < WIDE_FROM ? Uint8Array : Uint16Array;
  const digits = new Digits(orderedBits(values).buffer), perValue = 8 / Digits.BYTES_PER_ELEMENT;
  let order = new Uint32Array(count), spare = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  // The lowest digit first: no function compares numbers, which takes ten times as long.
  for (let digit = 0; digit < perValue; digit++) {
    const next = new Uint32Array(256 ** Digits.BYTES_PER_ELEMENT + 1);
    for (let i = digit; i < digits.length; i += perValue) next[digits[i] + 1]++;
    if (count && next[digits[digit] + 1] === count) continue; // all have the same one
    for (let k = 1; k < next.length; k++) next[k] += next[k - 1];
    for (let i = 0; i < count; i++) spare[next[digits[order[i] * perValue + digit]]++] = order[i];
    [order, spare] = [spare, order];
  }
  dropColumns(digits, spare);
  return order;
}

/** Return numbers whose bits, read as whole numbers without a sign, have the order of `values`. */
function orderedBits(values) {
  const found = new Float64Array(values.length), halves = new Int32Array(found.buffer);
  for (let i = 0; i < found.length; i++) {
    found[i] = values[i] + 0; // -0 is 0
    const isNegative = halves[2 * i + 1] < 0;
    if (isNegative) halves[2 * i] = ~halves[2 * i];
    halves[2 * i + 1] ^= isNegative ? -1 : SIGN_BIT;
  }
  return found;
}
