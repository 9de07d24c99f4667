// What would make a scenario fit: one button for each change, which sets the fields of the form.

import { setFields } from "./scenario.js";

export class Suggestions {
  /** form: whose fields the buttons set; changed: what happens then. */
  constructor(root, form, changed) {
    this.root = root;
    this.form = form;
    this.changed = changed;
    this.list = root.querySelector("ul");
  }

  /** Show the changes of a diagnosis that say what they are; without any there is nothing to suggest. */
  set(changes) {
    const said = (changes ?? []).filter((change) => change.says);
    this.list.replaceChildren(...said.map((change) => this.entry(change)));
    this.root.hidden = said.length === 0;
  }

  entry(change) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = change.says.message;
    button.dataset.parameter = change.parameter;
    button.addEventListener("click", () => {
      const field = setFields(this.form, change.sets, change.parameter);
      field?.focus(); // the button goes away with the answer that it belongs to
      this.changed();
    });
    const item = document.createElement("li");
    item.append(button);
    return item;
  }
}
