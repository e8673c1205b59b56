import { Button } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { countOf } from '../../format.ts';
import { useTreeRows } from '../data/useTreeRows.ts';
import classes from './content.module.css';

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
  const { rows, isOpen, toggle, expandAll, collapseAll } = useJsonRows(nodes);
  const { frame, height, shown } = useTreeRows({
    rows,
    keyOf: placeOf,
    rowHeight: ROW_HEIGHT,
    overscan: 12,
    isOpen: (node) => (node.size > 0 ? isOpen(node) : undefined),
    onToggle: toggle,
  });
  return (
    <>
      {nodes.some(({ size }) => size > 0) && <FoldButtons onExpand={expandAll} onCollapse={collapseAll} />}
      <div ref={frame} className={`${classes.tree} scroll small sheet`}>
        <div role="tree" aria-label={label} className="relative" style={{ height }}>
          {shown.map(({ row: node, key, props }) => (
            // A container opens and closes with a click. Its row handles the keys.
            <div
              key={key}
              role="treeitem"
              {...props}
              tabIndex={props.tabIndex}
              onKeyDown={props.onKeyDown}
              aria-setsize={node.parent?.size ?? 1}
              aria-selected={props.tabIndex === 0}
              className={`${classes.row} virtual-row line baseline gap-2`}
              style={{
                ...props.style,
                paddingInlineStart: `${Math.min(node.level, 30) * 1.1 - 0.6}rem`,
              }}
              onClick={() => node.size > 0 && toggle(node)}
            >
              <RowContent node={node} isOpen={isOpen(node)} />
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

function placeOf({ index }: JsonNode): number {
  return index;
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

/** Longer values are cut. */
const SHOWN_CHARACTERS = 2_000;

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

/** A value in a JSON document. All values of a document are in one list, each container before its content. */
interface JsonNode {
  /** The place in the list. */
  index: number;
  /** Counted from 1. */
  level: number;
  /** The member's name, or the number of the element; null for the whole document. */
  name: string | null;
  kind: 'object' | 'array' | 'string' | 'number' | 'word';
  /** As it is written; empty for objects and arrays. */
  text: string;
  /** The position in its container, counted from 1. */
  position: number;
  /** The number of members or elements. */
  size: number;
  /** The place after its content. */
  end: number;
  parent: JsonNode | undefined;
}

/** Larger documents are shown as text. */
const MAX_NODES = 500_000;
const TOKEN =
  /[ \t\r\n]*(?:([{}[\],:])|("[^"\\\n]*(?:\\.[^"\\\n]*)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;

/**
 * Returns the values of a JSON document with numbers and strings as they are written, or undefined if the text is not
 * JSON. Needs no recursion, so that any depth is possible.
 */
export function jsonNodes(text: string): JsonNode[] | undefined {
  const nodes: JsonNode[] = [];
  const tokens = tokensOf(text);
  let parent: JsonNode | undefined;
  for (let token = tokens.next(); ; token = tokens.next()) {
    // A value is expected here, or the end of an empty container.
    if (nodes.length >= MAX_NODES) return undefined;
    const member = memberAt(parent, token.value, tokens);
    if (!member) return undefined;
    const kind = kindOf(member.value);
    if (kind !== undefined) {
      const node = begun(nodes, { parent, name: member.name, kind, text: member.value ?? '' });
      if (kind === 'object' || kind === 'array') {
        parent = node;
        continue;
      }
      token = tokens.next();
    } else if (!isEndOfEmpty(parent, member)) return undefined;
    while (parent && token.value === closing(parent)) {
      parent.end = nodes.length;
      parent = parent.parent;
      token = tokens.next();
    }
    if (parent === undefined) return token.done && tokens.isAtEnd() ? nodes : undefined;
    if (token.value !== ',') return undefined;
  }
}

interface Member {
  /** Null for the document itself, and at the end of an object. */
  name: string | null;
  /** The first token of the value. */
  value: string | undefined;
}

/** Returns the name and the first token of what follows in a container; undefined if a name has no value. */
function memberAt(
  parent: JsonNode | undefined,
  token: string | undefined,
  tokens: ReturnType<typeof tokensOf>,
): Member | undefined {
  if (parent?.kind === 'array') return { name: String(parent.size), value: token };
  if (parent === undefined || token === '}') return { name: null, value: token };
  if (!token?.startsWith('"') || tokens.next().value !== ':') return undefined;
  return { name: decoded(token), value: tokens.next().value };
}

function isEndOfEmpty(parent: JsonNode | undefined, { name, value }: Member): boolean {
  if (parent?.size !== 0 || value !== closing(parent)) return false;
  return parent.kind === 'array' || name === null;
}

function begun(
  nodes: JsonNode[],
  { parent, name, kind, text }: Pick<JsonNode, 'parent' | 'name' | 'kind' | 'text'>,
): JsonNode {
  if (parent) parent.size += 1;
  const index = nodes.length;
  const node: JsonNode = {
    index,
    level: (parent?.level ?? 0) + 1,
    name,
    kind,
    text: kind === 'object' || kind === 'array' ? '' : text,
    position: parent?.size ?? 1,
    size: 0,
    end: index + 1,
    parent,
  };
  nodes.push(node);
  return node;
}

/** Returns the tokens one by one; `done` at the end, or where the text is not JSON. */
function tokensOf(text: string) {
  const pattern = new RegExp(TOKEN);
  let at = 0;
  return {
    next(): { value: string | undefined; done: boolean } {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (!found) return { value: undefined, done: true };
      at = pattern.lastIndex;
      return { value: found[1] ?? found[2] ?? found[3] ?? found[4], done: false };
    },
    isAtEnd: () => text.slice(at).trim() === '',
  };
}

function kindOf(token: string | undefined): JsonNode['kind'] | undefined {
  const [first = ''] = token ?? '';
  if (first === '{') return 'object';
  if (first === '[') return 'array';
  if (first === '"') return 'string';
  if (/[-0-9]/.test(first)) return 'number';
  return /[tfn]/.test(first) ? 'word' : undefined;
}

function closing({ kind }: JsonNode): string {
  return kind === 'object' ? '}' : ']';
}

/** Returns a member's name without quotes and escapes. */
function decoded(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}

/** Returns the nodes that are not inside a closed container. */
export function visibleNodes(nodes: readonly JsonNode[], closed: ReadonlySet<number>): JsonNode[] {
  const visible: JsonNode[] = [];
  for (let index = 0; index < nodes.length; ) {
    const node = nodes[index] as JsonNode;
    visible.push(node);
    index = closed.has(index) ? node.end : index + 1;
  }
  return visible;
}

/** Returns the containers to close at first: those below this level, so that a long document begins as an overview. */
export function deeperThan(nodes: readonly JsonNode[], level: number): Set<number> {
  return new Set(nodes.filter((node) => node.size > 0 && node.level > level).map(({ index }) => index));
}
