// Widgets that the bar and the panels of the page share: buttons with icons, toggles, menus.

import { button, element } from "./dom.js";
import { icon } from "./icons.js";

/** Return a button that shows an icon alone; screen readers and the pointer get its title. */
export function iconButton(name, title, onclick) {
  const made = button(icon(name), title, onclick);
  made.classList.add("bare");
  made.setAttribute("aria-label", title);
  return made;
}

/** Return a button that is on or off; `checked` says and sets which. */
export function toggle(text, title, onchange) {
  const made = button(text, title, () => onchange(!made.checked));
  made.classList.add("toggle");
  Object.defineProperty(made, "checked", {
    get: () => made.getAttribute("aria-pressed") === "true",
    set: (on) => made.setAttribute("aria-pressed", String(Boolean(on))),
  });
  made.checked = false;
  return made;
}

/** Return a checkbox; its `label` is what to show. */
export function check(text, onchange) {
  const box = element("input", { type: "checkbox", onchange: () => onchange(box.checked) });
  box.label = element("label", { className: "check" }, box, text);
  return box;
}

/** Return a button that opens a list of entries; Escape, and anything done elsewhere, close it. */
export function menu(name, symbol, ...entries) {
  const list = element("div", { className: "entries", role: "group", ariaLabel: name });
  const opener = element("button", { type: "button", className: "opener", ariaLabel: name, onclick: () => open(list.hidden) },
    icon(symbol), element("span", {}, name), icon("open"));
  const open = (on) => {
    list.hidden = !on;
    opener.setAttribute("aria-expanded", String(on));
  };
  open(false);
  list.append(...entries);
  const box = element("div", { className: "menu" }, opener, list);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || list.hidden) return;
    event.stopPropagation();
    open(false);
    opener.focus();
  });
  document.addEventListener("pointerdown", ({ target }) => { if (!box.contains(target)) open(false); });
  box.addEventListener("focusout", ({ relatedTarget: to }) => { if (to && !box.contains(to)) open(false); });
  return box;
}
