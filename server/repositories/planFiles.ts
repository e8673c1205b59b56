import mime from 'mime-types';
import { filePathFault, foldedNewPath, withoutHidden } from '../../shared/archive/filePath.ts';
import { GIGABYTE, MEGABYTE } from '../../shared/limits.ts';
import type { ListedFile } from './repository.ts';

/** A file of a record, with the path and the type that it gets in the draft. */
export interface PlacedFile extends Omit<ListedFile, 'mediaType'> {
  path: string;
  mediaType: string;
}

/** A file of a record, and whether it is fetched. */
export interface PlannedFile extends PlacedFile {
  /** Why it is not fetched; undefined if it is. */
  excluded?: 'too_large' | 'refused';
}

export interface FilePlan {
  files: PlannedFile[];
  warnings: string[];
}

/** The most files that are listed of one record. */
export const MAX_LISTED_FILES = 20_000;
/** Names that are given in a sentence. */
const NAMED = 3;
const MAX_NAME_CHARACTERS = 80;

/**
 * Gives each file of a record a path that a pack can have. Ten thousand files take a while, so it runs where the record is
 * read.
 */
export function placeFiles(listed: readonly ListedFile[]): PlacedFile[] {
  const paths = new PathsInUse();
  return listed.slice(0, MAX_LISTED_FILES).map((file) => {
    const path = paths.add(safePath(file.name));
    return { ...file, path, mediaType: mediaTypeOf(path, file.mediaType) };
  });
}

/** Says which files do not fit into a draft: in the order of the list, each one that still fits is taken. */
export function planFiles(
  placed: readonly PlacedFile[],
  listed: number,
  room: { files: number; bytes: number },
): FilePlan {
  const left = { ...room };
  const files = placed.map((file): PlannedFile => {
    if (file.urls.length === 0) return { ...file, excluded: 'refused' };
    if (left.files < 1 || (file.bytes ?? 0) > left.bytes) return { ...file, excluded: 'too_large' };
    left.files -= 1;
    left.bytes -= file.bytes ?? 0;
    return file;
  });
  return { files, warnings: [...listingWarnings(files, listed), ...planWarnings(files, room)] };
}

function listingWarnings(files: readonly PlannedFile[], listed: number): string[] {
  const renamed = files.filter(({ name, path }) => name !== path);
  return [
    ...(listed > files.length
      ? [`The record has ${listed} files. Only the first ${files.length} were looked at.`]
      : []),
    ...(renamed.length > 0
      ? [
          `${filesText(renamed.length)} ${renamed.length === 1 ? 'has' : 'have'} another name here, because a pack cannot have the one in the repository: ${someOf(renamed, ({ name, path }) => `${quoted(name)} is ${quoted(path)}`)}.`,
        ]
      : []),
  ];
}

function planWarnings(files: readonly PlannedFile[], room: { files: number; bytes: number }): string[] {
  const tooMany = files.filter(({ excluded }) => excluded === 'too_large');
  const refused = Map.groupBy(
    files.filter(({ excluded }) => excluded === 'refused'),
    (file) => file.refusal ?? 'without an address',
  );
  return [
    ...(tooMany.length > 0
      ? [
          `${filesText(tooMany.length)} ${tooMany.length === 1 ? 'does' : 'do'} not fit: a draft has room for ${room.files} files and ${bytesText(room.bytes)}. Not taken: ${someFiles(tooMany)}.`,
        ]
      : []),
    ...[...refused].map(
      ([refusal, group]) => `${filesText(group.length)} cannot be fetched (${refusal}): ${someFiles(group)}.`,
    ),
  ];
}

export function filesText(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}

/** Returns a number of bytes for a sentence, rounded down: what is said to fit does. */
function bytesText(bytes: number): string {
  for (const [unit, size] of [
    ['GB', GIGABYTE],
    ['MB', MEGABYTE],
    ['kB', 1_000],
  ] as const)
    if (bytes >= size) return `${Math.floor((bytes / size) * 10) / 10} ${unit}`;
  return `${Math.max(0, bytes)} bytes`;
}

