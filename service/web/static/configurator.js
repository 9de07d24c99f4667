// The configurator: two forms, the sections that answer them, and the address that holds both.

import { Problem, data, places, section, show } from "./fragments.js";
import { limitToEngine, markFields, pageQuery, queryOf } from "./scenario.js";
import { Simulator } from "./simulator.js";
import { Suggestions } from "./suggestions.js";
import { fill } from "./texts.js";

const PAUSE = 250; // ms without a keystroke before an answer is asked for
const page = document.getElementById("configurator");
const texts = page.dataset;
const names = { gpu: split(texts.sections), alone: split(texts.sectionsAlone) };

function split(text) {
  return text.split(" ").filter(Boolean);
}

/** One scenario: its form, and where its answer is shown. */
class Pane {
  constructor(root) {
    this.root = root;
    this.form = root.querySelector("form");
    this.status = root.querySelector(".web-status");
    this.problem = root.querySelector(".web-problem");
    this.slots = root.querySelector(".web-slots");
    this.simulator = new Simulator(root.querySelector(".web-simulator"), texts, document.documentElement.lang);
    this.suggestions = new Suggestions(root.querySelector(".web-suggestions"), this.form, () => {
      limitToEngine(this.form);
      this.refresh();
    });
    this.form.addEventListener("input", ({ target }) => this.changed(target));
    limitToEngine(this.form);
  }

  get shown() {
    return !this.root.hidden;
  }

  get query() {
    return queryOf(this.form);
  }

  changed(field) {
    limitToEngine(this.form);
    if (field.name === "currency") sameCurrency(field.value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), PAUSE);
  }

  async refresh() {
    clearTimeout(this.timer);
    this.asked?.abort();
    const { signal } = (this.asked = new AbortController());
    remember();
    this.status.textContent = texts.textLoading;
    this.slots.setAttribute("aria-busy", "true");
    try {
      await this.load(this.query, signal);
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    } finally {
      if (!signal.aborted) this.slots.removeAttribute("aria-busy");
    }
  }

  async load(query, signal) {
    const wanted = query.has("gpu") ? names.gpu : names.alone;
    if (!wanted.length) return this.succeed(new Map());
    const [first, ...others] = wanted;
    // The first answer tells whether the scenario is valid; only then the others are asked for.
    const head = await section(first, query, signal);
    if (signal.aborted) return undefined;
    const at = places(this.slots, wanted);
    this.succeed(at, first, head);
    const rest = others.map(async (name) => {
      const element = await section(name, query, signal);
      if (!signal.aborted) show(at.get(name), element);
    });
    const also = ["speed", "diagnosis"].map((name) => (wanted.includes(name) ? data(name, query, signal) : undefined));
    const [speed, diagnosis] = await Promise.all([...also, ...rest]);
    if (signal.aborted) return undefined;
    this.simulator.set(speed?.speed);
    this.suggestions.set(diagnosis?.changes);
    return undefined;
  }

  succeed(at, first, head) {
    this.problem.hidden = true;
    this.problem.replaceChildren();
    markFields(this.form, [], this.problem.id);
    if (head) show(at.get(first), head);
    const verdict = head?.querySelector(".sizing-verdict")?.textContent;
    this.status.textContent = verdict ? fill(texts.textVerdict, { verdict }) : texts.textUpdated;
  }

  fail(error) {
    const known = error instanceof Problem && error.message;
    const sentences = known ? error.sentences : [texts.textFailed];
    const lines = sentences.map((sentence) => {
      const line = document.createElement("p");
      line.textContent = sentence;
      return line;
    });
    this.status.textContent = "";
    this.slots.replaceChildren();
    this.simulator.set(undefined);
    this.suggestions.set(undefined);
    this.problem.replaceChildren(...lines);
    this.problem.hidden = false;
    const fields = known ? error.errors.map((fault) => fault.parameter) : [];
    markFields(this.form, fields, this.problem.id);
  }
}

const [first, second] = [...document.querySelectorAll(".web-pane")].map((root) => new Pane(root));

/** The address of the page, and the links to it in other languages, hold what is shown. */
function remember() {
  const compared = second.shown ? second.query : undefined;
  const at = (language) => `/?${pageQuery(first.query, compared, language)}`;
  history.replaceState(null, "", at(texts.language));
  for (const link of document.querySelectorAll("a[data-language]")) link.href = at(link.dataset.language);
}

/** Both scenarios show prices in the currency that was chosen last. */
function sameCurrency(code) {
  for (const pane of [first, second]) {
    const field = pane.form.elements.namedItem("currency");
    if (field.value === code) continue;
    field.value = code;
    if (pane.shown) pane.refresh();
  }
}

const compare = document.getElementById("compare");
compare.hidden = false;
compare.addEventListener("click", () => {
  second.root.hidden = second.shown;
  compare.setAttribute("aria-pressed", String(second.shown));
  document.querySelector(".web-panes").classList.toggle("web-compared", second.shown);
  if (second.shown) second.refresh();
  else remember();
});

first.refresh();
if (second.shown) second.refresh();
