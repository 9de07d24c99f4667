// What is wider than its place scrolls; this lets the keyboard scroll it, too.

const WIDE = ".sizing, pre";
const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => mark(target)));

function mark(element) {
  if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  else element.removeAttribute("tabindex");
}

/** Keep watch over the sections below a root, which is one itself or holds some. */
export function watchWide(root) {
  if (root.matches?.(WIDE)) observer.observe(root);
  for (const element of root.querySelectorAll(WIDE)) observer.observe(element);
}