/** Names the first few of some items. */
function someOf<Item>(items: readonly Item[], nameOf: (item: Item) => string): string {
  const rest = items.length - NAMED;
  return items.slice(0, NAMED).map(nameOf).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/** Names the first few of some files. */
export function someFiles(files: readonly { path: string }[]): string {
  return someOf(files, ({ path }) => quoted(path));
}

/** Returns a name for a sentence. */
export function quoted(name: string): string {
  const characters = Array.from(name.slice(0, 4 * MAX_NAME_CHARACTERS).replace(/[\p{Cc}\p{Cf}]/gu, '�'));
  return `“${characters.length > MAX_NAME_CHARACTERS ? `${characters.slice(0, MAX_NAME_CHARACTERS).join('')}…` : characters.join('')}”`;
}

function mediaTypeOf(path: string, stated: string | null): string {
  // The same file gets the same type wherever it comes from; what a repository states is often its own invention.
  const known = mime.lookup(path);
  if (known) return known;
  return stated !== null && /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(stated)
    ? stated
    : 'application/octet-stream';
}

const MAX_SEGMENT_BYTES = 200;
const MAX_SEGMENTS = 20;

/** Returns the path of a name without what no pack can have: it stays within the pack, on every system. */
function safePath(name: string): string {
  const segments = withoutHidden(name.toWellFormed())
    .normalize('NFC')
    .replaceAll('\\', '/')
    .replace(/^[A-Za-z]:(?=\/)/, '')
    .split('/')
    .map(safeSegment)
    .filter((segment) => segment !== '');
  const within = segments.length > MAX_SEGMENTS ? segments.slice(-MAX_SEGMENTS) : segments;
  while (within.length > 1 && Buffer.byteLength(within.join('/')) > 900) within.shift();
  const path = within.join('/');
  return path === '' || filePathFault(path) !== undefined ? 'file' : path;
}

function safeSegment(segment: string): string {
  const plain = segment
    .replace(/[\p{Cc}<>:"|?*%]/gu, '_')
    .replace(/^\.+$/, '')
    .replace(/[. ]+$/, '')
    .trimStart();
  const short = shortened(plain);
  // A device of Windows has another name with a line before it.
  return short !== '' && filePathFault(short) !== undefined ? `_${short}` : short;
}

/** Shortens a name in front of its ending. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_SEGMENT_BYTES) return name;
  const ending = /\.[A-Za-z0-9.]{1,20}$/.exec(name)?.[0] ?? '';
  let kept = '';
  let bytes = Buffer.byteLength(ending);
  for (const character of name.slice(0, name.length - ending.length)) {
    bytes += Buffer.byteLength(character);
    if (bytes > MAX_SEGMENT_BYTES) break;
    kept += character;
  }
  return kept.replace(/[. ]+$/, '') + ending;
}

/** The paths that are given already. No two differ only in case, and none is a folder of another. */
class PathsInUse {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  /** How often each path was wanted, so that ten thousand files of one name are numbered quickly. */
  readonly #wanted = new Map<string, number>();

  /** Returns the path, with a number if another file has it. */
  add(wanted: string): string {
    let path = wanted;
    let folded = foldedNewPath(path);
    const key = folded;
    for (let number = this.#wanted.get(key) ?? 1; !this.#isFree(folded); ) {
      number += 1;
      this.#wanted.set(key, number);
      path = numbered(wanted, number);
      folded = foldedNewPath(path);
    }
    this.#files.add(folded);
    for (const folder of foldersOf(folded)) {
      // Its folders are known as well.
      if (this.#folders.has(folder)) break;
      this.#folders.add(folder);
    }
    return path;
  }

  #isFree(folded: string): boolean {
    if (this.#files.has(folded) || this.#folders.has(folded)) return false;
    for (const folder of foldersOf(folded)) {
      if (this.#files.has(folder)) return false;
      // No file has the name of a known folder, or of one above it.
      if (this.#folders.has(folder)) return true;
    }
    return true;
  }
}

/** Returns the folders of a path, the innermost first. */
function* foldersOf(path: string): Generator<string> {
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1))
    yield path.slice(0, slash);
}

/** `data/a.csv` becomes `data/a (2).csv`. A file in a folder whose name a file has gets another folder. */
function numbered(path: string, number: number): string {
  const slash = path.indexOf('/');
  if (slash > 0 && number % 2 === 1) return `${path.slice(0, slash)} (${number})${path.slice(slash)}`;
  const dot = path.lastIndexOf('.');
  return dot > path.lastIndexOf('/') + 1
    ? `${path.slice(0, dot)} (${number})${path.slice(dot)}`
    : `${path} (${number})`;
}
