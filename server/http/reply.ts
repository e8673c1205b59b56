import type { Request, Response } from 'express';
import type { Slice } from '../../shared/list.ts';
import type { BodyOf, QueryOf, RouteSpec } from '../../shared/routes/route.ts';
import type { AdmittedWrite } from '../archive/limits/writeLimits.ts';
import type { Visitor } from './security/access.ts';

/** A route whose writes are limited: it writes through what it was admitted with, and through nothing else. */
export type LimitedSpec = RouteSpec & { access: 'contribute'; method: 'POST' };

/** What a route's handler is given: everything parsed and allowed. */
export interface Call<Spec extends RouteSpec = RouteSpec> {
  params: Record<string, string>;
  query: QueryOf<Spec>;
  body: BodyOf<Spec>;
  visitor: Visitor;
  /** For bodies that are read as they stream in, and for content negotiation. */
  request: Request;
  admitted: Spec extends LimitedSpec ? AdmittedWrite : undefined;
}

/**
 * What a handler gives back: JSON with a status, JSON that is text already (whole, or in pieces made as they are sent), nothing (204), or a function that writes the answer itself.
 */
export type Reply =
  | { status: number; json: unknown; headers?: Record<string, string> }
  | { status: number; jsonText: string | Iterable<string>; headers?: Record<string, string> }
  | { status: 204 }
  | WrittenReply;

/** An answer that writes itself. */
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

/** JSON that is text already: `jsonText` of a pack, say. */
export function okText(jsonText: string | Iterable<string>): Reply {
  return { status: 200, jsonText };
}

export function createdText(jsonText: string, location: string): Reply {
  return { status: 201, jsonText, headers: { Location: location } };
}

export function accepted(json: unknown): Reply {
  return { status: 202, json };
}

export const noContent: Reply = { status: 204 };

/** Text in UTF-8, for what is no JSON. */
export function plainText(text: string, headers: Record<string, string> = {}): Reply {
  return {
    write: (response) =>
      void response
        .set({ 'Cache-Control': 'no-store', ...headers })
        .type('text/plain')
        .send(text),
  };
}

/** A page of a list; `next` keeps all of the query as it was sent. */
export function page(
  request: Request,
  { limit, offset }: { limit: number; offset: number },
  { items, total }: Slice<unknown>,
): Reply {
  const next =
    offset + items.length < total && items.length > 0 ? nextPath(request, 'offset', offset + limit) : null;
  return ok({ items, total, limit, offset, next });
}

/** A page whose items are JSON texts, sent as they are made: a page of large records is never held whole. */
export function pageOfTexts(
  request: Request,
  { limit, offset }: { limit: number; offset: number },
  { texts, count, total }: { texts: Iterable<string>; count: number; total: number },
): Reply {
  const next = offset + count < total && count > 0 ? nextPath(request, 'offset', offset + limit) : null;
  return okText(withList({ total, limit, offset, next }, 'items', texts));
}

/** The JSON text of an object with one more member, a list of JSON texts. */
export function* withList(members: object, name: string, texts: Iterable<string>): Generator<string> {
  yield `${JSON.stringify(members).slice(0, -1)},${JSON.stringify(name)}:[`;
  let separator = '';
  for (const text of texts) {
    yield separator + text;
    separator = ',';
  }
  yield ']}';
}

/** The path of the request with one query parameter set. */
export function nextPath(request: Request, name: string, value: number): string {
  const url = new URL(request.originalUrl, 'http://localhost');
  url.searchParams.set(name, String(value));
  return url.pathname + url.search;
}
