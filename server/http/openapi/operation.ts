import { z } from 'zod';
import { itemIdSchema } from '../../../shared/archive/comment.ts';
import { nodePathSchema } from '../../../shared/archive/study.ts';
import { tilePathSchema } from '../../../shared/ledger/ledger.ts';
import { jobIdSchema } from '../../../shared/node/job.ts';
import { PROBLEMS, type ProblemCode } from '../../../shared/problems.ts';
import type { Access, BodySpec, ResponseSpec, RouteSpec } from '../../../shared/routes/route.ts';
import { digestSchema, packIdSchema, sourceIdSchema, studyIdSchema } from '../../../shared/values/digest.ts';
import { httpUrlSchema } from '../../../shared/values/text.ts';
import { EXAMPLES, type Example } from './examples.ts';
import type {
  ApiResponse,
  DescribedSchemas,
  JsonSchema,
  MediaType,
  Operation,
  Parameter,
  SchemaUse,
} from './schemas.ts';

/** Returns every schema that a route uses, and whether it describes input or output. */
export function* schemasOf(spec: RouteSpec): Generator<SchemaUse> {
  for (const { schema } of pathParameters(spec)) yield { schema, io: 'input' };
  for (const schema of Object.values(spec.query?.shape ?? {}) as z.ZodType[]) yield { schema, io: 'input' };
  const { body } = spec;
  if (body?.kind === 'json') yield { schema: body.schema, io: 'input' };
  if (body?.kind === 'stream') {
    if (body.json) yield { schema: body.json, io: 'input' };
    for (const part of Object.values(body.parts ?? {})) {
      if (part !== 'files') yield { schema: part, io: 'input' };
    }
  }
  for (const { schema } of Object.values(spec.responses)) if (schema) yield { schema, io: 'output' };
}

export function operationOf(name: string, spec: RouteSpec, schemas: DescribedSchemas): Operation {
  const parameters = parametersOf(spec, schemas);
  const example = EXAMPLES[name];
  return {
    operationId: name,
    tags: [spec.tag],
    summary: spec.summary,
    description: [spec.description, WHO_MAY[spec.access]].filter(Boolean).join('\n\n'),
    security: SECURITY[spec.access],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(spec.body ? { requestBody: withExample(requestBodyOf(spec.body, schemas), example?.request) } : {}),
    responses: example
      ? withExamples(describeResponses(spec, schemas), example)
      : describeResponses(spec, schemas),
  };
}

/** Adds an example to the JSON of a body. */
function withExample<Described extends { content?: Record<string, MediaType> }>(
  described: Described,
  example: unknown,
): Described {
  const json = described.content?.['application/json'];
  if (example === undefined || json === undefined) return described;
  return { ...described, content: { ...described.content, 'application/json': { ...json, example } } };
}

/** Adds the example to the first successful response. */
function withExamples(
  responses: Record<string, ApiResponse>,
  { response }: Example,
): Record<string, ApiResponse> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, described]) => [
      status,
      status.startsWith('2') ? withExample(described, response) : described,
    ]),
  );
}

const WHO_MAY: Record<Access, string> = {
  open: 'Access: everyone who can reach the node.',
  read: 'Access: everyone on the node’s machine, and visitors while the node is shared.',
  contribute:
    'Access: the owner, and visitors while the node is shared for contributions. Visitors need an invitation if the owner requires one.',
  paired: 'Access: the owner, and browsers that are paired with the node.',
  owner: 'Access: the owner only.',
};

type Requirement = Record<string, string[]>;
const OWNER: Requirement[] = [{ ownerToken: [] }, { ownerSession: [] }];
const SECURITY: Record<Access, Requirement[]> = {
  open: [{}],
  read: [{}, ...OWNER],
  contribute: [...OWNER, { invitation: [] }, {}],
  paired: [...OWNER, { pairedBrowser: [] }],
  owner: OWNER,
};

/** The schema of `{id}` after each of these path segments; `ANY_ID` after all others. */
const IDS: Readonly<Record<string, z.ZodType>> = {
  packs: packIdSchema,
  studies: studyIdSchema,
  items: itemIdSchema,
  sources: sourceIdSchema,
  jobs: jobIdSchema,
  events: z.int().min(1),
};
const ANY_ID = z.string().min(1);

interface PathParameter {
  name: string;
  schema: z.ZodType;
  description: string;
}

