import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type Clock, instantOf } from '../../shared/values/clock.ts';
import { errorCode } from '../../shared/values/errorCode.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { rootAt } from '../ledger/tree.ts';
import { databaseFile } from '../store/files.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { replayWithholdings } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import { checkDump, type DumpHead, type DumpLine } from './checkDump.ts';
import { DumpError, dumpStatement, READ_SIZE } from './dumpFile.ts';
import { DUMP_FORMAT, DUMP_KINDS, dumpLines } from './kinds/kinds.ts';

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
  const database = await openSnapshot(databaseFile(folder));
  try {
    yield* dumpOf(database, await dumpHeader(database, clock, checkpoints), checkpoints);
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

/**
 * Yields a dump of the connection's open transaction, which must be a snapshot. Its trailer is signed, unless the archive
 * has no private key: no entry of the ledger covers the sources, the rounds and the cases.
 */
export function* dumpOf(
  database: ReadDatabase,
  header: string,
  checkpoints: Pick<Checkpoints, 'key' | 'signNote'>,
): Generator<string> {
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
    for (const line of dumpLines(database, kind)) {
      count += 1;
      piece += `${line}\n`;
      if (piece.length < PIECE_LENGTH) continue;
      yield hashed(piece);
      piece = '';
    }
    if (piece) yield hashed(piece);
    counts[kind] = count;
  }
  const digest = sha256.digest('hex');
  const signed = checkpoints.signNote(dumpStatement(checkpoints.key.name, { sha256: digest, counts }));
  const trailer = { kind: 'trailer', counts, sha256: digest, ...(signed !== null && { signed }) };
  yield `${JSON.stringify(trailer)}\n`;
}

/** The most lines in one transaction, and their most bytes. The record of a pack alone may have megabytes. */
const BATCH = { lines: 2_000, bytes: 8_388_608 };

/**
 * Restores a dump into an empty archive, writing each line after it was checked. If this throws, the archive is
 * incomplete and the caller must remove the folder.
 *
 * @param dump a file, or its bytes
 * @throws DumpError
 */
export async function restoreDump(
  store: Store,
  dump: string | AsyncIterable<Uint8Array>,
  { lines, bytes } = BATCH,
): Promise<DumpHead> {
  if (lastEntry(store.read))
    throw new DumpError('This archive is not empty. A dump can only be restored into an empty archive.');
  let batch: DumpLine[] = [];
  let held = 0;
  const write = async () => {
    const written = batch;
    [batch, held] = [[], 0];
    await store.write((database) => {
      for (const line of written) restoreLine(database, line);
    });
  };
  const chunks = typeof dump === 'string' ? createReadStream(dump, { highWaterMark: READ_SIZE }) : dump;
  const checked = checkDump(chunks);
  let step = await checked.next();
  for (; !step.done; step = await checked.next()) {
    batch.push(step.value);
    held += step.value.bytes;
    if (batch.length >= lines || held >= bytes) await write();
  }
  await write();
  await store.writeInSteps(replayWithholdings);
  const head = step.value;
  const { checkpoint } = head;
  if (!rootAt(store.read, checkpoint.size).equals(checkpoint.root))
    throw new DumpError('The entries that were written are not those that the checkpoint was signed over.');
  return head;
}

function restoreLine(database: WriteDatabase, { restore, number }: DumpLine): void {
  try {
    restore(database);
  } catch (error) {
    // The constraints of the tables catch what the checks do not.
    if (error instanceof Error && errorCode(error)?.startsWith('SQLITE_CONSTRAINT'))
      throw new DumpError(`it contradicts earlier lines (${error.message}).`, number);
    throw error;
  }
}
