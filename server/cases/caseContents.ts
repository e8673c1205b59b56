import { createHash } from 'node:crypto';
import type { Event } from '../../shared/collection/event.ts';
import type { Case, CaseItem } from '../../shared/findings/case.ts';
import type { Finding, FindingTarget } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { packFileOf } from '../archive/packs/file/writePackFile.ts';
import { digestsOfPack, requirePack } from '../archive/packs/readPack.ts';
import { findingById, selectFindings, unreadableQuote } from '../findings/findings.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../fixity/audit.ts';
import { eventById } from '../store/sqlite/collection/timeline/events.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';
import { OWNER, type Reader, requireAllReadable, unreadable } from '../withholding/withholding.ts';

/** An object of a case, with what the index says of it. */
export interface CaseObject {
  sha256: string;
  bytes: number;
}

/** The pack file of a case that can be written. */
export interface CasePack {
  id: string;
  /** The CRCs of its files, which were read and checked. */
  crcs: Uint32Array;
}

/** Something of a case that the archive cannot give, with the reason. */
export interface MissingPart {
  name: string;
  reason: string;
}

/** Everything that the bag of a case contains. */
export interface CaseContents {
  case: Case;
  events: Event[];
  packs: CasePack[];
  objects: CaseObject[];
  /** The findings that are items, and the current ones about the events and packs, oldest first. */
  findings: Finding[];
  missing: MissingPart[];
}

/** At most this many findings about one event or pack are taken into the bag. */
const MAX_FINDINGS_OF_TARGET = 500;

/**
 * Collects what the bag of a case contains for a reader. Every object and every file of a pack is read and hashed,
 * because the bag is sent while it is written: what is missing or damaged has to be known before.
 */
export async function caseContents(store: DamageContext, found: Case, reader: Reader): Promise<CaseContents> {
  const { read } = store;
  const missing: MissingPart[] = [];
  const findings = findingsOf(store, found).filter((finding) => {
    const problem = unreadableQuote(read, finding, reader);
    // The ledger covers the quotation, so a finding without it could not be checked.
    if (problem) missing.push({ name: `Finding ${finding.id}`, reason: problem.message });
    return !problem;
  });
  const targets = [...found.items.map(asTarget), ...findings.map(({ target }) => target)];
  const ids = (kind: FindingTarget['kind']) => [
    ...new Set(targets.flatMap((target) => (target?.kind === kind ? [target.id] : []))),
  ];
  const events = ids('event').flatMap((id) => eventById(read, Number(id)) ?? []);
  const quoted = findings.flatMap(({ target, passage }) =>
    target.kind === 'pack' ? [] : [passage?.sha256 ?? null],
  );
  const digests = [
    ...events.flatMap(({ sha256, previous_sha256 }) => [sha256, previous_sha256]),
    ...ids('object'),
    ...quoted,
  ].filter((sha256) => sha256 !== null);
  const objects: CaseObject[] = [];
  for (const sha256 of new Set(digests)) {
    const problem = unreadable(read, sha256, reader);
    if (problem) {
      missing.push({ name: `Object ${sha256}`, reason: problem.message });
      continue;
    }
    const bytes = await intactBytes(store, sha256);
    if (bytes === undefined)
      missing.push({ name: `Object ${sha256}`, reason: 'its stored bytes are missing or damaged' });
    else objects.push({ sha256, bytes });
  }
  const packs: CasePack[] = [];
  for (const id of ids('pack')) {
    const crcs = await checkedPack(store, id, reader);
    if (crcs instanceof Problem)
      missing.push({ name: `Pack file and evidence file of ${id}`, reason: crcs.message });
    else packs.push({ id, crcs });
  }
  return { case: found, events, packs, objects, findings, missing };
}

function asTarget({ kind, id }: CaseItem): FindingTarget | undefined {
  return kind === 'finding' ? undefined : { kind, id };
}

function findingsOf({ read }: Pick<Store, 'read'>, { items }: Case): Finding[] {
  const found = new Map<string, Finding>();
  for (const item of items) {
    const target = asTarget(item);
    const selection = { match: undefined, tag: undefined, target, state: 'current' as const, reader: OWNER };
    const page = { limit: MAX_FINDINGS_OF_TARGET, offset: 0 };
    const findings = target
      ? selectFindings(read, selection, page).items
      : [findingById(read, item.id)].filter((finding) => finding !== undefined);
    for (const finding of findings) found.set(finding.id, finding);
  }
  return [...found.values()].sort((left, right) => left.ledger_entry - right.ledger_entry);
}

/** Returns the size of a stored object if its bytes have its digest. */
async function intactBytes(store: DamageContext, sha256: string): Promise<number | undefined> {
  const bytes = blobBytes(store.read, sha256);
  if (bytes === undefined) return undefined;
  try {
    const hash = createHash('sha256');
    for await (const chunk of store.blobs.read(sha256)) hash.update(chunk);
    if (hash.digest('hex') === sha256) return bytes;
  } catch (error) {
    // A Problem: the copy that holds the bytes cannot be reached.
    if (error instanceof Problem && error.code !== 'blob_damaged') return undefined;
    if (!isBlobDamageError(error)) throw error;
  }
  await confirmDamage(store, [sha256]);
  return undefined;
}

async function checkedPack(store: DamageContext, id: string, reader: Reader): Promise<Uint32Array | Problem> {
  try {
    requireAllReadable(store.read, digestsOfPack(store.read, requirePack(store.read, id)), reader);
    return await packFileOf(store, id).check();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}
