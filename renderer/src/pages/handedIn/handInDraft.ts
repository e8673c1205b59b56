import { type HandIn, MAX_HANDED_IN_BYTES, mayHoldToken } from '../../../../shared/collection/handedIn.ts';
import { isHttpUrl } from '../../../../shared/values/text.ts';
import { upload } from '../../api/client.ts';
import { formatBytes } from '../../format.ts';
import { runLocalJob } from '../../state/jobs.ts';

export const KIND_WORDS: Record<HandIn['kind'], string> = {
  mhtml: 'saved page',
  html: 'HTML file',
  pdf: 'PDF',
  picture: 'picture',
};

/** The form as it is filled in. The fields have the names of the request. */
export interface HandInDraft {
  file: File | null;
  url: string;
  title: string;
  /** As the browser's field has it: local time, or empty for now. */
  seen_at: string;
  note: string;
  /** A passage of the page that becomes a finding. */
  quote: string;
  withheld: boolean;
  fetch: boolean;
  fetch_confirmed: boolean;
}

export const EMPTY_DRAFT: HandInDraft = {
  file: null,
  url: '',
  title: '',
  seen_at: '',
  note: '',
  quote: '',
  withheld: true,
  fetch: false,
  fetch_confirmed: false,
};

/** A saved page may name the address that it shows. */
function mayNameAddress({ name }: File): boolean {
  return /\.mht(ml)?$/i.test(name);
}

/** Says what is missing or wrong before anything is sent. */
export function errorsOf({ file, url, fetch, fetch_confirmed }: HandInDraft): Record<string, string> {
  const errors: Record<string, string> = {};
  if (!file) errors['file'] = 'Choose a file, or drop it here.';
  else if (file.size > MAX_HANDED_IN_BYTES)
    errors['file'] =
      `The file is ${formatBytes(file.size)}. The limit is ${formatBytes(MAX_HANDED_IN_BYTES)}.`;
  const address = url.trim();
  if (address !== '' && !isHttpUrl(address)) errors['url'] = 'Enter an absolute http or https URL.';
  else if (address === '' && file && !mayNameAddress(file))
    errors['url'] = 'Enter the address that it shows.';
  if (fetch && !fetch_confirmed && mayHoldToken(address))
    errors['fetch_confirmed'] = 'This address may hold a token. Confirm it, or do not fetch.';
  return errors;
}

/** Sends the file with what is said about it. Throws like `upload`. */
export function sendHandIn({ file, ...draft }: HandInDraft): Promise<HandIn> {
  if (!file) throw new TypeError('There is no file to send.');
  const form = new FormData();
  const said = {
    url: draft.url.trim(),
    title: draft.title.trim(),
    seen_at: draft.seen_at && new Date(draft.seen_at).toISOString(),
    note: draft.note.trim(),
    quote: draft.quote.trim(),
    withheld: String(draft.withheld),
    fetch: draft.fetch ? 'true' : '',
    fetch_confirmed: draft.fetch_confirmed ? 'true' : '',
  };
  for (const [name, value] of Object.entries(said)) if (value !== '') form.set(name, value);
  form.set('file', file);
  const abort = new AbortController();
  return runLocalJob(
    { title: `Handing in ${file.name}`, unit: 'bytes', abort, href: '/handed-in' },
    ({ signal, onProgress }) => upload('handIn', { body: form, signal, onProgress }),
  );
}
