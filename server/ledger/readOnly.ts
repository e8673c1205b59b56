import { Problem } from '../../shared/problems.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { deleteSetting, readSetting, writeSetting } from '../store/sqlite/node/settings.ts';

/** The setting that marks an archive which was restored from a copy and has no key yet. */
const READ_ONLY = 'restored_read_only';

/** Returns whether the archive was restored from a copy and its owner has not yet chosen a key. */
export function isReadOnly(database: ReadDatabase): boolean {
  return readSetting(database, READ_ONLY) === true;
}

/** Makes an archive read-only until its owner chooses a key. */
export function markReadOnly(database: WriteDatabase): void {
  writeSetting(database, READ_ONLY, true);
}

/** Makes an archive writable again. */
export function endReadOnly(database: WriteDatabase): void {
  deleteSetting(database, READ_ONLY);
}

export function archiveReadOnly(): Problem {
  return new Problem(
    'archive_read_only',
    'This archive was restored from a copy and is read-only. Stop the node and run “strongroom key --renew”, or “strongroom key --same-key” if you have put its key file back.',
  );
}
