// The pointer: wheel, drag, click, double click, on the chart.

import { LEFT } from "./chart.js";

const STEP = 1.2; // a notch of the wheel
const CLICK = 4; // pixels that a hand moves in a click

/** Let the pointer move the chart of an app. */
export function followPointer(app) {
  const { box } = app.chart;
  let drag = null;
  const place = (event) => {
    const { left, top } = box.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  box.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x] = place(event);
    if (event.shiftKey) app.pan(Math.sign(event.deltaY || event.deltaX) * 0.1);
    else if (event.ctrlKey || x < LEFT) app.scrollBy(event.deltaY);
    else app.zoom(STEP ** Math.sign(event.deltaY), app.chart.time(x));
  }, { passive: false });
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = place(event);
    drag = { x, y, lastX: x, lastY: y, isBox: event.shiftKey, moved: false };
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (!drag) return app.hover(x, y);
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > CLICK;
    if (!drag.moved) return;
    if (drag.isBox) app.drawBox(drag.x, x);
    else app.drag(x - drag.lastX, y - drag.lastY);
    Object.assign(drag, { lastX: x, lastY: y });
  });
  box.addEventListener("pointerup", (event) => {
    const [x, y] = place(event);
    if (drag?.moved && drag.isBox) app.zoomToBox(drag.x, x);
    else if (drag && !drag.moved) app.click(x, y);
    drag = null;
  });
  box.addEventListener("pointercancel", () => { drag = null; });
  box.addEventListener("pointerleave", () => app.hover(-1, -1));
  box.addEventListener("dblclick", (event) => { if (place(event)[0] >= LEFT) app.fit(); });
}
