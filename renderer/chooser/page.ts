/*
 * The archived page, as the script in it sees it. This script runs before anything of the page is parsed. Names in the page
 * may hide what a document offers (an image named `querySelectorAll`), so it is taken from there before.
 */

const root = document.documentElement;
const findAll = document.querySelectorAll.bind(document);
const findAt = document.elementFromPoint.bind(document);
const walkerOf = document.createTreeWalker.bind(document);
const create = document.createElement.bind(document);

export const page = { root, findAll, findAt, create } as const;

/** How many nodes are looked at for the text of one element. Pages may have millions. */
const MAX_NODES = 5_000;
/** Elements whose text is not shown. */
const UNSEEN: ReadonlySet<string> = new Set(['script', 'style', 'noscript', 'template']);

/** Returns the beginning of the text of an element. Spaces count. */
export function textOf(element: Element, most: number): string {
  const walker = walkerOf(element, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node instanceof Element && UNSEEN.has(node.localName)
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT,
  );
  let text = '';
  for (let seen = 0; seen < MAX_NODES && text.length < most && walker.nextNode(); seen += 1) {
    const node = walker.currentNode;
    if (node instanceof Text) text += node.data.slice(0, most - text.length);
  }
  return text;
}

/** Returns the text of an element in one line. */
export function lineOf(element: Element, most: number): string {
  return textOf(element, most * 4)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, most);
}

/** The name of an element in the archived page: some are shown as others, which do nothing. */
export function nameOf(element: Element): string {
  if (element.hasAttribute('data-strongroom-frame')) return 'iframe';
  const was = element.getAttribute('data-strongroom-was') ?? '';
  return /^[a-z]{1,20}$/.test(was) ? was : element.localName;
}

/** Returns the element that is chosen: of what is within a drawing or a formula, the whole of it. */
export function chosenFor(element: Element): Element {
  let at = element;
  while (at.parentElement && !(at.parentElement instanceof HTMLElement)) at = at.parentElement;
  return at;
}
