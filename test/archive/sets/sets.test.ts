import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { verifyPaths } from '../../../server/verification/verifyPaths.ts';
import type { Pack, PackVerification } from '../../../shared/archive/pack.ts';
import type { DataSet, SetEntry } from '../../../shared/archive/set.ts';
import type { Job } from '../../../shared/node/job.ts';
import { withhold } from '../../copies/withheldCopies.ts';
import { newDraft, publish, putFile, readDraft } from '../../support/archive/drafts.ts';
import {
  type ProblemBody,
  packForm,
  problemOf,
  sampleRecord,
  sha256Of,
} from '../../support/archive/packs.ts';
import { contentOf, partsByHand, publishedSet, uploadManifest } from '../../support/archive/sets.ts';
import { extract } from '../../support/extract.ts';
import { share } from '../../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../../support/node.ts';

afterEach(closeTestNodes);

const PACK_BYTES = 10_000;

async function json<Body>(node: TestNode, path: string): Promise<Body> {
  const response = await node.fetch(path);
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

describe('a draft with more bytes than a pack', () => {
  test('is published as a set that is listed once', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const { manifest, files } = await publishedSet(node);
    const listed = await json<{ items: Pack[]; total: number }>(node, '/api/packs');
    expect(listed.items.map(({ id }) => id)).toEqual([manifest.id]);
    expect(listed.total).toBe(1);
    const bytes = Object.values(files).reduce((sum, content) => sum + content.length, 0);
    expect(listed.items[0]?.evidence.set).toEqual({ files: 4, packs: 4, bytes });
    const all = await json<{ items: Pack[]; total: number }>(node, '/api/packs?parts=true');
    expect(all.total).toBe(5);
    expect((await json<{ total: number }>(node, '/api/packs?q=lovelace')).total).toBe(1);
    expect((await json<{ total: number }>(node, '/api/packs?q=lovelace&parts=true')).total).toBe(5);
    expect((await json<{ total: number }>(node, '/api/packs?license=CC0-1.0&sort=title')).total).toBe(1);
    const set = await json<DataSet>(node, `/api/packs/${manifest.id}/set`);
    expect(set).toEqual({
      packs: 4,
      bytes,
      files: Object.entries(files).map(([path, content]) => ({
        path,
        bytes: content.length,
        sha256: sha256Of(content),
      })),
    });
  });

  test('gives its files with ranges across the seams', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const { manifest, files } = await publishedSet(node);
    for (const [path, content] of Object.entries(files)) {
      const response = await node.fetch(`/api/packs/${manifest.id}/set/files/${encodeURI(path)}`);
      expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
      expect(response.headers.get('ETag')).toBe(`"${sha256Of(content)}"`);
    }
    const large = files['large.bin'] as Buffer;
    const range = await node.fetch(`/api/packs/${manifest.id}/set/files/large.bin`, {
      headers: { Range: 'bytes=9990-20009' },
    });
    expect(range.status).toBe(206);
    expect(Buffer.from(await range.arrayBuffer()).equals(large.subarray(9_990, 20_010))).toBe(true);
  });
});

describe('the folders of a set', () => {
  test('are listed in pages, joined where they hold one folder, and searched', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const names = ['a/b/1.csv', 'a/b/2.csv', 'a-b.txt', 'a/b.txt', 'z/y/x/ÄB.csv', 'z/y/x/c.csv'];
    const files = Object.fromEntries(names.map((name, seed) => [name, contentOf(seed, 3_000)]));
    const { manifest } = await publishedSet(node, files);
    const list = async (query: string) => {
      const { items, total } = await json<{ items: SetEntry[]; total: number }>(
        node,
        `/api/packs/${manifest.id}/set/entries?${query}`,
      );
      const shown = items.map((entry) =>
        entry.kind === 'folder' ? `${entry.path}/ ${entry.files}` : entry.path,
      );
      return [total, ...shown];
    };
    expect(await list('')).toEqual([3, 'a/ 3', 'z/y/x/ 2', 'a-b.txt']);
    expect(await list('folder=a')).toEqual([2, 'a/b/ 2', 'a/b.txt']);
    expect(await list('folder=a/b&limit=1&offset=1')).toEqual([2, 'a/b/2.csv']);
    expect(await list('limit=2&offset=1')).toEqual([3, 'z/y/x/ 2', 'a-b.txt']);
    expect(await list('folder=none')).toEqual([0]);
    expect(await list(`q=${encodeURIComponent('äb')}`)).toEqual([1, 'z/y/x/ÄB.csv']);

    const sha256 = sha256Of(files['a-b.txt'] as Buffer);
    await node.sendJson('POST', '/manage/withheld', { sha256, reason: 'copyright' });
    const hidden = await json<{ items: SetEntry[] }>(node, `/api/packs/${manifest.id}/set/entries?q=a-b`);
    expect(hidden.items).toMatchObject([{ sha256, parts: 1, withheld: { reason: 'copyright' } }]);
    const pack = await json<Pack>(node, `/api/packs/${manifest.id}`);
    expect(pack.evidence.withheld?.map((file) => file.sha256)).toEqual([sha256]);
  });
});

