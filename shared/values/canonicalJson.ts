import canonicalize from 'canonicalize';
import { type JSONPath, visit } from 'jsonc-parser';
import { MAX_JSON_DEPTH } from '../limits.ts';
import { type FieldError, jsonPointer, Problem } from '../problems.ts';

/**
 * Returns the canonical text of a JSON value (RFC 8785): keys sorted by UTF-16 code units, ECMAScript numbers, no spaces.
 *
 * @throws TypeError for values that JSON does not have (undefined, NaN, functions).
 */
export function canonicalText(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('This value cannot be written as JSON.');
  return text;
}

/**
 * Parses JSON that must have a canonical form. Input without one is refused and never corrected.
 *
 * @param maxNames the largest number of fields in all objects together
 * @throws Problem `invalid_json` if the text is not JSON (RFC 8259), is nested too deeply or has too many fields;
 * `not_canonical`, with a pointer to each fault, if an object has a duplicate key, a string contains a lone surrogate, or
 * a number is not a finite double or is an integer beyond ±(2^53-1).
 */
export function parseStrictJson(text: string, maxNames = MAX_NAMES): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Problem('invalid_json', 'The body is not valid JSON. Send one JSON value in UTF-8.', { cause });
  }
  const errors = canonicalFaults(text, maxNames);
  if (errors.length > 0) {
    throw new Problem('not_canonical', `${errors[0]?.path || 'The document'}: ${errors[0]?.message}`, {
      errors,
    });
  }
  return value;
}

export function tooDeep(): Problem {
  return new Problem('invalid_json', `The JSON is nested more than ${MAX_JSON_DEPTH} deep.`);
}

/** Total number of field names. The largest valid record has a quarter of it. */
const MAX_NAMES = 100_000;

/** The number of faults that are reported. A hostile body may have a million. */
const MAX_FAULTS = 50;

function canonicalFaults(text: string, maxNames: number): FieldError[] {
  const errors: FieldError[] = [];
  const keysOfOpenObjects: Set<string>[] = [];
  let depth = 0;
  let names = 0;
  const open = () => {
    depth += 1;
    if (depth > MAX_JSON_DEPTH) throw tooDeep();
  };
  const close = () => {
    depth -= 1;
  };
  const report = (path: JSONPath, message: string) => {
    if (errors.length < MAX_FAULTS) errors.push({ path: jsonPointer(path), message });
  };
  visit(text, {
    onArrayBegin: open,
    onArrayEnd: close,
    onObjectBegin: () => {
      open();
      keysOfOpenObjects.push(new Set());
    },
    onObjectEnd: () => {
      close();
      keysOfOpenObjects.pop();
    },
    onObjectProperty: (key, _offset, _length, _line, _column, pathOfObject) => {
      names += 1;
      if (names > maxNames) {
        throw new Problem('invalid_json', `The JSON has more than ${maxNames} fields.`);
      }
      const keys = keysOfOpenObjects.at(-1);
      if (keys?.has(key)) report([...pathOfObject(), key], 'This key appears twice in one object.');
      keys?.add(key);
      if (!key.isWellFormed()) report(pathOfObject(), 'A key contains a lone surrogate.');
    },
    onLiteralValue: (value: unknown, offset, length, _line, _column, path) => {
      if (typeof value === 'string' && !value.isWellFormed())
        report(path(), 'The text contains a lone surrogate.');
      if (typeof value === 'number') {
        const fault = numberFault(text.slice(offset, offset + length));
        if (fault) report(path(), fault);
      }
    },
  });
  return errors;
}

/**
 * Returns why a number is refused. A measured value such as 6.02e23 keeps its exponent in canonical form and is exact
 * enough. An integer between 2^53 and 10^21 would be written with digits that a double cannot represent, so it is refused.
 */
function numberFault(literal: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value)) return 'The number is too large for a double.';
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return undefined;
  if (Math.abs(value) >= 1e21 && /[.eE]/.test(literal)) return undefined;
  return 'The integer exceeds ±(2^53-1) and would lose digits. Send it as text.';
}
