/** The rows that Page Up and Page Down move by. */
const PAGE_ROWS = 10;

/** Returns the row to which a key of a list moves the focus (ARIA tree pattern), or undefined for any other key. */
export function rowOfKey(key: string, index: number, rows: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return index + 1;
    case 'ArrowUp':
      return index - 1;
    case 'Home':
      return 0;
    case 'End':
      return rows - 1;
    case 'PageDown':
      return index + PAGE_ROWS;
    case 'PageUp':
      return index - PAGE_ROWS;
    default:
      return undefined;
  }
}
