import { failureWords } from '../../../shared/collection/retrievalWords.ts';
import {
  type OutgoingAnswer,
  OutgoingError,
  type OutgoingRequest,
  type Post,
} from '../../ledger/outgoing.ts';
import { allowsPrivateAddress } from '../sources/privateSources.ts';
import { RetrievalFailure } from './connect.ts';
import type { HttpResponse } from './exchange.ts';
import { Deadline, type FetchServices } from './requester.ts';

interface Services extends Pick<FetchServices, 'clock' | 'lookup' | 'isPrivateAddress'> {
  /** Returns the certificate that is pinned for an address, or undefined. None is by default. */
  certificateOf?: (url: string) => string | undefined;
}

type HttpClient = Pick<typeof import('./exchange.ts'), 'exchange'>;

/** Returns the function that sends the node's own POST requests. `settings` are read for each request. */
export function createPost(
  services: Services,
  settings: () => { user_agent: string; request_timeout_seconds: number },
): Post {
  return async (request) => {
    // Loads the HTTP client with the first request, because a node at rest does not need it. The timeout starts later.
    const { exchange } = await import('./exchange.ts');
    const { user_agent, request_timeout_seconds } = settings();
    // Not extended while bytes arrive: the answers are small.
    const deadline = new Deadline(services.clock, request_timeout_seconds * 1000);
    const signal = AbortSignal.any([request.signal, deadline.signal]);
    try {
      return await post({ ...services, exchange }, { ...request, signal }, user_agent);
    } catch (error) {
      request.signal.throwIfAborted();
      if (!(error instanceof RetrievalFailure)) throw error;
      throw new OutgoingError(describe(error), { cause: error });
    } finally {
      deadline.settle();
    }
  };
}

function describe({ reason }: RetrievalFailure): string {
  if (reason === 'redirect_refused') return 'Its public name leads to a private address.';
  if (reason === 'object_too_large') return 'Its answer is too large.';
  return `${failureWords(reason, null)}.`;
}

async function post(
  { lookup, isPrivateAddress, certificateOf, exchange }: Services & HttpClient,
  { url, contentType, accept, headers, allowPrivate, body, maxBytes, signal }: OutgoingRequest,
  userAgent: string,
): Promise<OutgoingAnswer> {
  const mayBePrivate = allowsPrivateAddress({ url, allow_private: allowPrivate ?? null }, isPrivateAddress);
  return exchange(
    {
      url: new URL(url),
      headers: {
        'user-agent': userAgent,
        accept,
        'accept-encoding': 'identity',
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...headers,
      },
      body,
      connections: undefined,
      certificate: certificateOf?.(url),
      lookup,
      mayConnect: (address) => mayBePrivate || !isPrivateAddress(address),
      signal,
    },
    async (response) => ({
      status: response.status,
      contentType: (response.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '',
      body: await readBounded(response, maxBytes),
    }),
  );
}

async function readBounded(response: HttpResponse, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new RetrievalFailure('object_too_large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
