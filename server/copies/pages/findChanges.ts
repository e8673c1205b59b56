import type { LedgerEntry } from '../../../shared/ledger/ledger.ts';
import { commentById } from '../../archive/comments.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { handInById } from '../../store/sqlite/collection/handIns.ts';
import { pageById } from '../../store/sqlite/collection/pages.ts';
import { sourceById, sourceKeyOf } from '../../store/sqlite/collection/sources.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { sourcesOfPagesWith } from '../../store/sqlite/node/copies.ts';
import {
  changedByPack,
  eventsNaming,
  lastEventOfLedger,
  newEvents,
  packsNaming,
  packsTakenBy,
  sourceOfLedger,
} from '../../store/sqlite/node/copyPages.ts';
import { mayBeCoveredBy } from '../../store/sqlite/node/covered.ts';
import { entriesFrom } from '../../store/sqlite/node/ledger.ts';
import { withholdingOfEntry } from '../../store/sqlite/node/withheld.ts';

/** Two sizes of the ledger: what the pages of a copy show, and what they are to show. */
interface Growth {
  from: number;
  to: number;
}

/** What the entries between two sizes of the ledger change. Grows with the items of an archive, not with its events. */
export interface Changes {
  packs: Set<string>;
  studies: Set<string>;
  /** Studies whose status changed, which the lists show. */
  statuses: Set<string>;
  /** The ledger entry of the oldest pack that became a part of a set, which moves all later ones in the lists. */
  firstTaken: number;
  /** Studies that such packs were in. */
  takenFrom: Set<string>;
  /** Keys of sources. */
  sources: Set<number>;
  /** Keys of sources whose entries in the lists change. */
  relisted: Set<number>;
  /** Keys of sources that have another name or agency, which all their events show. */
  renamed: Set<number>;
  /** For each month with new events, and each source, the instant of the first. */
  months: Map<string, string>;
  sourceEvents: Map<number, string>;
  /** The new events: those after `first` up to `last`. */
  events: { after: number; last: number };
  /** Whether another key signs the checkpoints. */
  hasOtherKey: boolean;
  /** Older events whose object was damaged, restored, withheld, shown again or released. */
  otherEvents: Set<number>;
}

const BATCH = 1_000;

/**
 * Reads which pages the ledger entries after `from` up to `to` change.
 *
 * @param hidden objects of which pages may show something that they no longer may, whatever the entries say
 */
export async function findChanges(
  database: ReadDatabase,
  growth: Growth,
  hidden: AsyncIterable<readonly string[]>,
): Promise<Changes> {
  const events = {
    after: lastEventOfLedger(database, growth.from),
    last: lastEventOfLedger(database, growth.to),
  };
  const changes: Changes = {
    packs: new Set(),
    studies: new Set(),
    statuses: new Set(),
    firstTaken: Number.POSITIVE_INFINITY,
    takenFrom: new Set(),
    sources: new Set(),
    relisted: new Set(),
    renamed: new Set(),
    months: new Map(),
    sourceEvents: new Map(),
    events,
    hasOtherKey: false,
    otherEvents: new Set(),
  };
  for (let next = growth.from + 1; next <= growth.to; next += BATCH) {
    for (const entry of entriesFrom(database, next, Math.min(BATCH, growth.to - next + 1)))
      CHANGED_BY[entry.type]?.(database, entry, changes, growth);
    await yieldToEventLoop();
  }
  for await (const digests of hidden)
    for (const sha256 of digests) markDigest(database, sha256, changes, growth);
  for (let after = events.after; after < events.last; after += BATCH) {
    for (const { source_key, observed_at } of newEvents(database, { ...events, after, limit: BATCH })) {
      changes.sources.add(source_key);
      keepFirst(changes.months, observed_at.slice(0, 7), observed_at);
      keepFirst(changes.sourceEvents, source_key, observed_at);
    }
    await yieldToEventLoop();
  }
  return changes;
}

