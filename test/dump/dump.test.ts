import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DumpError } from '../../server/dump/dumpFile.ts';
import { importDump } from '../../server/dump/importArchive.ts';
import { nodeCrypto } from '../../server/ledger/checkpoint.ts';
import { signatureState } from '../../shared/proof/ledger/signedNote.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

/** What the tests read, and what it dumps. None of them changes it. */
let node: TestNode;
let dump: string;
beforeAll(async () => {
  node = await filledNode();
  dump = await dumpOf(node);
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function json<Body>(response: Response): Promise<Body> {
  expect(response.ok).toBe(true);
  return (await response.json()) as Body;
}

/** A node with records of most kinds. */
async function filledNode(): Promise<TestNode> {
  const node = await openTestNode();
  await node.sendJson('POST', '/api/nodes', { path: 'a', title: 'Ä "quoted" \\ \u2028' });
  await node.sendJson('POST', '/api/nodes', { path: 'a/b', title: 'Below' });
  const study = await json<{ id: string }>(
    await node.sendJson('POST', '/api/studies', { title: 'Does it?', node: 'a/b' }),
  );
  await node.sendJson('POST', `/api/studies/${study.id}/status`, { status: 'running', note: 'begun' });
  const original = await uploadNewPack(
    node,
    sampleRecord({ study: study.id, node: 'a/b', results: JSON.parse('{"__proto__":1e-7,"9":6.02e23}') }),
    { 'a.csv': 'x\n1\n' },
  );
  await uploadNewPack(
    node,
    sampleRecord({
      title: 'Again',
      replicates: { pack: original.id, verdict: 'partial' },
      supersedes: original.id,
    }),
    { 'b.csv': 'y\n' },
  );
  await node.sendJson('POST', `/api/packs/${original.id}/flag`, { reason: 'other', note: 'Look here' });
  await node.sendJson('POST', `/api/items/${original.id}/comments`, { author: 'Ada', body: 'A\nB' });
  const web = await ScriptedWeb.open();
  web.script('/page', page('one'), page('two'), page('gone', { status: 404 }));
  await node.sendJson('PATCH', '/manage/settings', { per_host_pause_ms: 0, retry_delays_seconds: [] });
  const source = {
    url: web.url('/page'),
    name: 'Page',
    tags: ['t'],
    ignore_robots: true,
    headers: { 'X-Secret': 'hunter2' },
  };
  expect((await node.sendJson('POST', '/manage/sources', source)).status).toBe(201);
  for (let round = 0; round < 3; round += 1) await node.sendJson('POST', '/manage/collections?wait=true', {});
  return node;
}

async function dumpOf(node: TestNode): Promise<string> {
  const response = await node.fetch('/api/dump.jsonl');
  expect(response.headers.get('Content-Type')).toBe('application/x-ndjson; charset=utf-8');
  return response.text();
}

describe('GET /api/dump.jsonl (contract, section 2)', () => {
  test('returns a header, the records, and a trailer with their counts and digest', async () => {
    const lines = dump.trimEnd().split('\n');
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const [index, line] of lines.entries()) expect(line, `line ${index + 1}`).toMatch(/^\{"kind":"/);
    const key = (await (await node.fetch('/api/ledger/key')).text()).trim();
    expect(parsed[0]).toMatchObject({
      kind: 'header',
      format: 2,
      key,
      checkpoint: await (await node.fetch('/api/ledger/checkpoint')).text(),
    });
    const trailer = parsed.at(-1) as { counts: Record<string, number>; sha256: string };
    const before = dump.slice(0, dump.lastIndexOf('{"kind":"trailer"'));
    expect(trailer.sha256).toBe(createHash('sha256').update(before).digest('hex'));
    const counted: Record<string, number> = {};
    for (const { kind } of parsed.slice(1, -1)) counted[String(kind)] = (counted[String(kind)] ?? 0) + 1;
    expect(trailer.counts).toMatchObject(counted);
    expect(counted).toMatchObject({
      node: 2,
      study: 1,
      study_status: 1,
      pack: 2,
      flag: 1,
      comment: 1,
      source: 1,
      retrieval: 3,
      event: 2,
    });
  });

  test('contains no secret of the owner', async () => {
    expect(dump).not.toContain('hunter2');
    expect(dump).not.toContain(node.token);
  });
});

const ADDRESSES = [
  '/api/tree',
  '/api/packs',
  '/api/studies',
  '/api/sources',
  '/api/events',
  '/api/stats',
  '/api/ledger',
  '/api/packs?q=again',
  '/api/packs?flagged=true',
  '/api/events?q=page',
];

/** Returns what an address responds, without the summaries of events, which each node makes for itself. */
async function recordedAt(node: TestNode, address: string): Promise<unknown> {
  const text = await (await node.fetch(address)).text();
  const isDerived = (name: string) => name === 'summary' && address.startsWith('/api/events');
  return JSON.parse(text, (name, value: unknown) => (isDerived(name) ? undefined : value));
}

describe('the trailer of a dump', () => {
  test('is signed: without it the dump is unsigned, and with another it is refused', async () => {
    const folder = await temporaryFolder();
    const trailer = JSON.parse(dump.trimEnd().split('\n').at(-1) ?? '') as { signed: string; counts: object };
    const { key } = JSON.parse(dump.split('\n', 1)[0] ?? '') as { key: string };
    expect(signatureState(trailer.signed, key, nodeCrypto)).toBe('valid');
    const verdict = async (text: string) => {
      const file = join(folder, 'dump.jsonl');
      await writeFile(file, text);
      const { code, stdout } = await runHere(['verify', file, '--json']);
      return [code, (JSON.parse(stdout.split('\n', 1)[0] ?? '') as { verdict: string }).verdict];
    };
    const withTrailer = (body: string, changes: object) => {
      const sha256 = createHash('sha256').update(body).digest('hex');
      return `${body}${JSON.stringify({ ...trailer, sha256, ...changes })}\n`;
    };
    const body = dump.slice(0, dump.lastIndexOf('{"kind":"trailer"'));
    // No ledger entry covers when a round ended.
    const altered = body.replace(/("kind":"round".*"unchanged":)\d+/, '$19');
    expect(altered).not.toBe(body);
    expect(await verdict(dump)).toEqual([0, 'intact']);
    expect(await verdict(withTrailer(body, { signed: undefined }))).toEqual([3, 'unsigned']);
    expect(await verdict(withTrailer(altered, { signed: undefined }))).toEqual([3, 'unsigned']);
    expect(await verdict(withTrailer(altered, {}))).toEqual([1, 'altered']);
    expect(await verdict(withTrailer(body, { counts: { ...trailer.counts, more: 0 } }))).toEqual([
      1,
      'altered',
    ]);
    await expect(importDump(join(folder, 'data'), join(folder, 'dump.jsonl'), systemClock)).rejects.toThrow(
      'not signed',
    );
  });
});

describe('restoring a dump', () => {
  async function restored(text: string): Promise<TestNode> {
    const folder = await temporaryFolder();
    const file = join(folder, 'dump.jsonl');
    await writeFile(file, text);
    await importDump(join(folder, 'data'), file, systemClock);
    return openTestNode({ dataFolder: join(folder, 'data') });
  }

  test('creates an archive with the same responses and the same ledger head', async () => {
    const again = await restored(dump);
    for (const address of ADDRESSES) {
      expect(await recordedAt(again, address), address).toEqual(await recordedAt(node, address));
    }
    const { ok, head } = await json<{ ok: boolean; head: string }>(await again.fetch('/api/ledger/verify'));
    expect([ok, head]).toEqual([
      true,
      (await json<{ head: { hash: string } }>(await node.fetch('/api/ledger'))).head.hash,
    ]);
    const body = (text: string) => text.split('\n').slice(1, -2);
    expect(body(await dumpOf(again))).toEqual(body(dump));
  });

  test('creates an archive that accepts new records', async () => {
    const again = await restored(dump);
    expect((await again.sendJson('POST', '/api/nodes', { path: 'c', title: 'New' })).status).toBe(201);
    expect(await json(await again.fetch('/api/ledger/verify'))).toMatchObject({ ok: true });
  });

  test.each([
    ['cut after a line', (text: string) => `${text.split('\n').slice(0, -3).join('\n')}\n`, 'no trailer'],
    ['cut within a line', (text: string) => text.slice(0, -20), 'truncated'],
    ['altered in a record', (text: string) => text.replace('"title":"Below"', '"title":"Above"'), 'altered'],
    ['without a header', (text: string) => text.slice(text.indexOf('\n') + 1), 'header'],
    ['of a later format', (text: string) => text.replace('"format":2', '"format":3'), 'format 3'],
    ['empty', () => '', 'header'],
    ['not JSON', () => 'PK\u0003\u0004\n', 'not a JSON object'],
  ])('refuses a dump that is %s', async (_what, damage, message) => {
    const refused = restored(damage(dump));
    await expect(refused).rejects.toThrow(DumpError);
    await expect(refused).rejects.toThrow(message);
  });

  test('refuses a dump whose entries and trailer were forged together', async () => {
    const lines = dump.split('\n').slice(0, -2);
    const forged = `${lines.filter((line) => !line.startsWith('{"kind":"entry","seq":1,')).join('\n')}\n`;
    const trailer = {
      kind: 'trailer',
      counts: {},
      sha256: createHash('sha256').update(forged).digest('hex'),
    };
    await expect(restored(`${forged}${JSON.stringify(trailer)}\n`)).rejects.toThrow();
  });
});
