// Types a text at the estimated speed: a wait as long as the time to the first token, then token by token.

import { fill } from "./texts.js";

const TOKENS = 256;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export class Simulator {
  /** texts: the page's sentences; language: tag of the numbers and of the words. */
  constructor(root, texts, language) {
    this.root = root;
    this.texts = texts;
    this.format = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
    this.button = root.querySelector(".web-run");
    this.typed = root.querySelector(".web-typed");
    this.pieces = repeated(pieces(texts.textSample, language), TOKENS);
    this.button.addEventListener("click", () => (this.frame ? this.stop() : this.start()));
  }

  /** Take the speed of a scenario; without one there is nothing to simulate. */
  set(speed) {
    this.stop();
    this.typed.textContent = "";
    const rate = speed?.per_sequence?.estimate;
    this.root.hidden = !rate;
    if (!rate) return;
    this.rate = rate;
    this.wait = (speed.time_to_first_token_ms?.estimate ?? 0) / 1000;
    this.root.querySelector(".web-figures").textContent = fill(this.texts.textFigures, {
      seconds: this.format.format(this.wait),
      rate: this.format.format(rate),
    });
  }

  start() {
    if (STILL.matches) {
      const seconds = this.format.format(this.wait + TOKENS / this.rate);
      this.typed.textContent = fill(this.texts.textStill, { tokens: this.format.format(TOKENS), seconds });
      return;
    }
    const began = performance.now();
    this.typed.textContent = "";
    this.button.textContent = this.texts.textStop;
    let shown = 0;
    const step = (now) => {
      const due = Math.floor(((now - began) / 1000 - this.wait) * this.rate);
      const until = Math.min(Math.max(due, 0), this.pieces.length);
      if (until > shown) this.typed.append(this.pieces.slice(shown, until).join(""));
      shown = Math.max(shown, until);
      if (shown < this.pieces.length) this.frame = requestAnimationFrame(step);
      else this.stop();
    };
    this.frame = requestAnimationFrame(step);
  }

  stop() {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.button.textContent = this.texts.textStart;
  }
}

/** Words with the space before them: about one token each. */
function pieces(text, language) {
  const words = new Intl.Segmenter(language, { granularity: "word" }).segment(text);
  const found = [];
  let space = "";
  for (const { segment } of words) {
    if (segment.trim() === "") {
      space += segment;
    } else {
      found.push(space + segment);
      space = "";
    }
  }
  return found;
}

function repeated(parts, count) {
  return Array.from({ length: count }, (_, index) => {
    const at = index % parts.length;
    return index && at === 0 ? ` ${parts[at]}` : parts[at];
  });
}
