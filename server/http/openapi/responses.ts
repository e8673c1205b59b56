import { PROBLEMS, type ProblemCode } from '../../../shared/problems.ts';
import type { ResponseSpec, RouteSpec } from '../../../shared/routes/route.ts';
import { problemsByStatus } from './possibleProblems.ts';
import type { DescribedSchemas } from './schemas.ts';
import type { ApiResponse, JsonSchema, MediaType } from './types.ts';

/** The JSON Schema of every problem document (RFC 9457); it may bear further members. */
export const PROBLEM_SCHEMA: JsonSchema = {
  type: 'object',
  description:
    'Why a request was refused or failed (RFC 9457). `code` never changes; `detail` says what to do.',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string', format: 'uri', description: '`urn:strongroom:problem:` and the code' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
    code: { enum: Object.keys(PROBLEMS).sort() },
    errors: {
      type: 'array',
      description: 'Each broken rule, where a body was refused.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        additionalProperties: false,
        properties: {
          path: { type: 'string', description: 'A JSON Pointer (RFC 6901) into what was sent' },
          message: { type: 'string' },
        },
      },
    },
  },
};

/** What an address answers with: its own answers, then the problems it can meet, by status. */
export function describeResponses(spec: RouteSpec, schemas: DescribedSchemas): Record<string, ApiResponse> {
  const responses: Record<string, ApiResponse> = {};
  for (const [status, answer] of Object.entries(spec.answers)) {
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
  const tellsWhen = codes.includes('rate_limited') || codes.includes('busy');
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('; '),
    ...(tellsWhen
      ? { headers: { 'Retry-After': header('Seconds after which the next one may be let through') } }
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
  if (status === 201) headers.Location = header('The address of what was made, where it has one');
  if (206 in spec.answers && status < 400) {
    headers.ETag = header('The digest in quotes');
    headers['Repr-Digest'] = header('The SHA-256 of the whole (RFC 9530)');
    headers['Accept-Ranges'] = header('`bytes`');
  }
  if (status === 206)
    headers['Content-Range'] = header('Which bytes of how many, where one range was asked for');
  if (content && 'text/csv' in content) headers['Content-Disposition'] = header('A file name, for CSV');
  return headers;
}

function header(description: string) {
  return { description, schema: { type: 'string' } };
}
