import { afterAll, beforeAll, expect, test } from 'vitest';
import { heldAnswers } from '../../../server/collection/pages/readPages.ts';
import { findOrAddPausedSource, sourceIdOf } from '../../../server/collection/sources/sources.ts';
import { insertRetrieval, type NewRetrieval } from '../../../server/store/sqlite/collection/retrievals.ts';
import { createBlobRowIfAbsent } from '../../../server/store/sqlite/node/blobs.ts';
import type { Store } from '../../../server/store/store.ts';
import { sha256Of } from '../../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { openTestStore } from '../../support/store.ts';

const PAGE = 'https://shop.example/';
const STYLE = 'https://shop.example/style.css';

let store: Store;
beforeAll(async () => {
  store = await openTestStore(await temporaryFolder());
});
afterAll(async () => {
  await store.close();
  await closeTestNodes();
});

/** Writes a retrieval of the page's source; `body` is its object. */
function add(fields: Partial<NewRetrieval> & { observed_at: string }, body: string | null): Promise<number> {
  return store.write((database) => {
    const of = fields.part_of ? PAGE : (fields.url ?? PAGE);
    const { key } = findOrAddPausedSource(database, sourceIdOf(of), of, store.instant());
    const sha256 = body === null ? null : sha256Of(body);
    if (sha256 !== null && body !== null)
      createBlobRowIfAbsent(database, { sha256, bytes: body.length, stored_at: store.instant() });
    return insertRetrieval(database, {
      source_key: key,
      round: null,
      url: of,
      final_url: fields.url ?? of,
      redirects: [],
      observer: 'self',
      original_observed_at: null,
      status: 200,
      error: null,
      content_type: 'text/html',
      headers: [],
      sha256,
      bytes: body?.length ?? null,
      duration_ms: 0,
      page_label: null,
      ...fields,
    });
  });
}

const day = (number: number) => `2026-01-${String(number).padStart(2, '0')}T00:00:00.000Z`;
const asked = (url: string, at: string, method = 'GET', body: string | null = null) =>
  heldAnswers(store.read, {
    withLogin: false,
    isRange: false,
    url,
    at: Date.parse(at),
    method,
    body: body === null ? null : sha256Of(body),
  });

test('the answer is the capture that is nearest in time, whoever made it and as what', async () => {
  const part = { part_of: 'pg_0123456789abcdef0123', url: STYLE };
  const first = await add({ ...part, observed_at: day(3) }, 'a');
  const second = await add({ ...part, observed_at: day(9) }, 'b');
  // A third party’s capture of 2014, and a failure.
  const old = await add(
    {
      url: STYLE,
      observer: 'archive',
      observed_at: day(20),
      original_observed_at: '2014-05-01T00:00:00.000Z',
    },
    'c',
  );
  const gone = await add({ url: STYLE, status: 404, error: 'http_error', observed_at: day(15) }, null);
  // What was too large, and what nobody answered, is no answer.
  await add({ url: STYLE, error: 'object_too_large', observed_at: day(17) }, null);
  await add({ url: STYLE, status: null, error: 'timeout', observed_at: day(18) }, null);
  const found = (at: string) => asked(STYLE, at)?.id;
  expect(found(day(1))).toBe(first);
  expect(found(day(5))).toBe(first);
  expect(found(day(7))).toBe(second);
  expect(found(day(13))).toBe(gone);
  expect(found(day(28))).toBe(gone);
  expect(found('2015-01-01T00:00:00.000Z')).toBe(old);
  expect(asked('https://shop.example/other.css', day(5))).toBeUndefined();
  expect(asked('data:,x', day(5))).toBeUndefined();
});

test('an unchanged version has the headers of the retrieval that brought it', async () => {
  const headers: [string, string][] = [['content-encoding', 'gzip']];
  await add({ observed_at: day(2), headers }, 'page');
  const unchanged = await add({ observed_at: day(4), status: 304, content_type: null }, 'page');
  expect(asked(PAGE, day(4))).toMatchObject({
    id: unchanged,
    status: 200,
    content_type: 'text/html',
    headers,
  });
});

test('what a page showed answers no request', async () => {
  const shown = { part_of: 'pg_00000000000000000001', observer: 'browser', status: null };
  await add({ ...shown, observed_at: day(6), original_observed_at: day(6) }, 'text');
  expect(asked(PAGE, day(6))).toMatchObject({ sha256: sha256Of('page') });
});

test('a request with a body gets the answer to the same body, else the nearest with its method', async () => {
  const url = 'https://shop.example/prices';
  const post = (observed_at: string, body: string, text: string) =>
    add(
      {
        part_of: 'pg_00000000000000000002',
        url,
        observed_at,
        request: { method: 'POST', headers: [], body: { sha256: sha256Of(body), bytes: body.length } },
      },
      text,
    );
  const bread = await post(day(1), 'bread', '2.10');
  const milk = await post(day(2), 'milk', '1.20');
  expect(asked(url, day(2), 'POST', 'bread')?.id).toBe(bread);
  expect(asked(url, day(1), 'POST', 'milk')?.id).toBe(milk);
  expect(asked(url, day(1), 'POST', 'eggs')?.id).toBe(bread);
  expect(asked(url, day(1))).toBeUndefined();
});
