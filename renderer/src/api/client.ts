import { create } from 'zustand';
import type { ProblemCode, ProblemDocument } from '../../../shared/problems.ts';
import { type BodyInputOf, pathOf, type ResponseOf, type RouteSpec } from '../../../shared/routes/route.ts';
import type { RouteName, RouteTable } from '../../../shared/routes.ts';
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

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

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
  { params, query = {} }: { params?: Record<string, string | number>; query?: QueryValues } = {},
): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return pathOf(ROUTE_ADDRESSES[name].path, params) + (text ? `?${text}` : '');
}

/** Sends the request and throws NodeUnreachable when there is no response. */
export async function sendRequest(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init);
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
