import type { RetrievalError } from './source.ts';

/** What each kind of failure means to a person, and what can be done about it. */
const FAILURES: Record<RetrievalError, { what: string; hint: string }> = {
  http_error: {
    what: 'The server answered with an error',
    hint: 'Open the address in a browser to see what it says.',
  },
  body_cut_short: {
    what: 'The answer broke off before its end',
    hint: 'Usually passes; it is tried again at the next check.',
  },
  object_too_large: {
    what: 'The object is larger than the size limit',
    hint: 'Raise the size limit of this source if it should be kept.',
  },
  redirect_loop: {
    what: 'The redirects go round in a circle',
    hint: 'Watch the address that a browser ends at.',
  },
  too_many_redirects: {
    what: 'More than 10 redirects',
    hint: 'Watch the address that a browser ends at.',
  },
  redirect_refused: {
    what: 'A public address led to a private one, which was refused',
    hint: 'If that is meant, watch the private address itself, or remove this source and add it again.',
  },
  tls_error: {
    what: 'The secure connection could not be made',
    hint: 'The server’s certificate may be out of date.',
  },
  dns_error: { what: 'The host name could not be found', hint: 'Check the spelling of the address.' },
  timeout: { what: 'No answer in time', hint: 'Usually passes; the time-out is in the settings.' },
  host_unreachable: {
    what: 'The host could not be reached',
    hint: 'Check the network, or whether the host is up.',
  },
  connection_refused: {
    what: 'The server refused the connection',
    hint: 'Check the port, or whether the server runs.',
  },
  connection_reset: {
    what: 'The connection was dropped',
    hint: 'Usually passes; it is tried again at the next check.',
  },
  invalid_response: {
    what: 'The answer was not valid HTTP',
    hint: 'Check that a web server is at this address.',
  },
  robots_disallowed: {
    what: 'The site’s robots.txt asks not to be fetched here',
    hint: 'Ignoring it is a choice you can make for each source.',
  },
  robots_unreachable: {
    what: 'The site’s robots.txt could not be read, so the page was not asked for',
    hint: 'Usually passes. Ignoring robots.txt is a choice you can make for each source.',
  },
  storage_full: {
    what: 'This archive stores nothing new: its limit is reached',
    hint: 'Raise the limits in the settings or free some disk.',
  },
  redirected: {
    what: 'The archive holds a redirect here',
    hint: 'What it leads to is a capture of its own address.',
  },
  invalid_url: {
    what: 'The stored address is no http or https address',
    hint: 'Remove this source, and add the right address.',
  },
  check_failed: {
    what: 'This node failed while it checked the source',
    hint: 'The node’s log says why. The other sources were checked.',
  },
};

function isKnown(error: string): error is RetrievalError {
  return Object.hasOwn(FAILURES, error);
}

/** `The server answered 404`, `No answer in time`: why an attempt gave no object. */
export function failureWords(error: string, status: number | null): string {
  if (error === 'http_error' && status !== null) return `The server answered ${status}`;
  return isKnown(error) ? FAILURES[error].what : error.replaceAll('_', ' ');
}

/** What a person can do about it, in a sentence. */
export function failureHint(error: string): string {
  return isKnown(error) ? FAILURES[error].hint : '';
}
