import type { DefaultTreeAdapterTypes } from 'parse5';
import { DROPPED_ATTRIBUTES } from './elementRules.ts';

type Document = DefaultTreeAdapterTypes.Document;
type Element = DefaultTreeAdapterTypes.Element;
type ChildNode = DefaultTreeAdapterTypes.ChildNode;

const MAX_TITLE_CHARACTERS = 300;

/** Returns the address in the first `base` element of a document. */
export function baseOf(document: Document): string | undefined {
  // The first one in the document counts; it belongs into the head.
  const root = document.childNodes.find(({ nodeName }) => nodeName === 'html');
  const head = childrenOf(root).find(({ nodeName }) => nodeName === 'head');
  for (const parent of [head, root]) {
    for (const node of childrenOf(parent)) {
      if (!('tagName' in node) || node.tagName !== 'base') continue;
      const href = node.attrs.find(({ name }) => name === 'href')?.value;
      if (href !== undefined) return href.trim();
    }
  }
  return undefined;
}

function childrenOf(node: ChildNode | undefined): ChildNode[] {
  return node !== undefined && 'childNodes' in node ? node.childNodes : [];
}

/** Returns whether an attribute is neither a script nor loads anything. */
export function isKept(name: string, prefix: string | undefined): boolean {
  // HTML does not split the prefix from the name.
  const lower = name.toLowerCase().replace(/^xlink:/, '');
  return !lower.startsWith('on') && !DROPPED_ATTRIBUTES.has(lower) && prefix !== 'xml';
}

/**
 * Returns the value of an attribute with nothing in it that looks like a tag. Otherwise a browser that takes the element for
 * text, because it reads the written page differently, would find elements in it that were not inspected.
 */
export function withoutTags(value: string): string {
  return value.replace(/<(?=[a-z/!?])/gi, /^data:/i.test(value) ? '%3C' : '< ');
}

/** Sets an attribute of an element. */
export function setAttribute(element: Element, name: string, value: string): void {
  const kept = element.attrs.filter((attribute) => attribute.name !== name);
  element.attrs = [...kept, { name, value }];
}

/** Marks an element whose resource is not in the archive. */
export function markMissing(element: Element, address: string): void {
  setAttribute(element, 'data-strongroom-missing', '');
  setAttribute(element, 'title', `Not in the archive: ${shortened(address)}`);
}

/** Returns the text of a `title` element, null if it is empty. */
export function titleOf(element: Element): string | null {
  const text = element.childNodes.map((child) => ('value' in child ? child.value : '')).join('');
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARACTERS).toWellFormed() || null;
}

/** Shortens an address to what can be shown. */
export function shortened(address: string): string {
  return address.length <= 500 ? address : `${address.slice(0, 500)}…`;
}
