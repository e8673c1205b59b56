import { useDebouncedValue } from '@mantine/hooks';
import { useCallback, useMemo, useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import { canonicalSha256 } from '../../hashing/sha256.ts';
import { type Draft, useDraft } from './draft.ts';
import { checkDraft, type Issue, issueAt } from './draftRecord.ts';
import type { DraftFile } from './files/draftFile.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { usePublication } from './publication.ts';

const SETTLED_MS = 200;

/** What must be changed before the draft can be published, and the fingerprint that it would have now. */
export function useCheckedDraft(draft: Draft, files: readonly DraftFile[]) {
  const [settled] = useDebouncedValue(
    useMemo(() => ({ draft, files }), [draft, files]),
    SETTLED_MS,
  );
  const checked = useMemo(() => checkDraft(settled.draft, settled.files), [settled]);
  const { record } = checked;
  const fingerprint = useMemo(() => record && canonicalSha256(record), [record]);
  const refusals = useRefusals();
  const issues = [...checked.issues, ...refusals.filter(isNew(checked.issues))];
  return { issues, fingerprint };
}

/** The node's field errors for the draft that it refused. They are cleared when the draft changes. */
function useRefusals(): Issue[] {
  const draft = useDraft((state) => state.draft);
  const files = useDraftFiles((state) => state.files);
  const publication = usePublication((state) => state.publication);
  if (publication.state !== 'failed' || publication.draft !== draft || publication.files !== files) return [];
  if (!(publication.error instanceof ApiProblem)) return [];
  return (publication.error.document.errors ?? []).flatMap((fault) => issueAt(fault, draft, files));
}

function isNew(known: readonly Issue[]): (issue: Issue) => boolean {
  return (issue) => !known.some(({ field, message }) => field === issue.field && message === issue.message);
}

/**
 * Shows a field's error after the field was left or publishing was tried, not while someone is still typing.
 */
export function useShownErrors(issues: readonly Issue[]) {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setIsAll] = useState(false);
  // Waits until validation has settled, so that an outdated error does not flash up and move what is about to
  // be clicked.
  const touch = useCallback((field: string) => {
    setTimeout(() => setTouched((before) => new Set(before).add(field)), SETTLED_MS + 100);
  }, []);
  const errorOf = (field: string) =>
    isAll || touched.has(field) ? issues.find((issue) => issue.field === field)?.message : undefined;
  return { errorOf, touch, showAll: () => setIsAll(true) };
}
