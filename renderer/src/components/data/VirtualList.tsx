import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';
import classes from './data.module.css';

/** Lists up to this length are rendered in full, so that the browser can search and print them. */
const DRAWN_WHOLE = 60;
const ROW_HEIGHT = 38;

export interface VirtualListProps<Item> {
  label: string;
  items: readonly Item[];
  keyOf: (item: Item) => string;
  render: (item: Item) => ReactNode;
}

/** A list of rows. For a long list only the visible rows are rendered. */
export function VirtualList<Item>(props: VirtualListProps<Item>) {
  if (props.items.length > DRAWN_WHOLE) return <ScrolledList {...props} />;
  const { label, items, keyOf, render } = props;
  return (
    <ul className={`${classes.list} container plain sheet`} aria-label={label}>
      {items.map((item) => (
        <li key={keyOf(item)}>{render(item)}</li>
      ))}
    </ul>
  );
}

function ScrolledList<Item>({ label, items, keyOf, render }: VirtualListProps<Item>) {
  const frame = useRef<HTMLDivElement>(null);
  // The React compiler cannot memoize what this hook returns.
  // oxlint-disable-next-line react/incompatible-library
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  return (
    <div ref={frame} className={`${classes.list} ${classes.scrolled} container sheet`}>
      <ul className="plain relative" aria-label={label} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <li
              key={keyOf(item)}
              className="virtual-row"
              data-index={index}
              ref={rows.measureElement}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)` }}
            >
              {render(item)}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
