// Scenarios: from a form to a query, from two queries to the page's address.

/** The parameters of a form that are not left at their default. */
export function queryOf(form) {
  const given = [...new FormData(form)].filter(([, value]) => value.trim() !== "");
  return new URLSearchParams(given);
}

/** The query of the page: the first scenario, the second one below `b_`, and the language. */
export function pageQuery(first, second, language) {
  const query = new URLSearchParams(first);
  query.delete("lang");
  for (const [name, value] of second ?? []) {
    if (name !== "lang") query.append(`b_${name}`, value);
  }
  query.append("lang", language);
  return query;
}

/** Offer only what the chosen engine loads; a choice that it does not load goes back to the default. */
export function limitToEngine(form) {
  const engine = form.elements.namedItem("engine").value;
  for (const option of form.querySelectorAll("option[data-engines]")) {
    option.disabled = engine !== "" && !option.dataset.engines.split(" ").includes(engine);
    if (option.disabled && option.selected) option.closest("select").value = "";
  }
}

/** Mark the fields that a problem names, and only those. */
export function markFields(form, names, problemId) {
  for (const field of form.elements) {
    if (!field.name) continue;
    if (names.includes(field.name)) {
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", problemId);
    } else {
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-describedby");
    }
  }
}

/** Set fields of a form by the names of their parameters (null: no longer given); the field of `main`. */
export function setFields(form, values, main) {
  for (const [name, value] of Object.entries(values)) {
    const field = form.elements.namedItem(name);
    if (!field) continue;
    if (value === null && field.type === "hidden") field.remove();
    else field.value = value ?? "";
  }
  return form.elements.namedItem(main);
}
