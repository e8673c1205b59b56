import { PROBLEMS, type ProblemCode } from '../../../shared/problems.ts';
import type { ResponseSpec, RouteSpec } from '../../../shared/routes/route.ts';
import { problemsByStatus } from './possibleProblems.ts';
import type { DescribedSchemas } from './schemas.ts';
import type { ApiResponse, JsonSchema, MediaType } from './types.ts';

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
export function describeResponses(spec: RouteSpec, schemas: DescribedSchemas): Record<string, ApiResponse> {
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
