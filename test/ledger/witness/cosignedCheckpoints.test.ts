import { afterEach, expect, test } from 'vitest';
import { nodeKeyOf, privateKeyOfSeed } from '../../../server/ledger/checkpoint.ts';
import {
  cosignerFrom,
  findCosignature,
  parseCosignerKey,
} from '../../../server/ledger/witness/cosignature.ts';
import { SUBMIT_EVERY_MS } from '../../../server/ledger/witness/witnessing.ts';
import type { Witness, WitnessStates } from '../../../shared/ledger/ledger.ts';
import { noteBody } from '../../../shared/proof/ledger/signedNote.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function record(node: TestNode, path: string): Promise<void> {
  expect((await node.sendJson('POST', '/api/nodes', { path, title: path })).status).toBe(201);
}

/** A node that is a witness of another, as that other names it in its settings. */
async function witnessOf(log: TestNode): Promise<{ node: TestNode; witness: Witness }> {
  const node = await openTestNode();
  const key = (await (await log.fetch('/api/ledger/key')).text()).trim();
  expect((await node.sendJson('POST', '/manage/witness/logs', { key })).status).toBe(201);
  const url = new URL('/witness', node.url).href;
  return { node, witness: { url, key: (await (await node.fetch('/witness/key')).text()).trim() } };
}

async function submit(log: TestNode): Promise<WitnessStates> {
  return (await (
    await log.fetchAsOwner('/manage/witnesses/submit', { method: 'POST' })
  ).json()) as WitnessStates;
}

async function cosigners(note: string, witnesses: readonly Witness[]): Promise<boolean[]> {
  return witnesses.map(({ key }) => {
    const cosigner = parseCosignerKey(key);
    return cosigner !== undefined && findCosignature(note, noteBody(note), cosigner) !== undefined;
  });
}

test('the checkpoint and proof files carry the lines of both witnesses, and of no other checkpoint', async () => {
  const log = await openTestNode();
  const [first, second] = [await witnessOf(log), await witnessOf(log)];
  const witnesses = [first.witness, second.witness];
  expect((await log.sendJson('PATCH', '/manage/settings', { witnesses })).status).toBe(200);
  await record(log, 'a');
  const read = async (path: string) => (await log.fetch(path)).text();
  expect(await cosigners(await read('/api/ledger/checkpoint'), witnesses)).toEqual([false, false]);
  expect(await submit(log)).toMatchObject({
    size: 1,
    witnesses: [
      { size: 1, error: null },
      { size: 1, error: null },
    ],
  });
  const kept = await read('/api/ledger/checkpoint');
  for (const note of [
    kept,
    await read('/log/checkpoint'),
    (await read('/api/ledger/proof?seq=1&format=tlog-proof')).split('\n\n').slice(1).join('\n\n'),
  ])
    expect(await cosigners(note, witnesses)).toEqual([true, true]);

  for (const path of ['b', 'c', 'd']) await record(log, path);
  expect(await cosigners(await read('/api/ledger/checkpoint'), witnesses)).toEqual([false, false]);
  await second.node.close();
  expect(await submit(log)).toMatchObject({
    size: 4,
    witnesses: [
      { size: 4, error: null },
      { size: 1, error: 'The server refused the connection.' },
    ],
  });
  expect(await cosigners(await read('/api/ledger/checkpoint'), witnesses)).toEqual([true, false]);
  expect(await read('/api/ledger/proof?seq=1&size=1&format=tlog-proof')).toContain(kept);
});

test('a node that is named by its own address cosigns, as one that is named as a witness', async () => {
  const log = await openTestNode();
  const { node, witness } = await witnessOf(log);
  await log.sendJson('PATCH', '/manage/settings', { witnesses: [{ ...witness, url: node.url }] });
  await record(log, 'a');
  expect(await submit(log)).toMatchObject({ witnesses: [{ size: 1, error: null }] });
});

test('a witness that lost track of this node is asked from where it is', async () => {
  const log = await openTestNode();
  const { witness } = await witnessOf(log);
  const settings = { witnesses: [witness] };
  await log.sendJson('PATCH', '/manage/settings', settings);
  await record(log, 'a');
  await submit(log);
  const copy = await openTestNode();
  await copy.sendJson('PATCH', '/manage/settings', settings);
  await record(copy, 'a');
  expect(await submit(copy)).toMatchObject({
    witnesses: [
      { size: 0, error: 'It does not know this ledger. Its owner must add this node’s key there.' },
    ],
  });
});

test('an answer that is no cosignature of this checkpoint is not taken', async () => {
  const log = await openTestNode();
  await record(log, 'a');
  const { node, witness } = await witnessOf(log);
  const web = await ScriptedWeb.open();
  await log.sendJson('PATCH', '/manage/settings', { witnesses: [{ ...witness, url: web.url('/w') }] });
  const honest = await node.fetch('/witness/add-checkpoint', {
    method: 'POST',
    body: `old 0\n\n${await (await log.fetch('/api/ledger/checkpoint')).text()}`,
  });
  const line = await honest.text();
  const changed = line.replace(
    /(.)(.{8})\n$/,
    (_, one: string, rest: string) => `${one === 'A' ? 'B' : 'A'}${rest}\n`,
  );
  const type = { 'Content-Type': 'text/x.tlog.size' };
  for (const [answer, error] of [
    [page(changed), 'no valid cosignature'],
    [page(''), 'no valid cosignature'],
    [page('a'.repeat(70_000)), 'too large'],
    [page('7\n', { status: 409, headers: type }), 'It has seen 7 entries of this ledger, which has 1.'],
    [page('x\n', { status: 409, headers: type }), 'does not continue the one that it cosigned before'],
    [page('', { status: 500 }), 'answered with status 500'],
  ] as const) {
    web.script('/w/add-checkpoint', answer);
    const [state] = (await submit(log)).witnesses;
    expect(state?.error).toContain(error);
    expect(state?.size).toBe(0);
  }
  web.script('/w/add-checkpoint', page(line));
  expect((await submit(log)).witnesses).toMatchObject([{ size: 1, error: null }]);
});

test('after the ledger grew, its checkpoint is sent once a minute at most', async () => {
  const clock = new ManualClock();
  const log = await openTestNode({ clock, prove: true });
  const { witness } = await witnessOf(log);
  await log.sendJson('PATCH', '/manage/settings', { witnesses: [witness] });
  const minute = async () => {
    await clock.sleeperOf(SUBMIT_EVERY_MS);
    await clock.jump(SUBMIT_EVERY_MS);
    await clock.sleeperOf(SUBMIT_EVERY_MS);
  };
  const size = async () =>
    ((await (await log.fetchAsOwner('/manage/witnesses')).json()) as WitnessStates).witnesses[0]?.size;
  await minute();
  expect(await size()).toBe(0);
  await record(log, 'a');
  await record(log, 'b');
  expect(await size()).toBe(0);
  await minute();
  expect(await size()).toBe(2);
});

test('a key is one witness, whatever it is called', async () => {
  const log = await openTestNode();
  const { privateKey } = nodeKeyOf('any', privateKeyOfSeed(new Uint8Array(32).fill(1)));
  const [one, same] = ['one.example', 'two.example'].map((name) => ({
    url: `https://${name}`,
    key: cosignerFrom(name, privateKey).verifierKey,
  }));
  const statusOf = async (witnesses: unknown[]) =>
    (await log.sendJson('PATCH', '/manage/settings', { witnesses })).status;
  expect([await statusOf([one]), await statusOf([same])]).toEqual([200, 200]);
  expect(await statusOf([one, same])).toBe(422);
});
