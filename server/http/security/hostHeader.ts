import type { IncomingMessage, RequestListener } from 'node:http';
import { Problem } from '../../../shared/problems.ts';

/** A parsed Host header: the host in lowercase without brackets, and the port, which may be empty. */
export interface ParsedHost {
  name: string;
  port: string;
}

const NONE: ParsedHost = { name: '', port: '' };

// Cached, because most requests have the same Host header and parsing it costs as much as routing the request.
let last: { host: string | undefined; named: ParsedHost } = { host: undefined, named: NONE };

/** Parses a Host header. The result is empty if it contains more than a name and a port, such as a path or a user. */
export function parseHost(host: string | undefined): ParsedHost {
  if (host !== last.host) last = { host, named: parse(host) };
  return last.named;
}

function parse(host: string | undefined): ParsedHost {
  const url = URL.parse(`http://${host ?? ''}`);
  if (url === null || url.username !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return NONE;
  return { name: url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''), port: url.port };
}

const ABSOLUTE = Symbol('absolute');
type Targeted = Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders'> & { [ABSOLUTE]?: true };

/**
 * Converts a request target in absolute form (RFC 9112, section 3.2.2) to origin form if it names the same host as the
 * Host header. Other targets are left unchanged, and `requireSingleHost` refuses them.
 */
export function normalizeRequestTarget(next: RequestListener): RequestListener {
  return (request: Parameters<RequestListener>[0] & Targeted, response) => {
    const { url = '' } = request;
    if (!url.startsWith('/')) {
      const target = URL.parse(url);
      if (target?.host && target.host === URL.parse(`${target.protocol}//${request.headers.host}`)?.host) {
        request[ABSOLUTE] = true;
        request.url = target.pathname + target.search;
      }
    }
    next(request, response);
  };
}

/** Returns whether a request target was in absolute form and named the same host as the Host header. */
export function hadAbsoluteTarget(request: Targeted): boolean {
  return request[ABSOLUTE] === true;
}

/**
 * Refuses requests without exactly one, unambiguous host. Otherwise a proxy and this node could disagree about it. This
 * includes HTTP/1.0, where Host is optional.
 *
 * @throws Problem `invalid_request`
 */
export function requireSingleHost({ url = '', headers, rawHeaders }: Targeted): void {
  if (headers.host === undefined) throw invalid('The Host header is missing. Send exactly one.');
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw invalid('There are several Host headers. Send exactly one.');
  if (!url.startsWith('/') && url !== '*') throw foreignTarget();
}

/** Returns the problem for a request target that names another host. */
export function foreignTarget(): Problem {
  return invalid(
    'The request line names another host. Send only the path there, and the host in the Host header.',
  );
}

function invalid(detail: string): Problem {
  return new Problem('invalid_request', detail);
}
