// HTML of the service as nodes; pages that demand Trusted Types accept it through the policy `llm-sizing`.

const policy = globalThis.trustedTypes?.createPolicy("llm-sizing", { createHTML: (text) => text });

/** The first element of a fragment; scripts in it would not run, and the service sends none. */
export function parsed(text) {
  const html = policy ? policy.createHTML(text) : text;
  return new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
}
