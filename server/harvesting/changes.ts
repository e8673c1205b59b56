import {
  type AddedPack,
  firstEntryFrom,
  lastChangeOf,
  packsAddedFrom,
  setFieldsOf,
} from '../store/sqlite/archive/harvest.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { entryAt } from '../store/sqlite/node/ledger.ts';
import { indexedPacks, type ListSelection, packSets } from './request.ts';

/** A pack in a list of OAI-PMH. */
export interface HarvestedPack {
  id: string;
  /** The second of the ledger entry that last changed the pack's metadata. */
  datestamp: string;
  sets: string[];
  /** The size of its record in bytes. */
  bytes: number;
  /** Its position in the order of changes. */
  entry: number;
  place: number;
}

/** The number of packs read at once. */
const BATCH = 200;

/**
 * Returns the packs of a selection in the order of their last changes. Each pack is listed only at its last change, so
 * one that changes during a harvest moves to a later page and is not missed.
 */
export function* changedPacks(database: ReadDatabase, selection: ListSelection): Generator<HarvestedPack> {
  const { from, until, set, position } = selection;
  const indexed = set === undefined ? undefined : indexedPacks(database, set);
  if (indexed?.packs === 0) return;
  const first = position?.entry ?? (from === undefined ? 1 : firstEntryFrom(database, startOf(from)));
  const end = until === undefined ? Number.POSITIVE_INFINITY : firstEntryFrom(database, endOf(until));
  for (let next = first; ; ) {
    const added = packsAddedFrom(database, next, BATCH, indexed);
    for (const pack of added) {
      if (pack.ledger_entry >= end) return;
      const start = pack.ledger_entry === position?.entry ? position.place : 0;
      for (const [place, id] of changedBy(pack).entries()) {
        if (place < start || lastChangeOf(database, id) !== pack.ledger_entry) continue;
        const { sets, bytes } = setsOf(database, id);
        if (set !== undefined && !sets.some((each) => each === set || each.startsWith(`${set}:`))) continue;
        yield {
          id,
          sets,
          bytes,
          datestamp: datestampAt(database, pack.ledger_entry),
          entry: pack.ledger_entry,
          place,
        };
      }
    }
    const last = added.at(-1);
    if (last === undefined || added.length < BATCH) return;
    next = last.ledger_entry + 1;
  }
}

/** Returns the header of one pack. */
export function harvestedPack(database: ReadDatabase, id: string): HarvestedPack | undefined {
  const entry = lastChangeOf(database, id);
  if (entry === undefined) return undefined;
  return { id, ...setsOf(database, id), datestamp: datestampAt(database, entry), entry, place: 0 };
}

/** Returns the earliest datestamp, now and in future; undefined if nothing is recorded. */
export function firstDatestamp(database: ReadDatabase): string | undefined {
  const first = entryAt(database, 1);
  return first && secondOf(first.at);
}

/** Returns the packs whose metadata changes when this pack is added, without duplicates. */
function changedBy({ id, supersedes, replicates }: AddedPack): string[] {
  return [...new Set([supersedes, replicates, id].filter((each) => each !== null))];
}

function setsOf(database: ReadDatabase, id: string): Pick<HarvestedPack, 'sets' | 'bytes'> {
  const fields = setFieldsOf(database, id);
  return { sets: fields ? packSets(fields) : [], bytes: fields?.bytes ?? 0 };
}

function datestampAt(database: ReadDatabase, entry: number): string {
  return secondOf(entryAt(database, entry)?.at ?? '');
}

/** Returns the second of an instant. */
export function secondOf(instant: string): string {
  return `${instant.slice(0, 19)}Z`;
}

function startOf(second: string): string {
  return second.replace('Z', '.000Z');
}

/** Returns the first instant after a second. */
function endOf(second: string): string {
  return new Date(Date.parse(second) + 1_000).toISOString();
}
