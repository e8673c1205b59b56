import { BLOCK_ELEMENT, UNSEEN_ELEMENT } from '../../shared/collection/chooserLimits.ts';

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

/** Returns the beginning of the text of an element. Spaces count. @param gap what stands between blocks */
export function textOf(element: Element, most: number, gap = ''): string {
  const walker = walkerOf(element, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node instanceof Element && UNSEEN_ELEMENT.test(node.localName)
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT,
  );
  let text = '';
  const edgeOf = (node: Node) =>
    gap !== '' && node instanceof Element && BLOCK_ELEMENT.test(nameOf(node)) ? gap : '';
  for (let seen = 0; seen < MAX_NODES && text.length < most; seen += 1) {
    let next = walker.firstChild();
    while (!next) {
      if (walker.currentNode === element) return text;
      text += edgeOf(walker.currentNode);
      next = walker.nextSibling();
      if (!next && !walker.parentNode()) return text;
    }
    text += next instanceof Text ? next.data.slice(0, most - text.length) : edgeOf(next);
  }
  return text;
}

/** Returns the text of an element in one line. @param gap what stands between blocks */
export function lineOf(element: Element, most: number, gap = ''): string {
  return textOf(element, most * 4, gap)
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
