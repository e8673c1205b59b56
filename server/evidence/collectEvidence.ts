import { createHash } from 'node:crypto';
import type { PackRecord } from '../../shared/archive/pack.ts';
import type { Diff } from '../../shared/collection/diff.ts';
import type { PageCapture } from '../../shared/collection/page.ts';
import type { Finding, ObjectPassage } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import {
  type Evidence,
  type EvidenceFile,
  type EvidenceTimestamp,
  formatOf,
  type ProvenEntry,
} from '../../shared/proof/evidence/evidence.ts';
import { MAX_SEEN_BYTES } from '../../shared/proof/evidence/seenPassage.ts';
import { noteBody } from '../../shared/proof/ledger/signedNote.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { requirePack } from '../archive/packs/readPack.ts';
import type { Passages } from '../collection/derived/passages/passages.ts';
import { proveRetrieval } from '../collection/record/coverRetrievals.ts';
import { findingById, recordOfFinding } from '../findings/findingRows.ts';
import { requireNotSealed } from '../findings/findings.ts';
import { sealedEntryOf } from '../findings/sealed.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { entryText, sha256Of } from '../ledger/entry.ts';
import { proveInclusion } from '../ledger/prove.ts';
import { isMissing, isUnreadable } from '../store/files.ts';
import { recordTexts } from '../store/sqlite/archive/packs.ts';
import { pageById } from '../store/sqlite/collection/pages.ts';
import { type RecordedEventRow, recordedEvent } from '../store/sqlite/collection/timeline/events.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { selectValue } from '../store/sqlite/engine/queries.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import {
  cosignaturesOf,
  cosignedSizes,
  earliestTimestamps,
  entryAt,
  lastEntry,
} from '../store/sqlite/node/ledger.ts';
import { observationsOfEvent } from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import {
  areReadable,
  type Reader,
  requireAllReadable,
  requireReadable,
  unreadable,
} from '../withholding/withholding.ts';
import { signEvidence } from './evidenceParts.ts';

export interface EvidenceServices {
  store: Store;
  checkpoints: Checkpoints;
  /** Returns the diff of an event. */
  diffOf: (id: string, reader: Reader) => Promise<Diff>;
}

/** Collects the evidence of an event for a reader. @throws Problem `not_found`; the errors of `Checkpoints.sign` */
export async function eventEvidence(
  services: EvidenceServices,
  id: string,
  reader: Reader,
): Promise<Evidence> {
  return signReadable(services, () => collectEventEvidence(services, id, reader), reader);
}

/** Signs what is collected. It is collected anew if the reader may not read some of its bytes any more: a diff may take long. */
async function signReadable(
  { store, checkpoints }: Pick<EvidenceServices, 'store' | 'checkpoints'>,
  collect: () => Promise<Omit<Evidence, 'seal'>>,
  reader: Reader,
): Promise<Evidence> {
  for (;;) {
    const evidence = await collect();
    const signed = await signEvidence(evidence, checkpoints);
    if (areReadable(store.read, quotedIn(evidence), reader)) return signed;
  }
}

/** Returns the digests of the files whose bytes an evidence file has, and of the two versions that its diff quotes. */
function quotedIn({ files, diff }: Pick<Evidence, 'files' | 'diff'>): string[] {
  const isQuoted = ({ name, content }: EvidenceFile) =>
    content !== null || (diff !== null && name !== 'picture');
  return files.filter(isQuoted).map(({ sha256 }) => sha256);
}

/** @throws Problem `not_found` */
export function requireEvent(read: ReadDatabase, id: string): RecordedEventRow {
  const event = /^[1-9]\d{0,14}$/.test(id) ? recordedEvent(read, Number(id)) : undefined;
  if (!event) throw new Problem('not_found', `There is no event ${id}.`);
  return event;
}