describe('the ZIP of a set', () => {
  test('is a bag that verifies, can be resumed and read from anywhere', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const { manifest, files } = await publishedSet(node);
    const path = `/api/packs/${manifest.id}/set/download`;
    const tail = await node.fetch(path, { headers: { Range: 'bytes=-5000' } });
    expect(tail.status).toBe(206);
    const last = Buffer.from(await tail.arrayBuffer());
    const whole = await node.fetch(path);
    const zip = Buffer.from(await whole.arrayBuffer());
    expect(whole.headers.get('Content-Length')).toBe(String(zip.length));
    expect(zip.subarray(-5000).equals(last)).toBe(true);
    const etag = whole.headers.get('ETag') ?? '';
    const pieces: Buffer[] = [];
    for (let start = 0; start < zip.length; start += 7_001) {
      const headers = { Range: `bytes=${start}-${start + 7_000}`, 'If-Range': etag };
      const piece = await node.fetch(path, { headers });
      expect(piece.status).toBe(206);
      pieces.push(Buffer.from(await piece.arrayBuffer()));
    }
    expect(Buffer.concat(pieces).equals(zip)).toBe(true);
    const stale = await node.fetch(path, { headers: { Range: 'bytes=0-9', 'If-Range': '"other"' } });
    expect([stale.status, (await stale.arrayBuffer()).byteLength]).toEqual([200, zip.length]);
    expect((await node.fetch(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);

    const folder = await temporaryFolder();
    const file = join(folder, 'set.zip');
    await writeFile(file, zip);
    await extract(file, folder);
    for (const [name, content] of Object.entries(files))
      expect((await readFile(join(folder, manifest.id, 'data', name))).equals(content)).toBe(true);
    expect(await statesOf(join(folder, manifest.id))).toEqual({ intact: 9 });
    await writeFile(join(folder, manifest.id, 'data/b.csv'), 'changed');
    expect(await statesOf(join(folder, manifest.id))).toEqual({ intact: 8, changed: 1 });
    expect(await statesOf(file)).toEqual({ intact: 9 });
  });

  test('is the same after a restart, and on any node', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const { manifest } = await publishedSet(node);
    const path = `/api/packs/${manifest.id}/set/download`;
    const before = await (await node.fetch(path)).bytes();
    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder });
    // The CRCs are kept, so the first bytes do not need the files.
    const other = await openTestNode({ packBytes: PACK_BYTES });
    await publishedSet(other);
    expect(sha256Of(await (await again.fetch(path)).bytes())).toBe(sha256Of(before));
    expect(sha256Of(await (await other.fetch(path)).bytes())).toBe(sha256Of(before));
  });
});

async function statesOf(path: string): Promise<Record<string, number>> {
  const states: Record<string, number> = {};
  for await (const batch of verifyPaths({ paths: [path] }))
    for (const { state } of batch) states[state] = (states[state] ?? 0) + 1;
  return states;
}

