import { createHash } from 'node:crypto';
import { DUMP_FORMAT } from '../../shared/ledger/dump.ts';
import { type Clock, instantOf } from '../../shared/values/clock.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { rootAt } from '../ledger/tree.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import { DUMP_KINDS, iterateDumpLines } from '../store/sqlite/node/dump.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';

/**
 * Lines are yielded in pieces of about this many characters, so that the event loop is free between two. Longer strings
 * would stay in memory until the next full garbage collection, and memory would grow with the archive.
 */
const PIECE_LENGTH = 16_384;

/**
 * Yields a dump: everything in the archive except the bytes of the blobs, as JSON Lines. A header, one line per record,
 * and a trailer with the SHA-256 of all bytes before it. The dump is one snapshot, read on its own connection, which is
 * closed when the iteration ends. Each piece is made when it is requested, so memory stays flat.
 */
export async function* writeDump({ folder, clock }: Store, checkpoints: Checkpoints): AsyncGenerator<string> {
  const database = await openSnapshot(databaseFile(folder), { isMapped: false });
  try {
    yield* dumpOf(database, await dumpHeader(database, clock, checkpoints));
  } finally {
    database.close();
  }
}

/** Returns the first line of a dump, with a signed checkpoint. @throws what `Checkpoints.sign` throws */
export async function dumpHeader(
  database: ReadDatabase,
  clock: Clock,
  checkpoints: Checkpoints,
): Promise<string> {
  const { name: node, verifierKey: key } = checkpoints.key;
  const size = lastEntry(database)?.seq ?? 0;
  const checkpoint = await checkpoints.sign({ size, root: rootAt(database, size) });
  const made_at = instantOf(clock.now());
  return JSON.stringify({ kind: 'header', format: DUMP_FORMAT, node, key, made_at, checkpoint });
}

/** Yields a dump of the connection's open transaction, which must be a snapshot. */
export function* dumpOf(database: ReadDatabase, header: string): Generator<string> {
  const sha256 = createHash('sha256');
  const hashed = (text: string) => {
    sha256.update(text);
    return text;
  };
  yield hashed(`${header}\n`);
  const counts: Record<string, number> = {};
  for (const kind of DUMP_KINDS) {
    let count = 0;
    let piece = '';
    for (const line of iterateDumpLines(database, kind)) {
      count += 1;
      piece += `${line}\n`;
      if (piece.length < PIECE_LENGTH) continue;
      yield hashed(piece);
      piece = '';
    }
    if (piece) yield hashed(piece);
    counts[kind] = count;
  }
  yield `${JSON.stringify({ kind: 'trailer', counts, sha256: sha256.digest('hex') })}\n`;
}
