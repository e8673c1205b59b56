import type { z } from 'zod';

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

/** Returns the JSON Pointer (RFC 6901) for the keys and indexes that lead to a value. An empty list is the document. */
export function jsonPointer(steps: readonly PropertyKey[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
