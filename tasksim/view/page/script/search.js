// Search in sorted numbers, and the order of unsorted ones.

const DIGIT = 65536; // numbers are ordered by digits to this base, the lowest first

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

/** Return the places of numbers in ascending order; equal ones keep theirs. */
export function ascending(values) {
  return Uint32Array.from(values, (_, i) => i).sort((a, b) => values[a] - values[b]);
}

/** Return the same of whole numbers from 0, faster: no function compares them. */
export function ascendingWhole(values) {
  let order = new Uint32Array(values.length), most = 0;
  for (let i = 0; i < values.length; i++) {
    order[i] = i;
    if (values[i] > most) most = values[i];
  }
  for (let unit = 1; unit <= most; unit *= DIGIT) order = byDigit(values, order, unit);
  return order;
}

/** Return places ordered by one digit of their numbers. */
function byDigit(values, order, unit) {
  const next = new Uint32Array(DIGIT + 1), found = new Uint32Array(order.length);
  const digit = (value) => Math.floor(value / unit) % DIGIT;
  for (let i = 0; i < values.length; i++) next[digit(values[i]) + 1]++;
  for (let k = 0; k < DIGIT; k++) next[k + 1] += next[k];
  for (const place of order) found[next[digit(values[place])]++] = place;
  return found;
}
