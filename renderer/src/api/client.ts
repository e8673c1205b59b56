import { create } from 'zustand';
import type { ProblemCode, ProblemDocument } from '../../../shared/problems.ts';
import {
  addressOf,
  type BodyInputOf,
  type QueryValues,
  type ResponseOf,
  type RouteSpec,
} from '../../../shared/routes/route.ts';
import type { RouteName, RouteTable } from '../../../shared/routes.ts';
import { fetchSignedIn, readyAddress, withToken } from './ownerSession.ts';
import { ROUTE_ADDRESSES } from './routeAddresses.ts';

/** The sentence with which the node refuses everything while the disk of its archive is not connected, as of its last answer. */
export const useDiskAway = create<{ sentence: string | undefined }>()(() => ({ sentence: undefined }));

function noteDiskAway(sentence: string | undefined): void {
  if (useDiskAway.getState().sentence !== sentence) useDiskAway.setState({ sentence });
}

/** An error response from the node. Show `message`, with `document.code` in small print below it. */
export class ApiProblem extends Error {
  readonly document: ProblemDocument;

  constructor(document: ProblemDocument) {
    super(document.detail);
    this.name = 'ApiProblem';
    this.document = document;
  }
}

/** The node did not respond. */
export class NodeUnreachable extends Error {
  constructor(cause: unknown) {
    super('The node does not respond. Make sure it is running, then try again.', { cause });
    this.name = 'NodeUnreachable';
  }
}

/** The response came from something other than the node, such as a proxy. */
export class UnexpectedResponse extends Error {
  constructor(status: number) {
    super(
      `Unexpected response (${status}). Make sure that the node is running at this address, then try again.`,
    );
    this.name = 'UnexpectedResponse';
  }
}

/** Whether the node responded with this problem. */
export function isProblem(error: unknown, code: ProblemCode): error is ApiProblem {
  return error instanceof ApiProblem && error.document.code === code;
}

/** Whether the node refused the request (4xx), as opposed to being unreachable or failing. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ApiProblem && error.document.status < 500;
}

export interface CallOptions<Spec extends RouteSpec> {
  params?: Record<string, string | number>;
  query?: QueryValues;
  body?: BodyInputOf<Spec>;
  signal?: AbortSignal;
}

/** Sends a request by route name and returns the JSON response. Throws ApiProblem or NodeUnreachable. */
export async function call<Name extends RouteName>(
  name: Name,
  options: CallOptions<RouteTable[Name]> = {},
): Promise<ResponseOf<RouteTable[Name]>> {
  const { method } = ROUTE_ADDRESSES[name];
  const hasBody = options.body !== undefined;
  const response = await sendRequest(urlOf(name, options), {
    method,
    signal: options.signal,
    headers: hasBody ? { 'Content-Type': 'application/json' } : {},
    body: hasBody ? JSON.stringify(options.body) : undefined,
  });
  return (await readResponse(response)) as ResponseOf<RouteTable[Name]>;
}

/** Builds a route's URL from its path parameters and query. Undefined and empty values are omitted. */
export function urlOf(
  name: RouteName,
  values: { params?: Record<string, string | number>; query?: QueryValues } = {},
): string {
  return addressOf(ROUTE_ADDRESSES[name].path, values);
}

/** Sends the request and throws NodeUnreachable when there is no response. */
export async function sendRequest(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetchSignedIn(address, init);
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new NodeUnreachable(cause);
  }
}

/** The JSON body of a response. `/api/status` sends one with status 503 too; that is not an error here. */
export async function readResponse(response: Response): Promise<unknown> {
  if (response.status === 204) {
    noteDiskAway(undefined);
    return undefined;
  }
  const type = response.headers.get('Content-Type') ?? '';
  const isProblem = type.startsWith('application/problem+json');
  // A proxy in between may send an error page that is not JSON.
  if (!isProblem && !/^application\/([a-z.]+\+)?json/.test(type))
    throw new UnexpectedResponse(response.status);
  const body: unknown = await response.json();
  const problem = isProblem ? new ApiProblem(body as ProblemDocument) : undefined;
  noteDiskAway(problem?.document.code === 'data_folder_away' ? problem.message : undefined);
  if (problem) throw problem;
  return body;
}

