/** A row of a file tree. */
export type TreeRow<Item> = {
  /** Unique in the tree; a folder's key ends with a slash. */
  key: string;
  /** The last segment of the path; for folders that contain only one folder, all of them joined. */
  name: string;
  /** Counted from 1. */
  level: number;
  /** The position among its siblings, counted from 1, and their number. */
  position: number;
  siblings: number;
} & ({ kind: 'folder'; isOpen: boolean; items: Item[] } | { kind: 'file'; item: Item });

interface Folder<Item> {
  folders: Map<string, Folder<Item>>;
  files: { name: string; item: Item }[];
}

/**
 * Returns the visible rows of the tree that paths form, folders before files, each in the order of their names.
 *
 * @param closed the keys of the folders whose content is hidden
 */
export function treeRows<Item extends { key: string; path: string }>(
  items: readonly Item[],
  closed: ReadonlySet<string>,
): TreeRow<Item>[] {
  const root: Folder<Item> = { folders: new Map(), files: [] };
  for (const item of items) {
    const segments = item.path.split('/');
    let folder = root;
    for (const segment of segments.slice(0, -1)) {
      let next = folder.folders.get(segment);
      if (!next) folder.folders.set(segment, (next = { folders: new Map(), files: [] }));
      folder = next;
    }
    folder.files.push({ name: segments.at(-1) ?? item.path, item });
  }
  const rows: TreeRow<Item>[] = [];
  addRows(rows, root, { path: '', level: 1, closed });
  return rows;
}

interface Place {
  path: string;
  level: number;
  closed: ReadonlySet<string>;
}

const ORDER = new Intl.Collator('en', { numeric: true });

function addRows<Item extends { key: string; path: string }>(
  rows: TreeRow<Item>[],
  { folders, files }: Folder<Item>,
  { path, level, closed }: Place,
): void {
  const siblings = folders.size + files.length;
  let position = 0;
  for (const [first, child] of [...folders].sort(([left], [right]) => ORDER.compare(left, right))) {
    const { name, folder } = joined(first, child);
    position += 1;
    const key = `${path}${name}/`;
    const isOpen = !closed.has(key);
    rows.push({ kind: 'folder', key, name, level, position, siblings, isOpen, items: itemsIn(folder) });
    if (isOpen) addRows(rows, folder, { path: key, level: level + 1, closed });
  }
  for (const { name, item } of files.toSorted((left, right) => ORDER.compare(left.name, right.name))) {
    position += 1;
    rows.push({ kind: 'file', key: item.key, name, level, position, siblings, item });
  }
}

/** Joins a folder with the only folder in it, as `2026/11`, so that an empty level takes no row. */
function joined<Item>(name: string, folder: Folder<Item>): { name: string; folder: Folder<Item> } {
  const [only] = folder.folders;
  if (!only || folder.folders.size > 1 || folder.files.length > 0) return { name, folder };
  return joined(`${name}/${only[0]}`, only[1]);
}

function itemsIn<Item>({ folders, files }: Folder<Item>): Item[] {
  return [...files.map(({ item }) => item), ...[...folders.values()].flatMap(itemsIn)];
}
