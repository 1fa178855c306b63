// Small helpers to make and to renew elements.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** An HTML element: el("button", {class: "x", onclick: f}, "text", child). */
export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const find = (selector) => document.querySelector(selector);

/**
 * Makes the children of a container those of a list, in order. A child whose key is still there stays the same element,
 * so that focus, scrolling and animations go on; `update` changes it.
 */
export function renew(container, items, key, make, update = () => {}) {
  const old = new Map([...container.children].map((child) => [child.dataset.key, child]));
  const wanted = items.map((item, place) => {
    const name = String(key(item, place));
    const element = old.get(name) ?? make(item, place);
    element.dataset.key = name;
    update(element, item, place);
    return element;
  });
  for (const child of old.values()) if (!wanted.includes(child)) child.remove();
  wanted.forEach((element, place) => {
    if (container.children[place] !== element) container.insertBefore(element, container.children[place] ?? null);
  });
}

/** Replaces what a container holds, and gives the focus back to what had the same `id` or `data-key`. */
export function refill(container, ...children) {
  const active = document.activeElement;
  const name = container.contains(active) ? active.id || active.dataset.key : "";
  container.replaceChildren();
  fill(container, {}, children);
  if (name) container.querySelector(`#${CSS.escape(name)}, [data-key="${CSS.escape(name)}"]`)?.focus();
}
