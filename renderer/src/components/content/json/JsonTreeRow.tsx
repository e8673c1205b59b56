// Rows are positioned one by one, so they are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { IconChevronRight } from '@tabler/icons-react';
import type { VirtualItem } from '@tanstack/react-virtual';
import type { KeyboardEvent } from 'react';
import { countOf } from '../../../format/size.ts';
import classes from './JsonTree.module.css';
import type { JsonNode } from './jsonNodes.ts';

/** Longer values are cut. */
const SHOWN_CHARACTERS = 2_000;

export interface JsonTreeRowProps {
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
export function JsonTreeRow(props: JsonTreeRowProps) {
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
      className={classes.row}
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