/** Like `eventEvidence`, without the seal. */
async function collectEventEvidence(
  { store, checkpoints, diffOf }: EvidenceServices,
  id: string,
  reader: Reader,
): Promise<Omit<Evidence, 'seal'>> {
  const event = requireEvent(store.read, id);
  const { ledger_entry, ...record } = event;
  const proven = await proveEntry(store, checkpoints, ledger_entry, canonicalText(record));
  const { retrieval, mediaType } = await provenRetrieval(store, checkpoints, event.retrieval);
  const page = event.page ? pageById(store.read, event.page) : undefined;
  const seen_by = await provenObservations(store, checkpoints, event.id);
  const parts = {
    ...(page && { page: await provenPage(store, checkpoints, page) }),
    ...(seen_by.length > 0 && { seen_by }),
  };
  return {
    format: formatOf(parts),
    kind: 'event',
    made_at: store.instant(),
    key: checkpoints.key.verifierKey,
    ...proven,
    retrieval,
    ...parts,
    files: await withContent(
      store,
      // What a browser saw is kept as text, whatever the type of the document was.
      filesOf(store, event, page ? 'text/plain; charset=utf-8' : mediaType, page?.picture),
      reader,
    ),
    diff:
      event.sha256 !== null && event.previous_sha256 !== null
        ? await diffOrNull(() => diffOf(id, reader))
        : null,
  };
}

function filesOf(
  { read }: Pick<Store, 'read'>,
  { sha256, previous_sha256 }: RecordedEventRow,
  mediaType: string,
  picture: string | undefined,
): Omit<EvidenceFile, 'content'>[] {
  const versions = [
    { name: 'after', sha256, media_type: mediaType },
    { name: 'before', sha256: previous_sha256, media_type: mediaType },
    { name: 'picture', sha256: picture ?? null, media_type: 'image/png' },
  ];
  return versions.flatMap(({ name, sha256: digest, media_type }) =>
    digest === null ? [] : [{ name, sha256: digest, bytes: blobBytes(read, digest) ?? 0, media_type }],
  );
}

function provenPage(
  store: Store,
  checkpoints: Checkpoints,
  { ledger_entry, ...record }: PageCapture,
): Promise<ProvenEntry> {
  return proveAtHead(store, checkpoints, ledger_entry, canonicalText(record));
}

/** What peers signed that fetched the address of an event at the same time. */
function provenObservations(store: Store, checkpoints: Checkpoints, event: number): Promise<ProvenEntry[]> {
  return Promise.all(
    observationsOfEvent(store.read, event).map(({ ledger_entry, record }) =>
      proveAtHead(store, checkpoints, ledger_entry, canonicalText(record)),
    ),
  );
}

async function provenRetrieval(
  store: Store,
  checkpoints: Checkpoints,
  number: number,
): Promise<{ retrieval: Evidence['retrieval']; mediaType: string }> {
  try {
    const { retrieval, ledger_entry, first, last, root, hashes } = await proveRetrieval(
      store,
      String(number),
    );
    const record = canonicalText({ first, last, root });
    const proven = await proveAtHead(store, checkpoints, ledger_entry, record);
    return {
      retrieval: { ...proven, retrieval: canonicalText(retrieval), hashes },
      mediaType: retrieval.content_type ?? 'application/octet-stream',
    };
  } catch (error) {
    // No ledger entry covers a retrieval that another program inserted. The evidence file omits it.
    if (error instanceof Problem && error.code === 'not_found')
      return { retrieval: null, mediaType: 'application/octet-stream' };
    throw error;
  }
}

/** The diff is derived and may be impossible, or withheld. The evidence does not depend on it. */
async function diffOrNull(diffOf: () => Promise<Diff>): Promise<unknown> {
  try {
    return wellFormed(await diffOf());
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

/**
 * Returns a value without lone surrogates in any text or name: it would have no canonical JSON, so nobody could sign it. A page
 * can have them, escaped in JSON, and could so prevent the evidence of its own change.
 */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), wellFormed(member)]),
  );
}

