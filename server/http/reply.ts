import type { Request, Response } from 'express';
import type { BodyOf, QueryOf, RouteSpec } from '../../shared/routes/route.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { AdmittedWrite } from '../archive/limits/writeLimits.ts';
import type { RunningJob } from '../runtime/jobs.ts';
import type { StillReadable } from '../withholding/withholding.ts';
import type { Visitor } from './security/access.ts';

/** A route whose writes are limited. It writes through the store of its admission only. */
type LimitedSpec = RouteSpec & { method: 'POST' } & ({ access: 'contribute' } | { isLimited: true });

/** The input of a route's handler, parsed and authorized. */
export interface Call<Spec extends RouteSpec = RouteSpec> {
  params: Record<string, string>;
  query: QueryOf<Spec>;
  body: BodyOf<Spec>;
  visitor: Visitor;
  /** For streamed bodies and for content negotiation. */
  request: Request;
  admitted: Spec extends LimitedSpec ? AdmittedWrite : undefined;
}

/**
 * The result of a handler: JSON with a status, serialized JSON (as one text, or in pieces generated while they are sent),
 * nothing (204), or a function that writes the response itself.
 */
export type Reply =
  | { status: number; json: unknown; headers?: Record<string, string> }
  | {
      status: number;
      jsonText: string | Iterable<string>;
      headers?: Record<string, string>;
      /** Asked before more of the text is sent. */
      stillReadable?: StillReadable;
    }
  | { status: 204 }
  | WrittenReply;

/** A reply with a function that writes the response. */
export interface WrittenReply {
  write(response: Response): void | Promise<void>;
}

export type Handler<Spec extends RouteSpec> = (call: Call<Spec>) => Reply | Promise<Reply>;

export function ok(json: unknown): Reply {
  return { status: 200, json };
}

export function created(json: unknown, location: string): Reply {
  return { status: 201, json, headers: { Location: location } };
}

/** Replies with serialized JSON, such as the text of a pack. */
export function okText(jsonText: string | Iterable<string>): Reply {
  return { status: 200, jsonText };
}

export function createdText(jsonText: string, location: string): Reply {
  return { status: 201, jsonText, headers: { Location: location } };
}

export function accepted(json: unknown): Reply {
  return { status: 202, json };
}

/** Replies with a job that was started or, if the client waits for it, with its result. */
export async function jobReply(
  { wait }: { wait?: boolean | undefined },
  { job, finished }: RunningJob<unknown>,
): Promise<Reply> {
  return wait ? ok(await finished) : accepted(job);
}

export const noContent: Reply = { status: 204 };

/** Replies with nothing once the work is done. */
export async function noContentAfter(work: Promise<unknown>): Promise<Reply> {
  await work;
  return noContent;
}

/** Replies with plain text in UTF-8. */
export function plainText(text: string, headers: Record<string, string> = {}): Reply {
  return {
    write: (response) =>
      void response
        .set({ 'Cache-Control': 'no-store', ...headers })
        .type('text/plain')
        .send(text),
  };
}

/** Replies with a page of a list. `next` has the same query as the request. */
export function page(
  request: Request,
  { limit, offset }: { limit: number; offset: number },
  { items, total }: Slice<unknown>,
): Reply {
  const next =
    offset + items.length < total && items.length > 0 ? nextPath(request, 'offset', offset + limit) : null;
  return ok({ items, total, limit, offset, next });
}

/** Replies with a page of a list that is short enough to be read as a whole. */
export function pageOfAll(
  request: Request,
  { limit, offset }: { limit: number; offset: number },
  all: readonly unknown[],
): Reply {
  const items = all.slice(offset, offset + limit);
  return page(request, { limit, offset }, { items, total: all.length });
}

/** Replies with a page whose items are serialized JSON. It is streamed, so a page of large records is never in memory. */
export function pageOfTexts(
  request: Request,
  { limit, offset }: { limit: number; offset: number },
  { texts, count, total }: { texts: Iterable<string>; count: number; total: number },
): Reply {
  const next = offset + count < total && count > 0 ? nextPath(request, 'offset', offset + limit) : null;
  return okText(withList({ total, limit, offset, next }, 'items', texts));
}

/** Generates the JSON text of an object with one additional member, a list of JSON texts. */
export function* withList(members: object, name: string, texts: Iterable<string>): Generator<string> {
  yield `${JSON.stringify(members).slice(0, -1)},${JSON.stringify(name)}:[`;
  let separator = '';
  for (const text of texts) {
    yield separator + text;
    separator = ',';
  }
  yield ']}';
}

/** Returns the path and query of the request with one parameter replaced. */
export function nextPath(request: Request, name: string, value: number | string): string {
  const url = new URL(request.originalUrl, 'http://localhost');
  url.searchParams.set(name, String(value));
  return url.pathname + url.search;
}
