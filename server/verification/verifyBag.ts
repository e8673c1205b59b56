import {
  bagKindOf,
  CRATE_FILE,
  DESCRIBES_PACK,
  fileNames,
  strangerIn,
} from '../../shared/archive/bagFiles.ts';
import { mayBeManifest } from '../../shared/archive/set.ts';
import { SET_FILE } from '../../shared/archive/setManifest.ts';
import { MAX_PACK_BYTES, MAX_RECORD_BYTES } from '../../shared/limits.ts';
import { Problem } from '../../shared/problems.ts';
import { unprovenInPack } from '../../shared/proof/bagProofs.ts';
import { lackingIn, packIn } from '../../shared/proof/names.ts';
import { parseJsonBytes } from '../../shared/values/checkBody.ts';
import {
  type BagTags,
  checkOxum,
  comparePayload,
  compareTags,
  type Digests,
  type ManifestFinding,
  manifestKind,
  readBagTags,
  readTagFile,
  withFileNames,
} from '../archive/packs/bag/bagCheck.ts';
import {
  DECLARATION_FILE,
  FETCH_FILE,
  INFO_FILE,
  leavesBag,
  PAYLOAD_FOLDER,
  RECORD_FILE,
  SEAL_FILE,
} from '../archive/packs/bag/tagFiles.ts';
import { type CheckedRecord, checkRecord, omitsFiles, packIdOf } from '../archive/packs/checkRecord.ts';
import { parseSet, SetIndex } from '../archive/sets/setIndex.ts';
import { fingerprintOf } from '../ledger/entry.ts';
import { type BagSource, namesOf } from './openBag.ts';
import { type Finding, finding } from './report.ts';

/**
 * Verifies every file of a bag against each manifest that lists it. If the bag holds a record, the files are also verified
 * against the record, whose fingerprint gives the pack its name. This detects files that were changed together with the
 * manifests.
 */
export async function* verifyBag(source: BagSource): AsyncGenerator<Finding> {
  const read = source.files.has(DECLARATION_FILE) ? await tagsOf(source.files) : undefined;
  if (read instanceof Problem) {
    yield finding(source.path, 'changed', { detail: read.message });
    return;
  }
  const tags = read && withNamesOf(read, source);
  const { digests, failures } = await hashAll(source, tags);
  const record = await recordOf(source);
  const payload = await payloadOf(source, record);
  const verdicts = new Map<string, Finding>();
  for (const found of manifestFindings(source, tags, digests)) add(verdicts, found);
  for (const found of recordFindings(source, record, payload, digests)) add(verdicts, found);
  for (const [name, failure] of failures) {
    verdicts.set(name, finding(pathOf(source, name), 'unknown', { detail: `cannot be read: ${failure}` }));
  }
  for (const [name, detail] of tags?.encodingFaults ?? [])
    verdicts.set(name, finding(pathOf(source, name), 'changed', { detail }));
  for (const [name, { state, detail }] of source.oddEntries ?? [])
    add(verdicts, { name, found: finding(pathOf(source, name), state, { detail }) });
  for (const found of strangers(source, payload, digests)) add(verdicts, found);
  if (!tags) for (const found of undeclared(source, digests)) add(verdicts, found);
  for (const found of lacking(source)) add(verdicts, found);
  if (tags && verdicts.size === 0) yield finding(source.path, 'intact', { detail: 'a bag without files' });
  yield* [...verdicts].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, found]) => found);
}

