import type { DraftSummary } from '../../../shared/archive/draft.ts';
import { MAX_ALL_DRAFTS_BYTES, MAX_DRAFT_BYTES, MAX_DRAFTS, MAX_PACK_FILES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import {
  type DraftListRow,
  type DraftRow,
  draftById,
  draftListRow,
  draftTotals,
} from '../../store/sqlite/archive/drafts.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';

export function asSummary({ files, bytes, ...row }: DraftListRow): DraftSummary {
  return { ...row, counts: { files, bytes } };
}

/** @throws Problem `not_found` */
export function requireDraft(database: ReadDatabase, id: string): DraftRow {
  return draftById(database, id) ?? unknownDraft(id);
}

/** @throws Problem `not_found` */
export function requireListRow(database: ReadDatabase, id: string): DraftListRow {
  return draftListRow(database, id) ?? unknownDraft(id);
}

/** @throws Problem `not_found`, `draft_published` */
export function requireOpen(database: ReadDatabase, id: string): DraftRow {
  const draft = requireDraft(database, id);
  if (draft.pack === null) return draft;
  throw new Problem(
    'draft_published',
    `This draft is published as ${draft.pack}. Make a new version instead.`,
    {
      members: { pack: draft.pack },
    },
  );
}

/** Checks the limits of drafts, in the transaction of a change. @throws Problem `pack_too_large`, `drafts_full` */
export function requireRoom(database: ReadDatabase, id: string): void {
  const { files, bytes } = requireListRow(database, id);
  if (files > MAX_PACK_FILES)
    throw new Problem('pack_too_large', `A pack can have at most ${MAX_PACK_FILES} files.`);
  if (bytes > MAX_DRAFT_BYTES)
    throw new Problem('pack_too_large', `The files of a draft can have at most ${MAX_DRAFT_BYTES} bytes.`);
  if (draftTotals(database).bytes > MAX_ALL_DRAFTS_BYTES) throw draftsFull();
}

export function draftsFull(): Problem {
  return new Problem(
    'drafts_full',
    `There can be ${MAX_DRAFTS} drafts with ${MAX_ALL_DRAFTS_BYTES} bytes. Publish or delete some.`,
  );
}

export function changedMeanwhile(reason = 'The draft was changed in another window.'): Problem {
  return new Problem('draft_changed', `${reason} Read it again.`);
}

function unknownDraft(id: string): never {
  throw new Problem('not_found', `There is no draft ${id}.`);
}
