import type { Request } from 'express';
import type { z } from 'zod';
import { Problem } from '../../../shared/problems.ts';
import { JsonCounter, parseJsonBytes } from '../../../shared/values/checkBody.ts';
import { bodyChunks } from './requestBody.ts';

export { checkBody, parseJsonBytes } from '../../../shared/values/checkBody.ts';

/** Returns the media type of the body in lowercase without parameters; undefined if there is none. */
function mediaTypeOf(request: Request): string | undefined {
  return request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

function hasBody(request: Request): boolean {
  return (
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  );
}

/** Returns the media type of the body. @throws Problem `unsupported_media_type` if it is not one of these, or is encoded. */
export function requireMediaType(request: Request, accepted: readonly string[]): string {
  const mediaType = mediaTypeOf(request);
  const encoding = request.headers['content-encoding'];
  if (mediaType === undefined || !accepted.includes(mediaType) || (encoding && encoding !== 'identity')) {
    throw new Problem('unsupported_media_type', `Send ${accepted.join(' or ')} without a content encoding.`, {
      headers: { Accept: accepted.join(', ') },
    });
  }
  return mediaType;
}

/** Reads a whole body. @throws Problem `body_too_large` as soon as the limit is exceeded. */
export async function readBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Problem('body_too_large', `The body can have at most ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** Reads a JSON body. @throws Problem `invalid_json` as soon as the body is too complex, and the problems of `readBytes` */
export function readJsonText(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  maxValues: number,
): Promise<Buffer> {
  const counter = new JsonCounter(maxValues);
  const counted = async function* () {
    for await (const chunk of body) {
      counter.count(chunk);
      yield chunk;
    }
  };
  return readBytes(counted(), maxBytes);
}

/** @throws Problem `unsupported_media_type` if the body is declared in another charset. */
export function requireUtf8({ headers }: Request): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new Problem('unsupported_media_type', 'Send JSON in UTF-8 (RFC 8259, section 8.1).');
  }
}

/** The limits of a JSON body. */
export interface JsonLimits {
  maxBytes: number;
  maxValues: number;
  /** Whether the body may be omitted. It is `{}` then. */
  optional?: boolean;
}

/** Reads a body as strict JSON. */
export async function readJson(
  request: Request,
  { maxBytes, maxValues, optional = false }: JsonLimits,
): Promise<unknown> {
  if (optional && !hasBody(request)) return {};
  requireMediaType(request, ['application/json']);
  requireUtf8(request);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
    throw new Problem('body_too_large', `The body can have at most ${maxBytes} bytes.`);
  }
  return parseJsonBytes(await readJsonText(bodyChunks(request), maxBytes, maxValues));
}

/**
 * Checks the query against the route's schema.
 *
 * @throws Problem 400: `unknown_parameter`, `invalid_limit`, `invalid_offset`, otherwise `invalid_parameter`, which also
 * includes a parameter that is given twice.
 */
export function checkQuery<Query extends z.ZodObject>(
  schema: Query,
  search: URLSearchParams,
): z.output<Query> {
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of search) {
    if (!Object.hasOwn(schema.shape, name)) {
      const known = Object.keys(schema.shape).join(', ');
      throw new Problem(
        'unknown_parameter',
        `The parameter ${JSON.stringify(name)} is unknown. Known parameters: ${known || 'none'}.`,
      );
    }
    if (name in values) throw parameterProblem(name, 'It is given twice.');
    values[name] = value;
  }
  const result = schema.safeParse({ ...values });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw parameterProblem(String(issue?.path[0]), issue?.message ?? 'The value is invalid.');
}

function parameterProblem(name: string, message: string): Problem {
  const code =
    name === 'limit' ? 'invalid_limit' : name === 'offset' ? 'invalid_offset' : 'invalid_parameter';
  return new Problem(code, `The parameter ${name}: ${message}`);
}
