// Fragments of the report: fetched, parsed, put in their places.

import { parsed } from "./parsed.js";
import { watchWide } from "./wide.js";

/** A problem document (RFC 9457), or what can be said without one. */
export class Problem extends Error {
  constructor(document) {
    super(document.detail ?? document.title ?? "");
    this.errors = document.errors ?? [];
  }

  /** Sentences to show, in the language of the answer. */
  get sentences() {
    return this.errors.length ? this.errors.map((error) => error.message) : [this.message];
  }
}

async function answer(section, query, type, signal) {
  const response = await fetch(`/v1/fragments/${section}?${query}`, { headers: { Accept: type }, signal });
  if (response.ok) return response;
  const described = response.headers.get("Content-Type")?.includes("json");
  throw new Problem(described ? await response.json() : {});
}

/** One section as an element. Throws Problem. */
export async function section(name, query, signal) {
  const text = await (await answer(name, query, "text/html", signal)).text();
  return parsed(text);
}

/** One section as data. Throws Problem. */
export async function data(name, query, signal) {
  return (await answer(name, query, "application/json", signal)).json();
}

/** One place for each section, in order; what is already shown stays until its successor arrives. */
export function places(container, names) {
  const kept = new Map([...container.children].map((place) => [place.dataset.section, place]));
  const wanted = names.map((name) => kept.get(name) ?? place(name));
  const same = wanted.length === container.children.length && wanted.every((p, i) => p === container.children[i]);
  if (!same) container.replaceChildren(...wanted);
  return new Map(names.map((name, index) => [name, wanted[index]]));
}

function place(name) {
  const element = document.createElement("div");
  element.className = "web-slot";
  element.dataset.section = name;
  element.tabIndex = -1;
  return element;
}

/** Replace what a place shows; a focus inside it stays in the place. */
export function show(target, element) {
  const focused = target !== document.activeElement && target.contains(document.activeElement);
  target.replaceChildren(element);
  watchWide(element);
  if (focused) target.focus({ preventScroll: true });
}
