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
export type StreamRouteName = {
  [Name in RouteName]: RouteTable[Name] extends { body: { kind: 'stream' } } ? Name : never;
}[RouteName];

export interface StreamToSend {
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

export interface Upload {
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
