import { lastEntry } from '../store/sqlite/ledger.ts';
import { openForReading, type ReadDatabase } from '../store/sqlite/open.ts';
import { readSetting } from '../store/sqlite/settings.ts';
import { CheckpointError, openCheckpoint } from './checkpoint.ts';
import { rootAt } from './tree.ts';

export interface CheckpointComparison {
  ok: boolean;
  /** What was found, for a person. */
  sentence: string;
}

/** Compares a ledger with a checkpoint that was kept earlier: its beginning must have the root that was signed then. */
export function compareCheckpoint(file: string, note: string): CheckpointComparison {
  const database = openForReading(file);
  try {
    return database.transaction(() => compare(database, note)).deferred();
  } catch (error) {
    if (error instanceof CheckpointError) return { ok: false, sentence: error.message };
    throw error;
  } finally {
    database.close();
  }
}

function compare(database: ReadDatabase, note: string): CheckpointComparison {
  const known = readSetting(database, 'verifier_key');
  const verifierKey = typeof known === 'string' ? known : '';
  const checkpoint = openCheckpoint(note, verifierKey);
  const size = lastEntry(database)?.seq ?? 0;
  if (checkpoint.size > size) {
    const sentence = `The checkpoint was signed over ${checkpoint.size} entries, and the ledger has ${size}: entries are missing.`;
    return { ok: false, sentence };
  }
  if (!rootAt(database, checkpoint.size).equals(checkpoint.root)) {
    const sentence = `The first ${checkpoint.size} entries are not those that the checkpoint was signed over: the ledger was rewritten.`;
    return { ok: false, sentence };
  }
  return {
    ok: true,
    sentence: `Nothing was rewritten since the checkpoint over ${checkpoint.size} entries.`,
  };
}
