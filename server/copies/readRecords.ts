import { dumpHeader } from '../dump/writeDump.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { recordLines, stateLines } from './recordLines.ts';
import type { CopyServices } from './requireOwn.ts';

/** A file of records as a copy holds it, and the objects that its records name. */
export interface CopiedRecords {
  bytes: Buffer;
  objects: string[];
}

/** What can change, as it was with the newest entry of that moment. */
export interface CopiedState {
  size: number;
  /** The signed checkpoint. */
  note: string;
  bytes: Buffer;
}

/** Makes the file of records of the entries `first` to `last`. */
export async function readRecords(
  { read }: Pick<Store, 'read'>,
  { first, last }: { first: number; last: number },
): Promise<CopiedRecords> {
  const lines: string[] = [];
  const objects = new Set<string>();
  for (const { line, objects: named } of recordLines(read, first, last)) {
    lines.push(`${line}\n`);
    for (const sha256 of named) objects.add(sha256);
    await turnAfter(lines.length);
  }
  return { bytes: Buffer.from(lines.join('')), objects: [...objects] };
}

/** Reads what can change, and signs the checkpoint, from one snapshot. @throws the errors of `Checkpoints.sign` */
export async function readState({ store, checkpoints }: CopyServices): Promise<CopiedState> {
  const snapshot = await openSnapshot(databaseFile(store.folder), { isMapped: false });
  try {
    const size = lastEntry(snapshot)?.seq ?? 0;
    const header = await dumpHeader(snapshot, store.clock, checkpoints);
    const { checkpoint: note } = JSON.parse(header) as { checkpoint: string };
    const lines = [header];
    for (const line of stateLines(snapshot)) {
      lines.push(line);
      await turnAfter(lines.length);
    }
    snapshot.exec('COMMIT');
    return { size, note, bytes: Buffer.from(`${lines.join('\n')}\n`) };
  } finally {
    snapshot.close();
  }
}

/** After this many lines other work gets its turn. */
const LINES_PER_TURN = 500;

async function turnAfter(lines: number): Promise<void> {
  if (lines % LINES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
}
