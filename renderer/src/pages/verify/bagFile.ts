import {
  ARCHIVE_BAG,
  bagKindOf,
  bagRootsIn,
  CRATE_FILE,
  DECLARATION_FILE,
  DESCRIBES_PACK,
  fileNames,
  INFO_FILE,
  MANIFEST_FILE,
  RECORD_FILE,
  SEAL_FILE,
  strangerIn,
  TAG_MANIFEST_FILE,
} from '../../../../shared/archive/bagFiles.ts';
import { packRecordSchema } from '../../../../shared/archive/pack.ts';
import { mayBeManifest } from '../../../../shared/archive/set.ts';
import { SET_FILE } from '../../../../shared/archive/setManifest.ts';
import { MAX_RECORD_BYTES } from '../../../../shared/limits.ts';
import {
  BagProofs,
  objectIn,
  UNSIGNED_BAG,
  unprovenInBag,
  unprovenInPack,
} from '../../../../shared/proof/bagProofs.ts';
import type { KnownPage } from '../../../../shared/proof/evidence/evidencePage.ts';
import { isPackZip, lackingIn, packIn } from '../../../../shared/proof/names.ts';
import type { ProvenFile } from '../../../../shared/proof/provenFile.ts';
import type { Verdict } from '../../../../shared/proof/verdict.ts';
import { aboutWords } from '../../../../shared/proof/words.ts';
import { parseStrictJson } from '../../../../shared/values/canonicalJson.ts';
import { parseChecksums } from '../../../../shared/values/checksums.ts';
import { visible } from '../../../../shared/values/quotes.ts';
import { browserCrypto } from '../../../evidence/browserCrypto.ts';
import { canonicalSha256, hashStream } from '../../hashing/sha256.ts';
import { type ZipEntry, zipEntries } from './zipFile.ts';

/** A file in a pack file, as it was found. */
export interface PackedFileResult {
  /** The path in the ZIP file; empty for the ZIP file itself, of which something is said if it is a bag. */
  path: string;
  /** Null if the pack file does not contain it. */
  bytes: number | null;
  sha256: string | null;
  /** Null if nothing gives its digest. */
  expected: string | null;
  /** What the digest was compared with. */
  list: string | null;
  /** Why it is not intact, where the digest alone does not say it. */
  fault: string | null;
  /** What it proves by itself. */
  proof: FileProof | null;
}

/** What was found out about a file that proves itself. */
export interface FileProof {
  verdict: Verdict;
  /** What it is of, and why it is not intact. */
  words: string;
}

/** Says what a file proves. */
export function proofOf({ verdict, about, detail }: ProvenFile): FileProof {
  const words = [...(about ? [`${aboutWords(about)}.`] : []), visible(detail)];
  return { verdict, words: words.filter(Boolean).join(' ') };
}

/** Manifests with other digests. */
const UNCHECKED = /^(?:tag)?manifest-(?!sha256\.txt$)/;
const NOT_CHECKED = 'This page does not check it. “strongroom verify” does.';
const LACKING = 'The ZIP file does not contain it.';
const NO_DUMPS = 'This page does not verify what a dump proves. “strongroom verify” does.';
/** A pack file has at most 50 MiB; larger ZIP files are hashed as what they are. */
export const MAX_BAG_FILE_BYTES = 60_000_000;
/** A pack file within a bag, unpacked. */
const MAX_PACK_FILE_BYTES = 134_217_728;
const MAX_MANIFEST_BYTES = 67_108_864;
/** No manifest has to list these. */
const OTHER_MANIFEST = /^tagmanifest-\w+\.txt$/;

/**
 * Verifies the files in a pack file or bag: against its manifests and, if it has a record, against the record, whose
 * fingerprint gives the pack its name. This finds files that were changed together with the manifests, and those that
 * were added. What proves itself in other bags, and the bag of a case, is verified as `strongroom verify` does.
 *
 * @returns undefined if the file is not a ZIP file with one bag, as the command finds it, and a SHA-256 manifest.
 */
export async function verifyBagFile(
  file: File,
  pages: readonly KnownPage[],
): Promise<PackedFileResult[] | undefined> {
  const bag = await openBag(file);
  if (!bag) return undefined;
  const results = await compareWithManifests(bag);
  // The record of a pack covers what is in it, whatever that says of itself.
  const { folder, byPath } = bag;
  if (byPath.has(folder + RECORD_FILE) && !byPath.has(folder + SEAL_FILE)) return results;
  return proveContents(bag, results, pages, file);
}

