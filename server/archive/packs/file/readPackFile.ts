import pLimit from 'p-limit';
import { packUploadRecordSchema } from '../../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES, MAX_RECORD_BYTES, MEBIBYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { checkBody, parseJsonBytes } from '../../../../shared/values/checkBody.ts';
import { PAYLOAD_FOLDER, RECORD_FILE } from '../bag/bag.ts';
import {
  type BagTags,
  checkOxum,
  comparePayload,
  compareTags,
  createDigester,
  type Digests,
  MAX_PACK_TAG_BYTES,
  readBagTags,
  readTagFile,
} from '../bag/bagCheck.ts';
import type { ManifestFinding } from '../bag/manifest.ts';
import { FileFaults } from '../fileFaults.ts';
import { type CheckedRecord, checkRecord } from '../record.ts';
import { openZip, type ZipMember } from '../zip/openZip.ts';
import { refuse } from '../zip/readBytesAt.ts';
import { type PackLayout, packLayout } from './packLayout.ts';
import { omitsFiles, withFiles } from './withFiles.ts';

/** Digest and size of a file that was read. */
export interface ReceivedFile {
  sha256: string;
  bytes: number;
}

/** Receives the files of a pack while they are read. */
export interface PackFileReceiver<Received extends ReceivedFile> {
  /** Receives the bytes of one file. The stream throws if their number is not `bytes`. */
  receive(chunks: AsyncIterable<Uint8Array>, bytes: number): Promise<Received>;
  /** Undoes `receive` if the pack is refused. */
  discard(received: Received): Promise<void>;
}

/** A pack file that every manifest matches. Its files have the names in the record; `requireMatchingFiles` compares the rest. */
export interface ReadPack<Received> {
  /** The record in the file. If it omits `files`, they are taken from the payload. */
  checked: CheckedRecord;
  /** By the path in the record. */
  files: Map<string, Received>;
}

/** Tag files are small. The largest is the RO-Crate metadata of 5,000 files. */
const MAX_TAGS_BYTES = 32 * MEBIBYTE;
/** Files, tag files, and a generous number of folders. */
const MAX_ENTRIES = 3 * MAX_PACK_FILES;
/** The number of files read at once. */
const MAX_CONCURRENT_FILES = 8;

/**
 * Reads a pack file: a bag in a ZIP, or a plain ZIP of `pack.json` and `data/`. Its content is untrusted. Sizes are
 * limited before anything is read.
 *
 * @throws Problem with the code of the first fault, after all received files were discarded.
 */
export async function readPackFile<Received extends ReceivedFile>(
  file: string,
  receiver: PackFileReceiver<Received>,
): Promise<ReadPack<Received>> {
  const zip = await openZip(file, { maxEntries: MAX_ENTRIES, maxBytes: MAX_PACK_BYTES + MAX_TAGS_BYTES });
  const files = new Map<string, Received>();
  try {
    const layout = packLayout(zip.members);
    checkPayloadSize(layout);
    const tags = layout.isBag ? await readBag(layout) : undefined;
    const parsed = await readRecord(layout);
    const complete = omitsFiles(parsed) ? undefined : checkRecord(parsed);
    if (complete) requireSameNames(complete, layout);
    else checkBody(packUploadRecordSchema, parsed);
    const digests = new Map<string, Digests>();
    await forEach(layout.payload, async ([path, member]) => {
      const hasher = createDigester(algorithmsOf(tags));
      files.set(path, await receiver.receive(hashed(member, hasher.update), member.bytes));
      digests.set(PAYLOAD_FOLDER + path, hasher.digests());
    });
    if (tags) refuseMismatch(comparePayload(tags, digests));
    const checked = complete ?? checkRecord(withFiles(parsed as object, [...layout.payload.keys()], files));
    return { checked, files };
  } catch (error) {
    await Promise.all([...files.values()].map((received) => receiver.discard(received)));
    throw error;
  } finally {
    await zip.close();
  }
}

function checkPayloadSize({ payload }: PackLayout): void {
  const bytes = [...payload.values()].reduce((sum, member) => sum + member.bytes, 0);
  if (bytes <= MAX_PACK_BYTES) return;
  refuse(
    'excessive_compression',
    `The files have ${bytes} bytes, but a pack can have at most ${MAX_PACK_BYTES}.`,
  );
}

