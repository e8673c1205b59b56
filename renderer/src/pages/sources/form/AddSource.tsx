import { Button, Checkbox, Group, Modal, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import type { NewSource } from '../../../../../shared/collection/source.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { useCollectionRun } from '../collectionRun.ts';
import classes from './AddSource.module.css';
import { useNewSourceDraft } from './newSourceDraft.ts';
import { PreviewFindings } from './PreviewFindings.tsx';
import { hasScheme, previewAddress } from './previewAddress.ts';
import { looksPrivate } from './privateUrl.ts';
import { SourceFields } from './SourceFields.tsx';
import { type DraftErrors, errorsOf, newSourceOf } from './sourceForm.ts';

export interface AddSourceProps {
  opened: boolean;
  onClose: () => void;
}

/** Adds a source. A test fetch shows what would be stored; adding starts watching and the first check. */
export function AddSource({ opened, onClose }: AddSourceProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Watch a source"
      size="lg"
      closeOnClickOutside={false}
      centered={false}
    >
      <AddSourceForm onClose={onClose} />
    </Modal>
  );
}

function AddSourceForm({ onClose }: { onClose: () => void }) {
  const { draft, change, clear } = useNewSourceDraft();
  const [errors, setErrors] = useState<DraftErrors>({});
  const [offered, setOffered] = useState('');
  const client = useQueryClient();
  const navigate = useNavigate();
  const check = useCollectionRun((run) => run.start);
  const test = useMutation({
    mutationFn: (address: string) =>
      previewAddress(address, (url) => call('previewSource', { body: { url } })),
    onSuccess: ({ url: fetched, preview: { title, page_label } }) => {
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
    onError: (error) => setErrors(errorsOf(error)),
  });
  const add = useMutation({
    mutationFn: (source: NewSource) => call('addSource', { body: source }),
    onSuccess: (source) => {
      clear();
      onClose();
      void client.invalidateQueries({ queryKey: callKey('listWatchedSources') });
      void check(source.name || source.url, [source.id]);
      void navigate(`/sources/${source.id}`);
    },
    onError: (error) => setErrors(errorsOf(error)),
  });
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
    if (found && !found.preview.watched_as) add.mutate({ ...parsed.value, url: found.url });
  };
  // Enter triggers the next step: first the test fetch, then adding.
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!tested) runTest();
    else if (!isWatched && !isRefused) void runAdd();
  };
  const hasFieldErrors = Object.keys(errors).length > 0;
  return (
    <form onSubmit={submit} className={classes.form} noValidate>
      <div className={classes.address}>
        <TextInput
          label="URL"
          placeholder="https://"
          inputMode="url"
          autoComplete="off"
          data-autofocus
          value={draft.url}
          error={errors.url}
          onChange={(event) => change({ url: event.currentTarget.value })}
        />
        <Button
          variant={tested ? 'default' : 'filled'}
          type={tested ? 'button' : 'submit'}
          onClick={tested && runTest}
          loading={test.isPending}
          disabled={url === ''}
          className={classes.test}
        >
          {tested ? 'Test again' : 'Test fetch'}
        </Button>
      </div>
      <div aria-live="polite" className={classes.found}>
        {test.isPending && <p className="muted small">Fetching once. Nothing is stored.</p>}
        {tested?.note && <p className={`${classes.note} small`}>{tested.note}</p>}
        {tested && <PreviewFindings preview={tested.preview} onLeave={onClose} />}
        {test.isError && !hasFieldErrors && <ErrorNote error={test.error} onRetry={runTest} />}
      </div>
      {isPrivate && (
        <Checkbox
          label="Watch an address in my own network"
          description={`${hostOf(withScheme(url))} is a private address. What it returns becomes part of the archive, and everyone who may read this node can read it.`}
          checked={draft.allow_private}
          onChange={(event) => change({ allow_private: event.currentTarget.checked })}
        />
      )}
      <SourceFields draft={draft} errors={errors} onChange={change} />
      {add.isError && !hasFieldErrors && <ErrorNote error={add.error} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button
          variant={tested ? 'filled' : 'default'}
          type={tested ? 'submit' : 'button'}
          onClick={tested ? undefined : () => void runAdd()}
          loading={add.isPending}
          disabled={url === '' || isWatched || isRefused}
        >
          Watch
        </Button>
      </Group>
    </form>
  );
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? url;
}

/** For checking the form; the test fetch finds out the scheme. */
function withScheme(url: string): string {
  return url === '' || hasScheme(url) ? url : `https://${url}`;
}