/** A bag in a ZIP file. */
interface ZippedBag {
  /** The folder in the ZIP file, with its slash. */
  folder: string;
  entries: readonly ZipEntry[];
  byPath: ReadonlyMap<string, ZipEntry>;
  /** Returns the path of the entry that a list means. */
  nameOf: (listed: string) => string;
  /** The names that say what it is: those of the folder and of the file. */
  names: readonly string[];
}

async function openBag(file: File): Promise<ZippedBag | undefined> {
  const entries = await zipEntries(file);
  if (!entries) return undefined;
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  const declared = bagRootsIn(byPath.keys());
  // Of a bag that lacks its declaration, this page says that.
  const [folder, other] = declared.length > 0 ? declared : bagRootsIn(byPath.keys(), MANIFEST_FILE);
  if (folder === undefined || other !== undefined || !byPath.has(folder + MANIFEST_FILE)) return undefined;
  const names = [folder.replace(/\/$/, ''), file.name];
  return { folder, entries, byPath, nameOf: fileNames(byPath.keys()), names };
}

async function compareWithManifests(bag: ZippedBag): Promise<PackedFileResult[]> {
  const { folder, byPath, nameOf } = bag;
  const expected = new Map<string, { sha256: string; list: string }>();
  const contradicted = new Set<string>();
  const unread = new Map<string, string>();
  for (const list of [MANIFEST_FILE, TAG_MANIFEST_FILE]) {
    const entry = byPath.get(folder + list);
    const { entries: lines, faults } = parseChecksums(entry ? await textIfIntact(entry) : '');
    const [line] = faults;
    if (line !== undefined) unread.set(folder + list, `This page cannot read line ${line} of it.`);
    // No seal covers the manifest of the tag files, so it cannot say what the payload is.
    for (const { name, sha256 } of lines)
      if (name.startsWith('data/') === (list === MANIFEST_FILE)) {
        const path = nameOf(folder + name);
        if ((expected.get(path)?.sha256 ?? sha256) !== sha256) contradicted.add(path);
        expected.set(path, { sha256, list });
      }
  }
  const results: PackedFileResult[] = [];
  for (const [path, { sha256, list }] of expected) {
    const result = await resultOf(byPath.get(path), { path, expected: sha256, list });
    if (contradicted.has(path)) result.fault ??= `${list} lists it twice, with different digests.`;
    results.push(result);
  }
  // What such a line lists could be missing.
  for (const [path, fault] of unread) {
    let own = results.find((result) => result.path === path);
    if (!own) results.push((own = await resultOf(byPath.get(path), { path, expected: null, list: null })));
    own.fault ??= fault;
  }
  const record = byPath.get(folder + RECORD_FILE);
  const isSet = record !== undefined && (await compareWithRecord(results, record, bag));
  await addUnlisted(results, byPath, folder);
  await addStrangers(results, bag, isSet);
  return results;
}

/** A damaged or too large manifest lists nothing; that it is damaged is found when it is hashed. */
async function textIfIntact(entry: ZipEntry): Promise<string> {
  return entry.bytes > MAX_MANIFEST_BYTES ? '' : textOf(entry).catch(() => '');
}

/** Verifies the files of a bag that prove themselves, and the bag of a case as a whole. */
async function proveContents(
  { folder, byPath, names }: ZippedBag,
  results: PackedFileResult[],
  pages: readonly KnownPage[],
  file: File,
): Promise<PackedFileResult[]> {
  const files = {
    has: (name: string) => byPath.has(folder + name),
    read: async (name: string, most: number) => {
      const entry = byPath.get(folder + name);
      // That it is damaged is found when it is hashed.
      return entry && entry.bytes <= most ? bytesOf(entry).catch(() => undefined) : undefined;
    },
  };
  const proofs = new BagProofs(files, browserCrypto, { pages: () => Promise.resolve(pages), names });
  const all: PackedFileResult[] = [];
  for (const result of results) {
    all.push(result);
    const entry = byPath.get(result.path);
    if (!entry || !isIntact(result)) continue;
    const name = result.path.slice(folder.length);
    if (isPackZip(name)) all.push(...(await verifyPackIn(result, entry)));
    else await prove(result, name, proofs);
  }
  const ofCase = await proofs.ofCase({
    digests: await digestsOf([INFO_FILE, MANIFEST_FILE], folder, byPath),
    isIntact: all.every(isIntact),
    isSigned: all.every(({ proof }) => proof?.verdict !== 'unsigned'),
  });
  if (!ofCase && !all.every(isIntact)) return all;
  const { sha256 } = await hashStream(file.stream());
  const about = { path: '', bytes: file.size, sha256, expected: null, list: null, fault: null };
  return [{ ...about, proof: ofCase ? proofOf(ofCase) : { verdict: 'intact', words: UNSIGNED_BAG } }, ...all];
}

