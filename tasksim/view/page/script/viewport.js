// The viewport: which stretch of time is shown, and how it moves.

const FINEST = 1e-9; // of the whole: beyond, doubles cannot tell neighbouring pixels apart

/** A stretch of time within bounds, over a number of pixels. */
export class Viewport {
  constructor(until) {
    this.extend(until);
    this.fit();
  }

  /** Take another end; what is shown stays. */
  extend(until) {
    this.until = until || 1;
    this.margin = 0.01 * this.until;
    if (this.to > 0) this.set(this.from, this.to);
  }

  get span() { return this.to - this.from; }

  fit() {
    this.set(0, this.until + this.margin);
  }

  set(from, to) {
    if (!(isFinite(from) && isFinite(to))) return;
    const span = Math.min(Math.max(to - from, FINEST * this.until), this.until + 2 * this.margin);
    const middle = (from + to) / 2;
    const low = Math.min(Math.max(middle - span / 2, -this.margin), this.until + this.margin - span);
    this.from = low;
    this.to = low + span;
  }

  /** Zoom by a factor, less than 1 into the picture, such that `time` stays where it is. */
  zoom(factor, time = (this.from + this.to) / 2) {
    const wanted = Math.min(Math.max(this.span * factor, FINEST * this.until), this.until + 2 * this.margin);
    const share = (time - this.from) / this.span;
    this.set(time - share * wanted, time - share * wanted + wanted);
  }

  /** Move by a share of what is shown. */
  pan(share) {
    this.set(this.from + share * this.span, this.to + share * this.span);
  }

  /** Move, and zoom out if need be, until a stretch of time is shown with something around it. */
  show(from, to) {
    if (from >= this.from && to <= this.to) return;
    const span = Math.max(this.span, 1.5 * (to - from));
    const middle = (from + to) / 2;
    this.set(middle - span / 2, middle + span / 2);
  }

  x(time, width) { return ((time - this.from) / this.span) * width; }
  time(x, width) { return this.from + (x / width) * this.span; }
}