describe('a manifest', () => {
  test('by hand over ordinary packs makes them parts of a set, which is listed once', async () => {
    const node = await openTestNode();
    const { manifest, content } = await partsByHand(node);
    const pack = (await (await uploadManifest(node, manifest)).json()) as Pack;
    const response = await node.fetch(`/api/packs/${pack.id}/set/files/joined.bin`);
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
    const listed = await json<{ items: Pack[]; total: number }>(node, '/api/packs');
    expect([listed.total, listed.items.map(({ id }) => id)]).toEqual([1, [pack.id]]);
    expect((await json<{ total: number }>(node, '/api/packs?q=Part')).total).toBe(0);
    expect((await json<{ total: number }>(node, '/api/packs?parts=true')).total).toBe(3);
    const part = await json<Pack>(node, `/api/packs/${manifest.files[0]?.parts[0]?.pack}`);
    expect(part.evidence.part_of).toBe(pack.id);
    expect(await json(node, '/api/ledger/verify')).toMatchObject({ ok: true });
  });

  test('of a visitor over packs that do not say they are parts is refused, and they stay listed', async () => {
    const node = await openTestNode();
    const { manifest } = await partsByHand(node);
    await share(node, 'contribute');
    const form = new FormData();
    form.append('record', JSON.stringify(sampleRecord({ title: 'A set' })));
    form.append('files', new Blob([JSON.stringify(manifest)]), 'set.json');
    const refused = await problemOf(node.fetch('/api/packs', { method: 'POST', body: form }));
    expect([refused.status, refused.code]).toEqual([422, 'invalid_set']);
    expect((await json<{ total: number }>(node, '/api/packs')).total).toBe(2);
  });

  test('of more than the setting allows is refused', async () => {
    const node = await openTestNode();
    const { manifest } = await partsByHand(node);
    await node.sendJson('PATCH', '/manage/settings', { max_set_gb: 0 });
    expect((await problemOf(uploadManifest(node, manifest))).code).toBe('pack_too_large');
  });

  test('that does not agree with its parts is refused and leaves nothing', async () => {
    const node = await openTestNode();
    const { manifest } = await partsByHand(node);
    const [file] = manifest.files;
    if (!file) throw new Error('There is no file.');
    const [part, other] = file.parts;
    if (!part || !other) throw new Error('There are no parts.');
    const withFile = (changes: object) => ({ ...manifest, files: [{ ...file, ...changes }] });
    const before = (await node.fetch('/api/ledger/checkpoint')).text();
    const cases: [string, unknown][] = [
      ['unknown_pack', withFile({ parts: [{ ...part, pack: `pk_${'0'.repeat(20)}` }, other] })],
      ['digest_mismatch', withFile({ parts: [{ ...part, sha256: '0'.repeat(64) }, other] })],
      ['digest_mismatch', withFile({ parts: [{ ...part, path: 'none' }, other] })],
      [
        'digest_mismatch',
        withFile({
          parts: [
            { ...part, bytes: 1_999 },
            { ...other, bytes: 1_001 },
          ],
        }),
      ],
      ['digest_mismatch', withFile({ sha256: 'f'.repeat(64) })],
      ['digest_mismatch', withFile({ parts: [other, part] })],
      ['invalid_set', withFile({ bytes: 2_999 })],
      ['invalid_set', withFile({ path: '../joined.bin' })],
      ['invalid_set', { ...manifest, files: [file, { ...file, path: 'JOINED.bin' }] }],
      ['invalid_set', { ...manifest, files: [file, { ...file, path: 'joined.bin/b' }] }],
      ['invalid_set', withFile({ parts: [part], bytes: part.bytes })],
      ['invalid_set', { ...manifest, files: [] }],
      ['invalid_set', { ...manifest, more: 1 }],
    ];
    for (const [code, wrong] of cases)
      expect([code, (await problemOf(uploadManifest(node, wrong))).code]).toEqual([code, code]);
    expect(await (await node.fetch('/api/ledger/checkpoint')).text()).toBe(await before);
  });

  test('of another format is an ordinary pack', async () => {
    const node = await openTestNode();
    const pack = (await (await uploadManifest(node, { format: 'other' })).json()) as Pack;
    expect(pack.evidence.set).toBeUndefined();
    const refused = await problemOf(node.fetch(`/api/packs/${pack.id}/set`));
    expect([refused.status, refused.code]).toEqual([404, 'not_found']);
  });
});

describe('a damaged part', () => {
  test('is found by the verification of the set, and is not sent', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const { manifest, files } = await publishedSet(node);
    const verify = () => json<PackVerification>(node, `/api/packs/${manifest.id}/verify`);
    const intact = await verify();
    expect(intact.ok).toBe(true);
    expect(intact.checks.filter(({ check, path }) => check === 'blob' && path !== 'set.json')).toHaveLength(
      4,
    );
    expect(new Set(intact.checks.flatMap(({ pack }) => pack ?? [])).size).toBe(4);
    const piece = sha256Of(files['large.bin']?.subarray(10_000, 20_000) ?? '');
    const stored = join(node.dataFolder, 'blobs', piece.slice(0, 2), piece.slice(2, 4), piece);
    await writeFile(stored, contentOf(9, 10_000));
    const damaged = await verify();
    expect(damaged.checks.filter(({ ok }) => !ok).map(({ path }) => path)).toEqual(['large.bin']);
    const file = `/api/packs/${manifest.id}/set/files/large.bin`;
    expect(await problemOf(node.fetch(file))).toMatchObject({ status: 500, code: 'blob_damaged' });
    const before = await node.fetch(file, { headers: { Range: 'bytes=0-9999' } });
    expect(sha256Of(await before.bytes())).toBe(sha256Of(files['large.bin']?.subarray(0, 10_000) ?? ''));
    const zip = await node.fetch(`/api/packs/${manifest.id}/set/download`);
    expect((await problemOf(zip)).code).toBe('blob_damaged');
  });
});

