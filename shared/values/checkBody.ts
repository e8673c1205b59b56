import type { z } from 'zod';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../limits.ts';
import { type FieldError, jsonPointer, Problem, type ProblemCode } from '../problems.ts';
import { parseStrictJson, tooDeep } from './canonicalJson.ts';

/**
 * Counts the values of a JSON text and the depth of their nesting while its bytes arrive, without building anything. So a
 * body that is too complex is refused after its first kilobytes. A text that is not JSON is not noticed here.
 */
export class JsonCounter {
  readonly #maxValues: number;
  #values = 1;
  #depth = 0;
  #state = OUTSIDE;

  constructor(maxValues: number) {
    this.#maxValues = maxValues;
  }

  /** Counts the next bytes. @throws Problem `invalid_json` if there are too many values, or they are nested too deeply. */
  count(bytes: Uint8Array): void {
    // Local variables, because fields make this loop five times slower.
    let values = this.#values;
    let depth = this.#depth;
    let state = this.#state;
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index];
      if (state === ESCAPED) state = IN_STRING;
      else if (state === IN_STRING) {
        if (byte === QUOTE) state = OUTSIDE;
        else if (byte === BACKSLASH) state = ESCAPED;
      } else if (byte === QUOTE) state = IN_STRING;
      else if (byte === COMMA) values += 1;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        values += 1;
        depth += 1;
        if (depth > MAX_JSON_DEPTH) throw tooDeep();
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
    }
    this.#values = values;
    this.#depth = depth;
    this.#state = state;
    if (values > this.#maxValues) {
      throw new Problem('invalid_json', `The JSON has more than ${this.#maxValues} values.`);
    }
  }
}

const OUTSIDE = 0;
const IN_STRING = 1;
const ESCAPED = 2;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Parses the bytes of a JSON body.
 *
 * @throws Problem `invalid_json` if it is not UTF-8, not JSON, or too complex; `not_canonical`
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  new JsonCounter(MAX_JSON_VALUES).count(bytes);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Problem('invalid_json', 'The body is not valid UTF-8.', { cause });
  }
  return parseStrictJson(text);
}

/** The most faults that are reported. A hostile body can have one in each value. */
const MAX_FAULTS = 100;

/**
 * Checks a body against its schema and fills in defaults.
 *
 * @throws Problem 422 with a JSON Pointer to each field: `unknown_field` if the schema does not have a field,
 * `terms_not_accepted` if the terms are not the current ones, otherwise `invalid_field`.
 */
export function checkBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const errors = fieldErrors(result.error).slice(0, MAX_FAULTS);
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

type Issue = z.core.$ZodIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object with named fields',
  record: 'an object with named fields',
  null: 'null',
};

/** The message of a validation issue. The library's own words are replaced; the messages of our rules are kept. */
export function issueMessage(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (!issue.message.startsWith('Invalid input')) return issue.message;
      return issue.message.endsWith('received undefined')
        ? 'This field is missing.'
        : `This must be ${KINDS[issue.expected] ?? 'another kind of value'}.`;
    case 'invalid_value':
      if (!/^Invalid (input|option)/.test(issue.message)) return issue.message;
      return issue.values.length === 1
        ? `This must be ${String(issue.values[0])}.`
        : `This must be one of ${issue.values.map(String).join(', ')}.`;
    case 'too_small':
      return issue.message.startsWith('Too small') ? `At least ${String(issue.minimum)}.` : issue.message;
    case 'too_big':
      return issue.message.startsWith('Too big') ? `At most ${String(issue.maximum)}.` : issue.message;
    case 'unrecognized_keys':
      return 'Unknown field.';
    default:
      return issue.message.startsWith('Invalid input') ? 'This value is not valid here.' : issue.message;
  }
}
