import { databaseFile } from '../blobs/paths.ts';
import { Checkpointer } from '../sqlite/engine/checkpointer.ts';
import { DurableCommit } from '../sqlite/engine/durableCommit.ts';
import type { ReadDatabase, WriteDatabase } from '../sqlite/engine/open.ts';
import type { WriteAheadLog } from '../sqlite/engine/writeAheadLog.ts';
import { Writer } from '../sqlite/engine/writer.ts';
import type { HeadFile } from './headFile.ts';
import { headOf } from './openHead.ts';
import type { Reserve } from './reserve.ts';
import type { Warn } from './warn.ts';

interface Connections {
  folder: string;
  database: WriteDatabase;
  read: ReadDatabase;
  log: WriteAheadLog;
}

/** Opens the writer, and the checkpoints that follow its commits. */
export function openWriter(
  { folder, database, read, log }: Connections,
  { reserve, head, warn }: { reserve: Reserve; head: HeadFile | undefined; warn: Warn },
) {
  const checkpointer = new Checkpointer(databaseFile(folder), (error) =>
    warn({ error }, 'The write-ahead log could not be checkpointed.'),
  );
  const writer = new Writer(database, new DurableCommit(database, read, log), {
    whenReady: () => checkpointer.whenReady(),
    refusal: reserve.refusal,
    onDurable: () => head?.record(headOf(database)),
    warn: (error, message) => warn({ error }, message),
  });
  writer.onCommit(checkpointer.committed);
  return { writer, checkpointer };
}
