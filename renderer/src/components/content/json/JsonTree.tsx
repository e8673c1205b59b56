// Rows are positioned one by one, so they are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { Button } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useRef, useState } from 'react';
import { rowOfKey } from '../../data/tree/rowKeys.ts';
import classes from './JsonTree.module.css';
import { JsonTreeRow } from './JsonTreeRow.tsx';
import type { JsonNode } from './jsonNodes.ts';
import { useJsonRows } from './useJsonRows.ts';

const ROW_HEIGHT = 24;

/** A JSON document as a tree that folds. Only the visible rows are rendered; the arrow keys move, open and close. */
export function JsonTree({ nodes, label }: { nodes: readonly JsonNode[]; label: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const { rows, isOpen, toggle, expandAll, collapseAll } = useJsonRows(nodes);
  const [current, setCurrent] = useState(0);
  // The React compiler cannot memoize what this hook returns.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.index ?? index,
    overscan: 12,
  });
  const focusOn = (index: number) => {
    const at = Math.max(0, Math.min(rows.length - 1, index));
    setCurrent(rows[at]?.index ?? 0);
    virtual.scrollToIndex(at);
  };
  const onKeyDown = (event: KeyboardEvent, node: JsonNode, index: number) => {
    if (isToggle(event.key, node, isOpen(node))) toggle(node);
    else {
      const to = destination(event.key, index, rows);
      if (to === undefined) return;
      focusOn(to);
    }
    event.preventDefault();
  };
  return (
    <>
      {nodes.some(({ size }) => size > 0) && <FoldButtons onExpand={expandAll} onCollapse={collapseAll} />}
      <div ref={frame} className={classes.frame}>
        <div
          role="tree"
          aria-label={label}
          className={classes.rows}
          style={{ height: virtual.getTotalSize() }}
        >
          {virtual.getVirtualItems().map((place) => {
            const node = rows[place.index];
            if (node === undefined) return null;
            return (
              <JsonTreeRow
                key={node.index}
                node={node}
                place={place}
                isOpen={isOpen(node)}
                isCurrent={node.index === current}
                measure={virtual.measureElement}
                onFocus={() => setCurrent(node.index)}
                onToggle={() => toggle(node)}
                onKeyDown={(event) => onKeyDown(event, node, place.index)}
              />
            );
          })}
        </div>
      </div>
    </>
  );
}

function FoldButtons({ onExpand, onCollapse }: { onExpand: () => void; onCollapse: () => void }) {
  return (
    <div className={classes.bar}>
      <Button size="compact-sm" variant="default" onClick={onExpand}>
        Expand all
      </Button>
      <Button size="compact-sm" variant="default" onClick={onCollapse}>
        Collapse all
      </Button>
    </div>
  );
}

/** Whether a key opens or closes a container, as the tree pattern says. */
function isToggle(key: string, { size }: JsonNode, isOpen: boolean): boolean {
  if (size === 0) return false;
  return key === 'Enter' || key === ' ' || key === (isOpen ? 'ArrowLeft' : 'ArrowRight');
}

/** Returns the row that a key leads to, as the tree pattern says. */
function destination(key: string, index: number, rows: readonly JsonNode[]): number | undefined {
  switch (key) {
    case 'ArrowRight':
      return index + 1;
    case 'ArrowLeft': {
      const parent = rows[index]?.parent;
      return parent === undefined ? index : rows.indexOf(parent);
    }
    default:
      return rowOfKey(key, index, rows.length);
  }
}
