import { useDebouncedValue } from '@mantine/hooks';
import {
  type ChangeEvent,
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
} from 'react';
import { GIGABYTE } from '../../../../shared/limits.ts';
import { ApiProblem } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { canonicalSha256 } from '../../hashing/sha256.ts';
import { useIsOwner } from '../../state/session.ts';
import type { Draft } from './draft.ts';
import { checkDraft, fieldId, type Issue, isSet, issueAt } from './draftRecord.ts';
import { draftSession } from './draftSession.ts';
import { restoreFiles, useDraft } from './draftStore.ts';
import type { DraftFile } from './files/draftFile.ts';

/** The state shared by all parts of the form: the draft, how to change it, and its errors. */
export interface PackFormState {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  /** A field's error, if it may be shown: after the field was left or publishing was tried. */
  errorOf: (field: string) => string | undefined;
  touch: (field: string) => void;
}

export const PackFormContext = createContext<PackFormState | undefined>(undefined);

export function usePackForm(): PackFormState {
  const assembly = useContext(PackFormContext);
  if (!assembly) throw new Error('usePackForm must be used inside the pack form.');
  return assembly;
}

/**
 * Returns the props of an input by the name of its field in a part of the draft: the id to jump to, the error and the
 * value. `place` is where the part is in the record.
 */
export function useInputs<Part>(
  part: Part,
  change: (changes: Partial<Part>) => void,
  ...place: (string | number)[]
) {
  const { errorOf, touch } = usePackForm();
  const set = (name: keyof Part, value: unknown) => change({ [name]: value } as Partial<Part>);
  const shown = <Name extends keyof Part & string>(name: Name) => {
    const id = fieldId(...place, name);
    return { id, error: errorOf(id), onBlur: () => touch(id), value: part[name] };
  };
  return {
    text: <Name extends keyof Part & string>(name: Name) => ({
      ...shown(name),
      onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
        set(name, event.currentTarget.value),
    }),
    /** For an input that gives the value itself. */
    value: <Name extends keyof Part & string>(name: Name) => ({
      ...shown(name),
      onChange: (value: Part[Name]) => set(name, value),
    }),
  };
}

/** The inputs of a replication, which are in two sections. */
export function useReplicationInputs(replicates: NonNullable<Draft['replicates']>) {
  const { change } = usePackForm();
  const set = (changes: Partial<typeof replicates>) => change({ replicates: { ...replicates, ...changes } });
  return useInputs(replicates, set, 'replicates');
}

/** Scrolls to and focuses the field of an issue, or the section that contains it. */
export function jumpToField(field: string): void {
  for (let id = field; id.includes('/'); id = id.slice(0, id.lastIndexOf('/'))) {
    const element = document.getElementById(id);
    if (!element) continue;
    const reduced = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    element.scrollIntoView({ block: 'center', behavior: reduced ? 'auto' : 'smooth' });
    element.focus({ preventScroll: true });
    return;
  }
}

const SETTLED_MS = 200;

/** The largest size of a set, in bytes: the owner's setting. 0 for visitors, who can publish no sets, and until it is known. */
export function useSetBytes(): number {
  const isOwner = useIsOwner();
  const settings = useCall('readSettings', {}, { enabled: isOwner });
  return isOwner ? (settings.data?.max_set_gb ?? 0) * GIGABYTE : 0;
}

/**
 * What must be changed before the draft can be published, and the fingerprint that it would have now. That of a set is
 * known when it is published.
 */
export function useCheckedDraft(draft: Draft, files: readonly DraftFile[], setBytes: number) {
  const [settled] = useDebouncedValue(
    useMemo(() => ({ draft, files }), [draft, files]),
    SETTLED_MS,
  );
  const checked = useMemo(() => checkDraft(settled.draft, settled.files, setBytes), [settled, setBytes]);
  const { record } = checked;
  const fingerprint = useMemo(
    () => (record && !isSet(settled.files, setBytes) ? canonicalSha256(record) : undefined),
    [record, settled, setBytes],
  );
  const refusals = useRefusals();
  const issues = [...checked.issues, ...refusals.filter(isNew(checked.issues))];
  return { issues, fingerprint };
}

/** The node's field errors for the draft that it refused. They are cleared when the draft changes. */
function useRefusals(): Issue[] {
  const { draft, files, publication } = useDraft();
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

/** Opens the owner's draft of the node, or a visitor's draft of this browser. */
export function useOpenDraft(): void {
  const isOwner = useIsOwner();
  useEffect(() => {
    if (isOwner) return void draftSession.start();
    draftSession.stop();
    void restoreFiles();
  }, [isOwner]);
}

/**
 * Whether the draft is shown that this person had last. Before that, a draft that is started would be lost, and one that
 * is published would not be the one that was seen.
 */
export function useIsDraftOpen(): boolean {
  const isOwner = useIsOwner();
  const isRestored = useDraft((state) => state.isRestored);
  const state = useDraft(({ saving }) => saving.state);
  return isOwner ? !['local', 'opening', 'openFailed'].includes(state) : isRestored;
}
