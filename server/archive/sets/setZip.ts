import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { compareByUtf8 } from '../../../shared/archive/filePath.ts';
import { SET_FILE } from '../../../shared/archive/set.ts';
import { Problem } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext } from '../../fixity/audit.ts';
import { hashJoined } from '../../hashing/joinedFiles.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { recordTexts } from '../../store/sqlite/archive/packs.ts';
import { crcsOfSet, keepCrcs } from '../../store/sqlite/archive/sets.ts';
import { ZipLayout } from '../../zip/layoutZip.ts';
import type { ByteRange } from '../../zip/writeZip.ts';
import {
  DECLARATION,
  DECLARATION_FILE,
  INFO_FILE,
  infoText,
  MANIFEST_FILE,
  manifestLine,
  onOneLine,
  PAYLOAD_FOLDER,
  RECORD_FILE,
  TAG_MANIFEST_FILE,
} from '../packs/bag/tagFiles.ts';
import type { OpenedSet } from './readSet.ts';
import { readParts, requireIntactParts } from './setBytes.ts';
import type { SetIndex, SetPart } from './setIndex.ts';

/** A tag file of the bag. */
interface TagFile {
  name: string;
  bytes: Buffer;
  crc: number;
}

/** The lines of a manifest that are written before other requests have their turn. */
const LINES_AT_ONCE = 2_000;

/**
 * Returns the tag files of a set's bag (BagIt 1.0, RFC 8493): those of the manifest's own bag, but `set.json` is one of
 * them, and the payload is the files of the set.
 */
async function tagFilesOf(store: DamageContext, { pack, file, index }: OpenedSet): Promise<TagFile[]> {
  const record = recordTexts(store.read, [pack.ledger_entry])[0]?.record ?? '';
  const { title } = JSON.parse(record) as { title: string };
  const info = infoText([
    ['External-Identifier', pack.id],
    ['External-Description', onOneLine(title)],
    ['Record-Fingerprint', pack.digest],
    ['Payload-Oxum', `${index.bytes}.${index.count}`],
  ]);
  const listed: [name: string, bytes: Buffer][] = [
    [DECLARATION_FILE, Buffer.from(DECLARATION)],
    [INFO_FILE, Buffer.from(info)],
    [MANIFEST_FILE, await manifestOf(index)],
    [RECORD_FILE, Buffer.from(record)],
    [SET_FILE, await bytesOf(store, file)],
  ];
  const lines = listed
    .toSorted(([left], [right]) => compareByUtf8(left, right))
    .map(([name, bytes]) => manifestLine(hash('sha256', bytes, 'hex'), name));
  listed.push([TAG_MANIFEST_FILE, Buffer.from(lines.join(''))]);
  return listed.map(([name, bytes]) => ({ name: `${pack.id}/${name}`, bytes, crc: crc32(bytes) }));
}

async function manifestOf(index: SetIndex): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let from = 0; from < index.count; from += LINES_AT_ONCE) {
    let text = '';
    for (let file = from; file < Math.min(from + LINES_AT_ONCE, index.count); file += 1)
      text += manifestLine(index.sha256Of(file), PAYLOAD_FOLDER + index.pathOf(file));
    pieces.push(Buffer.from(text));
    await yieldToEventLoop();
  }
  return Buffer.concat(pieces);
}

async function bytesOf(store: DamageContext, sha256: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of store.blobs.read(sha256)) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (hash('sha256', bytes, 'hex') === sha256) return bytes;
  await confirmDamage(store, [sha256]);
  throw new Problem(
    'blob_damaged',
    'The list of the files of this set is damaged. Verify the set for details.',
  );
}

/** A ZIP of a set, of which any part can be read. */
export interface SetZip {
  bytes: number;
  /** @throws Problem `blob_damaged` if a file with bytes in these ranges is known to be damaged */
  prepare(ranges: readonly ByteRange[]): Promise<void>;
  /** @throws Problem `blob_damaged`; ChangedFileError */
  read(range: ByteRange): AsyncIterable<Uint8Array>;
}

/** Returns the ZIP of a set: a bag in a folder named by the manifest's id. The same set gives the same bytes everywhere. */
async function zipOf(store: DamageContext, set: OpenedSet): Promise<SetZip> {
  const { pack, index } = set;
  const tags = await tagFilesOf(store, set);
  const crcs = new SetCrcs(store, set);
  const prefix = `${pack.id}/${PAYLOAD_FOLDER}`;
  const layout = new ZipLayout({
    count: tags.length + index.count,
    nameOf: (file) => tags[file]?.name ?? prefix + index.pathOf(file - tags.length),
    nameBytesOf: (file) => tags[file]?.name.length ?? prefix.length + index.pathBytesOf(file - tags.length),
    bytesOf: (file) => tags[file]?.bytes.length ?? index.bytesOf(file - tags.length),
    crcOf: async (file) => tags[file]?.crc ?? crcs.of(file - tags.length),
    async *read(file, range) {
      const tag = tags[file];
      if (tag) yield tag.bytes.subarray(range.start, range.end + 1);
      else yield* readParts(store, index.partsOf(file - tags.length), range);
    },
  });
  return {
    bytes: layout.bytes,
    read: (range) => layout.read(range),
    prepare: async (ranges) => {
      for (const range of ranges) {
        const files = layout.filesIn(range);
        for (let file = files?.first ?? 0; files && file <= files.last; file += 1) {
          if (file % LINES_AT_ONCE === 0) await yieldToEventLoop();
          if (file < tags.length) continue;
          const whole = { start: 0, end: Number.POSITIVE_INFINITY };
          await requireIntactParts(store, index.partsOf(file - tags.length), [whole]);
        }
      }
    },
  };
}

