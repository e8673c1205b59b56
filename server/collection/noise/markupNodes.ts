/** A node of a parsed document, as far as it is walked here. */
interface Branch {
  children?: readonly unknown[];
}

/** Of these elements, in the document's order, those that do not lie within another of them. */
export function outermostElements<Element extends object>(
  roots: readonly object[],
  elements: readonly Element[],
): Element[] {
  const wanted = new Set<object>(elements);
  const found: Element[] = [];
  const open: object[] = [...roots].reverse();
  // Without recursion: a hostile document is as deep as it is long.
  for (let node = open.pop(); node; node = open.pop()) {
    if (wanted.has(node)) found.push(node as Element);
    else for (const child of ((node as Branch).children ?? []).toReversed()) open.push(child as object);
  }
  return found;
}
