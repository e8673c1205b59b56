import { compareByUtf8 } from '../../../shared/archive/filePath.ts';
import { type SetManifest, setManifestSchema } from '../../../shared/archive/set.ts';
import { setFaults, setTextOf } from '../../../shared/archive/setManifest.ts';
import { MAX_SET_FILES } from '../../../shared/limits.ts';
import { type FieldError, jsonPointer, Problem } from '../../../shared/problems.ts';
import { parseStrictJson } from '../../../shared/values/canonicalJson.ts';
import { issueMessage } from '../../../shared/values/checkBody.ts';
import type { JoinedPart } from '../../store/sqlite/archive/sets.ts';

/** Texts or digests one after the other, in as few objects as possible: a set may have 100,000 files. */
interface Packed {
  bytes: Uint8Array;
  /** Where each ends. */
  ends: Uint32Array;
}

/** What `set.json` says, as a thread returns it. Files are in the order of their paths' UTF-8 bytes. */
export interface IndexedSet {
  paths: Packed;
  sizes: Float64Array;
  /** 32 bytes for each file. */
  digests: Uint8Array;
  /** Where the parts of each file end in the lists of parts. */
  partEnds: Uint32Array;
  partSizes: Float64Array;
  partDigests: Uint8Array;
  partPaths: Packed;
  /** The position of the pack of each part in `packs`. */
  partPacks: Uint32Array;
  packs: string[];
  bytes: number;
}

/** A set, not a set, or what is wrong with it. */
export type ParsedSet = { set: IndexedSet } | { other: true } | { errors: FieldError[] };

/** A part of a file, which is a file of a pack. */
export interface SetPart {
  pack: string;
  path: string;
  bytes: number;
  sha256: string;
}

const DIGEST_BYTES = 32;
const MAX_REPORTED = 100;
/** The fields of a file and of its parts, for as many files as a set can have, each in up to four parts. */
const MAX_NAMES = MAX_SET_FILES * (4 + 4 * 4);
const SLASH = 0x2f;

/**
 * Reads `set.json`. A file that is not JSON, or has another format, is no set. It takes up to a second for the largest
 * sets, so it runs in a thread.
 */
export function parseSet(json: Uint8Array): ParsedSet {
  const text = setTextOf(json);
  if (text === undefined) return { other: true };
  let value: unknown;
  try {
    value = parseStrictJson(text, MAX_NAMES);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { errors: [{ path: '', message: error.message }] };
  }
  const checked = setManifestSchema.safeParse(value);
  if (!checked.success) {
    const issues = checked.error.issues.slice(0, MAX_REPORTED);
    return {
      errors: issues.map((issue) => ({ path: jsonPointer(issue.path), message: issueMessage(issue) })),
    };
  }
  const errors = setFaults(checked.data.files).slice(0, MAX_REPORTED);
  return errors.length > 0 ? { errors } : { set: indexOf(checked.data) };
}

function indexOf({ files }: SetManifest): IndexedSet {
  const sorted = files.toSorted((left, right) => compareByUtf8(left.path, right.path));
  const parts = sorted.flatMap((file) => file.parts);
  const packs = [...new Set(parts.map(({ pack }) => pack))];
  const positions = new Map(packs.map((pack, index) => [pack, index]));
  let end = 0;
  return {
    paths: packed(sorted.map(({ path }) => path)),
    sizes: Float64Array.from(sorted, ({ bytes }) => bytes),
    digests: digestBytes(sorted.map(({ sha256 }) => sha256)),
    partEnds: Uint32Array.from(sorted, (file) => (end += file.parts.length)),
    partSizes: Float64Array.from(parts, ({ bytes }) => bytes),
    partDigests: digestBytes(parts.map(({ sha256 }) => sha256)),
    partPaths: packed(parts.map(({ path }) => path)),
    partPacks: Uint32Array.from(parts, (part) => positions.get(part.pack) ?? 0),
    packs,
    bytes: sorted.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function packed(texts: readonly string[]): Packed {
  let end = 0;
  const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)));
  return { bytes: new Uint8Array(Buffer.from(texts.join(''))), ends };
}

