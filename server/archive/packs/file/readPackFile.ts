import pLimit from 'p-limit';
import { filePathFault, pathConflicts } from '../../../../shared/archive/filePath.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES, MAX_RECORD_BYTES, MEBIBYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import {
  type BlobStore,
  type StagedBlob,
  type StagedFile,
  TooManyBytesError,
} from '../../../store/blobs/blobStore.ts';
import { refuse } from '../../../zip/centralDirectory.ts';
import { openZip, type ZipMember } from '../../../zip/openZip.ts';
import { FileFaults } from '../addPack.ts';
import {
  ALGORITHMS,
  type BagTags,
  checkOxum,
  comparePayload,
  compareTags,
  createDigester,
  type Digests,
  MAX_PACK_TAG_BYTES,
  type ManifestFinding,
  manifestKind,
  readBagTags,
  readTagFile,
} from '../bag/bagCheck.ts';
import { CRATE_FILE, DECLARATION_FILE, INFO_FILE, PAYLOAD_FOLDER, RECORD_FILE } from '../bag/tagFiles.ts';
import { type CheckedRecord, checkInThread } from '../checkRecord.ts';
import { filesOf } from './writePackFile.ts';

/** Digest and size of a file that was read. */
export interface ReceivedFile {
  sha256: string;
  bytes: number;
}

/** Receives the files of a pack while they are read. */
interface PackFileReceiver<Received extends ReceivedFile> {
  /** Receives the bytes of one file. The stream throws if their number is not `bytes`. */
  receive(chunks: AsyncIterable<Uint8Array>, bytes: number): Promise<Received>;
  /** Undoes `receive` if the pack is refused. */
  discard(received: Received): Promise<void>;
}