/** Requests a route that returns plain text. Throws ApiProblem, NodeUnreachable or UnexpectedResponse. */
export async function readText(name: RouteName, signal?: AbortSignal): Promise<string> {
  const response = await sendRequest(urlOf(name), { signal });
  if (!response.ok) {
    await readResponse(response);
    throw new UnexpectedResponse(response.status);
  }
  return response.text();
}

/**
 * Sends a visitor's invitation token. The node keeps it in a cookie that scripts cannot read. Throws ApiProblem or
 * NodeUnreachable.
 */
export async function enterInvitation(token: string): Promise<void> {
  const response = await sendRequest('/invitation', { method: 'POST', body: new URLSearchParams({ token }) });
  await readResponse(response);
}

/** The node's validation errors by field name, for `form.setErrors` of a flat form. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiProblem)) return {};
  return Object.fromEntries(
    (error.document.errors ?? []).map(({ path, message }) => [
      path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~'),
      message,
    ]),
  );
}

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
export async function upload<Name extends StreamRouteName>(
  name: Name,
  sent: Upload,
): Promise<ResponseOf<RouteTable[Name]>> {
  const { status, answer } = await withToken(
    (headers) => sendUpload(name, sent, headers),
    (uploaded) => uploaded.status,
  );
  if (isProblemDocument(answer)) throw new ApiProblem(answer);
  if (status >= 300 || answer === null) throw new UnexpectedResponse(status);
  return answer as ResponseOf<RouteTable[Name]>;
}

function sendUpload(
  name: StreamRouteName,
  { query, body, mediaType, signal, onProgress }: Upload,
  headers: Record<string, string>,
): Promise<{ status: number; answer: unknown }> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new DOMException('The upload was cancelled.', 'AbortError'));
    const request = new XMLHttpRequest();
    request.open(ROUTE_ADDRESSES[name].method, urlOf(name, { query }));
    if (mediaType) request.setRequestHeader('Content-Type', mediaType);
    for (const [header, value] of Object.entries(headers)) request.setRequestHeader(header, value);
    request.responseType = 'json';
    request.upload.onprogress = ({ loaded, total, lengthComputable }) =>
      onProgress(loaded, lengthComputable ? total : null);
    request.onload = () => resolve({ status: request.status, answer: request.response as unknown });
    request.onerror = () => reject(new NodeUnreachable(new Error('The upload was interrupted.')));
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(body);
  });
}

function isProblemDocument(body: unknown): body is ProblemDocument {
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
 * gives up after an error response, such as that of a node that has started again, for which the ticket is not valid. The
 * stream is then opened again from here.
 */
export function followStream(name: RouteName, { onOpen, onLost, on }: StreamListeners): () => void {
  let stream: EventSource | undefined;
  let isEnded = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_WAIT_MS;
  const open = async () => {
    const address = await readyAddress(urlOf(name));
    if (isEnded) return;
    const opened = new EventSource(address);
    stream = opened;
    opened.addEventListener('open', () => {
      wait = FIRST_WAIT_MS;
      onOpen();
    });
    opened.addEventListener('error', () => {
      onLost?.();
      if (opened.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(() => void openAgain(), wait);
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    });
    for (const [event, listener] of Object.entries(on)) {
      opened.addEventListener(event, ({ data }: MessageEvent<string>) => listener(data));
    }
  };
  const openAgain = async () => {
    // Gets a ticket of this run, if the node answers. If it does not, the stream fails as well.
    await call('readSession').catch(() => undefined);
    await open();
  };
  void open();
  return () => {
    isEnded = true;
    clearTimeout(retry);
    stream?.close();
  };
}
