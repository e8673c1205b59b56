import type { LedgerProblem } from '../../../shared/ledger/ledger.ts';
import { UnknownAlgorithmError } from '../../../shared/proof/algorithms.ts';
import { TimestampError, verifyTimestamp } from '../../../shared/proof/timestamp.ts';
import { countOf } from '../../../shared/values/counts.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { iterateTimestamps, lastEntry, type StoredTimestamp } from '../../store/sqlite/node/ledger.ts';
import { nodeCrypto } from '../nodeCrypto.ts';
import { rootAt } from '../tree.ts';

/** Verifies every stored timestamp against its text and the ledger. Yields a problem for each that does not hold. */
export function* verifyTimestamps(database: ReadDatabase): Generator<LedgerProblem> {
  const newest = lastEntry(database)?.seq ?? 0;
  for (const timestamp of iterateTimestamps(database)) {
    const { size, id } = timestamp;
    const root = size <= newest ? rootAt(database, size) : undefined;
    const actual = describeFault(timestamp, root);
    const expected = root?.toString('hex') ?? null;
    if (actual !== undefined)
      yield { seq: size, problem: 'wrong_timestamp', subject: `timestamp ${id}`, expected, actual };
  }
}

/** Returns why a timestamp does not hold, as a sentence; undefined if it holds. */
function describeFault(timestamp: StoredTimestamp, root: Buffer | undefined): string | undefined {
  const { text, reply, size, at, serial } = timestamp;
  if (!root) return `It covers ${countOf(size, 'entry', 'entries')}, and the ledger has fewer.`;
  const [, statedSize, statedRoot] = text.split('\n');
  if (
    statedSize !== String(size) ||
    statedRoot !== root.toString('base64') ||
    timestamp.root !== root.toString('hex')
  )
    return 'It covers entries other than those in the ledger.';
  try {
    const verified = verifyTimestamp(reply, Buffer.from(text), nodeCrypto);
    return verified.at === Date.parse(at) && verified.serial === serial
      ? undefined
      : 'Its time or number was changed.';
  } catch (error) {
    if (error instanceof TimestampError || error instanceof UnknownAlgorithmError) return error.message;
    throw error;
  }
}
