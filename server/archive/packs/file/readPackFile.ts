import pLimit from 'p-limit';
import { checkBody, parseJsonBytes } from '../../../../shared/checkBody.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES, MAX_RECORD_BYTES, MEBIBYTE } from '../../../../shared/limits.ts';
import { packUploadRecordSchema } from '../../../../shared/pack.ts';
import { Problem } from '../../../../shared/problems.ts';
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
import { requireMatchingFiles } from '../sameFiles.ts';
import { openZip, type ZipMember } from '../zip/openZip.ts';
import { refuse } from '../zip/readBytesAt.ts';
import { type PackLayout, packLayout } from './packLayout.ts';
import { omitsFiles, withFiles } from './withFiles.ts';

/** What is known of a file once it was read. */
export interface ReceivedFile {
  sha256: string;
  bytes: number;
}

/** What becomes of the files of a pack as they are read. */
export interface PackFileReceiver<Taken extends ReceivedFile> {
  /** Takes the bytes of one file; they are the declared number or the stream throws. */
  take(chunks: AsyncIterable<Uint8Array>, bytes: number): Promise<Taken>;
  /** Undoes `take` for a pack that is refused in the end. */
  drop(taken: Taken): Promise<void>;
}

/** A pack as its file holds it: every manifest matches, and the files are those that the record names. */
export interface ReadPack<Taken> {
  /** The record as the file has it; where it leaves `files` out, those that the file holds stand for them. */
  sent: unknown;
  checked: CheckedRecord;
  /** By the path that the record has. */
  files: Map<string, Taken>;
}

/** Tag files are small; the crate's metadata of 5,000 files is the largest of them. */
const MAX_TAGS_BYTES = 32 * MEBIBYTE;
/** Files, tag files, and as many folders as files can need in earnest. */
const MAX_ENTRIES = 3 * MAX_PACK_FILES;
/** How many files are taken at once. */
const AT_ONCE = 8;

/**
 * Reads a pack file: a bag in a ZIP, or a bare ZIP of `pack.json` and `data/`. Nothing in it is believed until it is
 * checked, and what one file can make this read is bounded before it is read.
 *
 * @throws Problem with the code of the first thing that is wrong, after every file taken is dropped.
 */
export async function readPackFile<Taken extends ReceivedFile>(
  file: string,
  receiver: PackFileReceiver<Taken>,
): Promise<ReadPack<Taken>> {
  const zip = await openZip(file, { maxEntries: MAX_ENTRIES, maxBytes: MAX_PACK_BYTES + MAX_TAGS_BYTES });
  const files = new Map<string, Taken>();
  try {
    const layout = packLayout(zip.members);
    checkPayloadSize(layout);
    const tags = layout.isBag ? await readBag(layout) : undefined;
    const told = await readRecord(layout);
    if (omitsFiles(told)) checkBody(packUploadRecordSchema, told);
    else requireSameNames(checkRecord(told), layout);
    const digests = new Map<string, Digests>();
    await forEach(layout.payload, async ([path, member]) => {
      const tap = createDigester(algorithmsOf(tags));
      files.set(path, await receiver.take(tapped(member, tap.update), member.bytes));
      digests.set(PAYLOAD_FOLDER + path, tap.digests());
    });
    if (tags) refuseMismatch(comparePayload(tags, digests));
    const sent = omitsFiles(told) ? withFiles(told, [...layout.payload.keys()], files) : told;
    const checked = checkRecord(sent);
    requireMatchingFiles(checked, files);
    return { sent, checked, files };
  } catch (error) {
    await Promise.all([...files.values()].map((taken) => receiver.drop(taken)));
    throw error;
  } finally {
    await zip.close();
  }
}

function checkPayloadSize({ payload }: PackLayout): void {
  const bytes = [...payload.values()].reduce((sum, member) => sum + member.bytes, 0);
  if (bytes <= MAX_PACK_BYTES) return;
  refuse('excessive_compression', `The files have ${bytes} bytes; a pack has at most ${MAX_PACK_BYTES}.`);
}

/** Checks all that can be checked of a bag before its payload is read. */
async function readBag({ tagFiles, payload }: PackLayout): Promise<BagTags> {
  const tags = await readBagTags(tagFiles, MAX_PACK_TAG_BYTES);
  const algorithms = new Set(tags.tagManifests.map(({ algorithm }) => algorithm));
  const digests = new Map<string, Digests>();
  for (const [name, member] of tagFiles) {
    const { update, digests: take } = createDigester(algorithms);
    for await (const chunk of member.read()) update(chunk);
    digests.set(name, take());
  }
  refuseMismatch(compareTags(tags, digests));
  checkOxum(tags, payload.values());
  // Names alone are compared first: nothing is read of a bag that is not whole.
  const names = new Map(
    [...payload.keys()].map((path): [string, Digests] => [PAYLOAD_FOLDER + path, new Map()]),
  );
  refuseMismatch(comparePayload(tags, names).filter(({ state }) => state !== 'changed'));
  return tags;
}

/** The record as it stands in the file, read as strictly as one that is sent as JSON. */
async function readRecord({ tagFiles }: PackLayout): Promise<unknown> {
  const member = tagFiles.get(RECORD_FILE);
  if (!member) return refuse('invalid_pack_file', 'The pack file holds no pack.json.');
  if (member.bytes > MAX_RECORD_BYTES) {
    refuse('body_too_large', `pack.json may have at most ${MAX_RECORD_BYTES} bytes.`);
  }
  const bytes = await readTagFile(RECORD_FILE, member, MAX_RECORD_BYTES);
  try {
    return parseJsonBytes(bytes);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'invalid_json') throw error;
    throw new Problem('invalid_pack_file', 'pack.json is not valid JSON in UTF-8.', { cause: error });
  }
}

/** Tells of files that are missing before any is read. @throws Problem `files_mismatch` */
function requireSameNames({ record, pointerTo }: CheckedRecord, { payload }: PackLayout): void {
  const faults = new FileFaults();
  const named = new Set(record.files.map(({ path }) => path));
  for (const path of named) {
    if (payload.has(path)) continue;
    const message = `${path}: the record names this file, and it is not in the pack file.`;
    faults.add('files_mismatch', path, { path: pointerTo(path, 'path'), message });
  }
  for (const path of payload.keys()) {
    if (named.has(path)) continue;
    const message = `${path}: this file is in the pack file, and the record does not name it.`;
    faults.add('files_mismatch', path, { path: '/files', message });
  }
  faults.throwIfAny();
}

/** @throws Problem `manifest_mismatch` with the path of the first file that is not as a manifest says. */
function refuseMismatch(findings: readonly ManifestFinding[]): void {
  const wrong = findings.find(({ state }) => state !== 'intact');
  if (!wrong) return;
  const { path, manifest } = wrong;
  const why = {
    changed: 'has another digest than',
    missing: 'is not there but in',
    unlisted: 'is not in',
    intact: '',
  };
  refuse('manifest_mismatch', `${JSON.stringify(path)} ${why[wrong.state]} ${manifest}.`, { path });
}

function algorithmsOf(tags: BagTags | undefined): Set<string> {
  return new Set(tags?.manifests.map(({ algorithm }) => algorithm));
}

/** Several at once, because each waits for the disk; once one fails no more are begun, and those begun are awaited. */
async function forEach<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const atOnce = pLimit(AT_ONCE);
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

async function* tapped(member: ZipMember, tap: (chunk: Uint8Array) => void) {
  for await (const chunk of member.read()) {
    tap(chunk);
    yield chunk;
  }
}
