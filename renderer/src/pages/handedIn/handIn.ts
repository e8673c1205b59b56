import { type HandIn, MAX_HANDED_IN_BYTES, mayHoldToken } from '../../../../shared/collection/handedIn.ts';
import { MAX_QUOTE_CHARACTERS } from '../../../../shared/findings/finding.ts';
import { HAND_IN_PATH } from '../../../../shared/node/pages.ts';
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

/** What the form and the page in which the bookmark was clicked say to each other. */
const READY_MESSAGE = 'strongroom-ready';
const PAGE_MESSAGE = 'strongroom-page';

/**
 * Returns the address of a bookmark that hands in the page on which it is clicked. It opens this node's form, with the
 * address and the selection in the fragment, which browsers send to no server. When the form says that it is ready, it gets
 * the text of the page. The form and the page know each other by their origins.
 */
export function bookmarklet(origin: string): string {
  const code = `(()=>{
const node=${JSON.stringify(origin)};
const said=new URLSearchParams({url:location.href,quote:String(getSelection()).slice(0,${MAX_QUOTE_CHARACTERS})});
const opened=open(node+${JSON.stringify(`${HAND_IN_PATH}#`)}+said);
addEventListener('message',(event)=>{
if(event.source!==opened||event.origin!==node||event.data!==${JSON.stringify(READY_MESSAGE)})return;
opened.postMessage({kind:${JSON.stringify(PAGE_MESSAGE)},html:'<!doctype html>'+document.documentElement.outerHTML},node);
});
})()`;
  return `javascript:${encodeURIComponent(code.replaceAll('\n', ''))}`;
}

/** A page has less text. */
const MAX_CHARACTERS = 50_000_000;

/** What the fragment says: anybody can write a link with one, so that it only fills in the form. */
export interface SaidOfPage {
  url: string;
  quote: string;
}

/** Reads a fragment; undefined if it names no page. */
export function saidInFragment(hash: string): SaidOfPage | undefined {
  const said = new URLSearchParams(hash.slice(1));
  const url = said.get('url') ?? '';
  if (!isHttpUrl(url)) return undefined;
  return { url, quote: (said.get('quote') ?? '').slice(0, MAX_QUOTE_CHARACTERS).trim() };
}

/**
 * Asks the page that opened this one for its text, and calls `receive` with it once. Only that page, at the origin of the
 * address that it named, is listened to. The text is kept as a file. Nothing in it is shown or run.
 *
 * @returns a function that stops listening
 */
export function receivePage({ url }: SaidOfPage, receive: (file: File) => void): () => void {
  const opener = window.opener as Window | null;
  const { origin } = new URL(url);
  const listen = ({ source, origin: from, data }: MessageEvent<unknown>) => {
    if (source !== opener || from !== origin || !isPage(data)) return;
    window.removeEventListener('message', listen);
    receive(new File([data.html], 'page.html', { type: 'text/html' }));
  };
  if (!opener) return () => {};
  window.addEventListener('message', listen);
  opener.postMessage(READY_MESSAGE, origin);
  return () => window.removeEventListener('message', listen);
}

function isPage(data: unknown): data is { html: string } {
  if (typeof data !== 'object' || data === null) return false;
  const { kind, html } = data as { kind?: unknown; html?: unknown };
  return kind === PAGE_MESSAGE && typeof html === 'string' && html.length <= MAX_CHARACTERS;
}