function digestBytes(digests: readonly string[]): Uint8Array {
  return new Uint8Array(Buffer.from(digests.join(''), 'hex'));
}

/** The files of a set and their parts, by their positions. */
export class SetIndex {
  readonly #set: IndexedSet;
  readonly #paths: Buffer;

  constructor(set: IndexedSet) {
    this.#set = set;
    this.#paths = Buffer.from(set.paths.bytes.buffer, set.paths.bytes.byteOffset, set.paths.bytes.length);
  }

  /** The number of files. */
  get count(): number {
    return this.#set.sizes.length;
  }

  /** The size of all files together. */
  get bytes(): number {
    return this.#set.bytes;
  }

  /** The packs that hold the parts. */
  get packs(): readonly string[] {
    return this.#set.packs;
  }

  /** About how much memory it takes. */
  get memory(): number {
    const { paths, partPaths, sizes, partSizes } = this.#set;
    return paths.bytes.length + partPaths.bytes.length + 48 * (sizes.length + partSizes.length);
  }

  pathOf(file: number): string {
    return this.#paths.toString('utf8', this.#start(this.#set.paths.ends, file), this.#set.paths.ends[file]);
  }

  /** The length of the path in UTF-8. */
  pathBytesOf(file: number): number {
    return (this.#set.paths.ends[file] ?? 0) - this.#start(this.#set.paths.ends, file);
  }

  bytesOf(file: number): number {
    return this.#set.sizes[file] ?? 0;
  }

  sha256Of(file: number): string {
    return hexAt(this.#set.digests, file);
  }

  /** Of the files that are in several parts, each part. */
  get joined(): JoinedPart[] {
    const joined: JoinedPart[] = [];
    for (let file = 0; file < this.count; file += 1) {
      const parts = this.partsOf(file);
      if (parts.length < 2) continue;
      for (const { sha256, bytes } of parts) if (bytes > 0) joined.push([this.sha256Of(file), sha256]);
    }
    return joined;
  }

  /** Returns the parts of a file, in order. */
  partsOf(file: number): SetPart[] {
    const { partEnds, partSizes, partDigests, partPaths, partPacks, packs } = this.#set;
    const parts: SetPart[] = [];
    for (let part = this.#start(partEnds, file); part < (partEnds[file] ?? 0); part += 1) {
      const path = partPaths.bytes.subarray(this.#start(partPaths.ends, part), partPaths.ends[part]);
      parts.push({
        pack: packs[partPacks[part] ?? 0] ?? '',
        path: Buffer.from(path).toString(),
        bytes: partSizes[part] ?? 0,
        sha256: hexAt(partDigests, part),
      });
    }
    return parts;
  }

  /** Returns the position of the file at a path, or undefined. */
  find(path: string): number | undefined {
    const place = this.firstFrom(path);
    return place < this.count && this.pathOf(place) === path ? place : undefined;
  }

  /** Returns the position of the first file whose path is a text or comes after it, in the order of UTF-8 bytes. */
  firstFrom(text: string): number {
    const wanted = Buffer.from(text);
    const { ends } = this.#set.paths;
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = this.#paths.compare(wanted, 0, wanted.length, this.#start(ends, middle), ends[middle]);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns whether the path of a file has a slash after so many bytes. */
  hasSlashAfter(file: number, pathBytes: number): boolean {
    const { ends } = this.#set.paths;
    const slash = this.#paths.indexOf(SLASH, this.#start(ends, file) + pathBytes);
    return slash !== -1 && slash < (ends[file] ?? 0);
  }

  #start(ends: Uint32Array, index: number): number {
    return index === 0 ? 0 : (ends[index - 1] ?? 0);
  }
}

function hexAt(digests: Uint8Array, index: number): string {
  const at = index * DIGEST_BYTES;
  return Buffer.from(digests.buffer, digests.byteOffset + at, DIGEST_BYTES).toString('hex');
}