/**
 * Collects the evidence of a pack for a reader. @throws Problem `not_found`, `blob_damaged`; the errors of
 * `Checkpoints.sign`
 */
export async function packEvidence(
  services: Pick<EvidenceServices, 'store' | 'checkpoints'>,
  id: string,
  reader: Reader,
): Promise<Evidence> {
  return signReadable(services, () => collectPackEvidence(services, id, reader), reader);
}

/** Like `packEvidence`, without the seal. */
async function collectPackEvidence(
  { store, checkpoints }: Pick<EvidenceServices, 'store' | 'checkpoints'>,
  id: string,
  reader: Reader,
): Promise<Omit<Evidence, 'seal'>> {
  const { ledger_entry, digest } = requirePack(store.read, id);
  const stored = recordTexts(store.read, [ledger_entry])[0]?.record ?? 'null';
  const record = JSON.parse(stored) as PackRecord;
  const text = sha256Of(stored) === digest ? stored : canonicalText(record);
  if (sha256Of(text) !== digest) throw new Problem('database_damaged', `The record of ${id} was altered.`);
  return {
    format: 'strongroom-evidence@1',
    kind: 'pack',
    made_at: store.instant(),
    key: checkpoints.key.verifierKey,
    ...(await proveEntry(store, checkpoints, ledger_entry, text)),
    retrieval: null,
    files: await withContent(
      store,
      record.files.map(({ path, sha256, bytes, media_type }) => ({ name: path, sha256, bytes, media_type })),
      reader,
    ),
    diff: null,
  };
}

/** Returns a finding with the passage that it quotes. @throws Problem as `findingEvidence`, but for what needs the bytes */
export function requireQuotation(
  read: ReadDatabase,
  id: string,
  reader: Reader,
): { finding: Finding; passage: ObjectPassage & { sha256: string } } {
  const finding = findingById(read, id);
  if (!finding) {
    requireNotSealed(read, id);
    throw new Problem('not_found', `There is no finding ${id}.`);
  }
  const { sha256 } = finding.passage ?? {};
  if (!finding.passage || !sha256)
    throw new Problem('no_passage', 'It quotes no object. Use the evidence file of what it is about.');
  requireReadable(read, sha256, reader);
  return { finding, passage: { ...finding.passage, sha256 } };
}

export interface FindingEvidenceServices extends EvidenceServices {
  passages: Pick<Passages, 'place' | 'isSeen'>;
  /** The findings whose words were seen in their bytes. Neither changes, and looking takes up to a second in large texts. */
  seen: Set<string>;
}

/**
 * Collects the evidence of a quoted passage for a reader: the finding, and the event or pack that the quoted bytes came with.
 *
 * @throws Problem `not_found`, `finding_sealed`, `no_passage`; `withheld`, `released` if the reader may not read the bytes; the errors of
 * `Checkpoints.sign`
 */
export async function findingEvidence(
  services: FindingEvidenceServices,
  id: string,
  reader: Reader,
): Promise<Evidence> {
  const { store, checkpoints } = services;
  const { finding, passage } = requireQuotation(store.read, id, reader);
  const { sha256 } = passage;
  await requireInText(services, passage);
  const base = await collectOrigin(services, finding, sha256, reader);
  const { ledger_entry } = finding;
  const record = canonicalText(recordOfFinding(finding));
  const sealEntry = sealedEntryOf(store.read, id);
  const salt = finding.sealed?.salt;
  const seal =
    sealEntry !== undefined && salt ? await proveEntry(store, checkpoints, sealEntry, record) : undefined;
  const evidence: Omit<Evidence, 'seal'> = {
    ...base,
    format: 'strongroom-evidence@3',
    finding: await proveAtHead(store, checkpoints, ledger_entry, record),
    ...(seal &&
      salt && {
        sealed: { ...seal.recorded, witnesses: seal.witnesses, timestamps: seal.timestamps, salt },
      }),
  };
  if (!services.seen.has(id)) await requireSeen(services, evidence, passage);
  services.seen.add(id);
  const signed = await signEvidence(evidence, checkpoints);
  // The bytes may have been withheld meanwhile.
  requireAllReadable(store.read, [sha256, ...quotedIn(evidence)], reader);
  return signed;
}

