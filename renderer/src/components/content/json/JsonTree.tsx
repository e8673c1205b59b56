// Rows are positioned one by one, so they are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { Button } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { countOf } from '../../../format/size.ts';
import { rowOfKey } from '../../data/tree/rowKeys.ts';
import classes from './JsonTree.module.css';
import { deeperThan, type JsonNode, visibleNodes } from './jsonNodes.ts';

/** Documents up to this length are open at first; of longer ones, the first two levels. */
const OPEN_AT_FIRST = 300;
const OPEN_LEVELS = 2;
const ROW_HEIGHT = 24;
/** Longer values are cut. */
const SHOWN_CHARACTERS = 2_000;

/** A JSON document as a tree that folds. Only the visible rows are rendered; the arrow keys move, open and close. */
export function JsonTree({ nodes, label }: { nodes: readonly JsonNode[]; label: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const [closed, setClosed] = useState<ReadonlySet<number>>(() =>
    nodes.length <= OPEN_AT_FIRST ? new Set() : deeperThan(nodes, OPEN_LEVELS),
  );
  const [current, setCurrent] = useState(0);
  const rows = useMemo(() => visibleNodes(nodes, closed), [nodes, closed]);
  // The React compiler cannot memoize what this hook returns.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.index ?? index,
    overscan: 12,
  });
  const toggle = (node: JsonNode) => {
    const next = new Set(closed);
    if (!next.delete(node.index)) next.add(node.index);
    setClosed(next);
  };
  const focusOn = (index: number) => {
    const at = Math.max(0, Math.min(rows.length - 1, index));
    setCurrent(rows[at]?.index ?? 0);
    virtual.scrollToIndex(at);
  };
  const onKeyDown = (event: KeyboardEvent, node: JsonNode, index: number) => {
    const isOpen = !closed.has(node.index);
    const isContainer = node.size > 0;
    if (isContainer && (event.key === 'Enter' || event.key === ' ')) toggle(node);
    else if (event.key === 'ArrowRight' && isContainer && !isOpen) toggle(node);
    else if (event.key === 'ArrowLeft' && isContainer && isOpen) toggle(node);
    else {
      const to = destination(event.key, index, rows);
      if (to === undefined) return;
      focusOn(to);
    }
    event.preventDefault();
  };
  const hasContainers = nodes.some(({ size }) => size > 0);
  return (
    <>
      {hasContainers && (
        <div className={classes.bar}>
          <Button size="compact-sm" variant="default" onClick={() => setClosed(new Set())}>
            Expand all
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setClosed(deeperThan(nodes, 1))}>
            Collapse all
          </Button>
        </div>
      )}
      <div ref={frame} className={classes.frame}>
        <div
          role="tree"
          aria-label={label}
          className={classes.rows}
          style={{ height: virtual.getTotalSize() }}
        >
          {virtual.getVirtualItems().map(({ index, start }) => {
            const node = rows[index];
            if (node === undefined) return null;
            const isCurrent = node.index === current;
            return (
              <div
                key={node.index}
                ref={(element) => {
                  virtual.measureElement(element);
                  // The row of the last key gets the focus once it is rendered.
                  if (isCurrent && element?.parentElement?.contains(document.activeElement))
                    element.focus({ preventScroll: true });
                }}
                role="treeitem"
                aria-level={node.level}
                aria-posinset={node.position}
                aria-setsize={node.parent?.size ?? 1}
                aria-expanded={node.size > 0 ? !closed.has(node.index) : undefined}
                aria-selected={isCurrent}
                tabIndex={isCurrent ? 0 : -1}
                data-index={index}
                className={classes.row}
                style={{
                  transform: `translateY(${start}px)`,
                  paddingInlineStart: `${Math.min(node.level, 30) * 1.1 - 0.6}rem`,
                }}
                onFocus={() => setCurrent(node.index)}
                onClick={() => node.size > 0 && toggle(node)}
                onKeyDown={(event) => onKeyDown(event, node, index)}
              >
                <RowContent node={node} isOpen={!closed.has(node.index)} />
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

function RowContent({ node, isOpen }: { node: JsonNode; isOpen: boolean }) {
  const { name, kind, size, text } = node;
  return (
    <>
      {size > 0 ? (
        <IconChevronRight size={15} aria-hidden className={classes.chevron} data-open={isOpen || undefined} />
      ) : (
        <span className={classes.leaf} />
      )}
      {name !== null && <span className={`${classes.name} mono`}>{name === '' ? '""' : name}:</span>}
      <span className={`${classes.value} mono`} data-kind={kind}>
        {kind === 'object' || kind === 'array' ? containerText(node) : shortened(text)}
      </span>
    </>
  );
}

function containerText({ kind, size }: JsonNode): string {
  if (size === 0) return kind === 'object' ? '{}' : '[]';
  return kind === 'object' ? `{ ${countOf(size, 'member')} }` : `[ ${countOf(size, 'element')} ]`;
}

function shortened(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
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
