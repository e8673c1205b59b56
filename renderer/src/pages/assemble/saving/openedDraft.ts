import type { StoredDraft, StoredDraftFile } from '../../../../../shared/archive/draft.ts';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { completeDraft, type Draft } from '../draft.ts';
import type { DraftFile } from '../files/draftFile.ts';
import { savedFileOf } from '../files/draftFileList.ts';
import { draftOfRecord } from '../packToDraft.ts';

/** The form of a draft of the node: as it was typed or, for a draft made by a program, from its record. */
export function draftOf({ form, record }: StoredDraft): Draft {
  if (form !== null) {
    const { writer: _, ...draft } = form;
    return completeDraft(draft as Partial<Draft>);
  }
  return draftOfRecord({ ...EMPTY_RECORD, ...(record as Partial<Pack>) });
}

const EMPTY_RECORD = {
  title: '',
  summary: '',
  authors: [],
  method: null,
  results: {},
  keywords: [],
  node: null,
  study: null,
  replicates: null,
  supersedes: null,
  related: [],
};

/**
 * The files of a draft of the node, with those of this browser that it does not have yet. A file that the node lost is
 * uploaded again if this browser still has it.
 */
export function filesOf(stored: StoredDraft, local: readonly DraftFile[]): DraftFile[] {
  const pending = local.filter(({ savedPath, file, isStored }) => !savedPath && (file || isStored));
  const bySavedPath = new Map(local.map((file) => [file.savedPath, file]));
  const replaced = new Set(pending.map(({ path }) => path));
  const saved = stored.files
    .filter(({ path }) => !replaced.has(path))
    .map((file) => mergedFile(file, bySavedPath.get(file.path)));
  return [...saved, ...pending];
}

function mergedFile(stored: StoredDraftFile, local: DraftFile | undefined): DraftFile {
  const file = savedFileOf(stored);
  if (!local || local.sha256 !== stored.sha256) return file;
  const isLost = stored.contents === 'missing' && local.file !== undefined;
  return {
    ...file,
    id: local.id,
    path: local.path,
    ...(isLost ? { file: local.file, savedPath: undefined } : {}),
  };
}