function pathParameters({ path }: RouteSpec): PathParameter[] {
  return [...path.matchAll(/([\w-]*)\}?\/\{(\+?)(\w+)\}/g)].map(([, before = '', rest, name = '']) => {
    if (name === 'url') {
      return { name, schema: httpUrlSchema, description: 'A URL, unencoded, including its query.' };
    }
    if (name === 'tile') {
      const description = 'Level, index and width, as C2SP tlog-tiles writes them: `0/x001/x234/067.p/8`.';
      return { name, schema: tilePathSchema, description };
    }
    if (rest) {
      const description = 'One or more segments. The slashes between them are not encoded.';
      return { name, schema: nodePathSchema, description };
    }
    if (name === 'sha256') return { name, schema: digestSchema, description: 'The digest of the bytes.' };
    return { name, schema: IDS[before] ?? ANY_ID, description: `The ${name}, as listed in ${before}.` };
  });
}

function parametersOf(spec: RouteSpec, schemas: DescribedSchemas): Parameter[] {
  const inPath = pathParameters(spec).map(
    ({ name, schema, description }): Parameter => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: schemas.of(schema, 'input'),
    }),
  );
  const inQuery = Object.entries((spec.query?.shape ?? {}) as Record<string, z.ZodType>).map(
    ([name, schema]) => queryParameter(name, schema, schemas),
  );
  const inHeaders = Object.entries({ ...(206 in spec.responses ? RANGE_HEADERS : {}), ...spec.headers }).map(
    ([name, description]): Parameter => ({ name, in: 'header', description, schema: { type: 'string' } }),
  );
  return [...inPath, ...inQuery, ...inHeaders];
}

const RANGE_HEADERS = {
  Range: 'One or more byte ranges (RFC 9110, section 14).',
  'If-Range': 'An entity tag. If it does not match, the range is ignored and all bytes are sent.',
  'If-None-Match': 'The entity tag of a cached copy. If it matches, the response is 304.',
};

function queryParameter(name: string, schema: z.ZodType, schemas: DescribedSchemas): Parameter {
  const left = schema.safeParse(undefined);
  const { description, ...described } = schemas.of(schema, 'input');
  const fallback = left.success && left.data !== undefined ? { default: left.data } : {};
  return {
    name,
    in: 'query',
    ...(left.success ? {} : { required: true }),
    ...(typeof description === 'string' ? { description } : {}),
    schema: { ...described, ...fallback },
  };
}

function requestBodyOf(body: BodySpec, schemas: DescribedSchemas): NonNullable<Operation['requestBody']> {
  if (body.kind === 'json') {
    const schema = schemas.of(body.schema, 'input');
    return { required: !body.optional, content: { 'application/json': { schema } } };
  }
  const { mediaTypes, json, parts } = body;
  const contentOf = (mediaType: string): MediaType => {
    if (mediaType === 'application/json' && json) return { schema: schemas.of(json, 'input') };
    if (mediaType === 'multipart/form-data' && parts) return { schema: partsSchema(parts, schemas) };
    return mediaType.startsWith('text/') ? { schema: { type: 'string' } } : {};
  };
  return {
    required: true,
    content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, contentOf(mediaType)])),
  };
}

function partsSchema(
  parts: NonNullable<Extract<BodySpec, { kind: 'stream' }>['parts']>,
  schemas: DescribedSchemas,
) {
  const files = {
    type: 'array',
    items: { contentMediaType: 'application/octet-stream' },
    description: 'One part per file, with its full path as the file name.',
  };
  const properties = Object.entries(parts).map(([name, part]) => [
    name,
    part === 'files' ? files : schemas.of(part, 'input'),
  ]);
  const required = Object.entries(parts).flatMap(([name, part]) => (part === 'files' ? [] : [name]));
  return { type: 'object', properties: Object.fromEntries(properties), required };
}

/** The JSON Schema of a problem document (RFC 9457); further members are allowed. */
export const PROBLEM_SCHEMA: JsonSchema = {
  type: 'object',
  description:
    'The reason why a request was refused or failed (RFC 9457). `code` is stable; `detail` says what to do.',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string', format: 'uri', description: '`urn:strongroom:problem:` followed by the code' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
    code: { enum: Object.keys(PROBLEMS).sort() },
    errors: {
      type: 'array',
      description: 'The fields of the body that are invalid, if the body was refused.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        additionalProperties: false,
        properties: {
          path: { type: 'string', description: 'A JSON Pointer (RFC 6901) into the request body' },
          message: { type: 'string' },
        },
      },
    },
  },
};

/** Returns the responses of a route by status: its successful responses and its problems. */
function describeResponses(spec: RouteSpec, schemas: DescribedSchemas): Record<string, ApiResponse> {
  const responses: Record<string, ApiResponse> = {};
  for (const [status, answer] of Object.entries(spec.responses)) {
    const content = contentOf(answer, schemas);
    const headers = headersOf(Number(status), spec, content);
    responses[status] = {
      description: answer.description,
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
      ...(content ? { content } : {}),
    };
  }
  for (const [status, codes] of problemsByStatus(spec)) {
    const answer = responses[status];
    const { description, headers, content } = problemResponse(codes);
    responses[status] = {
      description: answer ? `${answer.description}; or: ${description}` : description,
      ...(headers || answer?.headers ? { headers: { ...answer?.headers, ...headers } } : {}),
      content: { ...answer?.content, ...content },
    };
  }
  return responses;
}

