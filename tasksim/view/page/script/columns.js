// Columns of numbers, read from the text that tasksim/view/page/columns.py has made of them.

/** Return the columns of `text` by name: whole numbers, sums of differences, or real numbers of 4 or 8 bytes. */
export async function unpack(layout, text) {
  const bytes = await inflatedBytes(text);
  const found = {};
  let place = 0;
  for (const column of layout) {
    const size = column.rows * column.width;
    found[column.name] = values(bytes.subarray(place, place + size), column);
    place += size;
  }
  return found;
}

const LEAST_SPARE = 2 ** 20; // bytes of a buffer that is used again: smaller ones are left to the collector of garbage
const MOST_SPARE = 24; // buffers: those of an answer, and some that were read for it
const SPARE_FACTOR = 1.25; // a buffer serves for a column that needs that much less
const spare = [], reused = new WeakSet();

/**
 * Take buffers that came from another thread, for columns to come.
 *
 * Chromium keeps the bytes of such a buffer until it collects garbage, even if the buffer is transferred to length 0:
 * to use it again is the only way not to have them beside the next ones.
 */
export function keepSpare(buffers) {
  for (const buffer of buffers) reused.add(buffer);
  spare.push(...buffers);
  spare.splice(0, Math.max(0, spare.length - MOST_SPARE));
}

/** Return the buffers of columns that another thread may use again. */
export function spareOf(columns) {
  return [...new Set(columns.map(({ buffer }) => buffer))].filter(({ byteLength }) => byteLength >= LEAST_SPARE);
}

/** Return an array for `count` numbers that are all to be set, in a buffer that is used again if there is one. */
export function roomFor(Kind, count) {
  const bytes = count * Kind.BYTES_PER_ELEMENT;
  if (bytes < LEAST_SPARE / SPARE_FACTOR) return new Kind(count);
  let best = -1;
  spare.forEach(({ byteLength: own }, place) => {
    if (own >= bytes && own <= SPARE_FACTOR * bytes && (best < 0 || own < spare[best].byteLength)) best = place;
  });
  return best < 0 ? new Kind(count) : new Kind(spare.splice(best, 1)[0], 0, count);
}

/** Return an array of a kind with a value for each of `count` rows; Array.from takes ten times as long. */
export function filled(Kind, count, value) {
  const found = roomFor(Kind, count);
  for (let row = 0; row < count; row++) found[row] = value(row);
  return found;
}

/** Return whole numbers in the narrowest array that holds them all, up to four bytes each; those that are given are gone then. */
export function narrowed(values) {
  let most = 0;
  for (let row = 0; row < values.length; row++) {
    if (!(values[row] >= 0 && values[row] < 2 ** 32)) return values;
    if (values[row] > most) most = values[row];
  }
  const found = roomFor(most < 2 ** 8 ? Uint8Array : most < 2 ** 16 ? Uint16Array : Uint32Array, values.length);
  found.set(values);
  dropColumns(values);
  return found;
}

/** Free columns at once, where the browser can do that: the collector of garbage is late for large arrays. */
export function dropColumns(...columns) {
  for (const { buffer } of columns) {
    if (!reused.has(buffer)) {
      if (buffer.byteLength) buffer.transfer?.(0);
    } else if (buffer.byteLength && !spare.includes(buffer)) {
      spare.push(buffer);
    }
  }
}

/** Return the bytes that a text in base64 holds, deflated. */
export async function inflatedBytes(text) {
  return inflated(fromBase64(text));
}

/** Return the text that a text in base64 holds, deflated. */
export async function inflatedText(text) {
  return new TextDecoder().decode(await inflatedBytes(text));
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function values(planes, { rows, width, kind }) {
  if (kind === "real") return new Float32Array(joined(planes, rows, 4));
  if (kind === "exact") return new Float64Array(joined(planes, rows, 8));
  if (kind === "differences") return summed(unfolded(planes, rows, width));
  return unfolded(planes, rows, width);
}

/** Return the bytes of numbers of some bytes each, the lowest byte in the first plane. */
function joined(planes, rows, width) {
  const bytes = new Uint8Array(width * rows);
  for (let plane = 0; plane < width; plane++) {
    for (let row = 0; row < rows; row++) bytes[width * row + plane] = planes[plane * rows + row];
  }
  return bytes.buffer;
}

/** Return whole numbers: 0, -1, 1, -2, ... are written as 0, 1, 2, 3, ..., in the narrowest array that holds so many bytes. */
function unfolded(planes, rows, width) {
  if (width > 4) return unfoldedWide(planes, rows, width);
  const found = new (width === 1 ? Int8Array : width === 2 ? Int16Array : Int32Array)(rows);
  for (let row = 0; row < rows; row++) {
    let folded = planes[row];
    for (let plane = 1; plane < width; plane++) folded |= planes[plane * rows + row] << (8 * plane);
    found[row] = (folded >>> 1) ^ -(folded & 1);
  }
  return found;
}

function unfoldedWide(planes, rows, width) {
  const found = new Float64Array(rows);
  for (let plane = width - 1; plane >= 0; plane--) {
    const part = planes.subarray(plane * rows, (plane + 1) * rows);
    for (let row = 0; row < rows; row++) found[row] = found[row] * 256 + part[row];
  }
  for (let row = 0; row < rows; row++) {
    const folded = found[row];
    found[row] = folded % 2 ? -(folded + 1) / 2 : folded / 2;
  }
  return found;
}

/** Return the sums of differences, in four bytes each if all are so small. */
function summed(differences) {
  let sum = 0, least = 0, most = 0;
  for (let row = 0; row < differences.length; row++) {
    sum += differences[row];
    if (sum < least) least = sum;
    if (sum > most) most = sum;
  }
  const found = new (least >= -(2 ** 31) && most < 2 ** 31 ? Int32Array : Float64Array)(differences.length);
  sum = 0;
  for (let row = 0; row < found.length; row++) found[row] = sum += differences[row];
  return found;
}
