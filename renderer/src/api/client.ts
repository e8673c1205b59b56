import type { ProblemDocument } from '../../../shared/problems.ts';
import type { AnswerOf, BodyInputOf, RouteSpec } from '../../../shared/routes/route.ts';
import { pathOf, ROUTES, type RouteName, type RouteTable } from '../../../shared/routes.ts';

/** What the node refused, as it said it: show `message`, and `document.code` small beneath. */
export class ApiProblem extends Error {
  readonly document: ProblemDocument;

  constructor(document: ProblemDocument) {
    super(document.detail);
    this.name = 'ApiProblem';
    this.document = document;
  }
}

/** The node did not answer at all. */
export class NodeUnreachable extends Error {
  constructor(cause: unknown) {
    super('The node does not answer. See that it runs, then try again.', { cause });
    this.name = 'NodeUnreachable';
  }
}

/** Something else answered in the node's place. */
export class NotTheNode extends Error {
  constructor(status: number) {
    super(`The answer (${status}) is not the node’s. Is it running, and is this its address? Try again.`);
    this.name = 'NotTheNode';
  }
}

/** Whether the node answered and said no, rather than not answering or failing. */
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

/** Asks the node by a route's name in the table and answers with its JSON. Throws ApiProblem or NodeUnreachable. */
export async function call<Name extends RouteName>(
  name: Name,
  options: CallOptions<RouteTable[Name]> = {},
): Promise<AnswerOf<RouteTable[Name]>> {
  const { method } = ROUTES[name];
  const hasBody = options.body !== undefined;
  const response = await reach(addressOf(name, options), {
    method,
    signal: options.signal,
    headers: hasBody ? { 'Content-Type': 'application/json' } : {},
    body: hasBody ? JSON.stringify(options.body) : undefined,
  });
  return (await answerOf(response)) as AnswerOf<RouteTable[Name]>;
}

/** The address of a route with its parameters and query filled in; values that are undefined or empty are left out. */
export function addressOf(
  name: RouteName,
  { params, query = {} }: { params?: Record<string, string | number>; query?: QueryValues } = {},
): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return pathOf(ROUTES[name].path, params) + (text ? `?${text}` : '');
}

/** Asks, and tells silence apart from an answer. */
export async function reach(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init);
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new NodeUnreachable(cause);
  }
}

/** The JSON of an answer; a status 503 of `/api/status` is an answer too, not a refusal. */
export async function answerOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const type = response.headers.get('Content-Type') ?? '';
  const isProblem = type.startsWith('application/problem+json');
  // What stands between here and the node, a proxy say, answers in its own words.
  if (!isProblem && !/^application\/([a-z.]+\+)?json/.test(type)) throw new NotTheNode(response.status);
  const body: unknown = await response.json();
  if (isProblem) throw new ApiProblem(body as ProblemDocument);
  return body;
}
