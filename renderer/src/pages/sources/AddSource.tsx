import { Button, Checkbox, Group, TextInput } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { failureHint, failureWords } from '../../../../shared/collection/retrievalWords.ts';
import type { NewSource, SourcePreview } from '../../../../shared/collection/source.ts';
import { call } from '../../api/client.ts';
import { useSave } from '../../api/useCall.ts';
import { PageLabelNote } from '../../components/content/Retrieval.tsx';
import { DigestChip, Facts } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { exactBytes, formatCount } from '../../format.ts';
import { useCollectionRun } from './runs.ts';
import { SourceFields } from './SourceFields.tsx';
import {
  type DraftErrors,
  errorsOf,
  hasScheme,
  newSourceOf,
  useNewSourceDraft,
  withScheme,
} from './sourceForm.ts';
import classes from './sources.module.css';

/** Adds a source. A test fetch shows what would be stored; adding starts watching and the first check. */
export function AddSourceForm({ onClose }: { onClose: () => void }) {
  const form = useAddSource(onClose);
  const { draft, change, errors, hasFieldErrors, url, tested, isWatched, isPrivate, isRefused, add, runAdd } =
    form;
  return (
    <form onSubmit={form.submit} className="stack gap-4" noValidate>
      <TestedAddress form={form} onClose={onClose} />
      {isPrivate && (
        <Checkbox
          label="Allow a private address"
          description={`${hostOf(withScheme(url))} is on your own network. Its content becomes part of the archive${draft.profile === '' ? ', and anyone with access to this node can read it' : ''}.`}
          checked={draft.allow_private}
          onChange={(event) => change({ allow_private: event.currentTarget.checked })}
        />
      )}
      <SourceFields
        draft={draft}
        errors={errors}
        onChange={(changed) => {
          // What was found without a login, or with another, says nothing of this one.
          if (changed.profile !== undefined) form.test.reset();
          change(changed);
        }}
      />
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
          disabled={url === '' || isWatched || isRefused || form.test.isPending}
        >
          Watch
        </Button>
      </Group>
    </form>
  );
}

/** The address with its test fetch, and what that found. */
function TestedAddress({ form, onClose }: { form: ReturnType<typeof useAddSource>; onClose: () => void }) {
  const { draft, change, errors, hasFieldErrors, url, test, tested, runTest } = form;
  return (
    <>
      <div className={`${classes.formAddress} stack gap-3 start`}>
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
          mt="1.5rem"
        >
          {tested ? 'Test again' : 'Test fetch'}
        </Button>
      </div>
      <div aria-live="polite" className={classes.found}>
        {test.isPending && <p className="muted small">Fetching once. Nothing is stored.</p>}
        {tested?.note && <p className="mb-2 small">{tested.note}</p>}
        {tested && <PreviewFindings preview={tested.preview} onLeave={onClose} />}
        {test.isError && !hasFieldErrors && <ErrorNote error={test.error} onRetry={runTest} />}
      </div>
    </>
  );
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? url;
}