/**
 * Adds tag files that no bag of this kind has, although anybody can list them, files of one name, and what is lacking. Also
 * says what this page does not check.
 */
async function addStrangers(
  results: PackedFileResult[],
  { folder, entries, byPath, names }: ZippedBag,
  isSet: boolean,
): Promise<void> {
  const has = (name: string) => byPath.has(folder + name);
  const ofFiles = bagKindOf({ has });
  const kind = ofFiles === 'pack' && isSet ? 'set' : ofFiles;
  const known = new Map(results.map((result) => [result.path, result]));
  const resultAt = async (path: string) => {
    const result =
      known.get(path) ?? (await resultOf(byPath.get(path), { path, expected: null, list: null }));
    if (!known.has(path)) results.push(result);
    known.set(path, result);
    return result;
  };
  const add = async (path: string, fault: string) => {
    const result = await resultAt(path);
    result.fault ??= fault;
  };
  for (const path of byPath.keys()) {
    if (!path.startsWith(folder)) continue;
    const name = path.slice(folder.length);
    const stranger = strangerIn(kind, name);
    if (stranger) await add(path, `It is ${stranger}.`);
    else if (kind !== undefined && UNCHECKED.test(name))
      (await resultAt(path)).proof = { verdict: 'unknown', words: NOT_CHECKED };
  }
  for (const name of ofFiles === 'pack' ? [CRATE_FILE, INFO_FILE] : []) {
    const result = known.get(folder + name);
    if (result) result.proof = { verdict: 'intact', words: `It ${DESCRIBES_PACK}.` };
  }
  // Programs differ in which of two files of one name they extract.
  for (const entry of entries)
    if (byPath.get(entry.path) !== entry)
      await add(entry.path, 'The pack file contains two files of this name.');
  // Without it, nothing says that there is a bag, and how its manifests are read.
  if (!has(DECLARATION_FILE)) await add(folder + DECLARATION_FILE, LACKING);
  for (const lacking of lackingIn({ has }, names)) await add(folder + lacking, LACKING);
}

function isIntact({ sha256, expected, fault, proof }: PackedFileResult): boolean {
  if (sha256 === null || fault !== null || (expected !== null && expected !== sha256)) return false;
  return proof === null || proof.verdict === 'intact' || proof.verdict === 'unsigned';
}

async function digestsOf(
  names: readonly string[],
  folder: string,
  byPath: ReadonlyMap<string, ZipEntry>,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (const name of names) {
    const entry = byPath.get(folder + name);
    const { sha256 } = await resultOf(entry, { path: name, expected: null, list: null });
    if (sha256 !== null) digests.set(name, sha256);
  }
  return digests;
}

/** Says what a file of a bag proves, by itself and by what lies beside it. */
async function prove(result: PackedFileResult, name: string, proofs: BagProofs): Promise<void> {
  const digest = objectIn(name);
  if (digest !== undefined) Object.assign(result, { expected: digest, list: 'its name' });
  const proven = name === ARCHIVE_BAG.dump ? NO_DUMPS : await proofs.proofOf(name);
  const unproven = unprovenInBag(name);
  if (typeof proven === 'string') result.proof = { verdict: 'unknown', words: proven };
  else if (proven) result.proof = proofOf(proven);
  else if (unproven) result.proof = { verdict: 'intact', words: `It is ${unproven}.` };
}

/** Verifies the files of a pack file in a bag, and that it is the pack that its name says. */
async function verifyPackIn(result: PackedFileResult, entry: ZipEntry): Promise<PackedFileResult[]> {
  const bag =
    entry.bytes > MAX_PACK_FILE_BYTES
      ? undefined
      : await openBag(new File([await bytesOf(entry)], 'pack.zip'));
  const id = packIn(result.path);
  if (!bag?.byPath.has(bag.folder + RECORD_FILE)) result.fault = 'It is no pack file that can be read here.';
  else if (id !== undefined && bag.folder !== `${id}/`) result.fault = `It is not the pack file of ${id}.`;
  const inside = bag ? await compareWithManifests(bag) : [];
  return inside.map((each) => ({ ...each, path: `${result.path}/${each.path}` }));
}

