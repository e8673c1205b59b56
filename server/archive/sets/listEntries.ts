import type { SetEntriesQuery, SetEntry } from '../../../shared/archive/set.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { marksOf } from '../../withholding/withholding.ts';
import type { OpenedSet } from './readSet.ts';
import type { SetIndex } from './setIndex.ts';

/** The paths that are searched before other requests have their turn. */
const FILES_AT_ONCE = 5_000;

/**
 * Lists a folder of a set, or the files whose path contains a text. A page costs the same in a set of any size, except
 * that the names in one folder are counted.
 */
export async function listEntries(
  read: ReadDatabase,
  { index }: Pick<OpenedSet, 'index'>,
  { folder, q, limit, offset }: SetEntriesQuery,
): Promise<Slice<SetEntry>> {
  if (q !== '') {
    const found = await filesWith(index, q.toLowerCase());
    const items = found.slice(offset, offset + limit).map((file) => fileEntry(read, index, file));
    return { items, total: found.length };
  }
  const { folders, files } = entriesIn(index, folder === '' ? '' : `${folder}/`);
  const ofPage = folders.slice(offset, offset + limit);
  const start = Math.max(0, offset - folders.length);
  return {
    total: folders.length + files.length,
    items: [
      ...ofPage.map((range) => folderEntry(index, range)),
      ...files.slice(start, start + limit - ofPage.length).map((file) => fileEntry(read, index, file)),
    ],
  };
}

async function filesWith(index: SetIndex, text: string): Promise<number[]> {
  const found: number[] = [];
  for (let file = 0; file < index.count; file += 1) {
    if (index.pathOf(file).toLowerCase().includes(text)) found.push(file);
    if (file % FILES_AT_ONCE === FILES_AT_ONCE - 1) await yieldToEventLoop();
  }
  return found;
}

/** The files of a folder: those from `first`, and before `end`. */
interface Range {
  first: number;
  end: number;
}

/** @param prefix the path of the folder with a slash at its end; empty at the top */
function entriesIn(index: SetIndex, prefix: string): { folders: Range[]; files: number[] } {
  const folders: Range[] = [];
  const files: number[] = [];
  const length = Buffer.byteLength(prefix);
  const end = prefix === '' ? index.count : index.firstFrom(afterFolder(prefix));
  for (let file = index.firstFrom(prefix); file < end; ) {
    if (!index.hasSlashAfter(file, length)) {
      files.push(file);
      file += 1;
      continue;
    }
    const path = index.pathOf(file);
    const range = {
      first: file,
      end: index.firstFrom(afterFolder(path.slice(0, path.indexOf('/', prefix.length) + 1))),
    };
    folders.push(range);
    file = range.end;
  }
  return { folders, files };
}

/** Returns the first text after all paths in a folder: `0` is the character after the slash. */
function afterFolder(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

function folderEntry(index: SetIndex, { first, end }: Range): SetEntry {
  let bytes = 0;
  for (let file = first; file < end; file += 1) bytes += index.bytesOf(file);
  return {
    kind: 'folder',
    path: commonFolder(index.pathOf(first), index.pathOf(end - 1)),
    files: end - first,
    bytes,
  };
}

/** The deepest folder that has both the first and the last of sorted paths has all between them. */
function commonFolder(first: string, last: string): string {
  const [left, right] = [first.split('/').slice(0, -1), last.split('/').slice(0, -1)];
  const different = left.findIndex((segment, place) => segment !== right[place]);
  return (different === -1 ? left : left.slice(0, different)).join('/');
}

function fileEntry(read: ReadDatabase, index: SetIndex, file: number): SetEntry {
  const parts = index.partsOf(file);
  const marks = parts.map(({ sha256 }) => marksOf(read, sha256));
  const withheld = marks.find((mark) => mark.withheld)?.withheld;
  const released = marks.find((mark) => mark.released)?.released;
  return {
    kind: 'file',
    path: index.pathOf(file),
    bytes: index.bytesOf(file),
    sha256: index.sha256Of(file),
    parts: parts.length,
    ...(withheld && { withheld }),
    ...(released && { released }),
  };
}