/** A quotation of older versions, and one that was handed in, was not placed when it was recorded. */
async function requireInText({ passages }: FindingEvidenceServices, passage: ObjectPassage): Promise<void> {
  if (passage.derived) return;
  const placed = await passages.place(passage, 'normal');
  if (!placed?.derived) throw notInText();
}

function notInText(): Problem {
  return new Problem(
    'no_passage',
    'The text of the object does not have the quoted words at one place, so there is nothing to prove.',
  );
}

/** Collects the evidence of the event that brought the quoted bytes, or of the pack that has them. */
function collectOrigin(
  services: FindingEvidenceServices,
  { target }: Finding,
  sha256: string,
  reader: Reader,
): Promise<Omit<Evidence, 'seal'>> {
  const { read } = services.store;
  if (target.kind === 'pack') return collectPackEvidence(services, target.id, reader);
  const event = eventWith(read, { sha256, target: target.kind === 'event' ? target.id : null });
  if (event !== undefined) return collectEventEvidence(services, String(event), reader);
  if (target.kind === 'event') return collectEventEvidence(services, target.id, reader);
  const pack = packWith(read, { sha256 });
  if (pack !== undefined) return collectPackEvidence(services, pack, reader);
  throw new Problem('no_passage', 'No event and no pack of this archive came with the quoted bytes.');
}

/** The event that a finding is about if it brought the object, else the first that did: of its source, or of any. */
const eventWith = selectValue<number, [values: { sha256: string; target: string | null }]>(`
  SELECT e.id FROM events e WHERE e.sha256 = $sha256 AND ($target IS NULL OR e.source_key =
    (SELECT t.source_key FROM events t WHERE t.id = CAST($target AS INTEGER)))
  ORDER BY e.id <> coalesce(CAST($target AS INTEGER), 0), e.id LIMIT 1`);

const packWith = selectValue<string, [values: { sha256: string }]>(`
  SELECT p.id FROM pack_files f JOIN packs p ON p.ledger_entry = f.pack WHERE f.sha256 = $sha256
  ORDER BY p.ledger_entry LIMIT 1`);

/** An evidence file whose own check would not find the words is not made. */
async function requireSeen(
  { passages }: FindingEvidenceServices,
  { files }: Pick<Evidence, 'files'>,
  passage: ObjectPassage,
): Promise<void> {
  const file = files.find(({ sha256 }) => sha256 === passage.sha256);
  if (!file?.content || file.bytes > MAX_SEEN_BYTES) return;
  const isSeen = await passages.isSeen(passage, Buffer.from(file.content, 'base64'), file.media_type);
  if (isSeen === undefined)
    throw new Problem(
      'no_passage',
      'The quoted words could not be looked for in the bytes within the time and memory there is for it.',
    );
  if (!isSeen) throw notInText();
}

/** The bytes of all files together that an evidence file carries. Files beyond that are given by digest. */
const MAX_CONTENT_BYTES = 10_000_000;

/**
 * Adds the bytes to files, in their order, until the limit is reached. Missing and damaged bytes are left out, and those
 * that the reader may not read: they are given by their digest.
 */
async function withContent(
  { blobs, read }: Pick<Store, 'blobs' | 'read'>,
  files: readonly Omit<EvidenceFile, 'content'>[],
  reader: Reader,
): Promise<EvidenceFile[]> {
  let room = MAX_CONTENT_BYTES;
  const filled: EvidenceFile[] = [];
  for (const file of files) {
    const fits = file.bytes <= room && !unreadable(read, file.sha256, reader);
    const content = fits ? await readIntact(blobs, file) : null;
    if (content !== null) room -= file.bytes;
    filled.push({ ...file, content });
  }
  return filled;
}

