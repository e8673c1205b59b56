import { z } from 'zod';
import { MAX_JSON_BYTES } from '../limits.ts';
import { jobSchema } from '../node/job.ts';
import type { ProblemCode } from '../problems.ts';
import { booleanParameter } from '../values/list.ts';

/**
 * Who may use a route. `open`: everyone who can reach the node. `read`: everyone who may read the archive. `contribute`:
 * the owner, and visitors while the node is shared for contributions. `paired`: the owner, and browsers that are paired
 * with the node; these may use nothing else. `owner`: the owner only.
 */
export type Access = 'open' | 'read' | 'contribute' | 'paired' | 'owner';

/** A body that is parsed as strict JSON and checked against its schema before the handler runs. */
interface JsonBody<Schema extends z.ZodType = z.ZodType> {
  kind: 'json';
  schema: Schema;
  maxBytes: number;
  /** Whether the body may be left out. */
  optional?: boolean;
}

/** A body that the handler reads as a stream. `json` is the schema for `application/json`. */
interface StreamBody {
  kind: 'stream';
  mediaTypes: readonly string[];
  json?: z.ZodType;
  /** The parts of `multipart/form-data`: the schema of a part's JSON, or `files` for any number of files. */
  parts?: Readonly<Record<string, z.ZodType | 'files'>>;
}

export type BodySpec = JsonBody | StreamBody;

export interface ResponseSpec<Schema extends z.ZodType = z.ZodType> {
  description: string;
  /** The schema of the JSON body; absent if there is none. */
  schema?: Schema;
  /** Media types in addition to or instead of JSON. */
  mediaTypes?: readonly string[];
}

/**
 * One operation of the API. `path` is an RFC 6570 template with `{name}` (one segment), `{+name}` (all remaining
 * segments) and `{+url}` (an unencoded URL, including its query). The server's routes, the client's functions and the
 * OpenAPI document are all generated from it.
 */
export interface RouteSpec {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  access: Access;
  tag: RouteTag;
  /** A POST of the owner that adds to the data-pack archive: its limits apply, as to every POST for contributors. */
  isLimited?: true;
  summary: string;
  /** Details that do not fit into the summary. */
  description?: string;
  query?: z.ZodObject;
  /** What one answer may hold in memory while it is assembled and sent, in MB. Visitors wait while others hold too much. */
  memoryMb?: number;
  /** The handler reads the query from the request: a protocol of its own says there what is wrong with it. */
  readsOwnQuery?: boolean;
  body?: BodySpec;
  /** The request headers that have an effect, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
  responses: Record<number, ResponseSpec>;
  /** The problems that not every route of its kind has. */
  problems?: readonly ProblemCode[];
}

/** Returns the route itself, with its literal type, so that handlers and clients are type-checked against it. */
export function route<const Spec extends RouteSpec>(spec: Spec): Spec {
  return spec;
}

/** Returns a route for the owner only, in the group `Manage`. */
export function manageRoute<const Spec extends Omit<RouteSpec, 'access' | 'tag'>>(spec: Spec) {
  return { ...spec, access: 'owner' as const, tag: 'Manage' as const };
}

/** A JSON body with the usual size limit, `MAX_JSON_BYTES`. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { kind: 'json' as const, schema, maxBytes: MAX_JSON_BYTES };
}

/** Why bytes that are held, or what was made of them, are not sent. */
export const UNREADABLE = ['withheld', 'released'] as const;

/** The body of a POST that takes no input: it may be omitted, and has no fields. */
export const NO_BODY = { ...jsonBody(z.strictObject({})), optional: true as const };

const waitQuery = z.strictObject({ wait: booleanParameter.optional() });

/** The query and the responses of a route that starts a job: the job, or with `wait=true` its result once it has ended. */
export function jobOrResult<Schema extends z.ZodType>(job: string, result: string, schema: Schema) {
  return {
    query: waitQuery,
    responses: {
      200: { description: result, schema },
      202: { description: job, schema: jobSchema },
    },
  };
}

type NoQuery = Record<string, never>;

/** The query that a route's handler receives: parsed, with defaults. */
export type QueryOf<Spec extends RouteSpec> = Spec extends { query: infer Query extends z.ZodType }
  ? z.output<Query>
  : NoQuery;

/** The JSON body that a route's handler receives. */
export type BodyOf<Spec extends RouteSpec> = Spec extends { body: JsonBody<infer Schema> }
  ? z.output<Schema>
  : undefined;

/** The JSON body that a client may send: fields with defaults may be omitted. */
export type BodyInputOf<Spec extends RouteSpec> = Spec extends { body: JsonBody<infer Schema> }
  ? z.input<Schema>
  : undefined;

type ResponseSchemas<Spec extends RouteSpec> = {
  [Status in keyof Spec['responses']]: Spec['responses'][Status] extends {
    schema: infer Schema extends z.ZodType;
  }
    ? z.output<Schema>
    : Status extends 204
      ? undefined
      : never;
};

/** The JSON body of a successful response; undefined for 204. */
export type ResponseOf<Spec extends RouteSpec> = ResponseSchemas<Spec>[keyof ResponseSchemas<Spec>];

/** The groups of operations in the API documentation, in display order. */
export const ROUTE_TAGS = {
  Nodes: 'The tree that organizes studies and packs.',
  Packs: 'Bundles of research data with a record, a licence and an outcome, identified by their fingerprint.',
  Studies: 'Questions that packs answer, with a status and a table of results.',
  Comments: 'Comments on packs and studies.',
  Citations: 'Citations of packs and studies.',
  Harvesting: 'The packs for harvesters, by OAI-PMH 2.0.',
  Blobs: 'The bytes of files, identified by their SHA-256.',
  Ledger: 'The append-only log of everything recorded, and the proofs that it was never rewritten.',
  Dump: 'The entire archive as one stream.',
  Collection: 'The watched sources and the state of the collection.',
  Timeline: 'The events of each source: first seen, changed, unavailable and so on.',
  Objects: 'Retrieved bytes, exactly as they were received.',
  Pages: 'Pages as a browser drew them: picture, text, document and requests.',
  Mementos: 'Observations by URL and time, in the Memento protocol (RFC 7089).',
  Findings: 'Notes of the owner on events, objects and packs, recorded in the ledger.',
  Cases: 'Ordered lists of events, packs and findings, exported with their evidence.',
  Node: 'The node and the session of the client.',
  Manage: 'Operations for the owner only.',
  Description: 'The documentation of this API.',
} as const;

type RouteTag = keyof typeof ROUTE_TAGS;

/**
 * Fills in a path template: `{name}` becomes one percent-encoded segment, `{+name}` several of them.
 *
 * @throws TypeError if a parameter is missing.
 */
export function pathOf(template: string, params: Readonly<Record<string, string | number>> = {}): string {
  return template.replace(/\{(\+?)(\w+)\}/g, (_whole, rest: string, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`The path ${template} needs ${name}.`);
    return rest
      ? String(value).split('/').map(encodeURIComponent).join('/')
      : encodeURIComponent(String(value));
  });
}

/** The values of a query. Those that are undefined or empty are left out. */
export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** Fills in a path template and adds a query. @throws TypeError if a parameter is missing */
export function addressOf(
  template: string,
  { params, query = {} }: { params?: Readonly<Record<string, string | number>>; query?: QueryValues } = {},
): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return pathOf(template, params) + (text ? `?${text}` : '');
}
