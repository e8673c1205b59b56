import { describe, expect, test } from 'vitest';
import { checkResponse } from '../support/conformance.ts';

const HEALTH = new URL('http://node/api/health');
const ENTRY = new URL('http://node/api/ledger?from=1');

function answer(status: number, body: unknown, mediaType = 'application/json'): Response {
  return new Response(body === null ? null : JSON.stringify(body), {
    status,
    headers: { 'Content-Type': `${mediaType}; charset=utf-8` },
  });
}

const problem = (code: string) => ({ type: 'urn:x', title: 'No', status: 404, detail: 'No.', code });

describe('every response in the tests is checked against the OpenAPI document', () => {
  test('a conforming response passes, and can be read afterwards', async () => {
    const response = answer(200, { status: 'up' });
    await checkResponse('GET', HEALTH, response);
    expect(await response.json()).toEqual({ status: 'up' });
  });

  test.for([
    [
      'an additional field',
      'GET',
      HEALTH,
      answer(200, { status: 'up', since: 1 }),
      /additional properties.*since/,
    ],
    ['a wrong value', 'GET', HEALTH, answer(200, { status: 'down' }), /\/status must be equal to constant/],
    ['a missing nested field', 'GET', ENTRY, ledgerPageWithout('prev'), /\/items\/0 must have.*prev/],
    ['an unknown status', 'GET', HEALTH, answer(418, {}), /readHealth.*knows no 418/],
    [
      'another media type',
      'GET',
      HEALTH,
      answer(200, {}, 'text/html'),
      /names application\/json here, not text\/html/,
    ],
    [
      'a problem of another path',
      'POST',
      new URL('http://node/api/nodes'),
      problemAnswer(409, 'id_taken'),
      /\/code must be equal/,
    ],
    ['an unknown code', 'GET', new URL('http://node/no'), problemAnswer(404, 'nope'), /\/code must be equal/],
  ] as const)('%s fails, and the place is named', async ([, method, url, response, message]) => {
    await expect(checkResponse(method, url, response)).rejects.toThrow(message);
  });
});

function problemAnswer(status: number, code: string): Response {
  return answer(status, problem(code), 'application/problem+json');
}

function ledgerPageWithout(field: string): Response {
  const hash = 'a'.repeat(64);
  const entry = {
    seq: 1,
    at: '2026-11-20T10:14:21.592Z',
    type: 'pack.added',
    subject: 'pk',
    digest: hash,
    hash,
  };
  const whole = { ...entry, prev: hash };
  const items = [Object.fromEntries(Object.entries(whole).filter(([name]) => name !== field))];
  return answer(200, { items, total: 1, limit: 1, from: 1, next: null, head: { seq: 1, hash, root: hash } });
}
