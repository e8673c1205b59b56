import { createHash, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { SET_FILE } from '../../../shared/archive/setManifest.ts';
import { Problem } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext } from '../../fixity/audit.ts';
import { hashJoined } from '../../hashing/hashFiles.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { once } from '../../runtime/concurrency.ts';
import { recordTexts } from '../../store/sqlite/archive/packs.ts';
import { crcsOfSet, keepCrcs } from '../../store/sqlite/archive/sets.ts';
import { ZipLayout } from '../../zip/layoutZip.ts';
import type { ByteRange } from '../../zip/writeZip.ts';
import {
  DECLARATION,
  DECLARATION_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  manifestLine,
  PAYLOAD_FOLDER,
  packInfoText,
  RECORD_FILE,
  TAG_MANIFEST_FILE,
  tagManifestText,
} from '../packs/bag/tagFiles.ts';
import type { OpenedSet } from './readSet.ts';
import { readParts, requireIntactParts } from './setBytes.ts';
import type { SetIndex, SetPart } from './setIndex.ts';

/** A tag file of the bag. */
interface TagFile {
  name: string;
  bytes: number;
  sha256: string;
  crc: number;
  read(range: ByteRange): AsyncIterable<Uint8Array>;
}

/** The lines of a manifest that are written before other requests have their turn. */
const LINES_AT_ONCE = 2_000;

/**
 * Returns the tag files of a set's bag (BagIt 1.0, RFC 8493): those of the manifest's own bag, but `set.json` is one of
 * them, and the payload is the files of the set.
 */
async function tagFilesOf(store: DamageContext, set: OpenedSet): Promise<TagFile[]> {
  const { pack, index } = set;
  const record = recordTexts(store.read, [pack.ledger_entry])[0]?.record ?? '';
  const { title } = JSON.parse(record) as { title: string };
  const info = packInfoText({ ...pack, title, bytes: index.bytes, files: index.count });
  const listed = [
    inMemory(DECLARATION_FILE, Buffer.from(DECLARATION)),
    inMemory(INFO_FILE, Buffer.from(info)),
    inMemory(MANIFEST_FILE, await manifestOf(index)),
    inMemory(RECORD_FILE, Buffer.from(record)),
    await storedList(store, set),
  ];
  const digests = listed.map(({ name, sha256 }) => [name, sha256] as const);
  const tags = [...listed, inMemory(TAG_MANIFEST_FILE, Buffer.from(tagManifestText(digests)))];
  return tags.map((tag) => ({ ...tag, name: `${pack.id}/${tag.name}` }));
}

function inMemory(name: string, bytes: Buffer): TagFile {
  return {
    name,
    bytes: bytes.length,
    sha256: hash('sha256', bytes, 'hex'),
    crc: crc32(bytes),
    async *read({ start, end }) {
      yield bytes.subarray(start, end + 1);
    },
  };
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

/** The list of the files, which is read when it is sent: it may have 50 MB. @throws Problem `blob_damaged` */
async function storedList(store: DamageContext, { pack, file: sha256 }: OpenedSet): Promise<TagFile> {
  const { bytes } = pack;
  const read = (range: ByteRange) =>
    readParts(store, [{ pack: pack.id, path: SET_FILE, bytes, sha256 }], range);
  const found = createHash('sha256');
  let crc = 0;
  for await (const chunk of read({ start: 0, end: bytes - 1 })) {
    found.update(chunk);
    crc = crc32(chunk, crc);
  }
  if (found.digest('hex') === sha256) return { name: SET_FILE, bytes, sha256, crc, read };
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
    bytesOf: (file) => tags[file]?.bytes ?? index.bytesOf(file - tags.length),
    crcOf: async (file) => tags[file]?.crc ?? crcs.of(file - tags.length),
    async *read(file, range) {
      const tag = tags[file];
      if (tag) yield* tag.read(range);
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
    return once(this.#batches, batch, () => this.#readNow(batch));
  }

  async #readNow(batch: number): Promise<void> {
    const { index, pack } = this.#set;
    const [from = 0, to = 0] = this.#starts.slice(batch);
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
    return once(this.#zips, set.pack.digest, () => zipOf(this.#store, set), MAX_ZIPS);
  }
}
