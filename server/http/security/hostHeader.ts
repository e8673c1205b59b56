import type { IncomingMessage, RequestListener } from 'node:http';
import { Problem } from '../../../shared/problems.ts';

/** What a Host header names: the host in lowercase without brackets, and the port, empty where none is said. */
export interface ParsedHost {
  name: string;
  port: string;
}

const NONE: ParsedHost = { name: '', port: '' };

// Nearly every request says the same Host as the one before; reading it costs as much as routing the request.
let last: { host: string | undefined; named: ParsedHost } = { host: undefined, named: NONE };

/** The host that a Host header names; none where it holds more than a name and a port (a path, a user). */
export function parseHost(host: string | undefined): ParsedHost {
  if (host !== last.host) last = { host, named: read(host) };
  return last.named;
}

function read(host: string | undefined): ParsedHost {
  const url = URL.parse(`http://${host ?? ''}`);
  if (url === null || url.username !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return NONE;
  return { name: url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''), port: url.port };
}

const ABSOLUTE = Symbol('absolute');
type Targeted = Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders'> & { [ABSOLUTE]?: true };

/**
 * Brings a request target in absolute form (RFC 9112, section 3.2.2) into origin form, where it names the same host as
 * the Host header. What names another is left as it is, and refused by `requireSingleHost`.
 */
export function normalizeRequestTarget(answer: RequestListener): RequestListener {
  return (request: Parameters<RequestListener>[0] & Targeted, response) => {
    const { url = '' } = request;
    if (!url.startsWith('/')) {
      const target = URL.parse(url);
      if (target?.host && target.host === URL.parse(`${target.protocol}//${request.headers.host}`)?.host) {
        request[ABSOLUTE] = true;
        request.url = target.pathname + target.search;
      }
    }
    answer(request, response);
  };
}

/** Whether a request target was in absolute form, and named the host that the Host header names. */
export function hadAbsoluteTarget(request: Targeted): boolean {
  return request[ABSOLUTE] === true;
}

/**
 * Refuses what does not say once, and in one way, which host it is for: this node and a proxy before it could each take
 * another for it. HTTP/1.0, which may leave Host out, is held to it too.
 *
 * @throws Problem `invalid_request`
 */
export function requireSingleHost({ url = '', headers, rawHeaders }: Targeted): void {
  if (headers.host === undefined)
    throw invalid('A request names the host that it is for, in one Host header.');
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw invalid('A request has one Host header; this one has several.');
  if (!url.startsWith('/') && url !== '*') throw foreignTarget();
}

/** What a request for another host's address is told. */
export function foreignTarget(): Problem {
  return invalid(
    'The address in the first line is another host’s. Send the path alone, and the host in Host.',
  );
}

function invalid(detail: string): Problem {
  return new Problem('invalid_request', detail);
}
