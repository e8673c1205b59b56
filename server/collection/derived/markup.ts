/** What the parsers of HTML and XML agree on: elements with children, texts with data. */
export interface MarkupNode {
  type: string;
  name?: string | undefined;
  data?: string | undefined;
  attribs?: Record<string, string> | undefined;
  children?: readonly MarkupNode[] | undefined;
}

/** What a tree is walked to: each text, and each element when it begins and when it ends. */
export interface MarkupVisitor {
  text(data: string): void;
  begin?(element: MarkupNode): void;
  end?(element: MarkupNode): void;
}

/** Walks a tree in the document's order, without recursion: a hostile tree is as deep as it is long. */
export function walkMarkup(
  nodes: readonly MarkupNode[],
  visitor: MarkupVisitor,
  isEnough: () => boolean,
): void {
  const open: { element: MarkupNode | undefined; nodes: readonly MarkupNode[]; next: number }[] = [
    { element: undefined, nodes, next: 0 },
  ];
  for (let level = open.at(-1); level && !isEnough(); level = open.at(-1)) {
    const node = level.nodes[level.next++];
    if (!node) {
      open.pop();
      if (level.element) visitor.end?.(level.element);
    } else if (node.children) {
      // A CDATA section has its text as a child and is no element.
      const element = node.type === 'cdata' ? undefined : node;
      if (element) visitor.begin?.(element);
      open.push({ element, nodes: node.children, next: 0 });
    } else if (node.type === 'text' && node.data) {
      visitor.text(node.data);
    }
  }
}

/** The text within nodes in one line, at most so long. */
export function textWithin(nodes: readonly MarkupNode[], most: number): string {
  let text = '';
  walkMarkup(nodes, { text: (data) => void (text += data.slice(0, 4 * most)) }, () => text.length > 4 * most);
  return text.replace(/\s+/g, ' ').trim().slice(0, most).toWellFormed();
}

/** Whether an address leads to another document: no script, no data, no place in the page itself. */
export function isNavigableLink(href: string): boolean {
  if (href === '' || href.startsWith('#')) return false;
  // Browsers pass over control characters and blanks within a scheme.
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href.replace(/[\x00-\x20]/g, ''))?.[1]?.toLowerCase();
  return scheme === undefined || ['http', 'https', 'ftp', 'mailto', 'tel'].includes(scheme);
}
