import { z } from 'zod';
import { MAX_JSON_BYTES } from '../limits.ts';
import type { ProblemCode } from '../problems.ts';
import type { RouteTag } from './tags.ts';

/**
 * Who may use an address: `open` anybody who reaches the node; `read` whoever may read the archive;
 * `contribute` the owner, and visitors where the owner shares for contributions; `owner` the owner alone.
 */
export type Access = 'open' | 'read' | 'contribute' | 'owner';

/** A body that is read whole, as strict JSON, and checked by its schema before the service sees it. */
export interface JsonBody<Schema extends z.ZodType = z.ZodType> {
  kind: 'json';
  schema: Schema;
  maxBytes: number;
  /** Whether the body may be left out. */
  optional?: boolean;
}

/** A body that the service reads as it streams in, by media type; JSON among them follows the schema. */
export interface StreamBody {
  kind: 'stream';
  mediaTypes: readonly string[];
  json?: z.ZodType;
  /** The parts of `multipart/form-data`: each with the schema of its JSON, or `files` for any number of files. */
  parts?: Readonly<Record<string, z.ZodType | 'files'>>;
}

export type BodySpec = JsonBody | StreamBody;

export interface ResponseSpec<Schema extends z.ZodType = z.ZodType> {
  description: string;
  /** Absent where there is no JSON to answer with. */
  schema?: Schema;
  /** Media types beside or instead of JSON. */
  mediaTypes?: readonly string[];
}

/**
 * One address of the interface. `path` is an RFC 6570 template of `{name}` (one segment) and `{+name}` (all that is
 * left); `{+url}` is an address as it stands, with its query. The server's routing, the client's functions and the OpenAPI document are made from this and nothing else.
 */
export interface RouteSpec {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  access: Access;
  tag: RouteTag;
  summary: string;
  /** What the summary leaves open. */
  description?: string;
  query?: z.ZodObject;
  /** The handler reads the query from the request: a protocol of its own says there what is wrong with it. */
  readsOwnQuery?: boolean;
  body?: BodySpec;
  /** Request headers that it looks at, and what for. */
  headers?: Readonly<Record<string, string>>;
  answers: Record<number, ResponseSpec>;
  problems: readonly ProblemCode[];
}

/** Keeps the exact type of a route, so that handlers and clients are checked against it. */
export function route<const Spec extends RouteSpec>(spec: Spec): Spec {
  return spec;
}

/** A JSON body of the size that every address but a pack's takes. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { kind: 'json' as const, schema, maxBytes: MAX_JSON_BYTES };
}

/** The body of an address that needs none: it may be left out, and has no fields. */
export const NO_BODY = { ...jsonBody(z.strictObject({})), optional: true as const };

type NoQuery = Record<string, never>;

/** What a route's handler is given as query: parsed, defaults filled in. */
export type QueryOf<Spec extends RouteSpec> = Spec extends { query: infer Query extends z.ZodType }
  ? z.output<Query>
  : NoQuery;

/** What a route's handler is given as JSON body. */
export type BodyOf<Spec extends RouteSpec> = Spec extends { body: JsonBody<infer Schema> }
  ? z.output<Schema>
  : undefined;

/** What a client may send as JSON body: defaults may be left out. */
export type BodyInputOf<Spec extends RouteSpec> = Spec extends { body: JsonBody<infer Schema> }
  ? z.input<Schema>
  : undefined;

type AnswerSchemas<Spec extends RouteSpec> = {
  [Status in keyof Spec['answers']]: Spec['answers'][Status] extends {
    schema: infer Schema extends z.ZodType;
  }
    ? z.output<Schema>
    : never;
};

/** The JSON that a route answers with when it succeeds. */
export type ResponseOf<Spec extends RouteSpec> = AnswerSchemas<Spec>[keyof AnswerSchemas<Spec>];
