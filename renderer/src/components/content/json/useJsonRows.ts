import { useMemo, useState } from 'react';
import { deeperThan, type JsonNode, visibleNodes } from './jsonNodes.ts';

/** Documents up to this length are open at first; of longer ones, the first two levels. */
const OPEN_AT_FIRST = 300;
const OPEN_LEVELS = 2;

/** The rows of a document whose containers open and close. */
export function useJsonRows(nodes: readonly JsonNode[]) {
  const [closed, setClosed] = useState<ReadonlySet<number>>(() =>
    nodes.length <= OPEN_AT_FIRST ? new Set() : deeperThan(nodes, OPEN_LEVELS),
  );
  const rows = useMemo(() => visibleNodes(nodes, closed), [nodes, closed]);
  return {
    rows,
    isOpen: ({ index }: JsonNode) => !closed.has(index),
    toggle: ({ index }: JsonNode) => {
      const next = new Set(closed);
      if (!next.delete(index)) next.add(index);
      setClosed(next);
    },
    expandAll: () => setClosed(new Set()),
    collapseAll: () => setClosed(deeperThan(nodes, 1)),
  };
}
