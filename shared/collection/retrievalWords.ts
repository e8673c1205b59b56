import type { Connection, RetrievalError } from './retrieval.ts';
import type { PageError } from './source.ts';

/** A description and a hint for each kind of failure. */
const FAILURES: Record<RetrievalError, { what: string; hint: string }> = {
  http_error: {
    what: 'The server answered with an error',
    hint: 'Open the address in a browser to see the response.',
  },
  body_cut_short: {
    what: 'The response was cut off',
    hint: 'Usually temporary. The next check tries again.',
  },
  object_too_large: {
    what: 'The object is larger than the size limit',
    hint: 'To keep it, raise the size limit of this source.',
  },
  redirect_loop: {
    what: 'The redirects form a loop',
    hint: 'Watch the final URL that a browser shows.',
  },
  too_many_redirects: {
    what: 'More than 10 redirects',
    hint: 'Watch the final URL that a browser shows.',
  },
  redirect_refused: {
    what: 'The address leads to a private address, or to something other than http or https, which was blocked',
    hint: 'If a private address is intended, watch it itself, or remove this source and add it again.',
  },
  tls_error: {
    what: 'The secure connection failed',
    hint: 'The server’s certificate may be invalid or expired.',
  },
  dns_error: { what: 'The host name could not be found', hint: 'Check the spelling of the URL.' },
  timeout: {
    what: 'No response in time',
    hint: 'Usually temporary. The timeout can be changed in the settings.',
  },
  host_unreachable: {
    what: 'The host could not be reached',
    hint: 'Check the network connection and the host.',
  },
  connection_refused: {
    what: 'The server refused the connection',
    hint: 'Check the port, and that the server is running.',
  },
  connection_reset: {
    what: 'The connection was reset',
    hint: 'Usually temporary. The next check tries again.',
  },
  invalid_response: {
    what: 'The response was not valid HTTP',
    hint: 'Check that a web server runs at this address.',
  },
  robots_disallowed: {
    what: 'The site’s robots.txt disallows this page',
    hint: 'You can ignore robots.txt for this source.',
  },
  robots_unreachable: {
    what: 'The site’s robots.txt could not be read, so the page was not fetched',
    hint: 'Usually temporary. You can ignore robots.txt for this source.',
  },
  storage_full: {
    what: 'The archive limit is reached, so nothing was stored',
    hint: 'Raise the limit in the settings or free disk space.',
  },
  redirected: {
    what: 'The capture is a redirect',
    hint: 'The target is captured under its own URL.',
  },
  invalid_url: {
    what: 'The stored address is not an http or https URL',
    hint: 'Remove this source and add the right address.',
  },
  check_failed: {
    what: 'This node failed while it checked the source',
    hint: 'See the node’s log for the reason. The other sources were checked.',
  },
  profile_expired: {
    what: 'The site no longer accepts the login',
    hint: 'Log in again and replace the profile.',
  },
  profile_missing: {
    what: 'The login with which this source is watched is missing or cannot be read',
    hint: 'Nothing was fetched. Choose a profile for this source, or watch it without a login.',
  },
};

function isKnown(error: string): error is RetrievalError {
  return Object.hasOwn(FAILURES, error);
}

/** Describes why a retrieval failed: `The server answered 404`, `No response in time`. */
export function failureWords(error: string, status: number | null): string {
  if (error === 'http_error' && status !== null) return `The server answered ${status}`;
  return isKnown(error) ? FAILURES[error].what : error.replaceAll('_', ' ');
}

/** Returns what to do about the failure, in one sentence; empty if the failure is unknown. */
export function failureHint(error: string): string {
  return isKnown(error) ? FAILURES[error].hint : '';
}

/** Why a page could not be drawn, in a few words. */
export const PAGE_ERROR_WORDS: Record<PageError, string> = {
  no_browser: 'Not drawn: no browser on this machine',
  page_timeout: 'Not drawn: the page did not respond in time',
  page_crashed: 'Not drawn: the page crashed the browser',
  page_too_large: 'Not drawn: the page is too large, or there is no space',
  page_released: 'Not kept: the page shows bytes that were released',
  profile_expired: 'Not kept: the site no longer accepts the login',
};

/** Why a page could not be drawn, and what to do about it. */
export const PAGE_ERROR_SENTENCES: Record<PageError, string> = {
  no_browser:
    'This machine has no browser that can draw the page. Install Chromium or Chrome, or name one in STRONGROOM_BROWSER.',
  page_timeout: 'The page did not respond in time, so there is no picture of it. The next check tries again.',
  page_crashed: 'The page crashed the browser that drew it. The next check tries again.',
  page_too_large: 'The page is too large to store, or there is too little free space.',
  page_released:
    'The page shows bytes that the owner released, so what was drawn was not kept. It is kept again when the page no longer shows them.',
  profile_expired:
    'The site no longer accepts the login, so the page that was drawn was not kept. Log in again and replace the profile.',
};

/* The connection over which a response came. */

/** Describes the server that answered, such as `203.0.113.5, port 443`. */
export function serverWords({ address, port }: Connection): string {
  return `${address}, port ${port}`;
}

/** Describes how it was reached, such as `HTTP/1.1 over TLS 1.3 (TLS_AES_256_GCM_SHA384)`. */
export function protocolWords({ http, tls }: Connection): string {
  const spoken = http === null ? 'HTTP' : `HTTP/${http}`;
  if (tls === null) return `${spoken} without encryption`;
  return `${spoken} over ${tls.version.replace(/^TLSv/, 'TLS ')} (${tls.cipher})`;
}
