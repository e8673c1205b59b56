/** The common part of the nodes of the HTML and XML parsers: elements have children, texts have data. */
export interface MarkupNode {
  type: string;
  name?: string | undefined;
  data?: string | undefined;
  attribs?: Record<string, string> | undefined;
  children?: readonly MarkupNode[] | undefined;
}

/** Called for each text, and for each element when it begins and when it ends. */
export interface MarkupVisitor {
  text(data: string): void;
  begin?(element: MarkupNode): void;
  end?(element: MarkupNode): void;
}

/** Walks a tree in document order. Not recursive, because a hostile document can be arbitrarily deep. */
export function walkMarkup(
  nodes: readonly MarkupNode[],
  visitor: MarkupVisitor,
  shouldStop: () => boolean,
): void {
  const open: { element: MarkupNode | undefined; nodes: readonly MarkupNode[]; next: number }[] = [
    { element: undefined, nodes, next: 0 },
  ];
  for (let level = open.at(-1); level && !shouldStop(); level = open.at(-1)) {
    const node = level.nodes[level.next++];
    if (!node) {
      open.pop();
      if (level.element) visitor.end?.(level.element);
    } else if (node.children) {
      // A CDATA section is not an element; its text is its child.
      const element = node.type === 'cdata' ? undefined : node;
      if (element) visitor.begin?.(element);
      open.push({ element, nodes: node.children, next: 0 });
    } else if (node.type === 'text' && node.data) {
      visitor.text(node.data);
    }
  }
}

/** Returns the text within nodes as one line, truncated to `maxLength`. */
export function textWithin(nodes: readonly MarkupNode[], maxLength: number): string {
  let text = '';
  const limit = 4 * maxLength;
  walkMarkup(nodes, { text: (data) => void (text += data.slice(0, limit)) }, () => text.length > limit);
  return text.replace(/\s+/g, ' ').trim().slice(0, maxLength).toWellFormed();
}

/** Returns whether a link leads to another document: not a script, data or a fragment of the page itself. */
export function isNavigableLink(href: string): boolean {
  if (href === '' || href.startsWith('#')) return false;
  // Browsers ignore control characters and blanks within a scheme.
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href.replace(/[\x00-\x20]/g, ''))?.[1]?.toLowerCase();
  return scheme === undefined || ['http', 'https', 'ftp', 'mailto', 'tel'].includes(scheme);
}
