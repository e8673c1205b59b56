import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openCollectingNode } from '../collection/support.ts';
import { addCopy, sync } from '../copies/withheldCopies.ts';
import { addFinding, createCase } from '../findings/support.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { EC_KEY, TimestampAuthority } from '../support/network/timestampAuthority.ts';
import { type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { filesIn } from './formats.ts';

/** What one archive gives out of each format. */
export interface Genuine {
  key: string;
  checkpoints: [string, string];
  proofs: [{ proof: string; entry: string }, { proof: string; entry: string }];
  stamped: { reply: Buffer; text: Buffer };
  dump: string;
  /** Where a peer would say that it has the first pack from, and the second. */
  provenance: [string, string];
  packs: [Buffer, Buffer];
  evidence: [string, string, string];
  caseBag: Buffer;
  wacz: Buffer;
  exported: Buffer;
  copy: ReadonlyMap<string, Buffer>;
  /** What the same archive gave out earlier, when it had less. */
  before: Pick<Genuine, 'dump' | 'copy' | 'exported'>;
}

async function textAt(node: TestNode, path: string): Promise<string> {
  const answer = await node.fetchAsOwner(path);
  expect(answer.status, path).toBe(200);
  return answer.text();
}

async function bytesAt(node: TestNode, path: string): Promise<Buffer> {
  const answer = await node.fetchAsOwner(path);
  expect(answer.status, path).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

async function json<Body>(node: TestNode, method: string, path: string, body: unknown): Promise<Body> {
  const answer = await node.sendJson(method, path, body);
  expect(answer.ok, `${method} ${path} ${await answer.clone().text()}`).toBe(true);
  return (await answer.json()) as Body;
}

/** Fills an archive with some of everything, and gets each format from it. Both archives have one name and two keys. */
export async function genuineArchive(word: string, rendererFolder: string): Promise<Genuine> {
  const dataFolder = join(await temporaryFolder(), 'data');
  const collecting = await openCollectingNode({}, { dataFolder, rendererFolder });
  const { node } = collecting;
  const web = await ScriptedWeb.open();
  const authority = await TimestampAuthority.open(EC_KEY);
  const first = await uploadNewPack(
    node,
    { title: `First ${word}` },
    { 'a.txt': `one ${word}`, 'b.txt': `two ${word}` },
  );
  const checkpoint = await textAt(node, '/api/ledger/checkpoint');
  const second = await uploadNewPack(node, { title: `Second ${word}` }, { 'a.txt': `three ${word}` });
  web.script('/page', page(`level 1 ${word}`), page(`level 2 ${word}`));
  await json(node, 'POST', '/manage/sources', { url: web.url('/page'), ignore_robots: true });
  await json(node, 'POST', '/manage/collections?wait=true', {});
  await json(node, 'POST', '/manage/collections?wait=true', {});
  await json(node, 'PATCH', '/manage/settings', { timestamp_authorities: [authority.url] });
  const stamp = await node.fetchAsOwner('/manage/timestamps', { method: 'POST' });
  expect(stamp.status, await stamp.clone().text()).toBe(201);
  const { items } = JSON.parse(await textAt(node, '/api/ledger/timestamps')) as { items: { id: number }[] };
  const [{ id } = { id: 0 }] = items;
  const finding = await addFinding(node, { kind: 'pack', id: first.id } as never);
  const { id: caseId } = await createCase(node, `Case ${word}`, [
    { kind: 'pack', id: first.id },
    { kind: 'event', id: '2' },
    { kind: 'finding', id: finding.id },
  ] as never);
  const proof = async (seq: number) => {
    const entries = JSON.parse(await textAt(node, `/api/ledger?from=${seq}&limit=1`)) as { items: object[] };
    return {
      proof: await textAt(node, `/api/ledger/proof?seq=${seq}&format=tlog-proof`),
      entry: JSON.stringify(
        Object.fromEntries(Object.entries(entries.items[0] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))),
      ),
    };
  };
  const provenance = async (seq: number) => {
    const { items } = JSON.parse(await textAt(node, `/api/ledger?from=${seq}&limit=1`)) as {
      items: unknown[];
    };
    const key = (await textAt(node, '/api/ledger/key')).trim();
    const checkpoint = await textAt(node, '/api/ledger/checkpoint');
    const [, size] = checkpoint.split('\n');
    return JSON.stringify({
      peer: { name: 'Peer', key },
      mirrored_at: '2026-11-28T12:00:00.000Z',
      entry: items[0],
      proof: JSON.parse(await textAt(node, `/api/ledger/proof?seq=${seq}&size=${size}`)) as unknown,
      checkpoint,
    });
  };
  const copy = await addCopy(node, join(await temporaryFolder(), 'copy'));
  const place = new URL((copy as unknown as { target: string }).target).pathname;
  await sync(node, copy);
  const before = {
    dump: await textAt(node, '/api/dump.jsonl'),
    copy: await filesIn(place),
    exported: await bytesAt(node, '/manage/archive.zip'),
  };
  await uploadNewPack(node, { title: `Third ${word}` }, { 'c.txt': `four ${word}` });
  web.script('/page', page(`level 3 ${word}`));
  await json(node, 'POST', '/manage/collections?wait=true', {});
  await sync(node, copy);
  const genuine = {
    before,
    key: (await textAt(node, '/api/ledger/key')).trim(),
    checkpoints: [await textAt(node, '/api/ledger/checkpoint'), checkpoint] as [string, string],
    proofs: [await proof(2), await proof(1)] as Genuine['proofs'],
    stamped: {
      reply: await bytesAt(node, `/api/ledger/timestamps/${id}`),
      text: await bytesAt(node, `/api/ledger/timestamps/${id}/text`),
    },
    dump: await textAt(node, '/api/dump.jsonl'),
    provenance: [await provenance(first.ledger_entry), await provenance(second.ledger_entry)] as [
      string,
      string,
    ],
    packs: [
      await bytesAt(node, `/api/packs/${first.id}/file`),
      await bytesAt(node, `/api/packs/${second.id}/file`),
    ] as [Buffer, Buffer],
    evidence: [
      await textAt(node, `/api/packs/${first.id}/evidence`),
      await textAt(node, `/api/packs/${second.id}/evidence`),
      await textAt(node, '/api/events/2/evidence'),
    ] as [string, string, string],
    caseBag: await bytesAt(node, `/api/cases/${caseId}/bag`),
    wacz: await bytesAt(node, '/api/wacz'),
    copy: await filesIn(place),
  };
  await node.close();
  const out = join(await temporaryFolder(), 'archive.zip');
  expect(await runHere(['export', '--data', dataFolder, '--out', out])).toMatchObject({ code: 0 });
  return { ...genuine, exported: await readFile(out) };
}
