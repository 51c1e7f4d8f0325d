// The pointer: wheel, drag, click, double click, and two fingers, on the chart.

const STEP = 1.2; // a notch of the wheel
const CLICK = 4; // pixels that a hand moves in a click

/** Let the pointer move the chart of an app. */
export function followPointer(app) {
  const { chart } = app, { box } = chart;
  const fingers = new Map();
  let drag = null;
  const place = (event) => {
    const { left, top } = box.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  box.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x] = place(event);
    if (event.shiftKey) app.pan(Math.sign(event.deltaY || event.deltaX) * 0.1);
    else if (event.ctrlKey || x < chart.left) app.scrollBy(event.deltaY);
    else app.zoom(STEP ** Math.sign(event.deltaY), chart.time(x));
  }, { passive: false });
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = place(event);
    fingers.set(event.pointerId, x);
    drag = { x, y, lastX: x, lastY: y, isBox: event.shiftKey, moved: fingers.size > 1 };
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (fingers.size > 1) return pinch(app, fingers, event.pointerId, x);
    if (!drag) return app.hover(x, y);
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > CLICK;
    if (!drag.moved) return;
    if (drag.isBox) app.drawBox(drag.x, x);
    else app.drag(x - drag.lastX, y - drag.lastY);
    Object.assign(drag, { lastX: x, lastY: y });
  });
  const release = (event) => {
    fingers.delete(event.pointerId);
    if (drag) [drag.lastX, drag.lastY] = place(event); // of a pinch: the other finger goes on from here
    if (!fingers.size) drag = null;
  };
  box.addEventListener("pointerup", (event) => {
    const [x, y] = place(event);
    if (drag?.moved && drag.isBox) app.zoomToBox(drag.x, x);
    else if (drag && !drag.moved) app.click(x, y);
    release(event);
  });
  box.addEventListener("pointercancel", release);
  box.addEventListener("pointerleave", () => app.hover(-1, -1));
  box.addEventListener("dblclick", (event) => { if (place(event)[0] >= chart.left) app.fit(); });
}

/** Follow one of two fingers: the times below both stay below them. */
function pinch(app, fingers, moved, x) {
  const before = [...fingers.values()];
  fingers.set(moved, x);
  const now = [...fingers.values()];
  const middle = (places) => (places[0] + places[1]) / 2;
  const apart = (places) => Math.max(Math.abs(places[0] - places[1]), 1);
  app.drag(middle(now) - middle(before), 0);
  app.zoom(apart(before) / apart(now), app.chart.time(middle(now)));
}
