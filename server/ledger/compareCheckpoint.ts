import {
  type KeyChange,
  NO_HASH,
  parseSavedHead,
  type SavedHead,
  withPlainLineEnds,
} from '../../shared/ledger/ledger.ts';
import { countOf } from '../../shared/values/counts.ts';
import { openForReading, type ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { entryAt, lastEntry } from '../store/sqlite/node/ledger.ts';
import { readSetting } from '../store/sqlite/node/owner.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from './checkpoint.ts';
import { keysOf } from './detectRollback.ts';
import { readKeyChanges } from './keyChanges.ts';
import { rootAt } from './tree.ts';

export interface CheckpointComparison {
  ok: boolean;
  /** The result in plain English. */
  sentence: string;
  /** The verifier key that signed the checkpoint, if it is one of this ledger's keys. Null for an unsigned head. */
  key: string | null;
}

/**
 * Compares a ledger with an earlier checkpoint: its first entries must have the signed root. The checkpoint may be
 * signed by the node's current key or by an earlier one that is recorded in the ledger. The unsigned heads that the
 * interface once saved are accepted too.
 */
export function compareCheckpoint(file: string, saved: string): CheckpointComparison {
  const head = parseSavedHead(saved);
  const database = openForReading(file);
  try {
    return onSnapshot(database, () =>
      head ? compareHead(database, head) : compare(database, withPlainLineEnds(saved)),
    );
  } catch (error) {
    if (error instanceof CheckpointError) return { ok: false, sentence: error.message, key: null };
    throw error;
  } finally {
    database.close();
  }
}

function compare(database: ReadDatabase, note: string): CheckpointComparison {
  const known = readSetting(database, 'verifier_key');
  const changes = readKeyChanges(database);
  const { checkpoint, key } = openByAny(note, keysOf(typeof known === 'string' ? known : '', changes));
  const by = key === known ? '' : ` It was signed by the key ${key}, ${describeReplacement(key, changes)}.`;
  const size = lastEntry(database)?.seq ?? 0;
  if (checkpoint.size > size) {
    const sentence = `The checkpoint was signed over ${countOf(checkpoint.size, 'entry', 'entries')}, and the ledger has ${size}: entries are missing.`;
    return { ok: false, sentence: sentence + by, key };
  }
  if (!rootAt(database, checkpoint.size).equals(checkpoint.root)) {
    const sentence = `The first ${countOf(checkpoint.size, 'entry is not the one', 'entries are not those')} that the checkpoint was signed over: the ledger was rewritten.`;
    return { ok: false, sentence: sentence + by, key };
  }
  const sentence = `Nothing was rewritten since the checkpoint over ${countOf(checkpoint.size, 'entry', 'entries')}.`;
  return { ok: true, sentence: sentence + by, key };
}

function compareHead(database: ReadDatabase, { seq, hash, root }: SavedHead): CheckpointComparison {
  const size = lastEntry(database)?.seq ?? 0;
  if (seq > size) {
    const sentence = `The file was saved with ${countOf(seq, 'entry', 'entries')}, and the ledger has ${size}: entries are missing.`;
    return { ok: false, sentence, key: null };
  }
  const last = seq === 0 ? NO_HASH : entryAt(database, seq)?.hash;
  if (last !== hash || rootAt(database, seq).toString('hex') !== root) {
    const sentence = `The first ${seq} entries are not those of the saved file: the ledger was rewritten.`;
    return { ok: false, sentence, key: null };
  }
  const sentence = `Nothing was rewritten since the file was saved with ${countOf(seq, 'entry', 'entries')}. It is in an older format without a signature. Save a checkpoint now.`;
  return { ok: true, sentence, key: null };
}

/** @throws CheckpointError the error for the first key, if none of the keys has signed it */
function openByAny(note: string, keys: readonly string[]): { checkpoint: Checkpoint; key: string } {
  let refusal: CheckpointError | undefined;
  for (const key of keys) {
    try {
      return { checkpoint: openCheckpoint(note, key), key };
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new CheckpointError('This archive has no key yet, so it has signed no checkpoint.');
}

function describeReplacement(key: string, changes: readonly KeyChange[]): string {
  const end = changes.find(({ old_key }) => old_key === key);
  if (end?.type !== 'ledger.rolled_back') return `which entry ${end?.ledger_entry} replaced`;
  const { from, to, ledger_entry } = end;
  return `which entry ${ledger_entry} replaced when the ledger was rolled back from entry ${from.seq ?? 'unknown'} to entry ${to.seq}`;
}
