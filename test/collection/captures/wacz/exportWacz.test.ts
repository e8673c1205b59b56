import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CDXIndexer } from 'warcio';
import type { LedgerEntry } from '../../../../shared/ledger/ledger.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../../../support/network/scriptedWeb.ts';
import {
  closeTimestampAuthorities,
  TimestampAuthority,
} from '../../../support/network/timestampAuthority.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../../support/node.ts';
import { runHere } from '../../../support/runHere.ts';
import { type CollectingNode, openCollectingNode } from '../../support.ts';
import { imported } from '../support.ts';
import { checkRepeatedly, exported } from '../warcExport/warcSupport.ts';
import { exportedPackage, unzipped, validated } from './support.ts';

let clock: ManualClock;
let node: CollectingNode;
let web: ScriptedWeb;

beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.123Z');
  node = await openCollectingNode({}, { clock });
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  await closeTimestampAuthorities();
});

const checked = (path: string, times = 1) => checkRepeatedly({ node, web, clock }, path, times, {});

async function entriesOf(type: LedgerEntry['type']): Promise<LedgerEntry[]> {
  const { items } = await node.read<{ items: LedgerEntry[] }>('/api/ledger?limit=500');
  return items.filter((entry) => entry.type === type);
}

describe('a WACZ package', () => {
  test('is valid by the specifications, and its index leads to each record', async () => {
    web.script('/page', page('one'), page('two'), page('one'));
    web.script('/moved', redirect('/page'), page('three'));
    const source = await checked('/page', 3);
    await checked('/moved', 2);
    const answer = await node.node.fetch(`/api/wacz?source=${source}`);
    expect(answer.headers.get('Content-Disposition')).toBe(
      `attachment; filename="strongroom_${source}.wacz"`,
    );
    await answer.arrayBuffer();
    const found = await validated(await exportedPackage(node.node));
    expect(found.names.slice(0, 6)).toEqual([
      'archive/data.warc.gz',
      'indexes/index.cdx.gz',
      'indexes/index.idx',
      'pages/pages.jsonl',
      'strongroom/checkpoint',
      'strongroom/records.jsonl',
    ]);
    expect(found.entries.map(({ type, mime, status }) => [type, mime, status])).toContainEqual([
      'revisit',
      'warc/revisit',
      200,
    ]);
    expect(found.entries.some(({ status }) => status === 302)).toBe(true);
    // Each version once, not each check of it.
    expect(found.pages.map(({ url }) => new URL(url).pathname)).toEqual(['/page', '/page', '/moved']);
    expect(found.package.software).toMatch(/^Strongroom\/\d/);
  });

  test('has the index that warcio makes of the same WARC file', async () => {
    web.script('/a?b=2&a=1', page('one'));
    web.script('/B', page('two'), page('two'));
    await checked('/a?b=2&a=1');
    await checked('/B', 2);
    const bytes = await exportedPackage(node.node);
    const { entries } = await validated(bytes);
    const warc = (await unzipped(bytes))['archive/data.warc.gz'] ?? Buffer.alloc(0);
    const peer: Record<string, unknown>[] = [];
    const file = { filename: 'data.warc.gz', reader: [new Uint8Array(warc)] as never };
    for await (const line of new CDXIndexer({ format: 'json' }).iterIndex([file])) peer.push(line);
    const facts = ({ urlkey, key, url, mime, offset, length }: Record<string, unknown>) =>
      [urlkey ?? key, url, mime, offset, length].join(' ');
    expect(entries.map((each) => facts({ ...each })).toSorted()).toEqual(peer.map(facts).toSorted());
  });

  test('is the same each time, apart from its time', async () => {
    web.script('/page', page('one'));
    await checked('/page');
    await exportedPackage(node.node);
    const parts = async () => {
      const {
        'datapackage.json': list,
        'datapackage-digest.json': _,
        ...rest
      } = await unzipped(await exportedPackage(node.node));
      const { created: _created, ...described } = JSON.parse(String(list)) as Record<string, unknown>;
      return { described, rest };
    };
    const first = await parts();
    await clock.turn(60_000);
    expect(await parts()).toEqual(first);
  });

  test('is signed by a key that the ledger certifies once, and that only its owner can read', async () => {
    const folder = await temporaryFolder();
    const dataFolder = join(folder, 'data');
    const signing = await openTestNode({ dataFolder });
    const keyOf = async () => (await validated(await exportedPackage(signing))).digest.signedData?.publicKey;
    const [one, two] = await Promise.all([keyOf(), keyOf()]);
    expect(one).toBe(two);
    const ledger = (await (await signing.fetch('/api/ledger')).json()) as { items: LedgerEntry[] };
    const certified = ledger.items.filter(({ type }) => type === 'key.certified');
    expect(certified.map(({ subject }) => subject)).toEqual([one]);
    expect((await stat(join(dataFolder, 'wacz-key'))).mode & 0o777).toBe(0o600);
    expect(await (await signing.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
    const dump = await (await signing.fetch('/api/dump.jsonl')).text();
    await signing.close();
    await writeFile(join(folder, 'dump.jsonl'), dump);
    const { code, stderr } = await runHere([
      'import',
      join(folder, 'dump.jsonl'),
      '--data',
      join(folder, 'restored'),
    ]);
    expect([code, stderr]).toEqual([0, '']);
    const again = await openTestNode({ dataFolder });
    expect((await validated(await exportedPackage(again))).digest.signedData?.publicKey).toBe(one);
    await again.close();
    await writeFile(join(dataFolder, 'wacz-key'), 'not a key');
    const renewed = await openTestNode({ dataFolder });
    const other = (await validated(await exportedPackage(renewed))).digest.signedData?.publicKey;
    expect(other).not.toBe(one);
    expect(await (await renewed.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  });

  test('proves each capture: its retrieval, the entry that covers it, and the checkpoint', async () => {
    web.script('/page', page('one'));
    await checked('/page');
    const files = await unzipped(await exportedPackage(node.node));
    const lines = String(files['strongroom/records.jsonl']).trim().split('\n');
    const records = lines.map((line) => JSON.parse(line) as { entry?: LedgerEntry; ledger_entry?: number });
    const [entry] = await entriesOf('retrievals.recorded');
    expect(records).toContainEqual({ entry });
    const [certified] = await entriesOf('key.certified');
    expect(records).toContainEqual({ entry: certified });
    expect(Object.keys(files)).toContain(`strongroom/${certified?.seq}.tlog-proof`);
    expect(records).toContainEqual(await node.read(`/api/retrievals/1/proof`));
    expect(String(files['strongroom/checkpoint'])).toMatch(/^node-[0-9a-f]+\.local\/strongroom\n/);
    const proof = String(files[`strongroom/${entry?.seq}.tlog-proof`]);
    expect(proof).toContain(String(files['strongroom/checkpoint']));
    expect(proof).toMatch(new RegExp(`^c2sp\\.org/tlog-proof@v1\\nindex ${Number(entry?.seq) - 1}\\n`));
  });

  test('is timestamped where an authority is set, and sent without where it does not answer', async () => {
    const authority = await TimestampAuthority.open();
    await node.set({ timestamp_authorities: [authority.url] });
    const { signedData } = (await validated(await exportedPackage(node.node))).digest;
    await writeFile(join(authority.folder, 'of.txt'), signedData?.signature ?? '');
    await writeFile(join(authority.folder, 'of.tsr'), Buffer.from(signedData?.timeSignature ?? '', 'base64'));
    expect(
      await authority.openssl('ts', '-verify', '-data', 'of.txt', '-in', 'of.tsr', '-CAfile', 'ca.pem'),
    ).toBeDefined();
    await writeFile(join(authority.folder, 'of.pem'), signedData?.timestampCert ?? '');
    expect(await authority.openssl('x509', '-in', 'of.pem', '-noout', '-subject')).toContain(
      'Strongroom tests',
    );
    authority.answering = () => ({ status: 500, body: Buffer.alloc(0) });
    const without = (await validated(await exportedPackage(node.node))).digest.signedData;
    expect(Object.keys(without ?? {})).not.toContain('timeSignature');
  });

  test('can be imported by another node, as its WARC file can', async () => {
    web.script('/page', page('one'), page('two'));
    await checked('/page', 2);
    const other = await openCollectingNode({});
    const result = await imported(other, await exportedPackage(node.node), { type: 'application/wacz' });
    expect(result).toMatchObject({ captures: 2, pages: 2, refused: [] });
    const { skipped } = result;
    const third = await openCollectingNode({});
    const { pages: _pages, ...same } = result;
    expect(await imported(third, await exported(node.node, 'gzip=true'))).toEqual({ ...same, skipped });
  });

  test('of nothing is valid too, and of no source is refused', async () => {
    const { entries, pages, records } = await validated(await exportedPackage(node.node));
    expect([entries, pages, records]).toEqual([[], [], 1]);
    expect((await node.node.fetch('/api/wacz?source=so_00000000000000000000')).status).toBe(404);
    expect((await node.node.fetch('/api/wacz', { method: 'HEAD' })).status).toBe(200);
  });
});
