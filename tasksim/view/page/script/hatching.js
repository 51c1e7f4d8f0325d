// Hatching: the end of a task's box, as long as others made it. It is known how long, not when.

export const OTHERS = "taken by others";

const SIZE = 8; // pixels from one line to the next
const LINES = "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7"; // whole where tiles meet
const COVER = 0.55; // of the ground over the box: lines are then seen on every colour of a kernel

/** As the background of an element. */
export const HATCHED = "repeating-linear-gradient(-45deg, var(--text) 0 1px, var(--line) 1px 4px)";

/** Return a definition that shapes of SVG are filled with: `url(#others)`. */
export function hatchedShape({ ground, text }) {
  return `<defs><pattern id="others" width="${SIZE}" height="${SIZE}" patternUnits="userSpaceOnUse">`
    + `<rect width="${SIZE}" height="${SIZE}" fill="${ground}" fill-opacity="${COVER}"/>`
    + `<path d="${LINES}" stroke="${text}"/></pattern></defs>`;
}

/** Return what a canvas fills boxes with. */
export function hatchedPattern(context, { ground, text }) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = SIZE;
  const inside = tile.getContext("2d");
  inside.globalAlpha = COVER;
  inside.fillStyle = ground;
  inside.fillRect(0, 0, SIZE, SIZE);
  inside.globalAlpha = 1;
  inside.strokeStyle = text;
  inside.stroke(new Path2D(LINES));
  return context.createPattern(tile, "repeat");
}
