// Sentences of the page, which come translated with it.

/** A sentence with its named placeholders filled: `%(name)s`. */
export function fill(text, values) {
  return text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
}
