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
