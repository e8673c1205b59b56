import { useRef, useState } from 'react';

export interface Selection {
  /** The selected ids in the order of the list. Rows that left the page are not selected. */
  ids: readonly string[];
  has: (id: string) => boolean;
  /** Selects or deselects a row; with `isRange`, all rows from the last one that was clicked. */
  toggle: (id: string, isSelected: boolean, isRange: boolean) => void;
  setAll: (isSelected: boolean) => void;
  clear: () => void;
}

/** The selected rows of a list. */
export function useSelection(shown: readonly string[]): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const anchor = useRef<string | undefined>(undefined);
  return {
    ids: shown.filter((id) => selected.has(id)),
    has: (id) => selected.has(id),
    toggle: (id, isSelected, isRange) => {
      const [from, to] = [shown.indexOf(anchor.current ?? id), shown.indexOf(id)];
      const range = isRange && from >= 0 ? shown.slice(Math.min(from, to), Math.max(from, to) + 1) : [id];
      const next = new Set(selected);
      for (const each of range) {
        if (isSelected) next.add(each);
        else next.delete(each);
      }
      anchor.current = id;
      setSelected(next);
    },
    setAll: (isSelected) => setSelected(new Set(isSelected ? shown : [])),
    clear: () => setSelected(new Set()),
  };
}
