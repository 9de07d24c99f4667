// <llm-sizing model="…" gpu="…" sections="summary memory" lang="de"></llm-sizing>: report sections on any page.
// Loaded as a module, so nothing becomes global; the answers come from where this script came from.

import { parsed } from "./assets/web/parsed.js";
import { watchWide } from "./assets/web/wide.js";

const MESSAGES = "__MESSAGES__"; // by language, filled in by the service
const PARAMETERS = "__PARAMETERS__";
const ORIGIN = new URL(".", import.meta.url).href;
const OF_ATTRIBUTE = new Map(PARAMETERS.map((name) => [name.replaceAll("_", "-"), name]));
const OWN_STYLE = ":host{display:block}[hidden]{display:none}progress{inline-size:100%}";

let style; // one sheet, shared by all elements of a page

function sharedStyle() {
  style ??= fetch(new URL("assets/report.css", ORIGIN), { headers: { Accept: "text/css" } })
    .then((response) => (response.ok ? response.text() : ""))
    .catch(() => "")
    .then((text) => new CSSStyleSheet().replace(text));
  return style;
}

class Refused extends Error {}

class LlmSizing extends HTMLElement {
  static observedAttributes = [...OF_ATTRIBUTE.keys(), "sections", "lang"];

  #root = this.attachShadow({ mode: "open" });
  #asked = new AbortController();
  #waiting = false;

  connectedCallback() {
    const own = new CSSStyleSheet();
    own.replaceSync(OWN_STYLE);
    this.#root.adoptedStyleSheets = [own];
    sharedStyle().then((sheet) => (this.#root.adoptedStyleSheets = [own, sheet]));
    this.#renew();
  }

  disconnectedCallback() {
    this.#asked.abort();
  }

  attributeChangedCallback() {
    this.#renew();
  }

  /** The language asked for: of the element, of what holds it, of the browser. */
  get #language() {
    const wanted = this.closest("[lang]")?.lang || navigator.language || "";
    const tag = wanted.toLowerCase().split("-")[0];
    return tag in MESSAGES ? tag : "en";
  }

  /** Several attributes that change together are one question. */
  #renew() {
    if (this.#waiting || !this.isConnected) return;
    this.#waiting = true;
    queueMicrotask(() => {
      this.#waiting = false;
      if (this.isConnected) this.#load();
    });
  }

  async #load() {
    this.#asked.abort();
    const { signal } = (this.#asked = new AbortController());
    const language = this.#language;
    const sections = (this.getAttribute("sections") ?? "").split(/[\s,]+/).filter(Boolean);
    const paths = sections.length ? sections.map((name) => `v1/fragments/${encodeURIComponent(name)}`) : ["v1/report"];
    const progress = this.#wait(MESSAGES[language].loading, paths.length);
    try {
      const query = this.#query(language);
      const parts = await Promise.all(paths.map((path) => fragment(path, query, signal).finally(() => progress(signal))));
      if (signal.aborted) return;
      this.#root.replaceChildren(...parts);
      watchWide(this.#root);
    } catch (error) {
      if (!signal.aborted) this.#fail(language, error);
    }
  }

  #query(language) {
    const query = new URLSearchParams();
    for (const [attribute, name] of OF_ATTRIBUTE) {
      const value = this.getAttribute(attribute);
      if (value) query.set(name, value);
    }
    query.set("lang", language);
    return query;
  }

  /** Show that something is being loaded; the answer is called once for each part that has come. */
  #wait(text, count) {
    const box = made("div", { role: "status", part: "progress", lang: this.#language });
    const bar = made("progress", { "aria-label": text, max: count });
    box.append(made("p", {}, text), bar);
    this.#root.replaceChildren(box);
    let done = 0;
    return (signal) => {
      done += 1;
      if (!signal.aborted && count > 1) bar.value = done;
    };
  }

  #fail(language, error) {
    const box = made("div", { role: "alert", part: "error", class: "sizing", lang: language });
    box.append(made("p", { class: "sizing-text" }, MESSAGES[language].failed));
    if (error instanceof Refused && error.message) box.append(made("p", { class: "sizing-text" }, error.message));
    this.#root.replaceChildren(box);
  }
}

function made(name, attributes, text = "") {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.textContent = text;
  return element;
}

async function fragment(path, query, signal) {
  const response = await fetch(new URL(`${path}?${query}`, ORIGIN), { headers: { Accept: "text/html" }, signal });
  if (!response.ok) throw new Refused(await reason(response));
  return parsed(await response.text());
}

async function reason(response) {
  if (!response.headers.get("Content-Type")?.includes("json")) return "";
  const problem = await response.json();
  return (problem.errors ?? []).map((error) => error.message).join(" ") || problem.detail || "";
}

if (!customElements.get("llm-sizing")) customElements.define("llm-sizing", LlmSizing);
