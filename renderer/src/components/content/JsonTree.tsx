import { Button } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { countOf } from '../../format/size.ts';
import { rowOfKey } from '../data/FileTree.tsx';
import classes from './content.module.css';
import { deeperThan, type JsonNode, jsonNodes, visibleNodes } from './jsonNodes.ts';

interface JsonContentProps {
  /** The whole document. */
  text: string;
  label: string;
  /** How the text is shown, by choice or if it is not JSON. */
  asText: (text: string) => React.ReactNode;
}

/** A JSON document as a tree or, by choice, as text. A text that is not JSON is shown as text. */
export function JsonContent({ text, label, asText }: JsonContentProps) {
  const [isText, setIsText] = useState(false);
  const nodes = useMemo(() => jsonNodes(text), [text]);
  if (!nodes) return asText(text);
  return (
    <>
      <div>
        <Button size="compact-sm" variant="default" onClick={() => setIsText(!isText)}>
          {isText ? 'Show as a tree' : 'Show as text'}
        </Button>
      </div>
      {isText ? asText(text) : <JsonTree nodes={nodes} label={label} />}
    </>
  );
}

// Rows are positioned one by one, so they are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */

const ROW_HEIGHT = 24;

/** A JSON document as a tree that folds. Only the visible rows are rendered; the arrow keys move, open and close. */
function JsonTree({ nodes, label }: { nodes: readonly JsonNode[]; label: string }) {
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
      <div ref={frame} className={`${classes.tree} scroll small sheet`}>
        <div role="tree" aria-label={label} className="relative" style={{ height: virtual.getTotalSize() }}>
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
    <div className="cluster stretch gap-2">
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

/** Documents up to this length are open at first; of longer ones, the first two levels. */
const OPEN_AT_FIRST = 300;
const OPEN_LEVELS = 2;

/** The rows of a document whose containers open and close. */
function useJsonRows(nodes: readonly JsonNode[]) {
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

// Rows are positioned one by one, so they are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */

/** Longer values are cut. */
const SHOWN_CHARACTERS = 2_000;

interface JsonTreeRowProps {
  node: JsonNode;
  /** The place of the row. */
  place: VirtualItem;
  isOpen: boolean;
  /** Whether Tab stops at this row. */
  isCurrent: boolean;
  measure: (element: HTMLElement | null) => void;
  onFocus: () => void;
  onToggle: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** A value of the document; a container opens and closes with a click. */
function JsonTreeRow(props: JsonTreeRowProps) {
  const { node, place, isOpen, isCurrent, measure, onFocus, onToggle, onKeyDown } = props;
  return (
    <div
      ref={(element) => {
        measure(element);
        // The row of the last key gets the focus once it is rendered.
        if (isCurrent && element?.parentElement?.contains(document.activeElement))
          element.focus({ preventScroll: true });
      }}
      role="treeitem"
      aria-level={node.level}
      aria-posinset={node.position}
      aria-setsize={node.parent?.size ?? 1}
      aria-expanded={node.size > 0 ? isOpen : undefined}
      aria-selected={isCurrent}
      tabIndex={isCurrent ? 0 : -1}
      data-index={place.index}
      className={`${classes.row} line baseline gap-2`}
      style={{
        transform: `translateY(${place.start}px)`,
        paddingInlineStart: `${Math.min(node.level, 30) * 1.1 - 0.6}rem`,
      }}
      onFocus={onFocus}
      onClick={() => node.size > 0 && onToggle()}
      onKeyDown={onKeyDown}
    >
      <RowContent node={node} isOpen={isOpen} />
    </div>
  );
}

function RowContent({ node, isOpen }: { node: JsonNode; isOpen: boolean }) {
  const { name, kind, size, text } = node;
  return (
    <>
      {size > 0 ? (
        <IconChevronRight
          size={15}
          aria-hidden
          className={`${classes.chevron} rigid muted`}
          data-open={isOpen || undefined}
        />
      ) : (
        <span className={classes.leaf} />
      )}
      {name !== null && (
        <span className={`${classes.name} rigid muted wrap-anywhere mono`}>{name === '' ? '""' : name}:</span>
      )}
      <span className={`${classes.value} shrink wrap-anywhere keep-lines mono`} data-kind={kind}>
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
