// Search in sorted numbers.

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