/** A pack file that every manifest matches. Its files have the names in the record; `requireMatchingFiles` compares the rest. */
interface ReadPack<Received> {
  /** The record in the file. If it omits `files`, they are taken from the payload. */
  checked: CheckedRecord;
  /** By the path in the record. */
  files: Map<string, Received>;
  /** Whether it is a bag, as an archive writes it, and not a plain ZIP. */
  isBag: boolean;
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
    const record = await readRecord(layout);
    const complete = await checkPackJson(record);
    if (complete) requireSameNames(complete, layout);
    const digests = new Map<string, Digests>();
    await forEach(layout.payload, async ([path, member]) => {
      const hasher = createDigester(algorithmsOf(tags));
      files.set(path, await receiver.receive(hashed(member, hasher.update), member.bytes));
      digests.set(PAYLOAD_FOLDER + path, hasher.digests());
    });
    if (tags) refuseMismatch(comparePayload(tags, digests));
    const checked = complete ?? (await checkInThread(record, filesOf([...layout.payload.keys()], files)));
    return { checked, files, isBag: layout.isBag };
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

async function readRecord({ tagFiles }: PackLayout): Promise<Uint8Array> {
  const member = tagFiles.get(RECORD_FILE);
  if (!member) return refuse('invalid_pack_file', 'The pack file does not contain pack.json.');
  if (member.bytes > MAX_RECORD_BYTES) {
    refuse('body_too_large', `pack.json can have at most ${MAX_RECORD_BYTES} bytes.`);
  }
  return readTagFile(RECORD_FILE, member, MAX_RECORD_BYTES);
}

/** Checks the record in the file, as strictly as one sent as JSON. */
async function checkPackJson(record: Uint8Array): Promise<CheckedRecord | undefined> {
  try {
    return await checkInThread(record);
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

/** The files of a pack file, sorted into tag files and payload. Folders are ignored. */
interface PackLayout {
  /** Whether it is a bag. Otherwise it is a plain ZIP of `pack.json` and `data/`. */
  isBag: boolean;
  /** The folder that contains the pack, with a trailing slash, or an empty string. */
  root: string;
  /** By name, such as `pack.json`. */
  tagFiles: Map<string, ZipMember>;
  /** By the path below `data/`, as in the record. */
  payload: Map<string, ZipMember>;
}

/**
 * Sorts the members of a ZIP into the parts of a pack file. The pack may be at the top level or in one folder with any
 * name, because people rename folders and the record identifies the pack.
 *
 * @throws Problem `duplicate_entry`, `unknown_entry`, `unsafe_path`, or `invalid_pack_file` without a record.
 */
export function packLayout(members: readonly ZipMember[]): PackLayout {
  refuseDuplicates(members);
  const files = members.filter(({ folder }) => !folder);
  const root = rootOf(files);
  const layout: PackLayout = { isBag: false, root, tagFiles: new Map(), payload: new Map() };
  for (const member of files) {
    if (!member.name.startsWith(root)) {
      refuse('unknown_entry', `${JSON.stringify(member.name)} is outside the folder of the pack.`);
    }
    const name = member.name.slice(root.length);
    if (name.startsWith(PAYLOAD_FOLDER)) {
      const path = name.slice(PAYLOAD_FOLDER.length);
      const fault = filePathFault(path);
      if (fault) refuse('unsafe_path', `${JSON.stringify(name)}: ${fault}`, { path: name });
      layout.payload.set(path, member);
    } else {
      layout.tagFiles.set(name, member);
    }
  }
  layout.isBag = layout.tagFiles.has(DECLARATION_FILE);
  for (const name of layout.tagFiles.keys()) refuseUnknown(name, layout.isBag);
  if (!layout.tagFiles.has(RECORD_FILE))
    refuse('invalid_pack_file', 'The pack file does not contain pack.json.');
  return layout;
}

/** Returns the common prefix of the pack's files: empty, or one folder. */
function rootOf(files: readonly ZipMember[]): string {
  for (const { name } of files) {
    const [, root, file] = /^([^/]+\/)?([^/]+)$/.exec(name) ?? [];
    if (file === RECORD_FILE || file === DECLARATION_FILE) {
      const isAtTop = files.some((other) => other.name === RECORD_FILE || other.name === DECLARATION_FILE);
      return isAtTop ? '' : (root ?? '');
    }
  }
  return refuse(
    'invalid_pack_file',
    'The ZIP does not contain pack.json at its top level or in its single folder.',
  );
}

/** @throws Problem `unknown_entry` for a file that is neither payload nor defined by the format. */
function refuseUnknown(name: string, isBag: boolean): void {
  if (name === 'fetch.txt') {
    refuse(
      'unknown_entry',
      'fetch.txt refers to files elsewhere, but a pack file must contain all its files.',
    );
  }
  if (name === RECORD_FILE || name === CRATE_FILE) return;
  const manifest = manifestKind(name);
  if (manifest && !Object.hasOwn(ALGORITHMS, manifest.algorithm)) {
    refuse(
      'unknown_entry',
      `${JSON.stringify(name)}: this checksum algorithm is not supported. Remove the manifest.`,
    );
  }
  const isBagFile = manifest !== undefined || name === DECLARATION_FILE || name === INFO_FILE;
  if (isBagFile && isBag) return;
  if (isBagFile) refuse('invalid_pack_file', `There is ${name} but no bagit.txt, so the bag is incomplete.`);
  refuse('unknown_entry', `${JSON.stringify(name)} is not a file of a pack. Put data files into data/.`);
}

/**
 * Refuses entries that would overwrite each other: entries with the same name, also if it differs only in case or Unicode
 * normalization, and a file and a folder with the same name.
 */
function refuseDuplicates(members: readonly ZipMember[]): void {
  const names = members.map(({ name, folder }) => (folder ? name.slice(0, -1) : name));
  for (const { index, other, kind } of pathConflicts(names)) {
    const [one, two] = [index, other].map((place) => JSON.stringify(members[place]?.name));
    if (kind === 'same') refuse('duplicate_entry', `${two} and ${one} are the same name.`);
    if (!members[index]?.folder) refuse('duplicate_entry', `${one} is both a file and a folder.`);
  }
}

/** A staged upload, ready for `addPack`, which compares the files with the record. */
interface StagedPackFile {
  /** The record in the pack file. */
  checked: CheckedRecord;
  /** The files, by the path in the record. */
  staged: Map<string, StagedBlob>;
  isExisting: boolean;
}

/**
 * Stages a pack file from a stream. A ZIP must be read from its end, so the whole ZIP is staged first, then its files. The
 * ZIP itself is not stored.
 *
 * @throws Problem `pack_too_large` as soon as the limit is exceeded; problems of `readPackFile`. Nothing is left then.
 */
export async function stagePackFile(
  blobs: BlobStore,
  body: AsyncIterable<Uint8Array>,
): Promise<StagedPackFile> {
  const zip = await stageZip(blobs, body);
  try {
    const { checked, files, isBag } = await readPackFile<StagedBlob>(zip.file, {
      receive: (chunks, bytes) => blobs.staging.stage(chunks, bytes),
      discard: (staged) => staged.discard(),
    });
    return { checked, staged: files, isExisting: isBag };
  } finally {
    await zip.discard();
  }
}

async function stageZip(blobs: BlobStore, body: AsyncIterable<Uint8Array>): Promise<StagedFile> {
  try {
    return await blobs.staging.stageFile(body, MAX_PACK_BYTES);
  } catch (error) {
    if (!(error instanceof TooManyBytesError)) throw error;
    throw packFileTooLarge();
  }
}

export function packFileTooLarge(): Problem {
  return new Problem(
    'pack_too_large',
    `A pack file can have at most ${MAX_PACK_BYTES} bytes. Split it into two packs.`,
  );
}