test('what is wrong with a list that is withheld is told to nobody who has not sent it', async () => {
  const node = await openTestNode({ packBytes: PACK_BYTES });
  const { manifest, files } = await publishedSet(node);
  const [list] = manifest.files;
  const bytes = await (await node.fetch(`/api/blobs/${list?.sha256}`)).text();
  const piece = sha256Of(files['large.bin']?.subarray(10_000, 20_000) ?? '');
  await writeFile(
    join(node.dataFolder, 'blobs', piece.slice(0, 2), piece.slice(2, 4), piece),
    contentOf(9, 10_000),
  );
  await withhold(node, { pack: manifest.id });
  await share(node, 'contribute');
  const record = sampleRecord({ title: 'Again', files: list ? [list] : [] });
  const named = async (answer: Promise<Response>) => {
    const problem = await problemOf(answer);
    return [problem.status, problem.code, JSON.stringify(problem).includes('large.bin')];
  };
  const json = {
    method: 'POST',
    body: JSON.stringify(record),
    headers: { 'Content-Type': 'application/json' },
  };
  expect(await named(node.fetch('/api/packs', json))).toEqual([500, 'blob_damaged', false]);
  expect(await named(node.fetchAsOwner('/api/packs', json))).toEqual([500, 'blob_damaged', true]);
  const sent = { method: 'POST', body: packForm(record, { 'set.json': bytes }) };
  expect(await named(node.fetch('/api/packs', sent))).toEqual([500, 'blob_damaged', true]);
});

describe('publishing that is interrupted', () => {
  test('by its job says so, and goes on when it is repeated', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const { id } = await newDraft(node, sampleRecord());
    // Many parts, so that it does not end before it is cancelled.
    await putFile(node, id, 'large.bin', contentOf(3, 400_000));
    const refused = problemOf(publish(node, id));
    const running = async () => {
      const response = await node.fetchAsOwner('/manage/jobs');
      const { items } = (await response.json()) as { items: Job[] };
      return items.find((job) => job.draft === id);
    };
    await expect.poll(running, { interval: 1 }).toMatchObject({ kind: 'publish' });
    const job = await running();
    const ended = await node.sendJson('DELETE', `/manage/jobs/${job?.id}`, {});
    expect(await ended.json()).toMatchObject({ state: 'cancelled' });
    expect(await refused).toMatchObject({ status: 409, code: 'publishing_cancelled' });
    expect((await json<{ total: number }>(node, '/api/packs')).total).toBe(0);
    expect((await publish(node, id)).status).toBe(201);
  });

  test('goes on with the next part, and lists nothing before the manifest', async () => {
    const node = await openTestNode({ packBytes: PACK_BYTES });
    const { id } = await newDraft(node, sampleRecord());
    await putFile(node, id, 'large.bin', contentOf(3, 35_000));
    // The third piece cannot be read, so publishing stops there.
    const kept = join(node.dataFolder, 'drafts', id, sha256Of(contentOf(3, 35_000)));
    await truncate(kept, 20_000);
    const refused = (await (await publish(node, id)).json()) as ProblemBody;
    expect(refused.code).toBe('unknown_blob');
    expect((await json<{ total: number }>(node, '/api/packs')).total).toBe(0);
    const parts = async () =>
      (await json<{ items: Pack[] }>(node, '/api/packs?parts=true')).items.map(
        ({ ledger_entry }) => ledger_entry,
      );
    expect(await parts()).toEqual([2, 1]);
    // Visitors can read a part as soon as it is recorded.
    const first = sha256Of(contentOf(3, 35_000).subarray(0, PACK_BYTES));
    expect((await node.fetch(`/api/blobs/${first}`)).status).toBe(200);
    await writeFile(kept, contentOf(3, 35_000));
    expect((await publish(node, id)).status).toBe(201);
    expect(await parts()).toEqual([5, 4, 3, 2, 1]);
    expect((await readDraft(node, id)).pack).not.toBeNull();
    expect((await publish(node, id)).status).toBe(200);
  });
});
