import { expect, test } from 'vitest';
import { fieldAt } from '../../renderer/src/pages/alerts/rule.ts';

const BODY = {
  to: [
    { kind: 'email' as const, address: 'a@example.org' },
    { kind: 'webhook' as const, url: 'https://example.org/hook', allow_private: false },
  ],
};

test.each([
  [['name'], 'name'],
  [['when'], 'event_types'],
  [['when', 'tags', 0], 'tags'],
  [['when', 'failures'], 'states'],
  [['to', 0, 'address'], 'addresses'],
  [['to', 1, 'url'], 'urls'],
  [['every'], 'every'],
])('the error at %j of a rule is shown at the field %s', (path, field) => {
  expect(fieldAt(BODY, path)).toBe(field);
});