async function readIntact(
  blobs: Store['blobs'],
  { sha256, bytes }: { sha256: string; bytes: number },
): Promise<string | null> {
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of blobs.read(sha256)) {
      length += piece.length;
      if (length > bytes) return null;
      pieces.push(piece);
    }
    const content = Buffer.concat(pieces);
    return createHash('sha256').update(content).digest('hex') === sha256 ? content.toString('base64') : null;
  } catch (error) {
    // A Problem: the copy that holds them cannot be reached, or gave other bytes.
    if (isMissing(error) || isUnreadable(error) || error instanceof Problem) return null;
    throw error;
  }
}

/** What proves an entry: its proofs, the keys of the witnesses, and the earliest timestamp of each authority. */
type EntryEvidence = Pick<Evidence, 'recorded' | 'witnesses' | 'timestamps'>;

/**
 * Collects what proves an entry of the ledger: a proof at the newest size, at the newest and the oldest that a witness
 * cosigned, and at each size that an authority stamped first.
 *
 * @param record the canonical JSON of what the entry recorded
 * @throws the errors of `Checkpoints.sign`
 */
async function proveEntry(
  store: Store,
  checkpoints: Checkpoints,
  seq: number,
  record: string,
): Promise<EntryEvidence> {
  const { read } = store;
  const newest = lastEntry(read)?.seq ?? 0;
  const stamped = earliestTimestamps(read, { seq });
  const origin = checkpoints.key.name;
  const sizes = new Set([newest, ...cosignedSizes(read, seq, origin), ...stamped.map(({ size }) => size)]);
  const witnesses = new Set<string>();
  const proofs: ProvenEntry['proofs'] = [];
  for (const size of sizes) {
    const { note, hashes, root } = await proofAt(store, checkpoints, seq, size);
    // Read once: a witness may cosign meanwhile, and its line needs its key.
    const cosigned = cosignaturesOf(read, { origin, size, root });
    for (const { witness } of cosigned) witnesses.add(witness);
    proofs.push({ checkpoint: note + cosigned.map(({ line }) => line).join(''), hashes });
  }
  const bodies = new Set(proofs.map(({ checkpoint }) => noteBody(checkpoint)));
  const timestamps = stamped
    // After a restore the node has another name, so it cannot sign the text that was stamped before.
    .filter(({ text }) => bodies.has(text))
    .map(
      ({ authority, text, reply }): EvidenceTimestamp => ({
        authority,
        text,
        reply: reply.toString('base64'),
      }),
    );
  return {
    recorded: { entry: requireEntry(store, seq), record, proofs },
    witnesses: [...witnesses],
    timestamps,
  };
}

/**
 * Proves another entry at the newest size. The lines of witnesses are only with the main entry: one that cosigned after that was
 * proven is unknown there. @throws the errors of `Checkpoints.sign`
 */
async function proveAtHead(
  store: Store,
  checkpoints: Checkpoints,
  seq: number,
  record: string,
): Promise<ProvenEntry> {
  const { note, hashes } = await proofAt(store, checkpoints, seq, lastEntry(store.read)?.seq ?? 0);
  return { entry: requireEntry(store, seq), record, proofs: [{ checkpoint: note, hashes }] };
}

async function proofAt(
  store: Store,
  checkpoints: Checkpoints,
  seq: number,
  size: number,
): Promise<{ note: string; hashes: string[]; root: string }> {
  const proof = proveInclusion(store, seq, size);
  const root = Buffer.from(proof.root, 'base64');
  const note = await checkpoints.sign({ size, root });
  return { note, hashes: proof.hashes, root: root.toString('hex') };
}

function requireEntry({ read }: Pick<Store, 'read'>, seq: number): ProvenEntry['entry'] {
  const entry = entryAt(read, seq);
  if (!entry) throw new Error(`The ledger has no entry ${seq}.`);
  // Only the members that the hash is over, whatever else a row may hold.
  return JSON.parse(entryText(entry)) as ProvenEntry['entry'];
}
