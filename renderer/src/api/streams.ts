import type { ProblemDocument } from '../../../shared/problems.ts';
import type { ResponseOf } from '../../../shared/routes/route.ts';
import type { RouteName, RouteTable } from '../../../shared/routes.ts';
import {
  ApiProblem,
  NodeUnreachable,
  type QueryValues,
  readResponse,
  sendRequest,
  UnexpectedResponse,
  urlOf,
} from './client.ts';
import { ROUTE_ADDRESSES } from './routeAddresses.ts';

/** The routes whose request body is streamed, by media type. */
type StreamRouteName = {
  [Name in RouteName]: RouteTable[Name] extends { body: { kind: 'stream' } } ? Name : never;
}[RouteName];

interface StreamToSend {
  params?: Record<string, string>;
  query?: QueryValues;
  body: Blob | string;
  /** The media type of the body; one that the route accepts. */
  mediaType: string;
  signal?: AbortSignal;
}

/** Sends a body unchanged to a streaming route. Throws ApiProblem, NodeUnreachable or UnexpectedResponse. */
export async function sendStream<Name extends StreamRouteName>(
  name: Name,
  { params, query, body, mediaType, signal }: StreamToSend,
): Promise<ResponseOf<RouteTable[Name]>> {
  const response = await sendRequest(urlOf(name, { params, query }), {
    method: ROUTE_ADDRESSES[name].method,
    headers: { 'Content-Type': mediaType },
    body,
    signal,
  });
  return (await readResponse(response)) as ResponseOf<RouteTable[Name]>;
}

interface Upload {
  query?: QueryValues;
  body: Blob | FormData;
  /** Omitted for a FormData body: the browser sets it. */
  mediaType?: string;
  signal: AbortSignal;
  /** Receives the bytes sent so far and the total. */
  onProgress: (done: number, total: number | null) => void;
}

/**
 * Sends a large body and reports upload progress, which only XMLHttpRequest can do.
 * @throws ApiProblem, NodeUnreachable, UnexpectedResponse, or an AbortError when it is cancelled.
 */
export function upload<Name extends StreamRouteName>(
  name: Name,
  { query, body, mediaType, signal, onProgress }: Upload,
): Promise<ResponseOf<RouteTable[Name]>> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(ROUTE_ADDRESSES[name].method, urlOf(name, { query }));
    if (mediaType) request.setRequestHeader('Content-Type', mediaType);
    request.responseType = 'json';
    request.upload.onprogress = ({ loaded, total, lengthComputable }) =>
      onProgress(loaded, lengthComputable ? total : null);
    request.onload = () => {
      const answer: unknown = request.response;
      if (isProblem(answer)) reject(new ApiProblem(answer));
      else if (request.status >= 300 || answer === null) reject(new UnexpectedResponse(request.status));
      else resolve(answer as ResponseOf<RouteTable[Name]>);
    };
    request.onerror = () => reject(new NodeUnreachable(new Error('The upload was interrupted.')));
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(body);
  });
}

function isProblem(body: unknown): body is ProblemDocument {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}

/** The wait before a stream that the node refused is opened again: it doubles with each refusal. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

interface StreamListeners {
  /** Called each time the stream opens. What happened before was not sent. */
  onOpen: () => void;
  onLost?: () => void;
  /** By the event's name. */
  on: Readonly<Record<string, (data: string) => void>>;
}

/**
 * Follows a stream of the node, and returns a function that ends it. A browser reconnects after a lost connection, but
 * gives up after an error response, such as that of a node that is starting. The stream is then opened again from here.
 */
export function followStream(name: RouteName, { onOpen, onLost, on }: StreamListeners): () => void {
  let stream: EventSource;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_WAIT_MS;
  const open = () => {
    stream = new EventSource(urlOf(name));
    stream.addEventListener('open', () => {
      wait = FIRST_WAIT_MS;
      onOpen();
    });
    stream.addEventListener('error', () => {
      onLost?.();
      if (stream.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(open, wait);
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    });
    for (const [event, listener] of Object.entries(on)) {
      stream.addEventListener(event, ({ data }: MessageEvent<string>) => listener(data));
    }
  };
  open();
  return () => {
    clearTimeout(retry);
    stream.close();
  };
}
