import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import type { NewSource } from '../../../../../shared/collection/source.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { useCollectionRun } from '../collectionRun.ts';
import { useNewSourceDraft } from './newSourceDraft.ts';
import { hasScheme, previewAddress } from './previewAddress.ts';
import { looksPrivate } from './privateUrl.ts';
import { type DraftErrors, errorsOf, newSourceOf } from './sourceForm.ts';

/** The form for a new source: its fields, the test fetch, and the addition. */
export function useAddSource(onClose: () => void) {
  const { draft, change } = useNewSourceDraft();
  const [errors, setErrors] = useState<DraftErrors>({});
  const showError = (error: unknown) => setErrors(errorsOf(error));
  const test = useTestFetch(showError);
  const add = useAddition(onClose, showError);
  const url = draft.url.trim();
  const tested = test.data?.url === url ? test.data : undefined;
  const isWatched = Boolean(tested?.preview.watched_as);
  const isPrivate = tested?.preview.private_address ?? looksPrivate(withScheme(url));
  const isRefused = isPrivate && !draft.allow_private;

  const runTest = () => {
    const parsed = newSourceOf({ ...draft, url: withScheme(url) });
    if ('errors' in parsed && parsed.errors.url) return setErrors({ url: parsed.errors.url });
    setErrors({});
    test.mutate(url);
  };
  const runAdd = async () => {
    const parsed = newSourceOf({ ...draft, url: withScheme(url) });
    if ('errors' in parsed) return setErrors(parsed.errors);
    setErrors({});
    if (hasScheme(url)) return add.mutate(parsed.value);
    // Only a test fetch can tell which scheme the address has. If it fails, its error is shown.
    const found = await test.mutateAsync(url).catch(() => undefined);
    const { draft: latest } = useNewSourceDraft.getState();
    if (!found || found.preview.watched_as || latest.url !== found.url) return;
    const complete = newSourceOf(latest);
    if ('errors' in complete) return setErrors(complete.errors);
    add.mutate(complete.value);
  };
  // Enter triggers the next step: first the test fetch, then adding.
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!tested) runTest();
    else if (!isWatched && !isRefused) void runAdd();
  };
  const hasFieldErrors = Object.keys(errors).length > 0;
  return {
    draft,
    change,
    errors,
    hasFieldErrors,
    url,
    test,
    tested,
    isWatched,
    isPrivate,
    isRefused,
    runTest,
    add,
    runAdd,
    submit,
  };
}

/** The test fetch of an address. It adds the scheme, and suggests a name. */
function useTestFetch(onError: (error: unknown) => void) {
  const change = useNewSourceDraft((state) => state.change);
  const [offered, setOffered] = useState('');
  return useMutation({
    mutationFn: (address: string) =>
      previewAddress(address, (url) => call('previewSource', { body: { url } })),
    onSuccess: ({ url: fetched, preview: { title, page_label } }, address) => {
      if (!isStillTyped(address)) return;
      change({ url: fetched });
      const { draft: latest } = useNewSourceDraft.getState();
      // Suggests the page's title as the name, unless a name was typed or the page looks like a bot check.
      const isOffered = latest.name === '' || latest.name === offered;
      if (!isOffered) return;
      const name =
        page_label === null || page_label.label === 'script_shell' ? (title ?? '').slice(0, 200) : '';
      setOffered(name);
      change({ name });
    },
    onError: (error, address) => {
      if (isStillTyped(address)) onError(error);
    },
  });
}

/** Whether no other address was typed while one was fetched. */
function isStillTyped(address: string): boolean {
  return useNewSourceDraft.getState().draft.url.trim() === address;
}

/** Adds a source, checks it for the first time and opens its page. */
function useAddition(onClose: () => void, onError: (error: unknown) => void) {
  const clear = useNewSourceDraft((state) => state.clear);
  const client = useQueryClient();
  const navigate = useNavigate();
  const check = useCollectionRun((run) => run.start);
  return useMutation({
    mutationFn: (source: NewSource) => call('addSource', { body: source }),
    onSuccess: (source) => {
      clear();
      onClose();
      void client.invalidateQueries({ queryKey: callKey('listWatchedSources') });
      void check(source.name || source.url, [source.id]);
      void navigate(`/sources/${source.id}`);
    },
    onError,
  });
}

/** For checking the form; the test fetch finds out the scheme. */
export function withScheme(url: string): string {
  return url === '' || hasScheme(url) ? url : `https://${url}`;
}
