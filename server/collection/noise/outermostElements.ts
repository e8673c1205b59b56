/** The part of a parsed document's nodes that is used here. */
interface Branch {
  children?: readonly unknown[];
}

/** Returns the elements that are not inside another one of them, in document order. */
export function outermostElements<Element extends object>(
  roots: readonly object[],
  elements: readonly Element[],
): Element[] {
  const wanted = new Set<object>(elements);
  const found: Element[] = [];
  const open: object[] = [...roots].reverse();
  // Not recursive, because a hostile document can be arbitrarily deep.
  for (let node = open.pop(); node; node = open.pop()) {
    if (wanted.has(node)) found.push(node as Element);
    else for (const child of ((node as Branch).children ?? []).toReversed()) open.push(child as object);
  }
  return found;
}