/** Adds the files that no manifest lists. Without a tag manifest, none has to list the files beside the data. */
async function addUnlisted(
  results: PackedFileResult[],
  byPath: ReadonlyMap<string, ZipEntry>,
  folder: string,
): Promise<void> {
  const listed = new Set(results.map(({ path }) => path));
  const hasTagManifest = byPath.has(folder + TAG_MANIFEST_FILE);
  for (const [path, entry] of byPath) {
    if (listed.has(path)) continue;
    const name = path.startsWith(folder) ? path.slice(folder.length) : undefined;
    const isTag = name !== undefined && !name.startsWith('data/');
    if (isTag && (!hasTagManifest || OTHER_MANIFEST.test(name))) continue;
    const found = await resultOf(entry, { path, expected: '', list: MANIFEST_FILE });
    const fault = found.fault ?? 'No manifest lists this file.';
    results.push({ ...found, expected: found.sha256 ?? '', fault });
  }
}

async function resultOf(
  entry: ZipEntry | undefined,
  about: Pick<PackedFileResult, 'path' | 'expected' | 'list'>,
): Promise<PackedFileResult> {
  if (!entry) {
    const fault =
      about.list === null ? LACKING : `${about.list} lists this file, but the pack file does not contain it.`;
    return { ...about, bytes: null, sha256: null, fault, proof: null };
  }
  try {
    const { sha256 } = await hashStream(entry.open());
    return { ...about, bytes: entry.bytes, sha256, fault: null, proof: null };
  } catch {
    const fault = 'This file in the pack file is damaged.';
    return { ...about, bytes: entry.bytes, sha256: null, fault, proof: null };
  }
}

/**
 * Compares the record's fingerprint with the names of the folder and the file, and the files with the record. Returns whether the
 * record is that of a set whose list is in the bag.
 */
async function compareWithRecord(
  results: PackedFileResult[],
  entry: ZipEntry,
  { folder, byPath, nameOf, names }: ZippedBag,
): Promise<boolean> {
  const own = await resultOfRecord(results, entry);
  const { record, written } = (await readRecord(entry)) ?? {};
  if (!record) {
    own.fault ??= 'The record is not valid, so no file can be compared with it.';
    return false;
  }
  const [id, writtenId] = [record, written].map((each) => `pk_${canonicalSha256(each).slice(0, 20)}`);
  // A record that leaves out what has a default is another text.
  const other = names.map(packIn).find((named) => named !== undefined && named !== writtenId);
  if (other !== undefined) own.fault ??= `Its fingerprint gives ${writtenId}, not ${other}.`;
  else own.list = `its fingerprint, ${id}`;
  const listed = new Map(record.files.map(({ path, sha256 }) => [nameOf(`${folder}data/${path}`), sha256]));
  for (const result of results) {
    const sha256 = listed.get(result.path);
    listed.delete(result.path);
    if (sha256 !== undefined) {
      if (result.sha256 === result.expected) Object.assign(result, { expected: sha256, list: RECORD_FILE });
      const words = unprovenInPack(result.path);
      if (words) result.proof = { verdict: 'intact', words: `It is ${words}.` };
    } else if (result.path.startsWith(`${folder}data/`))
      result.fault ??= 'The record does not list this file.';
  }
  for (const [path, sha256] of listed) {
    const fault = 'The record lists this file, but the manifest does not.';
    results.push({
      path,
      bytes: null,
      sha256: null,
      expected: sha256,
      list: RECORD_FILE,
      fault,
      proof: null,
    });
  }
  if (!mayBeManifest(record)) return false;
  const set = await resultOf(byPath.get(folder + SET_FILE), { path: SET_FILE, expected: null, list: null });
  return set.sha256 === record.files[0]?.sha256;
}

/** Returns the result of the record; a pack file without tag manifest gets one. */
async function resultOfRecord(results: PackedFileResult[], entry: ZipEntry): Promise<PackedFileResult> {
  const known = results.find(({ path }) => path === entry.path);
  if (known) return known;
  const { sha256 } = await resultOf(entry, { path: entry.path, expected: '', list: RECORD_FILE });
  const own = {
    path: entry.path,
    bytes: entry.bytes,
    sha256,
    expected: sha256 ?? '',
    list: RECORD_FILE,
    fault: null,
    proof: null,
  };
  results.push(own);
  return own;
}

async function readRecord(entry: ZipEntry) {
  if (entry.bytes > MAX_RECORD_BYTES) return undefined;
  try {
    const written = parseStrictJson(await textOf(entry));
    return { written, record: packRecordSchema.safeParse(written).data };
  } catch {
    return undefined;
  }
}

/** @throws Error if the file is damaged */
async function bytesOf(entry: ZipEntry): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(
    await new Response(entry.open() as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
  );
}

/** @throws Error if the file is damaged */
async function textOf(entry: ZipEntry): Promise<string> {
  return new TextDecoder().decode(await bytesOf(entry));
}