async function tagsOf(files: BagSource['files']): Promise<BagTags | Problem> {
  try {
    return await readBagTags(files, { maxBytes: Number.POSITIVE_INFINITY, rules: 'any' });
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Gives the manifests the names of the files that they mean. */
function withNamesOf(tags: BagTags, { files }: BagSource): BagTags {
  const names = new Set(files.keys());
  const manifests = tags.manifests.map((manifest) => withFileNames(manifest, names));
  const tagManifests = tags.tagManifests.map((manifest) => withFileNames(manifest, names));
  return { ...tags, manifests, tagManifests };
}

async function hashAll(source: BagSource, tags: BagTags | undefined) {
  const manifests = [...(tags?.manifests ?? []), ...(tags?.tagManifests ?? [])];
  const algorithms = new Set(['sha256', ...manifests.map(({ algorithm }) => algorithm)]);
  const digests = new Map<string, Digests>();
  const failures = new Map<string, string>();
  for await (const hashed of source.hash(algorithms)) {
    if (hashed.digests) digests.set(hashed.name, hashed.digests);
    else failures.set(hashed.name, hashed.failure ?? 'unreadable');
  }
  return { digests, failures };
}

/** What is said of a file that a bag lacks to be what its name says. */
const LACKING = 'without it, the bag is not what its name says';

function pathOf({ path }: BagSource, name: string): string {
  return `${path}/${name}`;
}

/**
 * Reports the tag files of what is no bag, since nothing says how to read them. If one is of a bag, its declaration is missing. A
 * pack without its bag has none: only the record, and the list of a set, which the record covers.
 */
function* undeclared(source: BagSource, digests: ReadonlyMap<string, Digests>): Generator<Named> {
  const isTagFile = (name: string) => !name.startsWith(PAYLOAD_FOLDER) && name !== RECORD_FILE;
  const tagFiles = [...source.files.keys()].filter((name) => isTagFile(name) && name !== SET_FILE);
  for (const name of tagFiles) {
    const rest = { sha256: digests.get(name)?.get('sha256') ?? null, detail: UNDECLARED };
    yield { name, found: finding(pathOf(source, name), 'unknown', rest) };
  }
  if (tagFiles.some((name) => OF_BAGS.has(name) || manifestKind(name) !== undefined))
    yield {
      name: DECLARATION_FILE,
      found: finding(pathOf(source, DECLARATION_FILE), 'missing', { detail: LACKING_DECLARATION }),
    };
}

const UNDECLARED = `without ${DECLARATION_FILE}, it says nothing`;
const LACKING_DECLARATION = 'there are other tag files of its bag';
/** The tag files that only bags have, beside manifests. */
const OF_BAGS: ReadonlySet<string> = new Set([INFO_FILE, CRATE_FILE, SEAL_FILE]);

/** What was removed together with its lines in the manifests is named by nothing else. */
function* lacking(source: BagSource): Generator<Named> {
  for (const name of lackingIn(source.files, namesOf(source)))
    yield { name, found: finding(pathOf(source, name), 'missing', { detail: LACKING }) };
}

/** Keeps the first finding of a file that is not `intact`. */
function add(verdicts: Map<string, Finding>, { name, found }: Named): void {
  const earlier = verdicts.get(name);
  if (!earlier || earlier.state === 'intact') verdicts.set(name, found);
}

interface Named {
  name: string;
  found: Finding;
}

function* manifestFindings(
  source: BagSource,
  tags: BagTags | undefined,
  digests: ReadonlyMap<string, Digests>,
): Generator<Named> {
  if (!tags) return;
  const payload = new Map([...digests].filter(([name]) => name.startsWith(PAYLOAD_FOLDER)));
  const compared = comparePayload(tags, payload);
  const known: Known = { digests, warnings: warningsOf(tags) };
  for (const each of [...compared, ...compareTags(tags, digests)]) yield named(source, each, known);
  if (tags.fetchFault !== undefined) {
    const found = finding(pathOf(source, FETCH_FILE), 'changed', { detail: tags.fetchFault });
    yield { name: FETCH_FILE, found };
  }
  if (tags.tagManifests.length > 0) yield* unlistedTagFiles(source, tags, digests);
  // If files differ, their total size adds no information.
  if (compared.every(({ state }) => state === 'intact')) yield* oxumFinding(source, tags, payload);
}

function* oxumFinding(
  source: BagSource,
  tags: BagTags,
  payload: ReadonlyMap<string, Digests>,
): Generator<Named> {
  try {
    const sizes = [...payload.keys()].map((name) => ({ bytes: source.files.get(name)?.bytes ?? 0 }));
    checkOxum(tags, sizes);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const found = finding(pathOf(source, INFO_FILE), 'changed', { detail: error.message });
    yield { name: INFO_FILE, found };
  }
}

interface Known {
  digests: ReadonlyMap<string, Digests>;
  warnings: ReadonlyMap<string, string>;
}

function named(source: BagSource, compared: ManifestFinding, { digests, warnings }: Known): Named {
  const { path: name, state, manifest, expected, algorithm } = compared;
  const found = finding(pathOf(source, name), state === 'unlisted' ? 'unknown' : state, {
    sha256: digests.get(name)?.get('sha256') ?? null,
    expected: algorithm === 'sha256' ? (expected ?? null) : null,
    against: manifest,
    detail: detailOf(compared) ?? warnings.get(name) ?? descriptionOf(source, name),
  });
  return { name, found };
}

/** Says that a tag file only repeats what the bag has elsewhere, where a fingerprint or a signature covers it. */
function descriptionOf({ files, isArchive = false }: BagSource, name: string): string | null {
  if (name !== INFO_FILE && name !== CRATE_FILE) return null;
  if (isArchive) return 'describes the archive to other programs; the dump is what counts';
  const isPack = files.has(RECORD_FILE);
  return isPack ? DESCRIBES_PACK : null;
}

function detailOf({
  path,
  state,
  manifest,
  expected,
  actual,
  algorithm,
}: ManifestFinding): string | undefined {
  if (state === 'unlisted') return `not in ${manifest}`;
  if (state === 'missing' && leavesBag(path)) return 'its path leaves the bag';
  if (algorithm === 'sha256' || state === 'intact') return undefined;
  return `${algorithm}: expected ${expected}, found ${actual ?? 'nothing'}`;
}

/** Returns peculiarities of listed files by path: in how they are listed, and names that differ only in case. */
function warningsOf({ manifests, tagManifests }: BagTags): Map<string, string> {
  const warnings = new Map<string, string>();
  for (const manifest of [...manifests, ...tagManifests]) {
    for (const path of alikeNames(manifest.digests))
      warnings.set(path, 'another name differs only in case or normalization');
    for (const path of manifest.digests.keys())
      if (SYSTEM_FILE.test(path)) warnings.set(path, 'a file that operating systems create and delete');
    for (const [path, warning] of manifest.warnings) warnings.set(path, warning);
  }
  return warnings;
}

/** Matches files that file managers write into the folders that they show. */
const SYSTEM_FILE = /(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/i;
/** Larger manifests are not searched for names that are alike, to save memory. */
const MAX_COMPARED_NAMES = 100_000;

function alikeNames(digests: ReadonlyMap<string, string>): string[] {
  if (digests.size > MAX_COMPARED_NAMES) return [];
  const byFoldedName = Map.groupBy(digests.keys(), (path) => path.normalize('NFC').toLowerCase());
  return [...byFoldedName.values()].flatMap((alike) => (alike.length > 1 ? alike : []));
}

/** Reports tag files that no tag manifest lists. Tag manifests and `fetch.txt` do not have to be listed. */
function* unlistedTagFiles(
  source: BagSource,
  { tagManifests }: BagTags,
  digests: ReadonlyMap<string, Digests>,
) {
  for (const [name, ofFile] of digests) {
    const isListed = tagManifests.some((manifest) => manifest.digests.has(name));
    if (isListed || name.startsWith(PAYLOAD_FOLDER)) continue;
    if (name === FETCH_FILE || manifestKind(name)?.of === 'tags') continue;
    const sha256 = ofFile.get('sha256') ?? null;
    yield { name, found: finding(pathOf(source, name), 'unknown', { sha256, detail: 'in no tag manifest' }) };
  }
}

/** Reports tag files that such a bag does not have. */
function* strangers(
  source: BagSource,
  { list }: Payload,
  digests: ReadonlyMap<string, Digests>,
): Generator<Named> {
  const ofFiles = source.isArchive ? 'archive' : bagKindOf(source.files);
  const kind = ofFiles === 'pack' && list === SET_FILE ? 'set' : ofFiles;
  for (const name of source.files.keys()) {
    const detail = strangerIn(kind, name);
    if (detail === undefined) continue;
    const rest = { sha256: digests.get(name)?.get('sha256') ?? null, detail };
    yield { name, found: finding(pathOf(source, name), 'unknown', rest) };
  }
}

/** A record, and the id that it gives as it is written: a record that leaves out what has a default is another text. */
type ReadRecord = CheckedRecord & { writtenId: string };

async function recordOf({ files }: BagSource): Promise<ReadRecord | Problem | 'incomplete' | undefined> {
  const file = files.get(RECORD_FILE);
  if (!file) return undefined;
  try {
    const record = parseJsonBytes(await readTagFile(RECORD_FILE, file, MAX_RECORD_BYTES));
    if (omitsFiles(record)) return 'incomplete';
    return { ...checkRecord(record), writtenId: packIdOf(fingerprintOf(record)) };
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The files of the payload as the record says: its own, or those of the set that it is the manifest of. */
interface Payload {
  files: { path: string; sha256: string }[];
  /** The file of the record or the tag file that lists them. */
  list: string;
  /** What is wrong with the list of a set. */
  fault?: string;
}

async function payloadOf(
  { files }: BagSource,
  record: ReadRecord | Problem | 'incomplete' | undefined,
): Promise<Payload> {
  if (!record || record instanceof Problem || record === 'incomplete')
    return { files: [], list: RECORD_FILE };
  const own = { files: record.record.files, list: RECORD_FILE };
  const list = files.get(SET_FILE);
  if (!list || !mayBeManifest(record.record)) return own;
  const bytes = await readTagFile(SET_FILE, list, MAX_PACK_BYTES);
  const parsed = parseSet(bytes);
  if ('other' in parsed) return own;
  if ('errors' in parsed)
    return { files: [], list: SET_FILE, fault: parsed.errors[0]?.message ?? 'it is not valid' };
  const index = new SetIndex(parsed.set);
  const listed = Array.from({ length: index.count }, (_, file) => ({
    path: index.pathOf(file),
    sha256: index.sha256Of(file),
  }));
  return { files: listed, list: SET_FILE };
}

function* recordFindings(
  source: BagSource,
  record: ReadRecord | Problem | 'incomplete' | undefined,
  payload: Payload,
  digests: ReadonlyMap<string, Digests>,
): Generator<Named> {
  if (!record) return;
  const about = (state: Finding['state'], rest: Partial<Finding>): Named => ({
    name: RECORD_FILE,
    found: finding(pathOf(source, RECORD_FILE), state, rest),
  });
  const sha256 = digests.get(RECORD_FILE)?.get('sha256') ?? null;
  if (record instanceof Problem) return yield about('changed', { sha256, detail: record.message });
  if (record === 'incomplete')
    return yield about('unknown', {
      sha256,
      detail: 'it omits “files”, so no file can be checked against it',
    });
  const { id, writtenId } = record;
  const other = namesOf(source)
    .map(packIn)
    .find((named) => named !== undefined && named !== writtenId);
  const left = id === writtenId ? '' : ', when what it leaves out is filled in';
  const detail =
    other === undefined ? `record of ${id}${left}` : `its fingerprint gives ${writtenId}, not ${other}`;
  yield about(other === undefined ? 'intact' : 'changed', { sha256, against: 'its fingerprint', detail });
  if (payload.list === SET_FILE) yield listFinding(source, record, payload, digests);
  yield* payloadFindings(source, payload, digests);
}

/** Compares the files of the payload with those of the record, and names those that it does not list. */
function* payloadFindings(
  source: BagSource,
  payload: Payload,
  digests: ReadonlyMap<string, Digests>,
): Generator<Named> {
  const nameOf = fileNames(digests.keys());
  const known = new Set<string>();
  for (const { path, sha256: expected } of payload.files) {
    const name = nameOf(PAYLOAD_FOLDER + path);
    known.add(name);
    const actual = digests.get(name)?.get('sha256') ?? null;
    const state = actual === null ? 'missing' : actual === expected ? 'intact' : 'changed';
    const detail = (state === 'intact' && unprovenInPack(name)) || null;
    const rest = { sha256: actual, expected, against: payload.list, detail };
    yield { name, found: finding(pathOf(source, name), state, rest) };
  }
  for (const [name, ofFile] of digests) {
    if (!name.startsWith(PAYLOAD_FOLDER) || known.has(name)) continue;
    const rest = { sha256: ofFile.get('sha256') ?? null, detail: `not in ${listName(payload)}` };
    yield { name, found: finding(pathOf(source, name), 'unknown', rest) };
  }
}

function listName({ list }: Payload): string {
  return list === RECORD_FILE ? 'the record' : list;
}

/** The list of a set is the only file of the record, and a tag file of the bag. */
function listFinding(
  source: BagSource,
  { record }: CheckedRecord,
  { fault }: Payload,
  digests: ReadonlyMap<string, Digests>,
): Named {
  const sha256 = digests.get(SET_FILE)?.get('sha256') ?? null;
  const expected = record.files[0]?.sha256 ?? null;
  const state = sha256 === expected && fault === undefined ? 'intact' : 'changed';
  const rest = { sha256, expected, against: RECORD_FILE, detail: fault ?? null };
  return { name: SET_FILE, found: finding(pathOf(source, SET_FILE), state, rest) };
}