function keepFirst<Key>(firsts: Map<Key, string>, key: Key, at: string): void {
  const first = firsts.get(key);
  if (first === undefined || at < first) firsts.set(key, at);
}

type Mark = (database: ReadDatabase, entry: LedgerEntry, changes: Changes, growth: Growth) => void;

/** What each type of entry changes. The events themselves are read by their numbers. */
const CHANGED_BY: Partial<Record<LedgerEntry['type'], Mark>> = {
  'pack.added': (database, { seq, subject }, changes) => {
    const { packs, studies, takenFrom } = changes;
    packs.add(subject);
    for (const { ledger_entry, study } of packsTakenBy(database, seq)) {
      changes.firstTaken = Math.min(changes.firstTaken, ledger_entry);
      if (study === null) continue;
      studies.add(study);
      takenFrom.add(study);
    }
    const { study, replicates, supersedes } = changedByPack(database, subject) ?? {};
    if (study) studies.add(study);
    for (const other of [replicates, supersedes]) if (other) packs.add(other);
  },
  'pack.flagged': (_database, { subject }, { packs }) => void packs.add(subject),
  'pack.deposited': (_database, { subject }, { packs }) => void packs.add(subject),
  'comment.added': (database, { subject }, { packs, studies }) => {
    const item = commentById(database, subject)?.item;
    if (item) (item.startsWith('st_') ? studies : packs).add(item);
  },
  'study.created': (_database, { subject }, { studies }) => void studies.add(subject),
  'study.status': (_database, { subject }, { studies, statuses }) => {
    studies.add(subject);
    statuses.add(subject);
  },
  'page.captured': (database, { subject }, { sources }) => {
    const key = sourceKeyOf(database, pageById(database, subject)?.source ?? '');
    if (key !== undefined) sources.add(key);
  },
  'page.handed_in': (database, { subject }, { sources }) => {
    const key = sourceKeyOf(database, handInById(database, subject)?.source ?? '');
    if (key !== undefined) sources.add(key);
  },
  'source.added': markSource,
  'source.changed': markSource,
  'key.renewed': markKey,
  'ledger.rolled_back': markKey,
  'object.damaged': markObject,
  'object.restored': markObject,
  'object.released': markObject,
  'object.withheld': markWithheld,
  'object.shown': markWithheld,
};

function markSource(
  database: ReadDatabase,
  { subject, seq }: LedgerEntry,
  { sources, relisted, renamed }: Changes,
  { from }: Growth,
): void {
  const key = sourceById(database, subject)?.key;
  if (key === undefined) return;
  sources.add(key);
  const before = sourceOfLedger(database, key, from);
  const now = sourceOfLedger(database, key, seq);
  if (!before || !now) return;
  relisted.add(key);
  if (before.name !== now.name || before.agency !== now.agency) renamed.add(key);
}

function markKey(_database: ReadDatabase, _entry: LedgerEntry, changes: Changes): void {
  changes.hasOtherKey = true;
}

/** Pages say whether the copy holds an object. */
function markObject(
  database: ReadDatabase,
  { subject }: LedgerEntry,
  changes: Changes,
  growth: Growth,
): void {
  markDigest(database, subject, changes, growth);
}

/** Pages show what is not withheld. */
function markWithheld(database: ReadDatabase, { seq }: LedgerEntry, changes: Changes, growth: Growth): void {
  const withholding = withholdingOfEntry(database, { entry: seq });
  if (!withholding) return;
  for (const sha256 of mayBeCoveredBy(database, withholding)) markDigest(database, sha256, changes, growth);
}

function markDigest(
  database: ReadDatabase,
  sha256: string,
  { packs, sources, otherEvents, events }: Changes,
  { to }: Growth,
): void {
  for (const id of packsNaming(database, { sha256, size: to })) packs.add(id);
  for (const id of eventsNaming(database, sha256, events.last)) if (id <= events.after) otherEvents.add(id);
  for (const key of sourcesOfPagesWith(database, sha256)) sources.add(key);
}
