import mime from 'mime-types';
import { filePathFault, foldedPath } from '../../shared/archive/filePath.ts';
import type { ListedFile } from './repository.ts';

/** A file of a record, with the path that it gets in the draft. */
export interface PlannedFile extends ListedFile {
  path: string;
  mediaType: string;
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
 * Gives each file of a record a path that a pack can have, and says which ones do not fit into the draft: in the order of the
 * list, each one that still fits is taken.
 */
export function planFiles(listed: readonly ListedFile[], room: { files: number; bytes: number }): FilePlan {
  const warnings: string[] = [];
  const paths = new PathsInUse();
  const renamed: string[] = [];
  const left = { ...room };
  const files = listed.slice(0, MAX_LISTED_FILES).map((file): PlannedFile => {
    const path = paths.add(safePath(file.name));
    if (path !== file.name) renamed.push(`${quoted(file.name)} is ${quoted(path)}`);
    const planned = { ...file, path, mediaType: mediaTypeOf(path, file.mediaType) };
    if (file.urls.length === 0) return { ...planned, excluded: 'refused' };
    if (left.files < 1 || (file.bytes ?? 0) > left.bytes) return { ...planned, excluded: 'too_large' };
    left.files -= 1;
    left.bytes -= file.bytes ?? 0;
    return planned;
  });
  if (listed.length > MAX_LISTED_FILES)
    warnings.push(`The record has more than ${MAX_LISTED_FILES} files. Only that many were looked at.`);
  if (renamed.length > 0)
    warnings.push(
      `${filesText(renamed.length)} ${renamed.length === 1 ? 'has' : 'have'} another name here, because a pack cannot have the one in the repository: ${someOf(renamed)}.`,
    );
  const tooMany = files.filter(({ excluded }) => excluded === 'too_large');
  if (tooMany.length > 0)
    warnings.push(
      `${filesText(tooMany.length)} ${tooMany.length === 1 ? 'does' : 'do'} not fit: a draft has room for ${room.files} files and ${room.bytes} bytes. Not taken: ${someOf(tooMany.map(({ path }) => quoted(path)))}.`,
    );
  for (const [refusal, refused] of Map.groupBy(
    files.filter(({ excluded }) => excluded === 'refused'),
    (file) => file.refusal ?? 'without an address',
  ))
    warnings.push(
      `${filesText(refused.length)} cannot be fetched (${refusal}): ${someOf(refused.map(({ path }) => quoted(path)))}.`,
    );
  return { files, warnings };
}

export function filesText(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}

/** Returns the first few of some names. */
export function someOf(names: readonly string[]): string {
  const rest = names.length - NAMED;
  return names.slice(0, NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/** Returns a name for a sentence. */
export function quoted(name: string): string {
  const characters = Array.from(name.replace(/[\p{Cc}\p{Cf}]/gu, '�'));
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
export function safePath(name: string): string {
  const segments = name
    .toWellFormed()
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
    const key = foldedPath(wanted);
    for (let number = this.#wanted.get(key) ?? 1; !this.#isFree(path); ) {
      number += 1;
      path = numbered(wanted, number);
      this.#wanted.set(key, number);
    }
    const folded = foldedPath(path);
    this.#files.add(folded);
    for (const folder of foldersOf(folded)) this.#folders.add(folder);
    return path;
  }

  #isFree(path: string): boolean {
    const folded = foldedPath(path);
    if (this.#files.has(folded) || this.#folders.has(folded)) return false;
    return !foldersOf(folded).some((folder) => this.#files.has(folder));
  }
}

function foldersOf(path: string): string[] {
  const segments = path.split('/');
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'));
}

/** `data/a.csv` becomes `data/a (2).csv`. A file in a folder whose name a file has gets another folder. */
function numbered(path: string, number: number): string {
  const slash = path.indexOf('/');
  const at = number % 2 === 0 || slash < 0 ? path.lastIndexOf('.') : -1;
  if (at > path.lastIndexOf('/') + 1) return `${path.slice(0, at)} (${number})${path.slice(at)}`;
  return slash < 0 || number % 2 === 0
    ? `${path} (${number})`
    : `${path.slice(0, slash)} (${number})${path.slice(slash)}`;
}