/** The form for a new source: its fields, the test fetch, and the addition. */
function useAddSource(onClose: () => void) {
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
      previewAddress(address, (url) => {
        const { profile } = useNewSourceDraft.getState().draft;
        return call('previewSource', { body: { url, profile: profile || null } });
      }),
    onSuccess: ({ url: fetched, preview: { title, page_label, drawn_by_script } }, address) => {
      if (!isStillTyped(address)) return;
      change({ url: fetched, ...(drawn_by_script && { capture: 'page' }) });
      const { draft: latest } = useNewSourceDraft.getState();
      // Suggests the page's title as the name, unless a name was typed or the page looks like a bot check.
      // Names are public, and a title may say what only the login shows.
      const isOffered = latest.profile === '' && (latest.name === '' || latest.name === offered);
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
  const navigate = useNavigate();
  const check = useCollectionRun((run) => run.start);
  return useSave('addSource', (source: NewSource) => ({ body: source }), {
    onSaved: ({ id, name, url }) => {
      clear();
      onClose();
      void check({ what: name || url, ids: [id] });
      void navigate(`/sources/${id}`);
    },
    onError,
  });
}

interface PreviewedAddress {
  /** The address that was fetched, with its scheme. */
  url: string;
  preview: SourcePreview;
  /** What was tried, if the address was entered without a scheme. */
  note: string | undefined;
}

/**
 * Fetches an address once. Without a scheme it is tried as https, and as http if no server answers there.
 *
 * @param preview fetches an address with its scheme. @throws what `preview` throws
 */
export async function previewAddress(
  address: string,
  preview: (url: string) => Promise<SourcePreview>,
): Promise<PreviewedAddress> {
  if (hasScheme(address)) return { url: address, preview: await preview(address), note: undefined };
  const secure = { url: `https://${address}`, preview: await preview(`https://${address}`) };
  if (answered(secure.preview)) return { ...secure, note: 'Added https://, and the server responded.' };
  const plain = { url: `http://${address}`, preview: await preview(`http://${address}`) };
  const why = failureWords(secure.preview.error ?? 'invalid_response', secure.preview.status);
  if (answered(plain.preview)) return { ...plain, note: `https:// failed (${why}), but http:// responded.` };
  return { ...secure, note: 'Neither https:// nor http:// responded.' };
}

/** Returns whether a web server answered, whatever it answered. */
function answered({ error, status }: SourcePreview): boolean {
  return error === null || status !== null;
}

const LOCAL_NAMES = /(^|\.)(localhost|local|internal|home\.arpa)$/;
const PRIVATE_IPV4 =
  /^(10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;
const PRIVATE_IPV6 = /^\[(::1\]|f[cd]|fe[89ab])/;

/**
 * Whether the address alone shows that a URL is in the private network. What a public name resolves to is only known to
 * the node, which reports it with a test fetch.
 */
export function looksPrivate(url: string): boolean {
  const host = URL.parse(url)?.hostname.replace(/\.$/, '') ?? '';
  if (host === '') return false;
  if (/^\d+(\.\d+){3}$/.test(host)) return PRIVATE_IPV4.test(host);
  if (host.startsWith('[')) return PRIVATE_IPV6.test(host);
  return LOCAL_NAMES.test(host) || !host.includes('.');
}

/** The result of a test fetch and what would be stored. */
function PreviewFindings({ preview, onLeave }: { preview: SourcePreview; onLeave: () => void }) {
  const { error, status, sha256, bytes, content_type, title, final_url, url, duration_ms, watched_as } =
    preview;
  const isWell = error === null && preview.page_label === null && !preview.drawn_by_script && !watched_as;
  const Icon = isWell ? IconCircleCheck : IconAlertTriangle;
  return (
    <div className={`${classes.findings} stack gap-3`} data-well={isWell || undefined}>
      <p className={`${classes.verdict} strong line gap-2`}>
        <Icon size={18} aria-hidden />
        {error === null
          ? 'This would be stored as the first version.'
          : `${failureWords(error, status)}. ${failureHint(error)}`}
      </p>
      <Warnings preview={preview} onLeave={onLeave} />
      <Facts
        layout="narrowColumns"
        facts={{
          Response:
            status !== null && `${status}${error === null ? ' OK' : ''}, ${formatCount(duration_ms)} ms`,
          [error === null ? 'Final URL' : 'Failed URL']: final_url !== url && final_url,
          Title: title,
          Type: content_type,
          Size: bytes !== null && exactBytes(bytes),
          Digest: sha256 && <DigestChip digest={sha256} label="digest of the content" />,
        }}
      />
    </div>
  );
}

function Warnings({ preview, onLeave }: { preview: SourcePreview; onLeave: () => void }) {
  const { url, final_url, page_label, watched_as, error, drawn_by_script } = preview;
  const warnings: [string, ReactNode][] = [];
  if (watched_as) {
    warnings.push([
      'watched',
      <>
        This URL is already watched:{' '}
        <Link to={`/sources/${watched_as}`} onClick={onLeave}>
          open source
        </Link>
        .
      </>,
    ]);
  }
  if (drawn_by_script) {
    warnings.push([
      'script',
      'Scripts build this page. The file itself contains almost no text, so “The page as a person sees it” is selected below.',
    ]);
  }
  // It would say the same.
  if (page_label && !(drawn_by_script && page_label.label === 'script_shell'))
    warnings.push(['label', <PageLabelNote key="label" label={page_label} withReason />]);
  if (final_url !== url && error === null) {
    warnings.push([
      'redirect',
      'The URL redirects. The URL you entered is watched, and the redirect target is recorded at each check.',
    ]);
  }
  if (error !== null) {
    warnings.push([
      'failing',
      'You can watch it anyway. Its first successful retrieval becomes the first version.',
    ]);
  }
  if (warnings.length === 0) return null;
  return (
    <ul className="stack gap-1 compact">
      {warnings.map(([key, text]) => (
        <li key={key}>{text}</li>
      ))}
    </ul>
  );
}