function contentOf({ schema, mediaTypes = [] }: ResponseSpec, schemas: DescribedSchemas) {
  const content: Record<string, MediaType> = {};
  if (schema) content['application/json'] = { schema: schemas.of(schema, 'output') };
  for (const mediaType of mediaTypes) {
    content[mediaType] = mediaType.startsWith('text/') ? { schema: { type: 'string' } } : {};
  }
  return Object.keys(content).length > 0 ? content : undefined;
}

function problemResponse(codes: readonly ProblemCode[]): ApiResponse {
  const hasRetryAfter = codes.includes('rate_limited') || codes.includes('busy');
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('; '),
    ...(hasRetryAfter
      ? { headers: { 'Retry-After': header('The number of seconds to wait before the next attempt') } }
      : {}),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem', properties: { code: { enum: [...codes] } } },
      },
    },
  };
}

function headersOf(status: number, spec: RouteSpec, content: Record<string, MediaType> | undefined) {
  const headers: NonNullable<ApiResponse['headers']> = {};
  if (status === 201) headers.Location = header('The URL of the created resource, if it has one');
  if (206 in spec.responses && status < 400) {
    headers.ETag = header('The SHA-256 of all bytes in hex, quoted');
    headers['Repr-Digest'] = header('The SHA-256 of all bytes (RFC 9530)');
    headers['Accept-Ranges'] = header('`bytes`');
  }
  if (status === 206)
    headers['Content-Range'] = header(
      'The position of the range and the total size, if one range was requested',
    );
  if (content && 'text/csv' in content)
    headers['Content-Disposition'] = header('A file name, if the response is CSV');
  return headers;
}

function header(description: string) {
  return { description, schema: { type: 'string' } };
}

const EVERYWHERE: readonly ProblemCode[] = [
  'invalid_request',
  'unknown_parameter',
  'not_shared',
  'unknown_host',
  'tls_required',
  'head_too_large',
  'internal_error',
  'database_damaged',
  'data_folder_away',
];
const CHANGING: readonly ProblemCode[] = [
  'foreign_origin',
  'storage_failed',
  'clock_ahead',
  'archive_read_only',
  'disk_nearly_full',
  'shutting_down',
];
const CONTRIBUTING: readonly ProblemCode[] = ['invitation_required', 'rate_limited', 'data_cap_reached'];
const WITH_A_BODY: readonly ProblemCode[] = [
  'incomplete_body',
  'body_timeout',
  'body_too_large',
  'unsupported_media_type',
];
const WITH_JSON: readonly ProblemCode[] = ['invalid_json', 'invalid_field', 'unknown_field', 'not_canonical'];
const WITH_RANGES: readonly ProblemCode[] = ['range_not_satisfiable', 'precondition_failed', 'blob_damaged'];

/** Returns the codes of all problems that a route can respond with: its own, and those common to routes of its kind. */
function possibleProblems(spec: RouteSpec): ProblemCode[] {
  const { body, query, access, method, path, responses } = spec;
  const parameters = Object.keys(query?.shape ?? {});
  const codes = new Set<ProblemCode>([...(spec.problems ?? []), ...EVERYWHERE]);
  const add = (when: boolean, more: readonly ProblemCode[]) => {
    if (when) for (const code of more) codes.add(code);
  };
  add(access !== 'open', ['owner_required']);
  add(path.includes('{'), ['invalid_path']);
  add(parameters.includes('limit'), ['invalid_limit']);
  add(parameters.includes('offset'), ['invalid_offset']);
  add(parameters.length > 0, ['invalid_parameter']);
  add(method !== 'GET', CHANGING);
  add(access === 'contribute', CONTRIBUTING);
  add(body !== undefined, WITH_A_BODY);
  add(body?.kind === 'json' || body?.json !== undefined, WITH_JSON);
  add(206 in responses, WITH_RANGES);
  return [...codes];
}

/** Returns the same codes grouped by HTTP status, in ascending order. */
function problemsByStatus(spec: RouteSpec): Map<number, ProblemCode[]> {
  const sorted = possibleProblems(spec).sort(
    (left, right) => PROBLEMS[left].status - PROBLEMS[right].status || (left < right ? -1 : 1),
  );
  return Map.groupBy(sorted, (code) => PROBLEMS[code].status);
}
