import type { ProofCrypto } from '../crypto/algorithms.ts';
import { hexOf, toBase64, utf8 } from '../crypto/bytes.ts';
import { type OpenedCheckpoint, openNote, ProofError } from './signedNote.ts';

/*
 * The list of the files of a copy (`docs/static-archive.md`). The list itself is a signed note, short whatever the size of
 * the copy: it names the checkpoint that it belongs to, and the digests of its parts. A part has a line for each file, as
 * `sha256sum` writes them. A file belongs to the part that the digest of its path falls into, so that a sync writes few
 * parts again and a reader needs one part for one file.
 */

export const FILES = 'files/';
export const LIST = `${FILES}list`;
const FORMAT = 'strongroom.files/v1';

export interface ListedFile {
  path: string;
  sha256: string;
}

/** The list of a copy's files. */
export interface FileList {
  /** The size and the root, in base64, of the checkpoint that the copy gets after this list. */
  size: number;
  root: string;
  /** The number of files in all parts. */
  files: number;
  parts: ListedFile[];
}

/**
 * What a sync is about to write. While it runs, and after it was killed, a file may be as the list says, or as one of these
 * says that amends that list.
 */
export interface Announcement {
  /** The digest of the list that is amended. */
  amends: string;
  files: ListedFile[];
}

export type SignedText = `strongroom.${string}`;

export function listText(origin: string, { size, root, files, parts }: FileList): SignedText {
  return `${FORMAT}\n${origin}\nlist ${size} ${root} ${files}\n${linesOf(parts)}`;
}

export function announcementText(origin: string, { amends, files }: Announcement): SignedText {
  return `${FORMAT}\n${origin}\nnext ${amends}\n${linesOf(files)}`;
}

/** Verifies and parses a list. @throws ProofError, RangeError */
export function openList(note: string, verifierKey: string, crypto: ProofCrypto): FileList {
  const { statement, lines } = openText(note, verifierKey, crypto);
  const [, size, root = '', files] = /^list (\d{1,15}) (\S{44}) (\d{1,15})$/.exec(statement) ?? [];
  if (size === undefined) throw new ProofError('This is not a list of the files of a copy.');
  const parts = parseLines(lines);
  if (!Number.isInteger(Math.log2(parts.length))) throw new ProofError('The list lacks a part.');
  return { size: Number(size), root, files: Number(files), parts };
}

/** Whether a list belongs to a checkpoint before this one, or to another ledger. */
export function isOlder(list: FileList, { size, root }: Pick<OpenedCheckpoint, 'size' | 'root'>): boolean {
  return list.size < size || (list.size === size && list.root !== toBase64(root));
}

/** Verifies and parses what a sync was about to write. @throws ProofError, RangeError */
export function openAnnouncement(note: string, verifierKey: string, crypto: ProofCrypto): Announcement {
  const { statement, lines } = openText(note, verifierKey, crypto);
  const [, amends] = /^next ([0-9a-f]{64})$/.exec(statement) ?? [];
  if (amends === undefined) throw new ProofError('This is not what a sync writes.');
  return { amends, files: parseLines(lines) };
}

function openText(note: string, verifierKey: string, crypto: ProofCrypto) {
  const { name, body } = openNote(note, verifierKey, crypto, 'list');
  const [format, origin, statement = ''] = body.split('\n', 3);
  if (format !== FORMAT || origin !== name)
    throw new ProofError('This is not a list of the files of a copy.');
  return { statement, lines: body.slice(`${format}\n${origin}\n${statement}\n`.length) };
}

export function linesOf(files: readonly ListedFile[]): string {
  return files.map(({ sha256, path }) => `${sha256}  ${path}\n`).join('');
}

const LINE = /^([0-9a-f]{64}) {2}([\w.-]+(?:\/[\w.-]+)*)$/;

/** Parses the lines of a part. @throws ProofError if one is not as a node writes them */
export function parseLines(text: string): ListedFile[] {
  if (text !== '' && !text.endsWith('\n')) throw new ProofError('The last line of the list is incomplete.');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [, sha256, path] = LINE.exec(line) ?? [];
      if (sha256 === undefined || path === undefined || path.split('/').includes('..'))
        throw new ProofError('The list has a line that no node writes.');
      return { path, sha256 };
    });
}

/** Where a path falls, from 0 to 2³² - 1. */
export function placeInList(path: string, crypto: Pick<ProofCrypto, 'digest'>): number {
  return Number.parseInt(hexOf(crypto.digest('sha256', utf8(path)).subarray(0, 4)), 16);
}

export const PLACES = 2 ** 32;

/** The part, counted from 0, that a file belongs to. `parts` is a power of two. */
export function partOf(place: number, parts: number): number {
  return Math.floor(place / (PLACES / parts));
}

/** A part is named by its digest: a list that is written later never changes a part of an earlier one. */
export function partPath(sha256: string): string {
  return `${FILES}${sha256}`;
}

/** What a sync is about to write is named by a digest too, so that a later one does not replace it. */
export function announcementPath(sha256: string): string {
  return `${FILES}next-${sha256}`;
}
