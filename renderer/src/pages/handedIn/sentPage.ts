import { MAX_QUOTE_CHARACTERS } from '../../../../shared/findings/finding.ts';
import { isHttpUrl } from '../../../../shared/values/text.ts';

/** The page of the interface that the bookmark opens. It alone keeps its opener (server/http/security/guards.ts). */
export { HAND_IN_PATH } from '../../../../shared/node/pages.ts';

/** What the form and the page in which the bookmark was clicked say to each other. */
export const READY_MESSAGE = 'strongroom-ready';
export const PAGE_MESSAGE = 'strongroom-page';

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