/** Checks a bag as far as possible without reading its payload. */
async function readBag({ tagFiles, payload }: PackLayout): Promise<BagTags> {
  const tags = await readBagTags(tagFiles, { maxBytes: MAX_PACK_TAG_BYTES, rules: 'pack' });
  const algorithms = new Set(tags.tagManifests.map(({ algorithm }) => algorithm));
  const digests = new Map<string, Digests>();
  for (const [name, member] of tagFiles) {
    const hasher = createDigester(algorithms);
    for await (const chunk of member.read()) hasher.update(chunk);
    digests.set(name, hasher.digests());
  }
  refuseMismatch(compareTags(tags, digests));
  checkOxum(tags, payload.values());
  // Only names are compared here, so that the payload of an incomplete bag is not read.
  const names = new Map(
    [...payload.keys()].map((path): [string, Digests] => [PAYLOAD_FOLDER + path, new Map()]),
  );
  refuseMismatch(comparePayload(tags, names).filter(({ state }) => state !== 'changed'));
  return tags;
}

/** Reads the record in the file, as strictly as one sent as JSON. */
async function readRecord({ tagFiles }: PackLayout): Promise<unknown> {
  const member = tagFiles.get(RECORD_FILE);
  if (!member) return refuse('invalid_pack_file', 'The pack file does not contain pack.json.');
  if (member.bytes > MAX_RECORD_BYTES) {
    refuse('body_too_large', `pack.json can have at most ${MAX_RECORD_BYTES} bytes.`);
  }
  const bytes = await readTagFile(RECORD_FILE, member, MAX_RECORD_BYTES);
  try {
    return parseJsonBytes(bytes);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'invalid_json') throw error;
    throw new Problem('invalid_pack_file', 'pack.json is not valid JSON in UTF-8.', { cause: error });
  }
}

/** Requires that the names of the files match the record, before any file is read. @throws Problem `files_mismatch` */
function requireSameNames({ record, pointerTo }: CheckedRecord, { payload }: PackLayout): void {
  const faults = new FileFaults();
  const named = new Set(record.files.map(({ path }) => path));
  for (const path of named) {
    if (payload.has(path)) continue;
    const message = `${path}: this file is in the record, but not in the pack file.`;
    faults.add('files_mismatch', path, { path: pointerTo(path, 'path'), message });
  }
  for (const path of payload.keys()) {
    if (named.has(path)) continue;
    const message = `${path}: this file is in the pack file, but not in the record.`;
    faults.add('files_mismatch', path, { path: '/files', message });
  }
  faults.throwIfAny();
}

/** @throws Problem `manifest_mismatch` with the path of the first file that does not match a manifest. */
function refuseMismatch(findings: readonly ManifestFinding[]): void {
  const wrong = findings.find(({ state }) => state !== 'intact');
  if (!wrong) return;
  const { path, manifest } = wrong;
  const why = {
    changed: 'does not have the digest in',
    missing: 'does not exist, but is listed in',
    unlisted: 'is not listed in',
    intact: '',
  };
  refuse('manifest_mismatch', `${JSON.stringify(path)} ${why[wrong.state]} ${manifest}.`, { path });
}

function algorithmsOf(tags: BagTags | undefined): Set<string> {
  return new Set(tags?.manifests.map(({ algorithm }) => algorithm));
}

/** Processes several items at once. After a failure no further items are started, and running ones are awaited. */
async function forEach<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const atOnce = pLimit(MAX_CONCURRENT_FILES);
  let failure: Error | undefined;
  const attempt = async (item: Item) => {
    try {
      if (failure === undefined) await work(item);
    } catch (error) {
      failure ??= error instanceof Error ? error : new Error(String(error));
    }
  };
  await Promise.all(Array.from(items, (item) => atOnce(attempt, item)));
  if (failure !== undefined) throw failure;
}

async function* hashed(member: ZipMember, update: (chunk: Uint8Array) => void) {
  for await (const chunk of member.read()) {
    update(chunk);
    yield chunk;
  }
}