/** The first bytes of a ZIP wait for this many bytes of files, the later ones are read ahead. */
const FIRST_BATCH_BYTES = 16_777_216;
const MOST_BATCH_BYTES = 1_073_741_824;
const GROWTH = 8;
const MAX_BATCH_FILES = 5_000;

/**
 * The CRC-32s of the files of a set. A local header has the CRC of its file, so each file is read before it is sent: in a
 * thread, a batch ahead, and its digest is checked. Once all are known they are kept, and no file is read for them again.
 */
class SetCrcs {
  readonly #store: DamageContext;
  readonly #set: OpenedSet;
  readonly #crcs: Uint32Array;
  /** The first file of each batch, and the number of files. */
  readonly #starts: number[] = [0];
  readonly #batches = new Map<number, Promise<void>>();
  #done = 0;
  #areKept = false;

  constructor(store: DamageContext, set: OpenedSet) {
    this.#store = store;
    this.#set = set;
    const { index, pack } = set;
    this.#crcs = new Uint32Array(index.count);
    let [bytes, limit] = [0, FIRST_BATCH_BYTES];
    for (let file = 0; file < index.count; file += 1) {
      bytes += index.bytesOf(file);
      const files = file + 1 - (this.#starts.at(-1) ?? 0);
      if (bytes < limit && files < MAX_BATCH_FILES) continue;
      this.#starts.push(file + 1);
      [bytes, limit] = [0, Math.min(limit * GROWTH, MOST_BATCH_BYTES)];
    }
    if (this.#starts.at(-1) !== index.count) this.#starts.push(index.count);
    const kept = crcsOfSet(store.read, pack.ledger_entry);
    if (kept?.length !== this.#crcs.byteLength) return;
    for (let file = 0; file < index.count; file += 1) this.#crcs[file] = kept.readUInt32LE(file * 4);
    this.#areKept = true;
  }

  /** Returns the CRC of a file. @throws Problem `blob_damaged` if its bytes do not have its digest */
  async of(file: number): Promise<number> {
    if (!this.#areKept) {
      const batch = this.#starts.findLastIndex((start) => start <= file);
      await this.#read(batch);
      // The next one is read while this one is sent. A failure is met when its turn comes.
      if (batch + 1 < this.#starts.length - 1) this.#read(batch + 1).catch(() => undefined);
    }
    return this.#crcs[file] ?? 0;
  }

  #read(batch: number): Promise<void> {
    let reading = this.#batches.get(batch);
    if (!reading) {
      reading = this.#readNow(this.#starts[batch] ?? 0, this.#starts[batch + 1] ?? 0);
      this.#batches.set(batch, reading);
      reading.catch(() => this.#batches.delete(batch));
    }
    return reading;
  }

  async #readNow(from: number, to: number): Promise<void> {
    const { index, pack } = this.#set;
    const parts: SetPart[][] = [];
    for (let file = from; file < to; file += 1) parts.push(index.partsOf(file));
    for (const [place, { sha256, crc, blobs }] of (await hashJoined(this.#store.blobs, parts)).entries()) {
      const digests = (parts[place] ?? []).map((part) => part.sha256);
      if (sha256 !== index.sha256Of(from + place)) {
        await confirmDamage(
          this.#store,
          digests.filter((digest, part) => blobs[part] !== digest),
        );
        const path = JSON.stringify(index.pathOf(from + place));
        throw new Problem(
          'blob_damaged',
          `The stored bytes of ${path} are damaged. Verify the set for details.`,
        );
      }
      this.#crcs[from + place] = crc;
    }
    this.#done += to - from;
    if (this.#done < index.count) return;
    this.#areKept = true;
    const kept = Buffer.alloc(this.#crcs.byteLength);
    for (const [file, crc] of this.#crcs.entries()) kept.writeUInt32LE(crc, file * 4);
    await this.#store.write((database) => keepCrcs(database, kept, pack.ledger_entry));
  }
}

/** The ZIPs whose tag files are in memory. */
const MAX_ZIPS = 4;

/** The ZIPs of sets that are being sent. They are never outdated, because the manifest determines all bytes. */
export class SetZips {
  readonly #store: DamageContext;
  /** By fingerprint of the manifest, the least recently used first. */
  readonly #zips = new Map<string, Promise<SetZip>>();

  constructor(store: DamageContext) {
    this.#store = store;
  }

  /** @throws Problem `blob_damaged`, `copy_unreachable` if the manifest cannot be read */
  of(set: OpenedSet): Promise<SetZip> {
    const { digest } = set.pack;
    const zip = this.#zips.get(digest) ?? zipOf(this.#store, set);
    this.#zips.delete(digest);
    this.#zips.set(digest, zip);
    zip.catch(() => this.#zips.delete(digest));
    for (const oldest of this.#zips.keys()) {
      if (this.#zips.size <= MAX_ZIPS) break;
      this.#zips.delete(oldest);
    }
    return zip;
  }
}
