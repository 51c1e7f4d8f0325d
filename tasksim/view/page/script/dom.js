// Elements of the page. All texts are texts: nothing that a run calls itself is read as HTML.

/** Return an element with properties, listeners ("onclick"), and children, elements or texts. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria")) made.setAttribute(`aria-${name.slice(4).toLowerCase()}`, value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Give an element a text, if it has another: even the same text again would be laid out anew. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Replace the children of an element. If one has the focus, the new one with its name gets it, or the one in its place. */
export function refill(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement : place;
  const alike = () => [...place.querySelectorAll(focused.tagName)];
  const name = (node) => (node.querySelector(".name, b") ?? node).textContent; // without its number
  const [before, number] = focused === place ? ["", -1] : [name(focused), alike().indexOf(focused)];
  place.replaceChildren(...children);
  if (number < 0) return;
  const now = alike();
  (now.find((node) => name(node) === before) ?? now[number])?.focus({ preventScroll: true });
}

/** Return a button that calls a function. */
export function button(text, title, onclick) {
  return element("button", { type: "button", title, onclick }, text);
}

/** Return an element of SVG with attributes. */
export function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}
