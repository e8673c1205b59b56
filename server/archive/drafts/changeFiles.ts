import type { DraftFilesChange } from '../../../shared/archive/draft.ts';
import { deleteDraftFile, draftFiles, putDraftFile } from '../../store/sqlite/archive/drafts.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { FileFaults } from '../packs/fileFaults.ts';
import { changedMeanwhile } from './draftRules.ts';

/** Checks that the contents of reused files are in the archive or in the draft. @throws Problem `unknown_blob` */
export function requireArchived(
  database: ReadDatabase,
  added: DraftFilesChange['add'],
  kept: ReadonlyMap<string, number>,
): void {
  const faults = new FileFaults();
  for (const [index, { path, sha256, bytes }] of added.entries()) {
    if (kept.get(sha256) === bytes || blobBytes(database, sha256) === bytes) continue;
    faults.add('unknown_blob', path, {
      path: `/add/${index}/sha256`,
      message: `${path}: the archive does not have ${sha256} with ${bytes} bytes. Send the file itself.`,
    });
  }
  faults.throwIfAny();
}

/**
 * Changes the list of files. Paths that the draft does not have are skipped.
 *
 * @throws Problem `draft_changed` if a rename would replace another file
 */
export function applyFilesChange(
  database: WriteDatabase,
  draft: string,
  { remove, rename, add }: DraftFilesChange,
): void {
  for (const path of remove) deleteDraftFile(database, draft, path);
  const files = new Map(draftFiles(database, draft).map((file) => [file.path, file]));
  const moved = rename.flatMap(({ from, to }) => {
    const file = files.get(from);
    return file ? [{ from, file: { ...file, path: to } }] : [];
  });
  const leaving = new Set(moved.map(({ from }) => from));
  const paths = new Set([...files.keys()].filter((path) => !leaving.has(path)));
  for (const { file } of moved) {
    if (paths.has(file.path)) throw changedMeanwhile(`The draft has another file at ${file.path}.`);
    paths.add(file.path);
  }
  // All are taken away first, so that two files can swap their paths.
  for (const { from } of moved) deleteDraftFile(database, draft, from);
  for (const { file } of moved) putDraftFile(database, draft, file);
  for (const file of add) putDraftFile(database, draft, file);
}
