import type { z } from 'zod';
import { type FieldError, Problem, type ProblemCode } from '../problems.ts';
import { parseStrictJson } from './canonicalJson.ts';
import { issueMessage } from './issueMessage.ts';
import { jsonPointer } from './jsonPointer.ts';

/** Parses the bytes of a JSON body. @throws Problem `invalid_json` if it is not UTF-8 or not JSON; `not_canonical` */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Problem('invalid_json', 'The body is not valid UTF-8.', { cause });
  }
  return parseStrictJson(text);
}

/**
 * Checks a body against its schema and fills in defaults.
 *
 * @throws Problem 422 with a JSON Pointer to each field: `unknown_field` if the schema does not have a field,
 * `terms_not_accepted` if the terms are not the current ones, otherwise `invalid_field`.
 */
export function checkBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const errors = fieldErrors(result.error);
  const code = codeOf(result.error);
  const [first] = errors;
  throw new Problem(
    code,
    first ? `${first.path || 'The body'}: ${first.message}` : 'The body is not valid.',
    {
      errors,
    },
  );
}

function codeOf(error: z.ZodError): ProblemCode {
  if (error.issues.some((issue) => issue.code === 'unrecognized_keys')) return 'unknown_field';
  const wantsTerms = error.issues.some(
    (issue) => issue.path.length === 1 && issue.path[0] === 'terms_version',
  );
  return wantsTerms ? 'terms_not_accepted' : 'invalid_field';
}

function fieldErrors(error: z.ZodError): FieldError[] {
  return error.issues.flatMap((issue): FieldError[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: jsonPointer([...issue.path, key]),
        message: 'Unknown field.',
      }));
    }
    return [{ path: jsonPointer(issue.path), message: issueMessage(issue) }];
  });
}
